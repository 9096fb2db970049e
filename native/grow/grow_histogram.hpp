// The fast grower: byte codes, additive criteria, learned missing directions.
//
// Large nodes have histograms: the smaller child's is built, the larger child's is what is left of the
// parent's. Below kAlone rows a subtree moves into memory of its own, where one thread grows it.
#pragma once

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "grow/grow_common.hpp"
#include "grow/histogram_node.hpp"
#include "grow/histogram_search.hpp"

namespace spinney {

namespace detail {

inline constexpr Size kAlone = 8192;

/// Grows on one HistogramData: the whole table with all threads, or a subtree's own copy with one.
template <Layout L, class Criterion>
class HistogramRun {
  public:
    /// numbers[i] is the row that place i of the data stands for; empty when it is i itself.
    HistogramRun(const GrowContext& c, const HistogramData& data, std::span<const Row> numbers, int n_threads)
        : c_(c),
          data_(data),
          numbers_(numbers),
          words_(data.codes.n_lines() * static_cast<Size>(c.s.width)),
          pool_(words_),
          search_(c, data, pool_, n_threads) {}

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
            search(f, node, division_);
            if (!division_.best.found()) continue;
            auto [left, right] = divide(f, node, division_, alone);
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
        struct Work : HistogramWork, Division {};
        const auto work = [](HistogramWork&& node) { return Work{std::move(node), {}}; };
        spinney::best_first(
            c_, work(std::move(root)),
            [&](Work& node) {
                search(f, node, node);
                if (c_.options.max_leaf_nodes > 256) pool_.give(std::move(node.histogram));
            },
            [&](Work& node) {
                auto [left, right] = divide(f, node, node, 0);
                return std::array<Work, 2>{work(std::move(left)), work(std::move(right))};
            },
            [&](const Work& node) { record(f, node, true); });
    }

    /// The sums of a range of the row list.
    NodeSum sum_of(Size begin, Size end) const {
        NodeSum out(static_cast<Size>(c_.s.width));
        for (Size i = begin; i < end; ++i) add_words<L>(out.data(), data_, rows[i], c_.s.row_words);
        return out;
    }

  private:
    std::span<const Row> list(const HistogramWork& node) const {
        return std::span(rows).subspan(node.begin, node.size());
    }

    Row table_row(Row place) const { return numbers_.empty() ? place : numbers_[place]; }

    /// The node's rows by their numbers in the table.
    std::span<const Row> table_rows(const HistogramWork& node) {
        if (numbers_.empty()) return list(node);
        named_.resize(node.size());
        for (Size i = 0; i < node.size(); ++i) named_[i] = numbers_[rows[node.begin + i]];
        return named_;
    }

    void record(Fragment& f, const HistogramWork& node, bool leaf) {
        const bool by_sum = c_.moments.exact();
        record_node(c_, f, node.state, {leaf && !by_sum ? table_rows(node) : list(node), {}}, leaf,
                    by_sum ? node.total.data() : nullptr);
    }

    bool is_pure(const HistogramWork& node) const {
        if (c_.s.task == Task::classification) return pure_classes(c_, node.total.data());
        const Row* row = rows.data() + node.begin;
        // Two rows of one weight with different sums have different values; the values themselves are far.
        const Size words = static_cast<Size>(c_.s.row_words);
        if (node.size() > 1) {
            const Stat *a = data_.words + row[0] * words, *b = data_.words + row[1] * words;
            if (a[0] == b[0] && !std::equal(a, a + words, b)) return false;
        }
        return pure_values(c_, node.size(), [&](Size i) { return table_row(row[i]); });
    }

    /// Find the node's best test, or make it a leaf.
    void search(Fragment& f, HistogramWork& node, Division& out) {
        out.clear();
        if (!must_stop(c_, node.state, node.total.data(), node.size()) && !is_pure(node))
            search_.find(out, node, list(node));
        const bool leaf = !out.best.found();
        record(f, node, leaf);
        if (leaf) pool_.give(std::move(node.histogram));
    }

    /// Where the row list was split, and which codes are on both sides of a cut between codes.
    struct Parting {
        Size middle;          // the first row of the right side
        bool meets_cut;       // the last code on the left has rows
        std::uint32_t after;  // the least code on the right
    };

