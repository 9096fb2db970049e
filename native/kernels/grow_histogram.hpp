// The fast grower: byte codes, additive criteria, learned missing directions.
//
// Large nodes have histograms: the smaller child's is built, the larger child's is what is left of the
// parent's. Below kAlone rows a subtree moves into memory of its own, where one thread grows it; small nodes
// compare their rows with one another, or mark the lines they touch and look at no others.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "grow.hpp"
#include "histogram.hpp"
#include "node_search.hpp"
#include "streams.hpp"

namespace spinney {

namespace detail {

inline constexpr Size kAlone = 8192;
inline constexpr Size kDense = 768;
inline constexpr Size kMarked = 160;  // rows; with more, most lines are in use anyway

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

/// A sum; a short one needs no memory of its own, for there is one in every node.
class NodeSum {
  public:
    NodeSum() = default;
    explicit NodeSum(Size n) : n_(n), more_(n > few ? new Stat[n]() : nullptr) {}
    NodeSum(const NodeSum& other) : NodeSum(other.n_) { std::copy_n(other.data(), n_, data()); }
    NodeSum& operator=(const NodeSum& other) { return *this = NodeSum(other); }
    NodeSum(NodeSum&&) = default;
    NodeSum& operator=(NodeSum&&) = default;
    Stat* data() { return more_ ? more_.get() : few_.data(); }
    const Stat* data() const { return more_ ? more_.get() : few_.data(); }
    Size size() const { return n_; }

  private:
    static constexpr Size few = 3;
    Size n_ = 0;
    std::array<Stat, few> few_{};
    std::unique_ptr<Stat[]> more_;
};

/// A node to be divided: a range of the row list.
struct HistogramWork {
    NodeState state;
    Size begin = 0, end = 0;
    NodeSum total;
    std::unique_ptr<Stat[]> histogram;  // null: none yet
    Size size() const { return end - begin; }
};

/// How a node is best divided.
struct Division {
    Candidate best;
    NodeSum left;      // what goes to child 0; empty: not known
    double drawn = 0;  // where a random cut fell

    /// Nothing found yet, in the same memory.
    void clear() {
        best.test = Test::leaf;
        best.score = kImpossible;
        best.feature = best.missing = -1;
        best.bins.clear();
        best.seen.clear();
        left = {};
    }
};

/// What the searches of one node share.
template <Layout L, class Criterion>
struct NodeSearch {
    Limits limits;  // of the feature at hand
    Judge<L, Criterion> judge;
    double base, weight, share;

    NodeSearch(const GrowContext& c, const NodeState& state, const Stat* total)
        : limits(make_limits(c, state)),
          judge(c.s, total, limits),
          base(judge.quality(total)),
          weight(judge.weight(total)),
          share(weight_of(c, total) / c.all_weight) {}
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
          words_(data.codes.n_lines() * static_cast<Size>(c.s.width)),
          pool_(words_),
          few_takes_(FewRows<L>::takes(c.s)),
          small_weights_(c.s.max_weight < 256),
          line_search_(static_cast<Size>(c.s.width)),
          left_(static_cast<Size>(c.s.width)) {
        const Size d = c.x.columns.size();
        for (std::uint32_t f = 0; f < d; ++f) {
            features_.push_back(f);
            places_.push_back(data.codes.place(f));
        }
    }

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
    using Searching = NodeSearch<L, Criterion>;

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
        return pure_values(c_, node.size(), [&](Size i) { return table_row(row[i]); });
    }

    /// Find the node's best test, or make it a leaf.
    void search(Fragment& f, HistogramWork& node, Division& out) {
        out.clear();
        if (!must_stop(c_, node.state, node.total.data(), node.size()) && !is_pure(node)) {
            Searching s(c_, node.state, node.total.data());
            if (static_cast<Size>(c_.options.max_features) < features_.size())
                search_drawn(out, node, s);
            else if (node.histogram || (node.size() >= kDense && !c_.options.random_splitter))
                search_dense(out, node, s);
            else
                search_some(out, node, s, features_);
            if (acceptable(c_.options, out.best))
                settle_threshold(out, node);
            else
                out.clear();
        }
        const bool leaf = !out.best.found();
        record(f, node, leaf);
        if (leaf) pool_.give(std::move(node.histogram));
    }

