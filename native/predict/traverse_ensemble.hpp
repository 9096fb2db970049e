// Predicts with all trees of an ensemble: sums of their values, in the order of the trees, and leaves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "predict/code_features.hpp"
#include "core/types.hpp"
#include "predict/ensemble_layout.hpp"
#include "core/thread_pool.hpp"
#include "predict/traverse.hpp"
#include "predict/traverse_codes.hpp"
#include "predict/traverse_fused.hpp"
#include "predict/traverse_masks.hpp"

namespace spinney {

/// Which trees to add, and where to.
struct SumPlan {
    Size first_tree = 0, n_trees = 0;
    Size n_stages = 1;                // equal shares of the trees; the sums after each are written
    const double* weights = nullptr;  // (all trees,), null: 1
    const double* start = nullptr;    // (n_rows, n_columns), null: 0

    double weight(Size t) const { return weights ? weights[t] : 1.0; }
};

/// Predicts with an ensemble; any number of threads may use one at once.
///
/// With `per_round` = 0 a tree adds all values of a node to a row of n_outputs * width sums; else tree t adds
/// its one value to column t % per_round. What is laid out for a kind of walk is made when it is first
/// needed.
class EnsemblePredictor {
  public:
    /// The arrays of `trees` must outlive this.
    EnsemblePredictor(const EnsembleView& trees, Size per_round)
        : trees_(trees), traits_(trees), per_round_(per_round) {
        if (per_round > 0 && trees.n_values() != 1)
            throw std::invalid_argument("trees of one round must have one value a node");
    }
    EnsemblePredictor(const EnsemblePredictor&) = delete;

    Size n_features() const { return trees_.n_features; }
    Size n_trees() const { return trees_.n_trees(); }
    Size n_columns() const { return per_round_ > 0 ? per_round_ : trees_.n_values(); }
    const std::vector<std::uint32_t>& used_features() const { return traits_.used_features; }

    /// Write the sums after each stage.  out (n_stages, n_rows, n_columns)
    void sum(double* out, const InputTable& table, const SumPlan& plan, int n_threads,
             Interrupt* interrupt = nullptr) {
        const Size columns = n_columns(), stage = table.n_rows * columns,
                   trees = plan.n_trees / plan.n_stages;
        run(table, n_threads, interrupt, [&](auto& walker, Size begin, Size n) {
            const double* before = plan.start ? plan.start + begin * columns : nullptr;
            for (Size s = 0; s < plan.n_stages; ++s) {
                double* sums = out + s * stage + begin * columns;
                before ? std::copy_n(before, n * columns, sums) : std::fill_n(sums, n * columns, 0.0);
                walker.add(sums, plan, plan.first_tree + s * trees, trees, n);
                before = sums;
            }
        });
    }

    /// Write the node of each tree that answers: of several the one with the largest share, if tied the
    /// first. out (n_rows, n_trees)
    void apply(std::int32_t* out, const InputTable& table, Size n_trees, int n_threads,
               Interrupt* interrupt = nullptr) {
        run(table, n_threads, interrupt,
            [&](auto& walker, Size begin, Size n) { walker.apply(out + begin * n_trees, n_trees, n); });
    }

  private:
    // Fewer rows are walked one by one: a block costs as much for one row as for 64.
    static constexpr Size rows_worth_masks = 12;
    // Fewer are not worth laying the trees out anew.
    static constexpr Size rows_worth_fusing = 256;

    // Many rows, since each tree is fetched for them all; but every thread should have some.
    static Size rows_at_once(Size most, Size n_rows, int n_threads) {
        const Size share = n_rows / (4 * static_cast<Size>(std::max(n_threads, 1))) + 1;
        return std::clamp<Size>(share, 64, most);
    }

    // ---- one walker a kind of layout: prepares some rows, then adds trees or finds leaves ----

