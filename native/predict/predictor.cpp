#include "predict/predictor.hpp"

#include <algorithm>
#include <stdexcept>

namespace spinney {

namespace {

// With fewer rows, packed nodes are faster: a block costs as much for one row as for 64.
constexpr Size min_bitvector_rows = 12;
// Fewer rows are not worth another layout of the trees.
constexpr Size min_blocked_rows = 256;
constexpr Size rows_per_task = 1024;

// Many rows, since each tree is loaded once for all of them; but every thread should have some.
Size rows_at_once(Size max, Size n_rows, int n_threads) {
    const Size share = n_rows / (4 * static_cast<Size>(std::max(n_threads, 1))) + 1;
    return std::clamp<Size>(share, 64, max);
}

/// Call task(begin, n) for parts of the rows.
template <class F>
void for_parts(Size n_rows, Size rows, int n_threads, Interrupt* interrupt, F&& task) {
    const Size n_tasks = (n_rows + rows - 1) / rows;
    if (n_tasks == 1) return task(0, n_rows);
    Pool::shared().parallel_for(
        n_threads, n_tasks, [&](Size t, int) { task(t * rows, std::min(rows, n_rows - t * rows)); },
        interrupt);
}

// to (n_columns, n_rows); from (n_rows, n_columns)
void transpose(double* to, const double* from, Size n_rows, Size n_columns) {
    for (Size j = 0; j < n_columns; ++j)
        for (Size i = 0; i < n_rows; ++i) to[j * n_rows + i] = from[i * n_columns + j];
}

}  // namespace

// ---- walkers ----

struct Predictor::BitvectorWalker {
    const Predictor& self;
    const BitvectorTrees& trees = *self.bitvectors_;
    BitvectorTrees::Block rows{};
    std::vector<double> columns{};
    std::uint8_t ids[BitvectorTrees::block] = {};

    static Size max_rows(const Predictor&, Size, int) { return BitvectorTrees::block; }

    void prepare(const InputTable& table, Size begin, Size n) {
        trees.read(rows, *self.codes_, table.columns, begin, n);
    }

    void add(double* sums, Size first, Size n_trees, Size n) {
        const Size per_round = self.per_round_;
        if (per_round > 1) {
            columns.resize(n * per_round);
            transpose(columns.data(), sums, n, per_round);
        }
        for (Size t = first; t < first + n_trees; ++t) {
            trees.find_leaves(ids, t, rows, n);
            if (per_round == 0) {
                trees.add_value_rows(sums, ids, t, n);
            } else {
                double* column = per_round == 1 ? sums : columns.data() + t % per_round * n;
                trees.add_values(column, ids, t, n);
            }
        }
        if (per_round > 1) transpose(sums, columns.data(), per_round, n);
    }

    void apply(std::int32_t* out, Size n) {
        const Size n_trees = self.n_trees();
        for (Size t = 0; t < n_trees; ++t) {
            trees.find_leaves(ids, t, rows, n);
            for (Size i = 0; i < n; ++i) out[i * n_trees + t] = trees.node_of(t, ids[i]);
        }
    }
};

struct Predictor::BlockedWalker {
    const Predictor& self;
    const BlockedTrees& trees = *self.blocked_;
    BlockedRows rows{};
    std::vector<std::int32_t> leaves{};
    std::vector<BlockedTrees::Pending> scratch{};

    static Size max_rows(const Predictor&, Size n_rows, int n_threads) {
        return rows_at_once(1 << 14, n_rows, n_threads);
    }

    void prepare(const InputTable& table, Size begin, Size n) {
        rows.code(*self.codes_, trees.coarse(), table.columns, begin, n);
        leaves.resize(n);
        scratch.resize(n + BlockedTrees::ahead);
    }

    void add(double* sums, Size first, Size n_trees, Size n) {
        for (Size t = first; t < first + n_trees; ++t) {
            trees.walk_rows(leaves.data(), scratch.data(), t, rows, n);
            self.add_tree(sums, t, n, [&](Size i) { return trees.value(leaves[i]); });
        }
    }

    void apply(std::int32_t* out, Size n) {
        const Size n_trees = self.n_trees();
        for (Size t = 0; t < n_trees; ++t) {
            trees.walk_rows(leaves.data(), scratch.data(), t, rows, n);
            for (Size i = 0; i < n; ++i) out[i * n_trees + t] = trees.node_of(leaves[i]);
        }
    }
};

struct Predictor::PackedWalker {
    const Predictor& self;
    const PackedTrees& trees = *self.packed_;
    std::vector<std::uint32_t> rows{};
    std::vector<Node> leaves{};