    void build(Stat* histogram, const HistogramWork& node) {
        const auto& tiles = data_.codes.tiles;
        Pool::shared().parallel_for(
            node.size() * tiles.size() < 4096 ? 1 : n_threads_, tiles.size(),
            [&](Size t, int) { add_rows<L>(histogram, data_, tiles[t], list(node), c_.s); });
    }

    Stat* lines_of(Stat* histogram, Size feature) const {
        return histogram + data_.codes.line[feature] * static_cast<Size>(c_.s.width);
    }

    Occupied occupied_of(const Stat* lines, Size feature) const {
        return find_occupied(lines, c_.x.columns[feature].n_bins + 1, c_.s.width);
    }

    /// Search every feature of a node that has, or gets, a histogram.
    void search_dense(Division& out, HistogramWork& node, Searching& s) {
        if (!node.histogram) {
            node.histogram = pool_.take();
            build(node.histogram.get(), node);
        }
        if (n_threads_ == 1) {
            for (const std::uint32_t f : features_) {
                const Stat* lines = lines_of(node.histogram.get(), f);
                if (!search_numeric(out, node, s, f, lines, nullptr))
                    search_lines(out, node, s, f, lines, occupied_of(lines, f));
            }
            return;
        }
        // Each thread finds the best of its tiles; the choice among features is made in their order.
        std::vector<Candidate> found(features_.size());
        const auto& tiles = data_.codes.tiles;
        Pool::shared().parallel_for(n_threads_, tiles.size(), [&](Size t, int) {
            Groups groups;
            Searching own(c_, node.state, node.total.data());
            for (Size f = tiles[t].first; f < tiles[t].first + tiles[t].n; ++f) {
                const Stat* lines = lines_of(node.histogram.get(), f);
                found[f] = sweep_lines(node, own, f, lines, occupied_of(lines, f), groups, nullptr);
            }
        });
        for (Candidate& c : found) take_better(out, node, std::move(c), {});
    }

    /// Look at drawn features until max_features were seen and one of them varied.
    void search_drawn(Division& out, HistogramWork& node, Searching& s) {
        const Size d = features_.size(), most = static_cast<Size>(std::max(1, c_.options.max_features));
        Draws draws(mix(node.state.address, kFeatureDraws));
        swaps_.clear();
        const auto draw = [&] {
            const Size i = swaps_.size(), j = i + draws.below(static_cast<std::uint32_t>(d - i));
            std::swap(features_[i], features_[j]);
            swaps_.push_back(static_cast<std::uint32_t>(j));
        };
        while (swaps_.size() < most) draw();
        drawn_.assign(features_.begin(), features_.begin() + static_cast<long>(most));
        std::sort(drawn_.begin(), drawn_.end());
        bool varied = search_some(out, node, s, drawn_);
        while (!varied && swaps_.size() < d) {
            draw();
            varied = search_some(out, node, s, {&features_[swaps_.size() - 1], 1});
        }
        // Back to ascending order for the next node.
        for (Size i = swaps_.size(); i-- > 0;) std::swap(features_[i], features_[swaps_[i]]);
    }

    /// Search features (ascending) in the way that suits the node. True: some feature varied.
    bool search_some(Division& out, const HistogramWork& node, Searching& s,
                     std::span<const std::uint32_t> features) {
        const bool few = few_takes_ && FewRows<L>::takes(node.size(), c_.s.weight_steps(node.total.data()));
        bool varied = false;
        left_out_.clear();  // categories and missing values
        if (c_.options.random_splitter) {
            varied = search_random(out, node, s, features);
        } else if (few) {
            few_.load(list(node), data_.words, data_.slot, c_.s);
            for (const std::uint32_t f : features)
                if (c_.x.columns[f].kind != ColumnKind::numeric || !search_few(out, node, s, f, varied))
                    left_out_.push_back(f);
        } else {
            return search_marked(out, node, s, features);
        }
        if (!left_out_.empty()) varied = search_marked(out, node, s, left_out_) || varied;
        return varied;
    }