    struct MaskWalker {
        static constexpr Size rows = MaskTrees::block;
        const EnsemblePredictor& self;
        const MaskTrees& trees = *self.masks_;
        std::vector<std::uint8_t> planes = std::vector<std::uint8_t>(trees.planes().bytes() + 64);
        std::vector<double> columns = std::vector<double>(self.per_round_ > 1 ? rows * self.per_round_ : 0);
        std::uint8_t ids[rows];

        explicit MaskWalker(const EnsemblePredictor& predictor) : self(predictor) {}
        static Size most_rows(const EnsemblePredictor&, Size, int) { return rows; }

        void prepare(const InputTable& table, Size begin, Size n) {
            trees.planes().code(planes.data(), *self.codes_, table.columns, begin, n);
        }

        void add(double* sums, const SumPlan& plan, Size first, Size n_trees, Size n) {
            const Size per_round = self.per_round_;
            if (per_round > 1) transpose(columns.data(), sums, n, per_round);
            for (Size t = first; t < first + n_trees; ++t) {
                trees.find_leaves(ids, t, planes.data(), n);
                if (per_round == 0) {
                    trees.add_value_rows(sums, ids, t, plan.weight(t), n);
                } else {
                    double* column = per_round == 1 ? sums : columns.data() + t % per_round * n;
                    trees.add_values(column, ids, t, plan.weight(t), n);
                }
            }
            if (per_round > 1) transpose(sums, columns.data(), per_round, n);
        }

        void apply(std::int32_t* out, Size n_trees, Size n) {
            for (Size t = 0; t < n_trees; ++t) {
                trees.find_leaves(ids, t, planes.data(), n);
                for (Size i = 0; i < n; ++i) out[i * n_trees + t] = trees.node_of(t, ids[i]);
            }
        }

        // to (n_columns, n_rows); from (n_rows, n_columns)
        static void transpose(double* to, const double* from, Size n_rows, Size n_columns) {
            for (Size j = 0; j < n_columns; ++j) {
                for (Size i = 0; i < n_rows; ++i) to[j * n_rows + i] = from[i * n_columns + j];
            }
        }
    };

    template <class Code>
    struct CodeWalker {
        const EnsemblePredictor& self;
        const CodedTrees& trees = *self.coded_;
        std::vector<Code> rows;
        std::vector<Node> leaves;

        explicit CodeWalker(const EnsemblePredictor& predictor) : self(predictor) {}

        static Size most_rows(const EnsemblePredictor& self, Size n_rows, int n_threads) {
            // They and a tree are to have room in the second-level cache.
            const Size bytes = self.coded_->n_planes() * sizeof(Code) + self.n_columns() * sizeof(double);
            return rows_at_once(std::clamp<Size>((Size{3} << 17) / bytes, 64, 4096), n_rows, n_threads);
        }

        void prepare(const InputTable& table, Size begin, Size n) {
            rows.resize(n * trees.n_planes());
            trees.code_rows(rows.data(), *self.codes_, table.columns, begin, n);
        }

        void add(double* sums, const SumPlan& plan, Size first, Size n_trees, Size n) {
            for_each_leaf(first, n_trees, n, [&](Size row, Size t, Node leaf) {
                self.add_value(sums + row * self.n_columns(), t, leaf, plan.weight(t));
            });
        }

        void apply(std::int32_t* out, Size n_trees, Size n) {
            for_each_leaf(0, n_trees, n, [&](Size row, Size t, Node leaf) { out[row * n_trees + t] = leaf; });
        }

        // Many rows go down one tree after the other; a few go down many trees at once.
        template <class F>
        void for_each_leaf(Size first, Size n_trees, Size n, F&& f) {
            const bool few = n < 8;
            leaves.resize(few ? n_trees : n);
            for (Size i = 0; i < (few ? n : 0); ++i) {
                trees.walk_trees(leaves.data(), first, n_trees, rows.data() + i * trees.n_planes());
                for (Size t = 0; t < n_trees; ++t) f(i, first + t, leaves[t]);
            }
            for (Size t = first; t < (few ? 0 : first + n_trees); ++t) {
                trees.walk_rows(leaves.data(), t, rows.data(), n);
                for (Size i = 0; i < n; ++i) f(i, t, leaves[i]);
            }
        }
    };