    /// Split the node's range of the row list in two, each side in its old order.
    Parting partition(const HistogramWork& node, const Candidate& b) {
        const auto feature = static_cast<Size>(b.feature);
        const CodeColumn& column = c_.x.columns[feature];
        const std::uint32_t cut = b.cut, missing = column.n_bins;
        spare_.resize(std::max(spare_.size(), node.size()));
        Row *list = rows.data() + node.begin, *right = spare_.data();
        Parting out;
        const auto move_by = [&](auto&& code_of, auto&& goes_left) {
            Size n_left = 0, n_right = 0;
            std::uint32_t met = 0, after = missing;
            for (Size i = 0; i < node.size(); ++i) {
                const Row row = list[i];
                const std::uint32_t code = code_of(row), left = goes_left(code);
                list[n_left] = row;
                right[n_right] = row;
                n_left += left;
                n_right += 1 - left;
                met |= code == cut;
                after = std::min(after, code | left << 8);
            }
            std::copy_n(right, n_right, list + n_left);
            out = {node.begin + n_left, met != 0, after};
        };
        const auto move = [&](auto&& goes_left) {
            if (numbers_.empty()) {
                const std::uint8_t* codes = column.as<std::uint8_t>();
                move_by([=](Row row) { return codes[row]; }, goes_left);
            } else {
                const CodeTiles::Place place = search_.place(feature);
                move_by([=](Row row) { return place.at(row); }, goes_left);
            }
        };
        if (b.test != Test::numeric) {
            std::array<std::uint8_t, 256> in_set{};
            for (Code bin : b.bins) in_set[bin] = 1;
            in_set[missing] = b.missing == 0;
            move([&](std::uint32_t code) { return in_set[code]; });
        } else if (b.missing == 0) {
            move([=](std::uint32_t code) { return (code <= cut) | (code == missing); });
        } else {
            move([=](std::uint32_t code) { return code <= cut; });
        }
        return out;
    }

    /// Give a cut between codes its threshold: the middle between the values next to it, or the place that
    /// was drawn, unless values of the bin it fell into are in the node.
    double threshold_of(const Division& by, const Parting& parting) const {
        const CodeColumn& column = c_.x.columns[static_cast<Size>(by.best.feature)];
        const double below = column.greatest(by.best.cut);
        if (by.drawn != kNotYet && (by.drawn >= below || !parting.meets_cut)) return by.drawn;
        return midpoint(below, column.least(parting.after));
    }

    std::array<HistogramWork, 2> divide(Fragment& f, HistogramWork& node, Division& by, Size alone) {
        const Parting parting = partition(node, by.best);
        if (by.best.test == Test::numeric && by.best.threshold == kNotYet)
            by.best.threshold = threshold_of(by, parting);
        std::array<HistogramWork, 2> out;
        HistogramWork &left = out[0], &right = out[1];
        left.begin = node.begin;
        left.end = right.begin = parting.middle;
        right.end = node.end;
        HistogramWork& small = left.size() < right.size() ? left : right;
        HistogramWork& large = left.size() < right.size() ? right : left;
        left.total = by.left.size() ? std::move(by.left) : sum_of(left.begin, left.end);
        right.total = std::move(node.total);
        subtract(right.total.data(), left.total.data(), right.total.size());
        place_unmet(by.best, left.size(), right.size(), false);
        f.set_test(node.state.id, by.best, c_.x.columns[static_cast<Size>(by.best.feature)],
                   c_.moments.size());
        const GrownNode& record = f.nodes[static_cast<Size>(node.state.id)];
        const auto answers = child_answers(c_, by.best, left.total.data(), right.total.data());
        left.state = child_state(c_, node.state, record, 0, answers);
        right.state = child_state(c_, node.state, record, 1, answers);
        pass_histogram(node, small, large, std::max(alone, kDense));
        return out;
    }

    /// Give the children histograms, where they are large enough to use them and may be divided at all.
    void pass_histogram(HistogramWork& node, HistogramWork& small, HistogramWork& large, Size least) {
        const bool useful = large.size() >= least && large.state.depth < c_.options.max_depth;
        if (node.histogram && useful) {
            small.histogram = pool_.take();
            search_.build(small.histogram.get(), list(small));
            subtract(node.histogram.get(), small.histogram.get(), words_);
            large.histogram = std::move(node.histogram);
            if (small.size() < least) pool_.give(std::move(small.histogram));
        }
        pool_.give(std::move(node.histogram));
    }

    const GrowContext& c_;
    const HistogramData data_;
    std::span<const Row> numbers_;
    Size words_;
    HistogramPool pool_;
    HistogramSearch<L, Criterion> search_;
    std::vector<Row> named_, spare_;
    Division division_;  // of the node at hand, when there is one at a time
};

}  // namespace detail

class HistogramGrower {
  public:
    HistogramGrower(const GrowContext& context, const CodeTiles& codes) : c_(context), codes_(codes) {}

    /// Can this grower grow such a tree?
    static bool takes(const GrowContext& c) {
        constexpr Size most_words = Size{1} << 24;
        Size lines = 0;
        for (const auto& column : c.x.columns) {
            if (column.width != 1) return false;
            lines += column.n_bins + 1;
        }
        return c.options.fit_histograms() && lines * static_cast<Size>(c.s.width) <= most_words;
    }

    /// Grow from these rows. Fragment 0 holds the root.
    std::vector<Fragment> grow(std::vector<Row> rows) {
        std::vector<Fragment> fragments(1);
        with_judge(c_.options.criterion, c_.s, [&]<Layout L, class Criterion>() {
            grow_with<L, Criterion>(fragments, {codes_, c_.s}, std::move(rows));
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
        if (c_.options.best_first()) {
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
                const CompactData own(data, numbers, c_.s);
                Run alone(c_, own.view(), numbers, 1);
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
    const CodeTiles& codes_;
};

}  // namespace spinney