    /// Search a numeric feature of a small node; false: values are missing.
    bool search_few(Division& out, const HistogramWork& node, Searching& s, std::uint32_t f, bool& varied) {
        const CodeColumn& column = c_.x.columns[f];
        if (!few_.read(list(node), places_[f], column.n_bins)) return false;
        s.limits.set_direction(c_.options.monotone, static_cast<std::int32_t>(f));
        CodeCut cut = few_.search(s.judge);
        varied = varied || !cut.constant;
        if (!cut.found() || !take_cut(out, node, s, f, cut)) return true;
        out.best.after = few_.after(cut.before);
        few_.left_of(new_left(out), cut.before);
        return true;
    }

    /// Split features (ascending) by the tile they are in: f(tile, places within it).
    template <class F>
    void by_tile(std::span<const std::uint32_t> features, F&& f) const {
        Size at = 0;
        for (const Tile& tile : data_.codes.tiles) {
            std::array<std::uint32_t, kTileFeatures> chosen;
            Size n = 0;
            while (at < features.size() && features[at] < tile.first + tile.n)
                chosen[n++] = features[at++] - static_cast<std::uint32_t>(tile.first);
            if (n > 0) f(tile, std::span<const std::uint32_t>(chosen.data(), n));
        }
    }

    /// Try one random cut of each numeric feature; those with missing values, and categories, are left out.
    bool search_random(Division& out, const HistogramWork& node, Searching& s,
                       std::span<const std::uint32_t> features) {
        bool varied = false;
        by_tile(features, [&](const Tile& tile, std::span<const std::uint32_t> chosen) {
            TileLanes::Bytes least, greatest, last{};
            TileLanes::ranges(least, greatest, tile, list(node));
            std::array<double, kTileFeatures> drawn;
            std::array<std::uint32_t, kTileFeatures> tried;
            Size n = 0;
            for (const std::uint32_t j : chosen) {
                const Size f = tile.first + j;
                const CodeColumn& column = c_.x.columns[f];
                if (column.kind != ColumnKind::numeric || greatest[j] == column.n_bins) {
                    left_out_.push_back(static_cast<std::uint32_t>(f));
                } else if (least[j] != greatest[j]) {
                    drawn[j] = draw_cut(column, least[j], greatest[j], address_of(node, f));
                    last[j] =
                        static_cast<std::uint8_t>(last_code_below(column, drawn[j], least[j], greatest[j]));
                    tried[n++] = j;
                }
            }
            if (n == 0) return;
            varied = true;
            std::array<Stat, kTileFeatures> packed;
            const bool in_lanes = L == Layout::packed && small_weights_;
            if (in_lanes) TileLanes::left_sums(packed.data(), tile, list(node), last, data_.words);
            for (const std::uint32_t j : std::span(tried.data(), n)) {
                NodeSum left(static_cast<Size>(c_.s.width));
                if (in_lanes)
                    left.data()[0] = packed[j];
                else
                    sum_left(left.data(), node, tile, j, last[j]);
                try_cut(out, node, s, tile.first + j, last[j], drawn[j], std::move(left));
            }
        });
        return varied;
    }

    void sum_left(Stat* sum, const HistogramWork& node, const Tile& tile, Size j, std::uint8_t last) const {
        if constexpr (L == Layout::dense) {
            if (c_.s.width == 2) return sum_dense<2>(sum, node, tile, j, last);
            if (c_.s.width == 3) return sum_dense<3>(sum, node, tile, j, last);
        }
        for (const Row row : list(node))
            if (tile.codes[row * tile.n + j] <= last) add_words<L>(sum, data_, row, c_.s.row_words);
    }