    struct FusedWalker {
        const EnsemblePredictor& self;
        const FusedTrees& trees = *self.fused_;
        FusedRows rows;
        std::vector<std::int32_t> leaves;
        std::vector<FusedTrees::UnderWay> scratch;

        explicit FusedWalker(const EnsemblePredictor& predictor) : self(predictor) {}

        static Size most_rows(const EnsemblePredictor&, Size n_rows, int n_threads) {
            return rows_at_once(1 << 14, n_rows, n_threads);
        }

        void prepare(const InputTable& table, Size begin, Size n) {
            rows.code(*self.codes_, trees.coarse(), table.columns, begin, n);
            leaves.resize(n);
            scratch.resize(n + FusedTrees::ahead);
        }

        void add(double* sums, const SumPlan& plan, Size first, Size n_trees, Size n) {
            const Size k = self.trees_.n_values(), step = self.n_columns();
            for (Size t = first; t < first + n_trees; ++t) {
                trees.walk_rows(leaves.data(), scratch.data(), t, rows, n);
                double* column = sums + (self.per_round_ > 0 ? t % self.per_round_ : 0);
                const double weight = plan.weight(t);
                if (k == 2 && step == 2) {
                    for (Size i = 0; i < n; ++i) {
                        const double* value = trees.value(leaves[i]);
                        column[2 * i] += weight * value[0];
                        column[2 * i + 1] += weight * value[1];
                    }
                    continue;
                }
                for (Size i = 0; i < n; ++i) {
                    const double* value = trees.value(leaves[i]);
                    for (Size v = 0; v < k; ++v) column[i * step + v] += weight * value[v];
                }
            }
        }

        void apply(std::int32_t* out, Size n_trees, Size n) {
            for (Size t = 0; t < n_trees; ++t) {
                trees.walk_rows(leaves.data(), scratch.data(), t, rows, n);
                for (Size i = 0; i < n; ++i) out[i * n_trees + t] = trees.node_of(leaves[i]);
            }
        }
    };

    struct AnyWalker {
        static constexpr Size rows = 256;
        const EnsemblePredictor& self;
        std::vector<InputColumn> columns;
        std::vector<double> values;
        std::vector<std::int64_t> leaves;
        InputTable here;

        explicit AnyWalker(const EnsemblePredictor& predictor) : self(predictor) {}
        static Size most_rows(const EnsemblePredictor&, Size, int) { return rows; }

        void prepare(const InputTable& table, Size begin, Size n) {
            columns.assign(table.columns.begin(), table.columns.end());
            for (InputColumn& column : columns) {
                if (!column.data) continue;
                column.data = static_cast<const char*>(column.data) +
                              static_cast<std::ptrdiff_t>(begin) * column.stride;
            }
            here = {columns, n, table.row_major};
        }

        void add(double* sums, const SumPlan& plan, Size first, Size n_trees, Size n) {
            const Size k = self.trees_.n_values(), step = self.n_columns();
            values.resize(n * k);
            for (Size t = first; t < first + n_trees; ++t) {
                self.any_[t]->values(values.data(), here, 1);
                double* column = sums + (self.per_round_ > 0 ? t % self.per_round_ : 0);
                for (Size i = 0; i < n; ++i) {
                    for (Size v = 0; v < k; ++v) column[i * step + v] += plan.weight(t) * values[i * k + v];
                }
            }
        }

