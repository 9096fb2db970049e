// The fast grower: byte codes, additive criteria, learned missing directions.
//
// Large nodes have histograms: the smaller child's is built, the larger child's is what is left of the
// parent's. Below kAlone rows a subtree moves into memory of its own, where one thread grows it; below kDense
// rows a node marks the lines it touches and looks at no others.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "grow.hpp"
#include "histogram.hpp"
#include "streams.hpp"

namespace spinney {

namespace detail {

inline constexpr Size kAlone = 8192;
inline constexpr Size kDense = 768;

/// Histograms that are used again instead of being allocated for every node.
class HistogramPool {
  public:
    explicit HistogramPool(Size words) : words_(words) {}
    std::unique_ptr<Stat[]> take() {
        std::unique_ptr<Stat[]> out;
        if (free_.empty()) {
            out.reset(new Stat[words_]);
        } else {
            out = std::move(free_.back());
            free_.pop_back();
        }
        std::fill_n(out.get(), words_, 0);
        return out;
    }
    void give(std::unique_ptr<Stat[]> histogram) {
        if (histogram) free_.push_back(std::move(histogram));
    }

  private:
    Size words_;
    std::vector<std::unique_ptr<Stat[]>> free_;
};

/// A node to be divided: a range of the row list.
struct HistogramWork {
    NodeState state;
    Size begin = 0, end = 0;
    std::vector<Stat> total;
    std::unique_ptr<Stat[]> histogram;  // null: none yet
    Candidate best;
    Size size() const { return end - begin; }
};

/// Grows on one HistogramData: the whole table with all threads, or a subtree's own copy with one.
template <Layout L, class Criterion>
class HistogramRun {
  public:
    /// numbers[i] is the row that place i of the data stands for; empty when it is i itself.
    HistogramRun(const GrowContext& c, const HistogramData& data, std::span<const Row> numbers, int n_threads)
        : c_(c),
          data_(data),
          numbers_(numbers),
          n_threads_(n_threads),
          words_(data.n_lines() * static_cast<Size>(c.s.width)),
          pool_(words_),
          all_features_(static_cast<Size>(c.options.max_features) >= c.x.columns.size()) {}

    std::vector<Row> rows;  // the list that nodes are ranges of

    /// Grow the subtree of `first`; nodes of fewer rows than `alone` are given back, linked as fragments 1,
    /// 2, ….
    std::vector<HistogramWork> depth_first(Fragment& f, HistogramWork first, Size alone) {
        std::vector<HistogramWork> stack, apart;
        stack.push_back(std::move(first));
        while (!stack.empty()) {
            c_.interrupt.poll();
            HistogramWork node = std::move(stack.back());
            stack.pop_back();
            if (node.size() < alone) {
                f.nodes[static_cast<Size>(node.state.id)].fragment =
                    static_cast<std::int32_t>(apart.size()) + 1;
                pool_.give(std::move(node.histogram));
                apart.push_back(std::move(node));
                continue;
            }
            search(f, node);
            if (!node.best.found()) continue;
            auto [left, right] = divide(f, node, alone);
            // The smaller child first: then no more than log2(n) histograms wait.
            if (left.size() < right.size()) {
                stack.push_back(std::move(right));
                stack.push_back(std::move(left));
            } else {
                stack.push_back(std::move(left));
                stack.push_back(std::move(right));
            }
        }
        return apart;
    }

    void best_first(Fragment& f, HistogramWork root) {
        spinney::best_first(
            c_, std::move(root),
            [&](HistogramWork& node) {
                search(f, node);
                if (c_.options.max_leaf_nodes > 256) pool_.give(std::move(node.histogram));
            },
            [&](HistogramWork& node) { return divide(f, node, 0); },
            [&](const HistogramWork& node) { record(f, node, true); });
    }

    /// The sums of a range of the row list.
    std::vector<Stat> sum_of(Size begin, Size end) const {
        std::vector<Stat> out(static_cast<Size>(c_.s.width), 0);
        for (Size i = begin; i < end; ++i) add_words<L>(out.data(), data_, rows[i], c_.s.row_words);
        return out;
    }

  private:
    std::span<const Row> list(const HistogramWork& node) const {
        return std::span(rows).subspan(node.begin, node.size());
    }

    /// The node's rows by their numbers in the table.
    std::span<const Row> table_rows(const HistogramWork& node) {
        if (numbers_.empty()) return list(node);
        named_.resize(node.size());
        for (Size i = 0; i < node.size(); ++i) named_[i] = numbers_[rows[node.begin + i]];
        return named_;
    }