    /// The same without a branch: which way a row goes at random cannot be foretold.
    template <Size Width>
    void sum_dense(Stat* sum, const HistogramWork& node, const Tile& tile, Size j, std::uint8_t last) const {
        std::array<Stat, Width> own{};
        const std::uint8_t* codes = tile.codes.data() + j;
        for (const Row row : list(node)) {
            const Stat left = -static_cast<Stat>(codes[row * tile.n] <= last);
            for (Size w = 0; w < Width; ++w) own[w] += data_.words[row * Width + w] & left;
        }
        for (Size w = 0; w < Width; ++w) sum[w] += own[w];
    }

    void try_cut(Division& out, const HistogramWork& node, Searching& s, Size f, Code last, double drawn,
                 NodeSum&& left) {
        s.limits.set_direction(c_.options.monotone, static_cast<std::int32_t>(f));
        CodeCut cut;
        cut.before = last;
        cut.pair = s.judge(left.data());
        if (!cut.found() || !take_cut(out, node, s, static_cast<std::uint32_t>(f), cut)) return;
        out.drawn = drawn;
        out.left = std::move(left);
    }

    /// Search features (ascending) through lines that are cleared again behind the sweep. True: some feature
    /// varied.
    bool search_marked(Division& out, const HistogramWork& node, Searching& s,
                       std::span<const std::uint32_t> features) {
        if (!scratch_) scratch_ = pool_.take();
        bool varied = false;
        by_tile(features, [&](const Tile& tile, std::span<const std::uint32_t> chosen) {
            std::array<Occupied, kTileFeatures> occupied{};
            const bool marked = node.size() < kMarked;
            if (marked)
                add_rows_marked<L>(scratch_.get(), occupied.data(), chosen, data_, tile, list(node), c_.s);
            else
                add_rows_chosen<L>(scratch_.get(), chosen, data_, tile, list(node), c_.s);
            for (Size j = 0; j < chosen.size(); ++j) {
                const Size f = tile.first + chosen[j];
                Stat* lines = lines_of(scratch_.get(), f);
                if (const auto cut =
                        search_numeric(out, node, s, f, lines, marked ? &occupied[j] : nullptr)) {
                    varied = varied || !cut->constant;
                } else {
                    if (!marked) occupied[j] = occupied_of(lines, f);
                    varied = !search_lines(out, node, s, f, lines, occupied[j]) || varied;
                }
                clear(lines, f, marked ? &occupied[j] : nullptr);
            }
        });
        return varied;
    }

    void clear(Stat* lines, Size feature, const Occupied* occupied) const {
        const Size width = static_cast<Size>(c_.s.width);
        if (!occupied) {
            std::fill_n(lines, (c_.x.columns[feature].n_bins + 1) * width, 0);
            return;
        }
        for (Size w = 0; w < 4; ++w)
            for (std::uint64_t bits = (*occupied)[w]; bits; bits &= bits - 1)
                std::fill_n(lines + (w * 64 + static_cast<Size>(std::countr_zero(bits))) * width, width, 0);
    }

    /// Search the lines of a numeric feature that has no missing values; nothing: it is another one.
    std::optional<CodeCut> search_numeric(Division& out, const HistogramWork& node, Searching& s, Size f,
                                          const Stat* lines, const Occupied* occupied) {
        const CodeColumn& column = c_.x.columns[f];
        if (column.kind != ColumnKind::numeric || c_.options.random_splitter) return {};
        const Size n_bins = column.n_bins, width = static_cast<Size>(c_.s.width);
        Stat missing = 0;
        for (Size w = 0; w < width; ++w) missing |= lines[n_bins * width + w];
        if (missing != 0) return {};
        s.limits.set_direction(c_.options.monotone, static_cast<std::int32_t>(f));
        const CodeCut cut = line_search_.search(s.judge, lines, n_bins, occupied, left_.data());
        if (cut.found() && take_cut(out, node, s, static_cast<std::uint32_t>(f), cut))
            std::copy_n(left_.data(), width, new_left(out));
        return cut;
    }

