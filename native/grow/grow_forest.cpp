// Growth of forests.
#include "grow/grow_forest.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "grow/grown_tree.hpp"

namespace spinney {

namespace {

/// Multiply the weights so that the classes of each output weigh the same in this bootstrap sample, as
/// scikit-learn's "balanced_subsample": n / (classes present × rows of the class), counting repeated rows.
void balance_classes(RowVector<double>& weights, const RowVector<std::uint32_t>& counts,
                     const Target& target) {
    const auto m = static_cast<Size>(target.n_outputs);
    for (Size o = 0; o < m; ++o) {
        std::vector<double> per_class(static_cast<Size>(target.n_classes[o]), 0.0);
        double n = 0;
        for (Size r = 0; r < weights.size(); ++r) {
            per_class[static_cast<Size>(target.classes[r * m + o])] += counts[r];
            n += counts[r];
        }
        double n_present = 0;
        for (const double k : per_class) n_present += k > 0;
        for (Size r = 0; r < weights.size(); ++r)
            if (counts[r] > 0)
                weights[r] *= n / (n_present * per_class[static_cast<Size>(target.classes[r * m + o])]);
    }
}

/// Weights of the rows in the bootstrap sample of tree t.  (n_rows,)
RowVector<double> sample_weights(const ForestPlan& plan, Size t, const Target& target) {
    RowVector<std::uint32_t> counts;
    plan.sampler.draw(counts, plan.sample_seeds[t]);
    RowVector<double> weights(counts.begin(), counts.end());
    if (plan.factors)
        for (Size r = 0; r < weights.size(); ++r) weights[r] *= plan.factors[r];
    if (plan.balanced) balance_classes(weights, counts, target);
    return weights;
}

/// Passes results on in order while threads finish them in any order. The thread that brings the next one
/// passes on all that were waiting for it; the others do not wait.
class InOrder {
  public:
    InOrder(Size n, const std::function<void(FlatTree&&)>& take) : waiting_(n), take_(take) {}

    /// The memory of the result stays with the caller unless the result has to wait.
    void add(Size i, FlatTree& result) {
        bool is_next = false;
        {
            const std::lock_guard lock(mutex_);
            is_next = !busy_ && i == next_;
            if (is_next)
                ++next_;
            else
                waiting_[i] = std::move(result);
            if (busy_) return;
            busy_ = true;  // stays set if `take` throws: nothing is passed on afterwards
        }
        if (is_next) take_(std::move(result));
        while (std::optional<FlatTree> next = pop_next()) take_(std::move(*next));
    }

  private:
    std::optional<FlatTree> pop_next() {
        const std::lock_guard lock(mutex_);
        busy_ = next_ < waiting_.size() && waiting_[next_];
        return busy_ ? std::exchange(waiting_[next_++], {}) : std::nullopt;
    }

    std::mutex mutex_;
    std::vector<std::optional<FlatTree>> waiting_;
    Size next_ = 0;
    bool busy_ = false;
    const std::function<void(FlatTree&&)>& take_;
};

}  // namespace

void grow_forest(const TreeGrower& grower, const Target& target, const GrowOptions& options, bool exact,
                 const ForestPlan& plan, Interrupt& interrupt, const std::function<void(FlatTree&&)>& take) {
    const Size n_trees = plan.tree_seeds.size();
    InOrder out(n_trees, take);
    std::vector<GrowMemory> memory(static_cast<Size>(std::max(1, options.n_threads)));
    // With all threads, before each grows its own tree.
    bool fits = true;
    if (!exact && grower.has_byte_codes()) {
        const CodeTiles& tiles = grower.tiles(options);
        fits = tiles.rows_in_memory() >= tiles.n_rows;
    }
    // Where the codes are in files, all threads grow the same tree, whose subtrees are copied to memory.
    Pool::shared().parallel_for(
        fits ? options.n_threads : 1, n_trees,
        [&](Size t, int thread) {
            const RowVector<double> weights = sample_weights(plan, t, target);
            Target own = target;
            own.weights = weights.data();
            GrowOptions own_options = options;
            own_options.seed = own_options.tie_seed = plan.tree_seeds[t];
            // Nested parallel loops run on the calling thread, unless this is the only tree.
            GrowMemory& of_thread = memory[static_cast<Size>(thread)];
            grower.grow(of_thread, own, own_options, exact, interrupt);
            out.add(t, of_thread.tree);
        },
        &interrupt);
}

}  // namespace spinney