        void apply(std::int32_t* out, Size n_trees, Size n) {
            leaves.resize(n);
            for (Size t = 0; t < n_trees; ++t) {
                self.any_[t]->apply(leaves.data(), here, 1);
                for (Size i = 0; i < n; ++i) out[i * n_trees + t] = static_cast<std::int32_t>(leaves[i]);
            }
        }
    };

    // ---- choosing a walker, and sharing the rows out ----

    template <class F>
    void run(const InputTable& table, int n_threads, Interrupt* interrupt, F&& f) {
        std::call_once(looked_, [&] { look(n_threads); });
        if (with_masks_ && table.n_rows >= rows_worth_masks) {
            std::call_once(masks_made_, [&] { masks_.emplace(trees_, *codes_); });
            return run_walker<MaskWalker>(table, n_threads, interrupt, f);
        }
        if (with_fused_ && table.n_rows >= rows_worth_fusing) {
            std::call_once(fused_made_, [&] { fused_.emplace(trees_, *codes_); });
            return run_walker<FusedWalker>(table, n_threads, interrupt, f);
        }
        if (with_codes_) {
            std::call_once(coded_made_, [&] { coded_.emplace(trees_, *codes_); });
            if (coded_->wide()) return run_walker<CodeWalker<std::uint32_t>>(table, n_threads, interrupt, f);
            return run_walker<CodeWalker<std::uint16_t>>(table, n_threads, interrupt, f);
        }
        std::call_once(any_made_, [&] { make_any(); });
        run_walker<AnyWalker>(table, n_threads, interrupt, f);
    }

    template <class Walker, class F>
    void run_walker(const InputTable& table, int n_threads, Interrupt* interrupt, F&& f) const {
        const Size rows = Walker::most_rows(*this, table.n_rows, n_threads);
        const auto task = [&](Size t, int) {
            const Size begin = t * rows, n = std::min(rows, table.n_rows - begin);
            Walker walker(*this);
            walker.prepare(table, begin, n);
            f(walker, begin, n);
        };
        const Size n_tasks = (table.n_rows + rows - 1) / rows;
        if (n_tasks == 1) return task(0, 0);
        Pool::shared().parallel_for(n_threads, n_tasks, task, interrupt);
    }

    void look(int n_threads) {
        if (!traits_.coded) return;
        codes_.emplace(trees_, traits_, n_threads);
        with_codes_ = CodedTrees::suits(trees_, traits_, *codes_);
        with_masks_ = with_codes_ && MaskTrees::suits(trees_, traits_, *codes_);
        with_fused_ = with_codes_ && FusedTrees::suits(trees_, *codes_);
    }

    void make_any() {
        const std::vector<std::int64_t> n_classes(trees_.n_outputs, static_cast<std::int64_t>(trees_.width));
        NodeCursor cursor;
        for (Size t = 0; t < trees_.n_trees(); ++t) {
            const WideTree tree(trees_, t, cursor);
            any_.push_back(std::make_unique<Predictor>(tree.view(), tree.value(), trees_.n_outputs,
                                                       trees_.width, n_classes));
        }
    }

    void add_value(double* sums, Size t, Node leaf, double weight) const {
        const Size k = trees_.n_values();
        const double* value = &trees_.value[(trees_.begin(t) + static_cast<Size>(leaf)) * k];
        if (per_round_ > 0) {
            sums[t % per_round_] += weight * value[0];
        } else {
            for (Size v = 0; v < k; ++v) sums[v] += weight * value[v];
        }
    }

    EnsembleView trees_;
    EnsembleTraits traits_;
    Size per_round_;
    std::once_flag looked_, masks_made_, fused_made_, coded_made_, any_made_;
    bool with_codes_ = false, with_masks_ = false, with_fused_ = false;
    std::optional<EnsembleCodes> codes_;
    std::optional<MaskTrees> masks_;
    std::optional<FusedTrees> fused_;
    std::optional<CodedTrees> coded_;
    std::vector<std::unique_ptr<Predictor>> any_;
};

}  // namespace spinney