    /// Search any lines. True: the feature is constant in the node.
    bool search_lines(Division& out, const HistogramWork& node, Searching& s, Size f, const Stat* lines,
                      const Occupied& occupied) {
        NodeSum left(static_cast<Size>(c_.s.width));
        Candidate c = sweep_lines(node, s, f, lines, occupied, groups_, left.data());
        const bool constant = c.constant;
        take_better(out, node, std::move(c), std::move(left));
        return constant;
    }

    std::uint64_t address_of(const HistogramWork& node, Size feature) const {
        return mix(node.state.address, 0x10000u + feature);
    }

    Candidate sweep_lines(const HistogramWork& node, Searching& s, Size feature, const Stat* lines,
                          Occupied occupied, Groups& groups, Stat* left) const {
        const CodeColumn& column = c_.x.columns[feature];
        s.limits.set_direction(c_.options.monotone, static_cast<std::int32_t>(feature));
        Search q{c_.s,    c_.options, column, static_cast<std::int32_t>(feature), node.total.data(),
                 nullptr, s.limits};
        q.address = address_of(node, feature);
        q.node_weight_share = s.share;
        q.keep_left = left;
        const Size n_bins = column.n_bins;
        if (occupied[n_bins / 64] >> (n_bins % 64) & 1) {
            q.missing = lines + n_bins * static_cast<Size>(c_.s.width);
            occupied[n_bins / 64] &= ~(std::uint64_t{1} << (n_bins % 64));
        }
        DenseStream stream(lines, std::span(occupied).first(n_bins / 64 + 1), c_.s.width);
        if (column.kind == ColumnKind::numeric) return sweep_numeric(s.judge, q, stream, [](auto&&...) {});
        collect(groups, stream, c_.s.width);
        return SubsetSearch<Judge<L, Criterion>>(s.judge, q, groups).run();
    }

    bool beats(const Candidate& best, const HistogramWork& node, double score, std::int32_t feature) const {
        const auto order = [&](std::int32_t f) { return tie_order(c_.options, node.state.path, f); };
        return !best.found() || replaces(score, order(feature), best.score, order(best.feature));
    }

    void take_better(Division& out, const HistogramWork& node, Candidate&& c, NodeSum&& left) const {
        if (!c.found() || !beats(out.best, node, c.score, c.feature)) return;
        out.best = std::move(c);
        out.left = std::move(left);
    }

    /// Let a cut be the node's best, if it is. The threshold is worked out when the choice is made: the
    /// values of a column's codes are spread over memory.
    bool take_cut(Division& out, const HistogramWork& node, const Searching& s, std::uint32_t f,
                  const CodeCut& cut) const {
        const auto feature = static_cast<std::int32_t>(f);
        const double gain = (cut.pair - s.base) / s.weight, score = price(c_.options, gain, feature);
        Candidate& best = out.best;
        if (!beats(best, node, score, feature)) return false;
        best.score = score;
        best.gain = gain;
        best.improvement = s.share * gain;
        best.feature = feature;
        best.test = Test::numeric;
        best.cut = cut.before;
        best.after = cut.after;
        best.threshold = kNotYet;
        best.missing = -1;
        best.constant = false;
        best.bins.clear();
        best.seen.clear();
        out.drawn = kNotYet;
        return true;
    }

    static constexpr double kNotYet = kImpossible;

    void settle_threshold(Division& out, const HistogramWork& node) const {
        Candidate& best = out.best;
        if (best.test != Test::numeric || best.threshold != kNotYet) return;
        const CodeColumn& column = c_.x.columns[static_cast<Size>(best.feature)];
        const double below = column.greatest(best.cut);
        if (out.drawn != kNotYet) {
            // The place itself is the threshold, unless values of its own bin are in the node on both sides
            // of it.
            const CodeTiles::Place place = places_[static_cast<Size>(best.feature)];
            const auto any = [&](Code code) {
                bool found = false;  // no branch: rows are few
                for (const Row row : list(node)) found |= place.at(row) == code;
                return found;
            };
            if (out.drawn >= below || !any(best.cut)) {
                best.threshold = out.drawn;
                return;
            }
            best.after = best.cut + 1;
            while (!any(best.after)) ++best.after;
        }
        best.threshold = midpoint(below, column.least(best.after));
    }