    void record(Fragment& f, const HistogramWork& node, bool leaf) {
        record_node(c_, f, node.state, {leaf ? table_rows(node) : list(node), {}}, leaf);
    }

    /// Find the node's best test, or make it a leaf.
    void search(Fragment& f, HistogramWork& node) {
        const bool looks_at_rows = c_.s.task == Task::regression;
        if (!must_stop(c_, node.state, node.total.data(), looks_at_rows ? table_rows(node) : list(node))) {
            const Limits limits = make_limits(c_, node.state);
            if (!all_features_)
                search_drawn(node, limits);
            else if (node.size() >= kDense || node.histogram)
                search_dense(node, limits);
            else
                search_sparse(node, limits, every_feature());
            if (!acceptable(c_.options, node.best)) node.best = {};
        }
        const bool leaf = !node.best.found();
        record(f, node, leaf);
        if (leaf) pool_.give(std::move(node.histogram));
    }

    void build(Stat* histogram, const HistogramWork& node) {
        Pool::shared().parallel_for(
            node.size() * data_.tiles.size() < 4096 ? 1 : n_threads_, data_.tiles.size(),
            [&](Size t, int) { add_rows<L>(histogram, data_, data_.tiles[t], list(node), c_.s); });
    }

    void search_dense(HistogramWork& node, const Limits& limits) {
        if (!node.histogram) {
            node.histogram = pool_.take();
            build(node.histogram.get(), node);
        }
        const Size d = c_.x.columns.size();
        const auto one = [&](Size f) {
            const Stat* lines = node.histogram.get() + data_.line[f] * static_cast<Size>(c_.s.width);
            return search_lines(node, limits, f, lines,
                                find_occupied(lines, c_.x.columns[f].n_bins + 1, c_.s.width), groups_);
        };
        if (n_threads_ == 1) {
            for (Size f = 0; f < d; ++f) take_better(node, one(f));
            return;
        }
        std::vector<Candidate> found(d);
        Pool::shared().parallel_for(n_threads_, data_.tiles.size(), [&](Size t, int) {
            Groups groups;
            for (Size f = data_.tiles[t].first; f < data_.tiles[t].first + data_.tiles[t].n; ++f) {
                const Stat* lines = node.histogram.get() + data_.line[f] * static_cast<Size>(c_.s.width);
                found[f] = search_lines(node, limits, f, lines,
                                        find_occupied(lines, c_.x.columns[f].n_bins + 1, c_.s.width), groups);
            }
        });
        for (Candidate& c : found) take_better(node, std::move(c));
    }

    std::span<const std::uint32_t> every_feature() {
        if (every_.empty())
            for (std::uint32_t f = 0; f < c_.x.columns.size(); ++f) every_.push_back(f);
        return every_;
    }

    /// Search features (ascending) through lines that are cleared again behind the sweep. True: some feature
    /// varied.
    bool search_sparse(HistogramWork& node, const Limits& limits, std::span<const std::uint32_t> features) {
        if (!scratch_) scratch_ = pool_.take();
        const Size width = static_cast<Size>(c_.s.width);
        bool varied = false;
        Size at = 0;
        for (const Tile& tile : data_.tiles) {
            std::array<std::uint32_t, kTileFeatures> chosen;
            std::array<Occupied, kTileFeatures> occupied{};
            Size n = 0;
            while (at < features.size() && features[at] < tile.first + tile.n)
                chosen[n++] = features[at++] - static_cast<std::uint32_t>(tile.first);
            if (n == 0) continue;
            add_rows_marked<L>(scratch_.get(), occupied.data(), {chosen.data(), n}, data_, tile, list(node),
                               c_.s);
            for (Size j = 0; j < n; ++j) {
                const Size f = tile.first + chosen[j];
                Stat* lines = scratch_.get() + data_.line[f] * width;
                Candidate c = search_lines(node, limits, f, lines, occupied[j], groups_);
                varied = varied || !c.constant;
                take_better(node, std::move(c));
                for (Size w = 0; w < 4; ++w)
                    for (std::uint64_t bits = occupied[j][w]; bits; bits &= bits - 1)
                        std::fill_n(lines + (w * 64 + static_cast<Size>(std::countr_zero(bits))) * width,
                                    width, 0);
            }
        }
        return varied;
    }

