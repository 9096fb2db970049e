// The search for a node's best test among byte codes, in the way that suits the node: a histogram of its own,
// lines that are cleared again, rows beside one another, or one random cut a feature.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "grow/histogram.hpp"
#include "grow/histogram_node.hpp"
#include "split/node_search.hpp"
#include "split/streams.hpp"

namespace spinney::detail {

inline constexpr Size kDense = 768;   // rows, from which on a node has a histogram of all features
inline constexpr Size kMarked = 160;  // rows; with more, most lines are in use anyway

template <Layout L, class Criterion>
class HistogramSearch {
  public:
    HistogramSearch(const GrowContext& c, const HistogramData& data, HistogramPool& pool, int n_threads)
        : c_(c),
          data_(data),
          searching_(c),
          pool_(pool),
          n_threads_(n_threads),
          few_takes_(std::tuple_element_t<0, decltype(few_)>::takes(c.s)),
          small_weights_(c.s.max_weight < 256),
          alike_(c.options.monotonic_cst.empty() && c.options.feature_costs.empty()),
          line_search_(static_cast<Size>(c.s.width)),
          left_(static_cast<Size>(c.s.width)),
          sums_(left_.size() * kRegister) {
        const Size d = c.x.columns.size();
        for (std::uint32_t f = 0; f < d; ++f) {
            features_.push_back(f);
            places_.push_back(data.codes.place(f));
        }
        marks_.resize((d + 63) / 64);
    }

    /// Find the best test of a node with these rows, which may get a histogram on the way.
    void find(Division& out, HistogramWork& node, std::span<const Row> rows) {
        rows_ = rows;
        Searching& s = searching_;
        s.begin(c_, node.state, node.total.data());
        if (static_cast<Size>(c_.options.max_features) < features_.size())
            search_drawn(out, node, s);
        else if (node.histogram || (rows.size() >= kDense && !c_.options.random_splitter()))
            search_dense(out, node, s);
        else
            search_some(out, node, s, features_);
        if (!acceptable(c_.options, out.best)) out.clear();
    }

    /// Add rows to the histogram of all features.
    void build(Stat* histogram, std::span<const Row> rows) {
        const auto& tiles = data_.codes.tiles;
        Pool::shared().parallel_for(
            rows.size() * tiles.size() < 4096 ? 1 : n_threads_, tiles.size(),
            [&](Size t, int) { add_rows<L>(histogram, data_, tiles[t], rows, c_.s); });
    }

    /// Where the codes of a feature are.
    const CodeTiles::Place& place(Size feature) const { return places_[feature]; }

  private:
    using Searching = NodeSearch<L, Criterion>;

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
            build(node.histogram.get(), rows_);
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
            Searching own(c_);
            own.begin(c_, node.state, node.total.data());
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
        sort_drawn(most);
        bool varied = search_some(out, node, s, drawn_);
        while (!varied && swaps_.size() < d) {
            draw();
            varied = search_some(out, node, s, {&features_[swaps_.size() - 1], 1});
        }
        // Back to ascending order for the next node.
        for (Size i = swaps_.size(); i-- > 0;) std::swap(features_[i], features_[swaps_[i]]);
    }

    /// Write the first n of features_ into drawn_ in ascending order. They are marked in a set and read off
    /// it, because comparisons of what was drawn could not be foreseen.
    void sort_drawn(Size n) {
        for (Size i = 0; i < n; ++i) marks_[features_[i] / 64] |= std::uint64_t{1} << features_[i] % 64;
        drawn_.clear();
        for (Size w = 0; w < marks_.size(); ++w)
            for (; marks_[w] != 0; marks_[w] &= marks_[w] - 1)
                drawn_.push_back(static_cast<std::uint32_t>(64 * w) +
                                 static_cast<std::uint32_t>(std::countr_zero(marks_[w])));
    }