    Stat* new_left(Division& out) const {
        if (out.left.size() == 0) out.left = NodeSum(static_cast<Size>(c_.s.width));
        return out.left.data();
    }

    /// Split the node's range of the row list in two, each side in its old order; the first row of the right
    /// side.
    Size partition(const HistogramWork& node, const Candidate& b) {
        const auto feature = static_cast<Size>(b.feature);
        const CodeColumn& column = c_.x.columns[feature];
        std::array<std::uint8_t, 256> in_set;
        const auto cut = static_cast<std::uint8_t>(b.cut), missing = static_cast<std::uint8_t>(column.n_bins);
        const bool numeric = b.test == Test::numeric, missing_left = b.missing == 0;
        if (!numeric) {
            in_set.fill(0);
            for (Code bin : b.bins) in_set[bin] = 1;
            in_set[column.n_bins] = missing_left;
        }
        spare_.resize(std::max(spare_.size(), node.size()));
        Row *list = rows.data() + node.begin, *right = spare_.data();
        Size n_left = 0, n_right = 0;
        const auto move = [&](auto&& goes_left) {
            for (Size i = 0; i < node.size(); ++i) {
                const Row row = list[i];
                const Size left = goes_left(row);
                list[n_left] = row;
                right[n_right] = row;
                n_left += left;
                n_right += 1 - left;
            }
        };
        const auto move_by = [&](auto&& code_of) {
            if (!numeric)
                move([&](Row row) { return static_cast<Size>(in_set[code_of(row)]); });
            else if (missing_left)
                move([&](Row row) {
                    const std::uint8_t code = code_of(row);
                    return static_cast<Size>((code <= cut) | (code == missing));
                });
            else
                move([&](Row row) { return static_cast<Size>(code_of(row) <= cut); });
        };
        if (numbers_.empty()) {
            const std::uint8_t* codes = column.as<std::uint8_t>();
            move_by([=](Row row) { return codes[row]; });
        } else {
            const CodeTiles::Place place = places_[feature];
            move_by([=](Row row) { return place.at(row); });
        }
        std::copy_n(right, n_right, list + n_left);
        return node.begin + n_left;
    }

    std::array<HistogramWork, 2> divide(Fragment& f, HistogramWork& node, Division& by, Size alone) {
        const Size middle = partition(node, by.best);
        std::array<HistogramWork, 2> out;
        HistogramWork &left = out[0], &right = out[1];
        left.begin = node.begin;
        left.end = right.begin = middle;
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
            build(small.histogram.get(), small);
            subtract(node.histogram.get(), small.histogram.get(), words_);
            large.histogram = std::move(node.histogram);
            if (small.size() < least) pool_.give(std::move(small.histogram));
        }
        pool_.give(std::move(node.histogram));
    }

    const GrowContext& c_;
    const HistogramData data_;
    std::span<const Row> numbers_;
    int n_threads_;
    Size words_;
    HistogramPool pool_;
    bool few_takes_, small_weights_;
    std::vector<std::uint32_t> features_;   // all, ascending but while some are drawn
    std::vector<CodeTiles::Place> places_;  // (n_features,)
    std::unique_ptr<Stat[]> scratch_;       // all zero between searches
    std::vector<Row> named_, spare_;
    std::vector<std::uint32_t> swaps_, drawn_, left_out_;
    FewRows<L> few_;
    LineSearch line_search_;
    Division division_;       // of the node at hand, when there is one at a time
    std::vector<Stat> left_;  // of a cut just found
    Groups groups_;
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
        const GrowOptions& o = c.options;
        return lines * static_cast<Size>(c.s.width) <= most_words && !o.fractional && !o.gain_ratio &&
               o.categories != CategorySplit::multiway && o.criterion != CriterionName::absolute_error &&
               o.ledger == LedgerLevel::off && o.oblique_directions == 0;
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