    /// Look at drawn features until max_features were seen and one of them varied.
    void search_drawn(HistogramWork& node, const Limits& limits) {
        const auto order = feature_order(c_, node.state);
        const Size most = std::min(order.size(), static_cast<Size>(std::max(1, c_.options.max_features)));
        std::vector<std::uint32_t> drawn(order.begin(), order.begin() + static_cast<long>(most));
        std::sort(drawn.begin(), drawn.end());
        bool varied = search_sparse(node, limits, drawn);
        for (Size i = most; i < order.size() && !varied; ++i) {
            const auto next = static_cast<std::uint32_t>(order[i]);
            varied = search_sparse(node, limits, {&next, 1});
        }
    }

    void take_better(HistogramWork& node, Candidate&& c) const {
        const auto order = [&](const Candidate& k) {
            return tie_order(c_.options, node.state.path, k.feature);
        };
        Candidate& best = node.best;
        if (c.found() && (!best.found() || replaces(c.score, order(c), best.score, order(best))))
            best = std::move(c);
    }

    Candidate search_lines(const HistogramWork& node, const Limits& common, Size feature, const Stat* lines,
                           Occupied occupied, Groups& groups) const {
        const CodeColumn& column = c_.x.columns[feature];
        Limits limits = common;
        limits.set_direction(c_.options.monotone, static_cast<std::int32_t>(feature));
        Search q{c_.s,    c_.options, column, static_cast<std::int32_t>(feature), node.total.data(),
                 nullptr, limits};
        q.address = mix(node.state.address, 0x10000u + feature);
        q.node_weight_share = weight_of(c_, node.total.data()) / c_.all_weight;
        const Size n_bins = column.n_bins;
        if (occupied[n_bins / 64] >> (n_bins % 64) & 1) {
            q.missing = lines + n_bins * static_cast<Size>(c_.s.width);
            occupied[n_bins / 64] &= ~(std::uint64_t{1} << (n_bins % 64));
        }
        Judge<L, Criterion> judge(c_.s, q.total, limits);
        DenseStream stream(lines, std::span(occupied).first(n_bins / 64 + 1), c_.s.width);
        if (column.kind == ColumnKind::numeric) return sweep_numeric(judge, q, stream, [](auto&&...) {});
        collect(groups, stream, c_.s.width);
        return SubsetSearch<Judge<L, Criterion>>(judge, q, groups).run();
    }

    /// Split the node's range of the row list in two, each side in its old order; the first row of the right
    /// side.
    Size partition(const HistogramWork& node) {
        const Candidate& b = node.best;
        const auto feature = static_cast<Size>(b.feature);
        const CodeColumn& column = c_.x.columns[feature];
        std::array<std::uint8_t, 256> goes_left{};
        if (b.test == Test::numeric)
            std::fill_n(goes_left.begin(), b.cut + 1, std::uint8_t{1});
        else
            for (Code bin : b.bins) goes_left[bin] = 1;
        goes_left[column.n_bins] = b.missing == 0;
        spare_.resize(std::max(spare_.size(), node.size()));
        Row *list = rows.data() + node.begin, *right = spare_.data();
        Size n_left = 0, n_right = 0;
        const auto move = [&](auto&& code_of) {
            for (Size i = 0; i < node.size(); ++i) {
                const Row row = list[i];
                const Size left = goes_left[code_of(row)];
                list[n_left] = row;
                right[n_right] = row;
                n_left += left;
                n_right += 1 - left;
            }
        };
        if (numbers_.empty()) {
            const std::uint8_t* codes = column.as<std::uint8_t>();
            move([=](Row row) { return codes[row]; });
        } else {
            const Tile& tile = *std::find_if(data_.tiles.begin(), data_.tiles.end(),
                                             [&](const Tile& t) { return feature < t.first + t.n; });
            const std::uint8_t* codes = tile.codes.data() + (feature - tile.first);
            const Size step = tile.n;
            move([=](Row row) { return codes[row * step]; });
        }
        std::copy_n(right, n_right, list + n_left);
        return node.begin + n_left;
    }

    std::array<HistogramWork, 2> divide(Fragment& f, HistogramWork& node, Size alone) {
        const Size middle = partition(node);
        HistogramWork left, right;
        left.begin = node.begin;
        left.end = right.begin = middle;
        right.end = node.end;
        HistogramWork& small = left.size() < right.size() ? left : right;
        HistogramWork& large = left.size() < right.size() ? right : left;
        small.total = sum_of(small.begin, small.end);
        large.total = node.total;
        subtract(large.total.data(), small.total.data(), large.total.size());
        place_unmet(node.best, left.size(), right.size(), false);
        f.set_test(node.state.id, node.best, c_.x.columns[static_cast<Size>(node.best.feature)],
                   c_.moments.size());
        const GrownNode& record = f.nodes[static_cast<Size>(node.state.id)];
        const auto answers = child_answers(c_, node.best, left.total.data(), right.total.data());
        left.state = child_state(c_, node.state, record, 0, answers);
        right.state = child_state(c_, node.state, record, 1, answers);
        pass_histogram(node, small, large, std::max(alone, kDense));
        return {std::move(left), std::move(right)};
    }

