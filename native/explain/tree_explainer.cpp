#include "explain/tree_explainer.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "explain/interventional_shap.hpp"
#include "explain/path_shap.hpp"

namespace spinney {

namespace {

/// The numbers of a sorted list of distinct values.
std::vector<std::uint32_t> distinct(std::vector<std::uint32_t> values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

}  // namespace

TreeExplainer::TreeExplainer(const EnsembleView& trees, Size per_round, std::vector<std::uint32_t> owner,
                             Size n_owners)
    : trees_(trees), per_round_(per_round), n_owners_(n_owners) {
    const EnsembleTraits traits(trees);
    if (owner.size() != trees.n_features)
        throw std::invalid_argument("owner must have one entry per feature");
    for (const auto o : owner)
        if (o >= n_owners) throw std::invalid_argument("owner out of range");
    used_ = traits.used_features;
    column_of_.assign(trees.n_features, 0);
    compact_of_.assign(trees.n_features, 0);
    for (Size c = 0; c < used_.size(); ++c) {
        column_of_[used_[c]] = static_cast<std::uint32_t>(c);
        owners_.push_back(owner[used_[c]]);
    }
    owners_ = distinct(std::move(owners_));
    for (const auto j : used_) {
        const auto at = std::lower_bound(owners_.begin(), owners_.end(), owner[j]);
        compact_of_[j] = static_cast<std::uint32_t>(at - owners_.begin());
    }
    NodeCursor cursor;
    for (Size t = 0; t < trees.n_trees(); ++t) {
        cursors_.push_back(cursor);
        cursor.enter_tree();
        while (cursor.node < static_cast<Size>(trees.tree_begin[t + 1])) cursor.advance(trees);
    }
    base_.assign(n_outputs(), 0.0);
    ExplainedTree tree;
    Size most = 1;
    for (Size t = 0; t < trees.n_trees(); ++t) {
        read_tree(tree, t);
        most = std::max(most, (tree.max_features + 1) / 2);
        for (Size k = 0; k < tree.n_values; ++k) base_[output_of(t) + k] += tree.base[k];
    }
    rules_.resize(most + 1);
    for (Size n = 1; n <= most; ++n) rules_[n] = gauss_legendre(n);
}

/// Rows that are explained together, and their sums.
struct TreeExplainer::Block {
    Size begin, n, n_groups, stride;  // stride: outputs per sum
    std::vector<double> x;            // (n_columns, n_groups * kRegister)
    std::vector<Pack> sums, pairs;    // per group of rows: (features, outputs), (pairs, outputs)