    static Size max_rows(const Predictor& self, Size n_rows, int n_threads) {
        // The rows and a tree should fit in the L2 cache.
        const Size bytes =
            self.packed_->n_planes() * sizeof(std::uint32_t) + self.n_columns() * sizeof(double);
        return rows_at_once(std::clamp<Size>((Size{3} << 17) / bytes, 64, 4096), n_rows, n_threads);
    }

    void prepare(const InputTable& table, Size begin, Size n) {
        rows.resize(n * trees.n_planes());
        trees.code_rows(rows.data(), *self.codes_, table.columns, begin, n);
    }

    void add(double* sums, Size first, Size n_trees, Size n) {
        const EnsembleView& all = self.trees_;
        for_each_leaf(first, n_trees, n, [&](Size row, Size t, Node leaf) {
            const double* value = &all.value[(all.begin(t) + static_cast<Size>(leaf)) * all.n_values()];
            self.add_tree(sums + row * self.n_columns(), t, 1, [=](Size) { return value; });
        });
    }

    void apply(std::int32_t* out, Size n) {
        const Size n_trees = self.n_trees();
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

struct Predictor::NodeWalker {
    const Predictor& self;
    RowBlock rows{};
    std::vector<double> values{};

    static Size max_rows(const Predictor& self, Size, int) {
        return RowBlock::rows_at_once(self.n_features());
    }

    void prepare(const InputTable& table, Size begin, Size n) {
        rows.read(table, self.used_features(), begin, n);
    }

    void add(double* sums, Size first, Size n_trees, Size n) {
        const Size k = self.trees_.n_values();
        values.resize(n * k);
        for (Size t = first; t < first + n_trees; ++t) {
            self.nodes_[t].values(values.data(), rows);
            self.add_tree(sums, t, n, [&](Size i) { return values.data() + i * k; });
        }
    }

    void apply(std::int32_t* out, Size) {
        for (Size t = 0; t < self.n_trees(); ++t) self.nodes_[t].apply(out + t, self.n_trees(), rows);
    }
};

/// Add what a tree gives to each row.  value_of(i) -> (n_values,)
template <class ValueOf>
void Predictor::add_tree(double* sums, Size t, Size n, ValueOf&& value_of) const {
    const Size k = trees_.n_values(), step = n_columns();
    double* out = sums + (per_round_ > 0 ? t % per_round_ : 0);
    if (k == 2 && step == 2) {  // constants, so that the inner loop is unrolled
        for (Size i = 0; i < n; ++i)
            for (Size v = 0; v < 2; ++v) out[2 * i + v] += value_of(i)[v];
        return;
    }
    for (Size i = 0; i < n; ++i)
        for (Size v = 0; v < k; ++v) out[i * step + v] += value_of(i)[v];
}

// ---- the choice of a walker, and parallel blocks of rows ----

/// Call f(walker, begin, n) for parts of the rows.
template <class F>
void Predictor::run(const InputTable& table, int n_threads, Interrupt* interrupt, F&& f) {
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
        return run_walker<PackedWalker>(table, n_threads, interrupt, f);
    }
    make_nodes();
    run_walker<NodeWalker>(table, n_threads, interrupt, f);
}

template <class Walker, class F>
void Predictor::run_walker(const InputTable& table, int n_threads, Interrupt* interrupt, F&& f) const {
    const Size rows = Walker::max_rows(*this, table.n_rows, n_threads);
    for_parts(table.n_rows, rows, n_threads, interrupt, [&](Size begin, Size n) {
        Walker walker{*this};
        walker.prepare(table, begin, n);
        f(walker, begin, n);
    });
}

/// Call f(rows, begin) for blocks of rows, to be walked down plain nodes.
template <class F>
void Predictor::for_row_blocks(const InputTable& table, int n_threads, Interrupt* interrupt, F&& f) {
    make_nodes();
    const Size block = RowBlock::rows_at_once(n_features());
    for_parts(table.n_rows, rows_per_task, n_threads, interrupt, [&](Size begin, Size n) {
        RowBlock rows;
        for (Size first = begin; first < begin + n; first += block) {
            rows.read(table, used_features(), first, std::min(block, begin + n - first));
            f(rows, first);
        }
    });
}

void Predictor::choose_layouts(int n_threads) {
    if (!traits_.coded) return;
    codes_.emplace(trees_, traits_, n_threads);
    with_packed_ = PackedTrees::suits(trees_, traits_, *codes_);
    with_bitvectors_ = with_packed_ && BitvectorTrees::suits(trees_, traits_, *codes_);
    with_blocked_ = with_packed_ && BlockedTrees::suits(trees_, *codes_);
}

void Predictor::make_nodes() {
    std::call_once(nodes_made_, [&] {
        NodeCursor cursor;
        nodes_.reserve(trees_.n_trees());
        for (Size t = 0; t < trees_.n_trees(); ++t) nodes_.emplace_back(trees_, t, cursor);
    });
}

// ---- results ----

Predictor::Predictor(const EnsembleView& trees, Size per_round, std::vector<std::int64_t> n_classes)
    : trees_(trees), traits_(trees), per_round_(per_round), n_classes_(std::move(n_classes)) {
    if (per_round > 0 && trees.n_values() != 1)
        throw std::invalid_argument("trees of one round must have one value per node");
    if (n_classes_.empty()) n_classes_.assign(trees.n_outputs, static_cast<std::int64_t>(trees.width));
    bool sound = n_classes_.size() == trees.n_outputs;
    for (const auto k : n_classes_) sound = sound && k >= 1 && static_cast<Size>(k) <= trees.width;
    if (!sound) throw std::invalid_argument("n_classes does not fit the values");
}

void Predictor::sum(double* out, const InputTable& table, const SumPlan& plan, int n_threads,
                    Interrupt* interrupt) {
    const Size columns = n_columns(), stage = table.n_rows * columns, trees = plan.n_trees / plan.n_stages;
    run(table, n_threads, interrupt, [&](auto& walker, Size begin, Size n) {
        const double* before = plan.start ? plan.start + begin * columns : nullptr;
        for (Size s = 0; s < plan.n_stages; ++s) {
            double* sums = out + s * stage + begin * columns;
            before ? std::copy_n(before, n * columns, sums) : std::fill_n(sums, n * columns, 0.0);
            walker.add(sums, plan.first_tree + s * trees, trees, n);
            before = sums;
        }
    });
}

void Predictor::apply(std::int32_t* out, const InputTable& table, int n_threads, Interrupt* interrupt) {
    if (n_trees() == 1)
        return for_row_blocks(table, n_threads, interrupt, [&](const RowBlock& rows, Size begin) {
            nodes_[0].apply(out + begin, 1, rows);
        });
    run(table, n_threads, interrupt,
        [&](auto& walker, Size begin, Size n) { walker.apply(out + begin * n_trees(), n); });
}

void Predictor::values(double* out, const InputTable& table, int n_threads, Interrupt* interrupt) {
    const Size k = trees_.n_values();
    for_row_blocks(table, n_threads, interrupt,
                   [&](const RowBlock& rows, Size begin) { nodes_[0].values(out + begin * k, rows); });
}

void Predictor::classes(std::int64_t* out, const InputTable& table, int n_threads, Interrupt* interrupt) {
    const Size k = trees_.n_outputs;
    make_nodes();
    std::call_once(best_made_, [&] { best_ = nodes_[0].best_classes(n_classes_); });
    for_row_blocks(table, n_threads, interrupt, [&](const RowBlock& rows, Size begin) {
        nodes_[0].classes(out + begin * k, best_, n_classes_, rows);
    });
}

DecisionPath Predictor::decision_path(const InputTable& table, int n_threads, Interrupt* interrupt) {
    std::vector<DecisionPath> parts((table.n_rows + rows_per_task - 1) / rows_per_task);
    for_row_blocks(table, n_threads, interrupt, [&](const RowBlock& rows, Size begin) {
        DecisionPath& part = parts[begin / rows_per_task];
        for (Size i = 0; i < rows.size(); ++i) {
            for (Size t = 0; t < nodes_.size(); ++t) nodes_[t].add_path(part, trees_.tree_begin[t], rows, i);
            part.indptr.push_back(static_cast<std::int64_t>(part.indices.size()));
        }
    });
    DecisionPath path;
    path.indptr.push_back(0);
    for (const DecisionPath& part : parts) {
        const auto before = path.indptr.back();
        for (const auto end : part.indptr) path.indptr.push_back(before + end);
        path.indices.insert(path.indices.end(), part.indices.begin(), part.indices.end());
        path.fractions.insert(path.fractions.end(), part.fractions.begin(), part.fractions.end());
    }
    return path;
}

}  // namespace spinney