    /// Give the children histograms, where they are large enough to use them and may be divided at all.
    void pass_histogram(HistogramWork& node, HistogramWork& small, HistogramWork& large, Size least) {
        const bool useful = large.size() >= least && large.state.depth < c_.options.max_depth;
        if (node.histogram && useful) {
            small.histogram = pool_.take();
            build(small.histogram.get(), small);
            subtract(node.histogram.get(), small.histogram.get(), words_);
            large.histogram = std::move(node.histogram);
            if (small.size() < least) pool_.give(std::move(small.histogram));
        }
        pool_.give(std::move(node.histogram));
    }

    const GrowContext& c_;
    const HistogramData& data_;
    std::span<const Row> numbers_;
    int n_threads_;
    Size words_;
    HistogramPool pool_;
    bool all_features_;
    std::unique_ptr<Stat[]> scratch_;  // all zero between searches
    std::vector<Row> named_, spare_;
    std::vector<std::uint32_t> every_;
    Groups groups_;
};

}  // namespace detail

class HistogramGrower {
  public:
    explicit HistogramGrower(const GrowContext& context) : c_(context) {}

    /// Can this grower grow such a tree?
    static bool takes(const GrowContext& c) {
        constexpr Size most_words = Size{1} << 24;
        Size lines = 0;
        for (const auto& column : c.x.columns) {
            if (column.width != 1) return false;
            lines += column.n_bins + 1;
        }
        const GrowOptions& o = c.options;
        return lines * static_cast<Size>(c.s.width) <= most_words && !o.fractional && !o.gain_ratio &&
               o.categories != CategorySplit::multiway && o.criterion != CriterionName::absolute_error &&
               o.ledger == LedgerLevel::off && o.oblique_directions == 0;
    }

    /// Grow from these rows. Fragment 0 holds the root.
    std::vector<Fragment> grow(std::vector<Row> rows) {
        HistogramData data = make_histogram_data(c_.x, c_.s);
        constexpr Size block = 4096;
        Pool::shared().parallel_for(
            c_.options.n_threads, (data.n_rows + block - 1) / block,
            [&](Size i, int) { fill_tiles(data, c_.x, i * block, std::min(data.n_rows, (i + 1) * block)); });
        std::vector<Fragment> fragments(1);
        with_judge(c_.options.criterion, c_.s, [&]<Layout L, class Criterion>() {
            grow_with<L, Criterion>(fragments, data, std::move(rows));
        });
        return fragments;
    }

  private:
    template <Layout L, class Criterion>
    void grow_with(std::vector<Fragment>& fragments, const HistogramData& data, std::vector<Row> rows) {
        using Run = detail::HistogramRun<L, Criterion>;
        Run whole(c_, data, {}, c_.options.n_threads);
        whole.rows = std::move(rows);
        detail::HistogramWork root;
        root.end = whole.rows.size();
        root.total = whole.sum_of(0, root.end);
        root.state.address = mix(c_.options.seed, 0);
        fragments[0].add(1, c_.moments.size());
        if (c_.options.best_first) {
            whole.best_first(fragments[0], std::move(root));
            return;
        }
        auto apart = whole.depth_first(fragments[0], std::move(root), detail::kAlone);
        fragments.resize(1 + apart.size());
        Pool::shared().parallel_for(
            c_.options.n_threads, apart.size(),
            [&](Size i, int) {
                auto& work = apart[i];
                const auto numbers = std::span<const Row>(whole.rows).subspan(work.begin, work.size());
                const HistogramData own = compact(data, numbers, c_.s);
                Run alone(c_, own, numbers, 1);
                alone.rows.resize(numbers.size());
                for (Size r = 0; r < numbers.size(); ++r) alone.rows[r] = static_cast<Row>(r);
                work.begin = 0;
                work.end = numbers.size();
                work.state.id = 0;
                fragments[i + 1].add(1, c_.moments.size());
                alone.depth_first(fragments[i + 1], std::move(work), 0);
            },
            &c_.interrupt);
    }

    const GrowContext& c_;
};

}  // namespace spinney