    double at(const std::vector<Pack>& packs, Size n_each, Size row, Size i) const {
        return packs[row / kRegister * n_each + i].v[row % kRegister];
    }
};

template <bool Pairs>
void TreeExplainer::run(double* out, const InputTable& table, int n_threads, Interrupt* interrupt) const {
    constexpr Size max_rows = 256, max_numbers = 1 << 19;
    const Size n_features = owners_.size(), n_out = n_outputs();
    const Size n_pairs = Pairs ? n_features * (n_features - (n_features > 0)) / 2 : 0;
    const Size each = std::max<Size>((n_features + n_pairs) * n_out, 1);
    const Size threads = static_cast<Size>(std::max(n_threads, 1));
    Size rows = std::clamp<Size>(max_numbers / each, kRegister, max_rows);
    rows = std::min(rows, (table.n_rows + 4 * threads - 1) / (4 * threads));
    rows = (std::max<Size>(rows, 1) + kRegister - 1) / kRegister * kRegister;
    const Size n_blocks = (table.n_rows + rows - 1) / rows;
    const auto explain = [&](Size task, int) {
        Block block{task * rows, std::min(rows, table.n_rows - task * rows), 0, n_out, {}, {}, {}};
        block.n_groups = (block.n + kRegister - 1) / kRegister;
        const Size padded = block.n_groups * kRegister;
        block.x.assign(used_.size() * padded, 0.0);
        for (Size c = 0; c < used_.size(); ++c)
            read_values(&block.x[c * padded], 1, table.columns[used_[c]], block.begin, block.n);
        block.sums.assign(block.n_groups * n_features * n_out, Pack{});
        block.pairs.assign(block.n_groups * n_pairs * n_out, Pack{});
        ExplainedTree tree;
        PathShap shap(trees_.n_values(), Pairs);
        for (Size t = 0; t < trees_.n_trees(); ++t) {
            if (interrupt) interrupt->poll();
            read_tree(tree, t);
            shap.prepare(tree, rules_);
            for (Size g = 0; g < block.n_groups; ++g) {
                const double* x = block.x.data() + g * kRegister;
                Pack* sums = block.sums.data() + g * n_features * n_out;
                Pack* pairs = block.pairs.data() + g * n_pairs * n_out;
                if constexpr (Pairs)
                    shap.add_pairs(sums, pairs, n_out, output_of(t), x, padded);
                else
                    shap.add(sums, n_out, output_of(t), x, padded);
            }
        }
        Pairs ? write_pairs(out, block) : write_values(out, block);
    };
    Pool::shared().parallel_for(n_threads, n_blocks, explain, interrupt);
}

void TreeExplainer::write_values(double* out, const Block& block) const {
    const Size n_out = block.stride, each = owners_.size() * n_out;
    for (Size row = 0; row < block.n; ++row) {
        double* to = out + (block.begin + row) * n_owners_ * n_out;
        std::fill_n(to, n_owners_ * n_out, 0.0);
        for (Size f = 0; f < owners_.size(); ++f)
            for (Size k = 0; k < n_out; ++k)
                to[owners_[f] * n_out + k] = block.at(block.sums, each, row, f * n_out + k);
    }
}

/// The interaction of two features is divided between (i, j) and (j, i); the diagonal has what is left of the
/// SHAP value.
void TreeExplainer::write_pairs(double* out, const Block& block) const {
    const Size n_out = block.stride, n = owners_.size(), each = n * (n - (n > 0)) / 2 * n_out;
    for (Size row = 0; row < block.n; ++row) {
        double* to = out + (block.begin + row) * n_owners_ * n_owners_ * n_out;
        std::fill_n(to, n_owners_ * n_owners_ * n_out, 0.0);
        const auto at = [&](Size i, Size j, Size k) -> double& {
            return to[(owners_[i] * n_owners_ + owners_[j]) * n_out + k];
        };
        for (Size k = 0; k < n_out; ++k) {
            for (Size i = 0; i < n; ++i) at(i, i, k) = block.at(block.sums, n * n_out, row, i * n_out + k);
            for (Size j = 1; j < n; ++j) {
                for (Size i = 0; i < j; ++i) {
                    const double pair =
                        block.at(block.pairs, each, row, (j * (j - 1) / 2 + i) * n_out + k) / 2;
                    at(i, j, k) = at(j, i, k) = pair;
                    at(i, i, k) -= pair;
                    at(j, j, k) -= pair;
                }
            }
        }
    }
}

void TreeExplainer::values(double* out, const InputTable& table, int n_threads, Interrupt* interrupt) const {
    run<false>(out, table, n_threads, interrupt);
}

void TreeExplainer::interactions(double* out, const InputTable& table, int n_threads,
                                 Interrupt* interrupt) const {
    run<true>(out, table, n_threads, interrupt);
}

void TreeExplainer::interventional(double* out, double* base, const InputTable& table,
                                   const InputTable& background, int n_threads, Interrupt* interrupt) const {
    constexpr Size rows_at_once = 64;
    const Size n_out = n_outputs(), n_features = owners_.size();
    const auto read = [&](const InputTable& from) {
        ColumnBlock to{std::vector<double>(used_.size() * from.n_rows), from.n_rows};
        for (Size c = 0; c < used_.size(); ++c)
            read_values(to.x.data() + c * from.n_rows, 1, from.columns[used_[c]], 0, from.n_rows);
        return to;
    };
    const ColumnBlock rows = read(table), others = read(background);
    std::vector<double> sums(table.n_rows * n_features * n_out, 0.0);
    std::fill_n(base, n_out, 0.0);
    ExplainedTree tree;
    InterventionalTree shap;
    for (Size t = 0; t < trees_.n_trees(); ++t) {
        read_tree(tree, t);
        shap.prepare(tree, others, rules_);
        for (Size k = 0; k < tree.n_values; ++k) base[output_of(t) + k] += shap.mean()[k];
        const auto explain = [&](Size task, int) {
            InterventionalTree::Scratch scratch;
            const Size end = std::min((task + 1) * rows_at_once, table.n_rows);
            for (Size row = task * rows_at_once; row < end; ++row)
                shap.add(sums.data() + row * n_features * n_out, n_out, output_of(t), rows, row, scratch);
        };
        const Size n_tasks = (table.n_rows + rows_at_once - 1) / rows_at_once;
        Pool::shared().parallel_for(n_threads, n_tasks, explain, interrupt);
    }
    std::fill_n(out, table.n_rows * n_owners_ * n_out, 0.0);
    for (Size row = 0; row < table.n_rows; ++row)
        for (Size f = 0; f < n_features; ++f)
            std::copy_n(&sums[(row * n_features + f) * n_out], n_out,
                        out + (row * n_owners_ + owners_[f]) * n_out);
}

}  // namespace spinney
