// Outputs of rows with some of their features replaced by the points of a grid: partial dependence and
// individual conditional expectations (Friedman 2001; Goldstein et al. 2015).
//
// A row is sent down each tree once for all points: a split on a replaced feature divides the set of points
// that are still together, every other split follows the row.
#include <algorithm>
#include <bit>

#include "explain/tree_explainer.hpp"

namespace spinney {

namespace {

/// Walks the rows down one tree.
class GridWalk {
  public:
    GridWalk(Size n_points, Size n_out)
        : n_points_(n_points),
          n_out_(n_out),
          n_words_((n_points + 63) / 64),
          every_(n_words_, ~std::uint64_t{0}) {
        if (n_points % 64) every_.back() = (std::uint64_t{1} << n_points % 64) - 1;
    }

    /// replaced (n_columns,): the values of the points of a column, null if it is not replaced
    void prepare(const ExplainedTree& tree, const std::vector<const double*>& replaced) {
        tree_ = &tree;
        sets_.assign(tree.splits.size(), no_set);
        bits_.clear();
        for (Size i = 0; i < tree.splits.size(); ++i) {
            const ExplainedSplit& split = tree.splits[i];
            const double* points = replaced[split.column];
            if (!points) continue;
            sets_[i] = bits_.size();
            bits_.resize(bits_.size() + 2 * n_words_, 0);  // points that go left, and that are divided
            std::uint64_t* const left = &bits_[sets_[i]];
            for (Size p = 0; p < n_points_; ++p) {
                const double x = points[p];
                const bool missing = x != x || (split.kind != TestKind::numeric && x < 0);
                const bool divided = split.fractional && missing;
                if (divided) left[n_words_ + p / 64] |= std::uint64_t{1} << p % 64;
                if (!divided && tree.goes_left(split, x)) left[p / 64] |= std::uint64_t{1} << p % 64;
            }
        }
        waiting_.resize((tree.max_depth + 2) * n_words_ * 2);
    }

    /// Add the outputs of a row at all points.  out (n_points, n_out), from `first`; x (n_columns,) in steps
    void add(double* out, Size first, const double* x, Size step) {
        out_ = out + first;
        x_ = x;
        step_ = step;
        visit(tree_->splits.empty() ? -1 : 0, 1.0, every_.data(), 0);
    }

  private:
    static constexpr Size no_set = ~Size{0};

    void visit(std::int32_t node, double fraction, const std::uint64_t* points, Size depth) {
        if (node < 0) return add_leaf(static_cast<Size>(-1 - node), fraction, points);
        const ExplainedSplit& split = tree_->splits[static_cast<Size>(node)];
        if (sets_[static_cast<Size>(node)] == no_set) {
            const double x = x_[split.column * step_];
            const bool missing = x != x || (split.kind != TestKind::numeric && x < 0);
            if (split.fractional && missing) {
                if (split.share > 0) visit(split.left, fraction * split.share, points, depth);
                if (split.share < 1) visit(split.right, fraction * (1 - split.share), points, depth);
                return;
            }
            return visit(tree_->goes_left(split, x) ? split.left : split.right, fraction, points, depth);
        }
        const std::uint64_t* left = &bits_[sets_[static_cast<Size>(node)]];
        std::uint64_t* const here = &waiting_[depth * n_words_ * 2];
        const auto send = [&](std::int32_t child, double share, auto&& words) {
            std::uint64_t any = 0;
            for (Size w = 0; w < n_words_; ++w) any |= here[w] = words(w);
            if (any != 0 && share > 0) visit(child, fraction * share, here, depth + 1);
        };
        send(split.left, 1, [&](Size w) { return points[w] & left[w]; });
        send(split.right, 1, [&](Size w) { return points[w] & ~left[w] & ~left[n_words_ + w]; });
        if (!split.fractional) return;
        send(split.left, split.share, [&](Size w) { return points[w] & left[n_words_ + w]; });
        send(split.right, 1 - split.share, [&](Size w) { return points[w] & left[n_words_ + w]; });
    }

    /// Add a leaf to its points, run by run: the points of a numeric feature are neighbours.
    void add_leaf(Size leaf, double fraction, const std::uint64_t* points) {
        for (Size w = 0; w < n_words_; ++w) {
            for (std::uint64_t rest = points[w]; rest != 0;) {
                const int first = std::countr_zero(rest), n = std::countr_one(rest >> first);
                add_run(leaf, fraction, w * 64 + static_cast<Size>(first), static_cast<Size>(n));
                if (first + n == 64) break;
                rest &= ~std::uint64_t{0} << (first + n);
            }
        }
    }

    void add_run(Size leaf, double fraction, Size first, Size n) {
        const Size n_values = tree_->n_values;
        const double* value = &tree_->leaf_values[leaf * n_values];
        double* to = out_ + first * n_out_;
        if (n_out_ == 1) {
            const double amount = fraction * value[0];
            for (Size p = 0; p < n; ++p) to[p] += amount;
            return;
        }
        for (Size p = 0; p < n; ++p, to += n_out_)
            for (Size k = 0; k < n_values; ++k) to[k] += fraction * value[k];
    }

    Size n_points_, n_out_, n_words_;
    std::vector<std::uint64_t> every_;  // all points
    const ExplainedTree* tree_ = nullptr;
    std::vector<Size> sets_;  // per split, into bits_
    std::vector<std::uint64_t> bits_, waiting_;
    double* out_ = nullptr;
    const double* x_ = nullptr;
    Size step_ = 0;
};

}  // namespace

void TreeExplainer::responses(double* out, bool individual, const InputTable& table, const GridPoints& grid,
                              int n_threads, Interrupt* interrupt) const {
    constexpr Size block = 256;  // fixed: sums over blocks then have the same order for any number of threads
    const Size n_out = n_outputs(), each = grid.n_points * n_out;
    std::vector<const double*> replaced(used_.size(), nullptr);
    for (Size c = 0; c < used_.size(); ++c)
        for (Size f = 0; f < grid.features.size(); ++f)
            if (grid.features[f] == used_[c]) replaced[c] = grid.values + f * grid.n_points;
    const Size n_blocks = (table.n_rows + block - 1) / block;
    std::vector<double> sums(individual ? 0 : n_blocks * each, 0.0);
    if (individual) std::fill_n(out, table.n_rows * each, 0.0);
    const auto work = [&](Size task, int) {
        const Size begin = task * block, n = std::min(block, table.n_rows - begin);
        std::vector<double> x(used_.size() * block);
        for (Size c = 0; c < used_.size(); ++c)
            if (!replaced[c]) read_values(&x[c * block], 1, table.columns[used_[c]], begin, n);
        ExplainedTree tree;
        GridWalk walk(grid.n_points, n_out);
        for (Size t = 0; t < trees_.n_trees(); ++t) {
            read_tree(tree, t);
            walk.prepare(tree, replaced);
            for (Size row = 0; row < n; ++row) {
                double* to = individual ? out + (begin + row) * each : sums.data() + task * each;
                walk.add(to, output_of(t), x.data() + row, block);
            }
        }
    };
    Pool::shared().parallel_for(n_threads, n_blocks, work, interrupt);
    if (individual) return;
    std::fill_n(out, each, 0.0);
    for (Size b = 0; b < n_blocks; ++b)
        for (Size i = 0; i < each; ++i) out[i] += sums[b * each + i];
}

}  // namespace spinney
