#include "predict/predictor.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "predict/bitvector_traversal.hpp"
#include "predict/blocked_traversal.hpp"
#include "predict/packed_nodes.hpp"

namespace spinney {

class Predictor::Impl {
  public:
    Impl(const EnsembleView& trees, Size per_round, std::vector<std::int64_t> n_classes)
        : trees_(trees), traits_(trees), per_round_(per_round), n_classes_(std::move(n_classes)) {
        if (per_round > 0 && trees.n_values() != 1)
            throw std::invalid_argument("trees of one round must have one value per node");
        if (n_classes_.empty()) n_classes_.assign(trees.n_outputs, static_cast<std::int64_t>(trees.width));
        bool sound = n_classes_.size() == trees.n_outputs;
        for (const auto k : n_classes_) sound = sound && k >= 1 && static_cast<Size>(k) <= trees.width;
        if (!sound) throw std::invalid_argument("n_classes does not fit the values");
    }

    Size n_features() const { return trees_.n_features; }
    Size n_trees() const { return trees_.n_trees(); }
    Size n_outputs() const { return trees_.n_outputs; }
    Size width() const { return trees_.width; }
    Size n_columns() const { return per_round_ > 0 ? per_round_ : trees_.n_values(); }
    const std::vector<std::uint32_t>& used_features() const { return traits_.used_features; }

