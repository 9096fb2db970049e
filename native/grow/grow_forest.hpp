// Many trees on one table: each thread grows a tree of its own, to the rows of its own bag.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "grow/bootstrap.hpp"
#include "grow/grow_tree.hpp"

namespace spinney {

/// What the trees of a forest differ in, and what they share beside the table and the options.
struct ForestPlan {
    const Bag& bag;
    std::span<const std::uint64_t> bag_seeds;   // (n_trees,)
    std::span<const std::uint64_t> tree_seeds;  // (n_trees,)
    const double* factors = nullptr;            // (n_rows,) by which a row's count is multiplied, or null
    bool balanced = false;                      // weigh the classes of each bag to be equal
};

namespace detail {

/// Multiply the weights such that the classes of each output weigh the same in this bag, as scikit-learn's
/// "balanced_subsample" does: n / (classes met × rows of the class), rows counted as often as they were
/// drawn.
inline void balance_classes(std::vector<double>& weights, const std::vector<std::uint32_t>& counts,
                            const Target& target) {
    const auto m = static_cast<Size>(target.n_outputs);
    for (Size o = 0; o < m; ++o) {
        std::vector<double> per_class(static_cast<Size>(target.n_classes[o]), 0.0);
        double n = 0;
        for (Size r = 0; r < weights.size(); ++r) {
            per_class[static_cast<Size>(target.classes[r * m + o])] += counts[r];
            n += counts[r];
        }
        double met = 0;
        for (const double k : per_class) met += k > 0;
        for (Size r = 0; r < weights.size(); ++r)
            if (counts[r] > 0)
                weights[r] *= n / (met * per_class[static_cast<Size>(target.classes[r * m + o])]);
    }
}

/// What the rows weigh in the bag of tree t.  (n_rows,)
inline std::vector<double> bag_weights(const ForestPlan& plan, Size t, const Target& target) {
    std::vector<std::uint32_t> counts;
    plan.bag.draw(counts, plan.bag_seeds[t]);
    std::vector<double> weights(counts.begin(), counts.end());
    if (plan.factors)
        for (Size r = 0; r < weights.size(); ++r) weights[r] *= plan.factors[r];
    if (plan.balanced) balance_classes(weights, counts, target);
    return weights;
}

/// Passes results on in their order, whatever the order in which threads come by them. Who brings the next
/// one passes on all that have been waiting for it; the others do not wait.
template <class T, class Take>
class InOrder {
  public:
    InOrder(Size n, Take& take) : waiting_(n), take_(take) {}

    void bring(Size i, T&& result) {
        {
            const std::lock_guard lock(mutex_);
            waiting_[i] = std::move(result);
            if (busy_) return;
            busy_ = true;  // and stays so if `take` throws: nothing is passed on afterwards
        }
        while (std::optional<T> next = draw()) take_(std::move(*next));
    }

  private:
    std::optional<T> draw() {
        const std::lock_guard lock(mutex_);
        busy_ = next_ < waiting_.size() && waiting_[next_];
        return busy_ ? std::exchange(waiting_[next_++], {}) : std::nullopt;
    }

    std::mutex mutex_;
    std::vector<std::optional<T>> waiting_;
    Size next_ = 0;
    bool busy_ = false;
    Take& take_;
};

}  // namespace detail

/// Grow a tree for each pair of seeds. The trees do not depend on the number of threads. take(FlatTree&&) is
/// called for one after the other, in their order but on any thread.
template <class Take>
void grow_forest(const TreeGrower& grower, const Target& target, GrowOptions options, bool ordered,
                 const ForestPlan& plan, Interrupt& interrupt, Take&& take) {
    const Size n_trees = plan.tree_seeds.size();
    detail::InOrder<FlatTree, Take> out(n_trees, take);
    const int n_threads = options.n_threads;
    // With all threads, before each has a tree of its own.
    if (!ordered && options.fit_histograms() && grower.has_byte_codes()) grower.tiles(options);
    Pool::shared().parallel_for(
        n_threads, n_trees,
        [&](Size t, int) {
            const std::vector<double> weights = detail::bag_weights(plan, t, target);
            Target own = target;
            own.weights = weights.data();
            GrowOptions own_options = options;
            own_options.seed = own_options.tie_seed = plan.tree_seeds[t];
            // Within a task of the pool a loop runs in place, unless this is the only tree.
            out.bring(t, grower.grow(own, own_options, ordered, interrupt));
        },
        &interrupt);
}

}  // namespace spinney