    /// Search features (ascending) in the way that suits the node. True: some feature varied.
    bool search_some(Division& out, const HistogramWork& node, Searching& s,
                     std::span<const std::uint32_t> features) {
        bool varied = false;
        left_out_.clear();  // categories and missing values
        if (rows_.size() == 2 && alike_) features = one_for_two(node, features);
        if (c_.options.random_splitter())
            varied = search_random(out, node, s, features);
        else if (!with_few(node, [&](auto& few) { varied = search_few(few, out, node, s, features); }))
            varied = search_marked(out, node, s, features);
        if (!left_out_.empty()) varied = search_marked(out, node, s, left_out_) || varied;
        return varied;
    }

    /// Of two rows every cut makes the same two leaves: give the feature that comes first among equals, or
    /// none.
    std::span<const std::uint32_t> one_for_two(const HistogramWork& node,
                                               std::span<const std::uint32_t> features) {
        const std::uint32_t* first = features.data();
        std::uint64_t least = ~std::uint64_t{0};
        Size n = 0;
        for (const std::uint32_t& f : features) {
            const CodeColumn& column = c_.x.columns[f];
            const Code a = places_[f].at(rows_[0]), b = places_[f].at(rows_[1]);
            if (column.kind != ColumnKind::numeric || std::max(a, b) == column.n_bins) {
                left_out_.push_back(f);
            } else if (a != b) {
                const std::uint64_t order =
                    tie_order(c_.options, node.state.path, static_cast<std::int32_t>(f));
                first = order < least ? &f : first;
                least = std::min(least, order);
                n = 1;
            }
        }
        return {first, n};
    }

    /// Call f with what takes all rows of a node side by side; false: they are too many, or too heavy.
    template <class F>
    bool with_few(const HistogramWork& node, F&& f) {
        if (!few_takes_) return false;
        const Stat weight = c_.s.weight_steps(node.total.data());
        const auto with = [&](auto& few) {
            if (!few.takes(rows_.size(), weight)) return false;
            f(few);
            return true;
        };
        return std::apply([&](auto&... few) { return (with(few) || ...); }, few_);
    }

    /// Search features of a small node; those with missing values, and categories, are left out.
    template <class Few>
    bool search_few(Few& few, Division& out, const HistogramWork& node, Searching& s,
                    std::span<const std::uint32_t> features) {
        bool varied = false;
        few.load(rows_, data_.words, data_.slot, c_.s);
        for (const std::uint32_t f : features) {
            const CodeColumn& column = c_.x.columns[f];
            if (column.kind != ColumnKind::numeric || !few.read(rows_, places_[f], column.n_bins)) {
                left_out_.push_back(f);
                continue;
            }
            s.limits.set_direction(c_.options.monotonic_cst, static_cast<std::int32_t>(f));
            const CodeCut cut = few.search(s.judge);
            varied = varied || !cut.constant;
            if (cut.found() && take_cut(out, node, s, f, cut)) few.left_of(new_left(out), cut.last);
        }
        return varied;
    }