    void sum(double* out, const InputTable& table, const SumPlan& plan, int n_threads, Interrupt* interrupt) {
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

    void apply(std::int32_t* out, const InputTable& table, Size n_trees, int n_threads,
               Interrupt* interrupt) {
        if (trees_.n_trees() == 1 && n_trees == 1)
            return for_row_tasks(table, n_threads, interrupt, [&](Size begin, Size n) {
                nodes_[0].apply(out + begin, 1, table, begin, n);
            });
        run(table, n_threads, interrupt,
            [&](auto& walker, Size begin, Size n) { walker.apply(out + begin * n_trees, n_trees, n); });
    }

    void values(double* out, const InputTable& table, int n_threads, Interrupt* interrupt) {
        const Size k = trees_.n_values();
        for_row_tasks(table, n_threads, interrupt,
                      [&](Size begin, Size n) { nodes_[0].values(out + begin * k, table, begin, n); });
    }

    void classes(std::int64_t* out, const InputTable& table, int n_threads, Interrupt* interrupt) {
        const Size k = trees_.n_outputs;
        make_nodes();
        std::call_once(best_made_, [&] { best_ = nodes_[0].best_classes(n_classes_); });
        for_row_tasks(table, n_threads, interrupt, [&](Size begin, Size n) {
            nodes_[0].classes(out + begin * k, best_, n_classes_, table, begin, n);
        });
    }

    DecisionPath decision_path(const InputTable& table, int n_threads, Interrupt* interrupt) {
        std::vector<DecisionPath> parts((table.n_rows + rows_per_task - 1) / rows_per_task);
        for_row_tasks(table, n_threads, interrupt,
                      [&](Size begin, Size n) { parts[begin / rows_per_task] = path_of(table, begin, n); });
        DecisionPath path;
        path.indptr.push_back(0);
        for (const DecisionPath& part : parts) {
            const auto before = path.indptr.back();
            for (Size i = 1; i < part.indptr.size(); ++i) path.indptr.push_back(before + part.indptr[i]);
            path.indices.insert(path.indices.end(), part.indices.begin(), part.indices.end());
            path.fractions.insert(path.fractions.end(), part.fractions.begin(), part.fractions.end());
        }
        return path;
    }

  private:
    // With fewer rows, packed nodes are faster: a block costs as much for one row as for 64.
    static constexpr Size min_bitvector_rows = 12;
    // Fewer rows are not worth another layout of the trees.
    static constexpr Size min_blocked_rows = 256;
    static constexpr Size rows_per_task = 1024;

    // Many rows, since each tree is loaded once for all of them; but every thread should have some.
    static Size rows_at_once(Size max, Size n_rows, int n_threads) {
        const Size share = n_rows / (4 * static_cast<Size>(std::max(n_threads, 1))) + 1;
        return std::clamp<Size>(share, 64, max);
    }

    // ---- one walker per layout: prepares some rows, then adds trees or finds leaves ----

    struct BitvectorWalker {
        static constexpr Size rows = BitvectorTrees::block;
        const Impl& self;
        const BitvectorTrees& trees = *self.bitvectors_;
        std::vector<std::uint8_t> planes = std::vector<std::uint8_t>(trees.planes().bytes() + 64);
        std::vector<double> columns = std::vector<double>(self.per_round_ > 1 ? rows * self.per_round_ : 0);
        std::uint8_t ids[rows];

        explicit BitvectorWalker(const Impl& predictor) : self(predictor) {}
        static Size max_rows(const Impl&, Size, int) { return rows; }

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
    struct PackedWalker {
        const Impl& self;
        const PackedTrees& trees = *self.packed_;
        std::vector<Code> rows;
        std::vector<Node> leaves;

        explicit PackedWalker(const Impl& predictor) : self(predictor) {}

        static Size max_rows(const Impl& self, Size n_rows, int n_threads) {
            // The rows and a tree should fit in the L2 cache.
            const Size bytes = self.packed_->n_planes() * sizeof(Code) + self.n_columns() * sizeof(double);
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

        // Many rows walk one tree after the other; a few walk many trees at once.
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

    struct BlockedWalker {
        const Impl& self;
        const BlockedTrees& trees = *self.blocked_;
        BlockedRows rows;
        std::vector<std::int32_t> leaves;
        std::vector<BlockedTrees::Pending> scratch;

        explicit BlockedWalker(const Impl& predictor) : self(predictor) {}

        static Size max_rows(const Impl&, Size n_rows, int n_threads) {
            return rows_at_once(1 << 14, n_rows, n_threads);
        }

        void prepare(const InputTable& table, Size begin, Size n) {
            rows.code(*self.codes_, trees.coarse(), table.columns, begin, n);
            leaves.resize(n);
            scratch.resize(n + BlockedTrees::ahead);
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

    struct NodeWalker {
        static constexpr Size rows = 256;
        const Impl& self;
        const InputTable* table = nullptr;
        Size begin = 0;
        std::vector<double> values;

        explicit NodeWalker(const Impl& predictor) : self(predictor) {}
        static Size max_rows(const Impl&, Size, int) { return rows; }

        void prepare(const InputTable& input, Size first, Size) {
            table = &input;
            begin = first;
        }

        void add(double* sums, const SumPlan& plan, Size first, Size n_trees, Size n) {
            const Size k = self.trees_.n_values(), step = self.n_columns();
            values.resize(n * k);
            for (Size t = first; t < first + n_trees; ++t) {
                self.nodes_[t].values(values.data(), *table, begin, n);
                double* column = sums + (self.per_round_ > 0 ? t % self.per_round_ : 0);
                for (Size i = 0; i < n; ++i) {
                    for (Size v = 0; v < k; ++v) column[i * step + v] += plan.weight(t) * values[i * k + v];
                }
            }
        }

        void apply(std::int32_t* out, Size n_trees, Size n) {
            for (Size t = 0; t < n_trees; ++t) self.nodes_[t].apply(out + t, n_trees, *table, begin, n);
        }
    };

    // ---- the choice of a walker, and parallel blocks of rows ----

    template <class F>
    void run(const InputTable& table, int n_threads, Interrupt* interrupt, F&& f) {
        std::call_once(chosen_, [&] { choose_layouts(n_threads); });
        if (with_bitvectors_ && table.n_rows >= min_bitvector_rows) {
            std::call_once(bitvectors_made_, [&] { bitvectors_.emplace(trees_, *codes_); });
            return run_walker<BitvectorWalker>(table, n_threads, interrupt, f);
        }
        if (with_blocked_ && table.n_rows >= min_blocked_rows) {
            std::call_once(blocked_made_, [&] { blocked_.emplace(trees_, *codes_); });
            return run_walker<BlockedWalker>(table, n_threads, interrupt, f);
        }
        if (with_packed_) {
            std::call_once(packed_made_, [&] { packed_.emplace(trees_, *codes_); });
            if (packed_->wide())
                return run_walker<PackedWalker<std::uint32_t>>(table, n_threads, interrupt, f);
            return run_walker<PackedWalker<std::uint16_t>>(table, n_threads, interrupt, f);
        }
        make_nodes();
        run_walker<NodeWalker>(table, n_threads, interrupt, f);
    }

    template <class Walker, class F>
    void run_walker(const InputTable& table, int n_threads, Interrupt* interrupt, F&& f) const {
        const Size rows = Walker::max_rows(*this, table.n_rows, n_threads);
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

    void choose_layouts(int n_threads) {
        if (!traits_.coded) return;
        codes_.emplace(trees_, traits_, n_threads);
        with_packed_ = PackedTrees::suits(trees_, traits_, *codes_);
        with_bitvectors_ = with_packed_ && BitvectorTrees::suits(trees_, traits_, *codes_);
        with_blocked_ = with_packed_ && BlockedTrees::suits(trees_, *codes_);
    }

    void make_nodes() {
        std::call_once(nodes_made_, [&] {
            NodeCursor cursor;
            nodes_.reserve(trees_.n_trees());
            for (Size t = 0; t < trees_.n_trees(); ++t) nodes_.emplace_back(trees_, t, cursor);
        });
    }

    /// Call f(begin, n) for parts of the rows.
    template <class F>
    void for_row_tasks(const InputTable& table, int n_threads, Interrupt* interrupt, F&& f) {
        make_nodes();
        const Size n_tasks = (table.n_rows + rows_per_task - 1) / rows_per_task;
        const auto task = [&](Size t, int) {
            f(t * rows_per_task, std::min(rows_per_task, table.n_rows - t * rows_per_task));
        };
        if (n_tasks == 1) return task(0, 0);
        Pool::shared().parallel_for(n_threads, n_tasks, task, interrupt);
    }

    DecisionPath path_of(const InputTable& table, Size begin, Size n) const {
        std::vector<DecisionPath> parts;
        for (Size t = 0; t < trees_.n_trees(); ++t)
            parts.push_back(nodes_[t].path(trees_.tree_begin[t], table, begin, n));
        if (parts.size() == 1) return std::move(parts[0]);
        DecisionPath out;
        out.indptr.push_back(0);
        for (Size i = 0; i < n; ++i) {
            for (const DecisionPath& part : parts) {
                const auto first = part.indptr[i], last = part.indptr[i + 1];
                out.indices.insert(out.indices.end(), part.indices.begin() + first,
                                   part.indices.begin() + last);
                out.fractions.insert(out.fractions.end(), part.fractions.begin() + first,
                                     part.fractions.begin() + last);
            }
            out.indptr.push_back(static_cast<std::int64_t>(out.indices.size()));
        }
        return out;
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
    std::once_flag chosen_, bitvectors_made_, blocked_made_, packed_made_, nodes_made_, best_made_;
    bool with_packed_ = false, with_bitvectors_ = false, with_blocked_ = false;
    std::optional<EnsembleCodes> codes_;
    std::optional<BitvectorTrees> bitvectors_;
    std::optional<BlockedTrees> blocked_;
    std::optional<PackedTrees> packed_;
    std::vector<NodeTree> nodes_;                 // (n_trees,)
    std::vector<std::int64_t> n_classes_, best_;  // of the first tree
};

Predictor::Predictor(const EnsembleView& trees, Size per_round, std::vector<std::int64_t> n_classes)
    : impl_(std::make_unique<Impl>(trees, per_round, std::move(n_classes))) {}
Predictor::~Predictor() = default;

Size Predictor::n_features() const { return impl_->n_features(); }
Size Predictor::n_trees() const { return impl_->n_trees(); }
Size Predictor::n_outputs() const { return impl_->n_outputs(); }
Size Predictor::width() const { return impl_->width(); }
Size Predictor::n_columns() const { return impl_->n_columns(); }
const std::vector<std::uint32_t>& Predictor::used_features() const { return impl_->used_features(); }

void Predictor::sum(double* out, const InputTable& table, const SumPlan& plan, int n_threads,
                    Interrupt* interrupt) {
    impl_->sum(out, table, plan, n_threads, interrupt);
}
void Predictor::apply(std::int32_t* out, const InputTable& table, Size n_trees, int n_threads,
                      Interrupt* interrupt) {
    impl_->apply(out, table, n_trees, n_threads, interrupt);
}
void Predictor::values(double* out, const InputTable& table, int n_threads, Interrupt* interrupt) {
    impl_->values(out, table, n_threads, interrupt);
}
void Predictor::classes(std::int64_t* out, const InputTable& table, int n_threads, Interrupt* interrupt) {
    impl_->classes(out, table, n_threads, interrupt);
}
DecisionPath Predictor::decision_path(const InputTable& table, int n_threads, Interrupt* interrupt) {
    return impl_->decision_path(table, n_threads, interrupt);
}

}  // namespace spinney