    /// Split features (ascending) by the tile they are in: f(tile, places within it).
    template <class F>
    void by_tile(std::span<const std::uint32_t> features, F&& f) const {
        Size at = 0;
        for (const Tile& tile : data_.codes.tiles) {
            std::array<std::uint32_t, kWideTileFeatures> chosen;
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
            TileLanes::ranges(least, greatest, tile, rows_);
            std::array<RandomCut, kWideTileFeatures> room;
            Size n = 0;
            for (const std::uint32_t j : chosen) {
                const Size f = tile.first + j;
                const CodeColumn& column = c_.x.columns[f];
                if (column.kind != ColumnKind::numeric || greatest[j] == column.n_bins)
                    left_out_.push_back(static_cast<std::uint32_t>(f));
                else if (least[j] != greatest[j])
                    room[n++] = draw(node, j, f, least[j], greatest[j]);
            }
            if (n == 0) return;
            varied = true;
            const std::span<RandomCut> cuts(room.data(), n);
            for (const RandomCut& cut : cuts) last[cut.place] = static_cast<std::uint8_t>(cut.last);
            const bool in_lanes = L == Layout::packed && small_weights_;
            if (in_lanes)
                TileLanes::left_sums(cuts, tile, rows_, last, data_.words,
                                     static_cast<Stat>(c_.s.max_weight));
            for (Size begin = 0; begin < n; begin += kRegister) {
                const auto some = cuts.subspan(begin, std::min(kRegister, n - begin));
                if (in_lanes)
                    for (Size i = 0; i < some.size(); ++i) sums_[i] = some[i].packed;
                else
                    sum_left(tile, some);
                try_cuts(out, node, s, tile, some);
            }
        });
        return varied;
    }

    RandomCut draw(const HistogramWork& node, std::uint32_t place, Size f, Code least, Code greatest) const {
        const double drawn = draw_cut(c_.x.columns[f], least, greatest, address_of(node, f));
        return {place, c_.starts[f].last_below(drawn), drawn, 0};
    }

    /// Write what goes left of each of up to kRegister cuts into sums_.
    void sum_left(const Tile& tile, std::span<const RandomCut> cuts) {
        if constexpr (L == Layout::dense) {
            if (c_.s.width == 2) return sum_dense<2>(tile, cuts);
            if (c_.s.width == 3) return sum_dense<3>(tile, cuts);
        }
        for (Size i = 0; i < cuts.size(); ++i) {
            std::fill(left_.begin(), left_.end(), 0);
            for (const Row row : rows_)
                if (tile.codes[row * tile.n + cuts[i].place] <= cuts[i].last)
                    add_words<L>(left_.data(), data_, row, c_.s.row_words);
            for (Size w = 0; w < left_.size(); ++w) sums_[w * kRegister + i] = left_[w];
        }
    }

    /// The same for all cuts at once, and without a branch: which way a row goes at random cannot be
    /// foretold.
    template <Size Width>
    void sum_dense(const Tile& tile, std::span<const RandomCut> cuts) {
        std::array<std::uint32_t, kRegister> place{};
        StatRegister last = StatRegister{} - 1;  // below all codes: nothing goes left
        for (Size i = 0; i < cuts.size(); ++i) {
            place[i] = cuts[i].place;
            last[i] = static_cast<Stat>(cuts[i].last);
        }
        std::array<StatRegister, Width> own{};
        for (const Row row : rows_) {
            const std::uint8_t* codes = tile.codes.data() + row * tile.n;
            StatRegister code;
            for (Size i = 0; i < kRegister; ++i) code[i] = codes[place[i]];
            const StatRegister left = code <= last;
            for (Size w = 0; w < Width; ++w) own[w] += left & data_.words[row * Width + w];
        }
        for (Size w = 0; w < Width; ++w) std::memcpy(sums_.data() + w * kRegister, &own[w], sizeof own[w]);
    }

    /// Judge up to kRegister cuts by their left sums in sums_.
    void try_cuts(Division& out, const HistogramWork& node, Searching& s, const Tile& tile,
                  std::span<const RandomCut> cuts) {
        const auto read_left = [&](Stat* left, Size i) {
            for (Size w = 0; w < left_.size(); ++w) left[w] = sums_[w * kRegister + i];
        };
        const auto feature = [&](Size i) { return static_cast<std::uint32_t>(tile.first + cuts[i].place); };
        Register pairs;
        if (c_.options.monotonic_cst.empty()) {
            pairs = s.judge.several(sums_.data());
        } else {  // each has a direction of its own
            for (Size i = 0; i < cuts.size(); ++i) {
                s.limits.set_direction(c_.options.monotonic_cst, static_cast<std::int32_t>(feature(i)));
                read_left(left_.data(), i);
                pairs[i] = s.judge(left_.data());
            }
        }
        for (Size i = 0; i < cuts.size(); ++i) {
            CodeCut cut;
            cut.last = cuts[i].last;
            cut.pair = pairs[i];
            if (!cut.found() || !take_cut(out, node, s, feature(i), cut)) continue;
            out.drawn = cuts[i].drawn;
            read_left(new_left(out), i);
        }
    }

    /// Search features (ascending) through lines that are cleared again behind the sweep. True: some feature
    /// varied.
    bool search_marked(Division& out, const HistogramWork& node, Searching& s,
                       std::span<const std::uint32_t> features) {
        if (!scratch_) scratch_ = pool_.take();
        bool varied = false;
        by_tile(features, [&](const Tile& tile, std::span<const std::uint32_t> chosen) {
            std::array<Occupied, kWideTileFeatures> occupied{};
            const bool marked = L != Layout::packed && rows_.size() < kMarked;
            if (marked)
                add_rows_marked<L>(scratch_.get(), occupied.data(), chosen, data_, tile, rows_, c_.s);
            else
                add_rows_chosen<L>(scratch_.get(), chosen, data_, tile, rows_, c_.s);
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
        if (column.kind != ColumnKind::numeric || c_.options.random_splitter()) return {};
        const Size n_bins = column.n_bins, width = static_cast<Size>(c_.s.width);
        Stat missing = 0;
        for (Size w = 0; w < width; ++w) missing |= lines[n_bins * width + w];
        if (missing != 0) return {};
        s.limits.set_direction(c_.options.monotonic_cst, static_cast<std::int32_t>(f));
        const CodeCut cut = L == Layout::packed
                                ? LineSearch::search_words(s.judge, lines, n_bins, left_.data())
                                : line_search_.search(s.judge, lines, n_bins, occupied, left_.data());
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
        s.limits.set_direction(c_.options.monotonic_cst, static_cast<std::int32_t>(feature));
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
        return !best.found() ||
               replaces(score, best.score, [&] { return order(feature) < order(best.feature); });
    }

    void take_better(Division& out, const HistogramWork& node, Candidate&& c, NodeSum&& left) const {
        if (!c.found() || !beats(out.best, node, c.score, c.feature)) return;
        out.best = std::move(c);
        out.left = std::move(left);
    }

    /// Let a cut be the node's best, if it is.
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
        best.cut = cut.last;
        best.threshold = kNotYet;
        best.missing = -1;
        best.constant = false;
        best.bins.clear();
        best.seen.clear();
        out.drawn = kNotYet;
        return true;
    }

    Stat* new_left(Division& out) const {
        if (out.left.size() == 0) out.left = NodeSum(static_cast<Size>(c_.s.width));
        return out.left.data();
    }

    const GrowContext& c_;
    const HistogramData data_;
    NodeSearch<L, Criterion> searching_;
    HistogramPool& pool_;
    int n_threads_;
    bool few_takes_, small_weights_;
    bool alike_;                            // features differ in nothing but their codes
    std::span<const Row> rows_;             // of the node at hand
    std::vector<std::uint32_t> features_;   // all, ascending but while some are drawn
    std::vector<CodeTiles::Place> places_;  // (n_features,)
    std::unique_ptr<Stat[]> scratch_;       // all zero between searches
    std::vector<std::uint32_t> swaps_, drawn_, left_out_;
    std::vector<std::uint64_t> marks_;  // a bit a feature, all 0 between searches
    std::conditional_t<L == Layout::dense, std::tuple<FewRows<L, Stat>>,
                       std::tuple<FewRows<L, std::uint8_t>, FewRows<L, std::uint16_t>>>
        few_;  // the first that takes a node
    LineSearch line_search_;
    std::vector<Stat> left_;  // of a cut just found
    std::vector<Stat> sums_;  // (width, kRegister) of random cuts
    Groups groups_;
};

}  // namespace spinney::detail
