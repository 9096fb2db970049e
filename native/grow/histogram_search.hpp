// Search for the best split of a node on bin codes, by the method that suits the node: a histogram of all
// features, a scratch histogram of some features, comparison or sorting of the rows of small nodes, or one
// pass over the rows for the thresholds of many features, of few values or random ones.
#pragma once

#include <algorithm>
#include <array>
#include <cfloat>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "grow/feature_screen.hpp"
#include "grow/histogram.hpp"
#include "grow/histogram_node.hpp"
#include "grow/node_scorer.hpp"
#include "grow/tile_thresholds.hpp"
#include "split/numeric_search.hpp"
#include "split/sorted_groups.hpp"
#include "split/sorted_search.hpp"

namespace spinney::detail {

/// Rows below which used bins are recorded; with more, most are used.
inline constexpr Size kMarked = 160;

/// Bins of a feature up to which each threshold takes a pass over the rows, for many features at once.
inline constexpr Size kFewBins = 4;

/// Rows from which threads that search histograms are faster than one that makes such passes.
inline constexpr Size kManyRows = 32768;

template <Layout L, class Criterion>
class HistogramSearch final : public NodeSearch {
  public:
    HistogramSearch(const GrowContext& c, const HistogramData& data, HistogramPool& pool, int n_threads)
        : c_(c),
          data_(data),
          s_(c),
          pool_(pool),
          n_threads_(n_threads),
          small_supported_(SmallSearch::supports(c.s)),
          interchangeable_(c.options.monotonic_cst.empty() && c.options.feature_costs.empty()),
          width_(static_cast<Size>(c.s.width)),
          small_(make_small(c)),
          bin_search_(width_),
          left_(width_),
          thresholds_(c, data),
          screen_(c, data) {
        const Size d = c.x.columns.size();
        for (std::uint32_t f = 0; f < d; ++f) {
            const CodeColumn& column = c.x.columns[f];
            features_.push_back(f);
            codes_.push_back(data.codes.feature_codes(f));
            few_valued_.push_back(thresholds_.in_lanes() && !c.options.random_splitter() &&
                                  column.kind == ColumnKind::numeric && column.n_bins <= kFewBins);
            n_few_valued_ += few_valued_.back();
        }
        for (const Tile& tile : data.codes.tiles) {
            missing_codes_.emplace_back();
            for (Size j = 0; j < tile.n; ++j)
                missing_codes_.back()[j] = static_cast<std::uint8_t>(c.x.columns[tile.first + j].n_bins);
        }
        if constexpr (L == Layout::by_class) {
            // Histograms of many classes take longer to search than the rows of a small node to sort.
            const Size bins_each = data.codes.n_bins() * width_ / std::max<Size>(1, d);
            if (small_supported_ && n_threads == 1 && small_.supports(small_.max_rows, 0))
                dense_rows_ = std::clamp(2 * bins_each, kDense, small_.max_rows);
        }
    }

    void find(NodeSplit& out, HistogramNode& node, std::span<const Row> rows) override {
        out_ = &out;
        node_ = &node;
        rows_ = rows;
        s_.begin(c_, node.state, node.total.data());
        if (static_cast<Size>(c_.options.max_features) < features_.size())
            search_drawn();
        else if (node.histogram ||
                 (rows.size() >= dense_rows_ && !c_.options.random_splitter() &&
                  (n_few_valued_ < features_.size() || (n_threads_ > 1 && rows.size() >= kManyRows))))
            search_dense(node);
        else
            search_some(features_);
        if (!is_acceptable(c_.options, out.best)) out.clear();
    }

    void build(Stat* histogram, std::span<const Row> rows) override {
        const auto& tiles = data_.codes.tiles;
        Pool::shared().parallel_for(
            rows.size() * tiles.size() < 4096 ? 1 : n_threads_, tiles.size(),
            [&](Size t, int) { add_rows<L>(histogram, data_, tiles[t], rows, c_.s); });
    }

    void add(Stat* sum, std::span<const Row> rows) const override {
        for (const Row row : rows) data_.rows.template add<L>(sum, row, c_.s.row_width);
    }

  private:
    using Scorer = NodeScorer<L, Criterion>;
    using SmallSearch = std::conditional_t<L == Layout::packed, SmallNodeSearch, SortedNodeSearch<L>>;

    static SmallSearch make_small(const GrowContext& c) {
        using Splits = SplitScorer<L, Criterion>;
        if constexpr (L == Layout::packed)
            return {};
        else
            return {c.s, (Splits::of_squares || Splits::of_values) && c.options.monotonic_cst.empty()};
    }

    Stat* bins_of(Stat* histogram, Size feature) const {
        return histogram + data_.codes.first_bin[feature] * width_;
    }

    CodeSet used_bins_of(const Stat* bins, Size feature) const {
        return used_bins(bins, c_.x.columns[feature].n_bins + 1, width_);
    }

    /// Search all features through the histogram of the node, which is built if it has none.
    void search_dense(HistogramNode& node) {
        if (!node.histogram) {
            node.histogram = pool_.acquire();
            build(node.histogram.get(), rows_);
        }
        if (n_threads_ == 1) {
            for (const std::uint32_t f : features_) search_bins(f, bins_of(node.histogram.get(), f), nullptr);
            return;
        }
        // Threads search tiles; the choice among features is made in their order.
        std::vector<Candidate> found(features_.size());
        const auto& tiles = data_.codes.tiles;
        Pool::shared().parallel_for(n_threads_, tiles.size(), [&](Size t, int) {
            CategorySums groups;
            Scorer own(c_);
            own.begin(c_, node.state, node.total.data());
            for (Size f = tiles[t].first; f < tiles[t].first + tiles[t].n; ++f) {
                const Stat* bins = bins_of(node.histogram.get(), f);
                found[f] = sweep_bins(own, f, bins, used_bins_of(bins, f), groups, nullptr);
            }
        });
        for (Candidate& c : found) keep_if_better(std::move(c), {});
    }

    /// Search drawn features until max_features were searched and one of them was not constant.
    void search_drawn() {
        const Size d = features_.size(), n_first = static_cast<Size>(std::max(1, c_.options.max_features));
        Draws draws(mix(node_->state.address, kFeatureDraws));
        swaps_.clear();
        const auto draw = [&] {
            const Size i = swaps_.size(), j = i + draws.below(static_cast<std::uint32_t>(d - i));
            std::swap(features_[i], features_[j]);
            swaps_.push_back(static_cast<std::uint32_t>(j));
        };
        while (swaps_.size() < n_first) draw();
        drawn_.assign(features_.begin(), features_.begin() + static_cast<long>(n_first));
        std::sort(drawn_.begin(), drawn_.end());
        bool varied = search_some(drawn_);
        while (!varied && swaps_.size() < d) {
            draw();
            varied = search_some({&features_[swaps_.size() - 1], 1});
        }
        // Restore ascending order for the next node.
        for (Size i = swaps_.size(); i-- > 0;) std::swap(features_[i], features_[swaps_[i]]);
    }

    /// Search features (ascending) by the method that suits the node. True: some feature was not constant.
    bool search_some(std::span<const std::uint32_t> features) {
        bool varied = false;
        left_out_.clear();  // categorical features, and those of few values with missing ones
        if (rows_.size() == 2 && interchangeable_) features = first_of_two_rows(features);
        if (n_few_valued_ > 0) {
            rest_.clear();
            few_.clear();
            for (const std::uint32_t f : features) (few_valued_[f] ? few_ : rest_).push_back(f);
            varied = search_few_valued(few_);
            features = rest_;
        }
        if constexpr (FeatureScreen<L, Criterion>::exists)
            if (screen_.load(features, rows_, node_->total.data(), s_.limits)) {
                varied = screen_.run(features, rows_, missing_codes_) || varied;
                features = screen_.contenders();
            }
        if (c_.options.random_splitter())
            varied = search_random(features);
        else if (small_supported_ && small_.supports(rows_.size(), c_.s.weight_steps(node_->total.data())))
            varied = search_small(features) || varied;
        else
            varied = search_marked(features) || varied;
        if (!left_out_.empty()) {
            std::sort(left_out_.begin(), left_out_.end());  // those of few values came first
            varied = search_marked(left_out_) || varied;
        }
        return varied;
    }

    /// Every split of two rows makes the same two leaves: return the feature that wins the tie, or none.
    /// Worth 15 % of a regression forest, a third of whose nodes have two rows.
    std::span<const std::uint32_t> first_of_two_rows(std::span<const std::uint32_t> features) {
        const std::uint32_t* first = features.data();
        std::uint64_t smallest = ~std::uint64_t{0};
        Size n = 0;
        for (const std::uint32_t& f : features) {
            const CodeColumn& column = c_.x.columns[f];
            const Code a = codes_[f].at(rows_[0]), b = codes_[f].at(rows_[1]);
            if (column.kind != ColumnKind::numeric) {
                left_out_.push_back(f);
            } else if (a != b) {
                const std::uint64_t order =
                    tie_order(c_.options, node_->state.path, static_cast<std::int32_t>(f));
                first = order < smallest ? &f : first;
                smallest = std::min(smallest, order);
                n = 1;
            }
        }
        return {first, n};
    }

    /// Search features of a small node; categorical features go to left_out_.
    bool search_small(std::span<const std::uint32_t> features) {
        bool varied = false;
        small_.load(rows_, data_.rows, c_.s);
        for (const std::uint32_t f : features) {
            const CodeColumn& column = c_.x.columns[f];
            if (column.kind != ColumnKind::numeric || prefers_histogram(column.n_bins)) {
                left_out_.push_back(f);
                continue;
            }
            small_.read(rows_, codes_[f], column.n_bins);
            s_.limits.set_direction(c_.options.monotonic_cst, static_cast<std::int32_t>(f));
            const BinSplit split = small_.search(s_.scorer);
            varied = varied || !split.constant;
            if (split.found() && keep_if_better(f, split)) out_->left = {};  // summed when the node is split
        }
        return varied;
    }

    /// Whether few bins make the histogram of a feature faster than sorting the rows.
    bool prefers_histogram(Size n_bins) const {
        return L == Layout::by_class && rows_.size() > kMarked && n_bins * width_ < 2 * rows_.size();
    }

    /// Group features (ascending) by tile: f(tile, columns within it).
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

    /// Try one random threshold per numeric feature (Extra-Trees), with missing values on either side;
    /// categorical features go to left_out_.
    bool search_random(std::span<const std::uint32_t> features) {
        bool varied = false;
        by_tile(features, [&](const Tile& tile, std::span<const std::uint32_t> chosen) {
            TileLanes::Bytes smallest, largest, known_largest;
            const TileLanes::Bytes& missing =
                missing_codes_[static_cast<Size>(&tile - data_.codes.tiles.data())];
            TileLanes::ranges(smallest, largest, known_largest, tile, rows_, missing);
            thresholds_.clear();
            for (const std::uint32_t j : chosen) {
                const Size f = tile.first + j;
                if (c_.x.columns[f].kind != ColumnKind::numeric)
                    left_out_.push_back(static_cast<std::uint32_t>(f));
                else if (smallest[j] != largest[j])
                    add_random(j, f, smallest[j], known_largest[j], largest[j] == missing[j]);
            }
            varied = varied || thresholds_.size() > 0;
            thresholds_.score(s_, tile, rows_);
            for (Size i = 0; i < thresholds_.size(); ++i) {
                const bool pair = thresholds_[i].missing == 1 && thresholds_[i].drawn != kUnset;
                const Size better = pair && thresholds_.quality(i + 1) > thresholds_.quality(i) ? i + 1 : i;
                keep_threshold(tile, better);
                i += pair;
            }
        });
        return varied;
    }

    /// Add the random threshold of a feature: with missing values twice, for each of their sides, or known
    /// against missing values if the known ones are all the same.
    void add_random(std::uint32_t column, Size f, Code smallest, Code largest, bool missing) {
        if (smallest == largest) return thresholds_.add({column, largest, kUnset, 1});
        const double drawn = draw_threshold(c_.x.columns[f], smallest, largest, address_of(f));
        const Code last_left = c_.starts[f].last_below(drawn);
        thresholds_.add({column, last_left, drawn, missing ? 1 : -1});
        if (missing) thresholds_.add({column, last_left, drawn, 0});
    }

    /// Try the thresholds of features of few values, one of each feature at a time; features with missing
    /// values go to left_out_.
    bool search_few_valued(std::span<const std::uint32_t> features) {
        bool varied = false;
        by_tile(features, [&](const Tile& tile, std::span<const std::uint32_t> chosen) {
            TileLanes::Bytes smallest, largest;
            TileLanes::ranges(smallest, largest, tile, rows_);
            Size n_passes = 0;
            for (const std::uint32_t j : chosen) {
                if (largest[j] == c_.x.columns[tile.first + j].n_bins) {
                    left_out_.push_back(static_cast<std::uint32_t>(tile.first + j));
                    largest[j] = smallest[j];
                }
                n_passes = std::max<Size>(n_passes, static_cast<Size>(largest[j] - smallest[j]));
            }
            varied = varied || n_passes > 0;
            std::array<BinSplit, kWideTileFeatures> best;
            for (Size pass = 0; pass < n_passes; ++pass) {
                thresholds_.clear();
                for (const std::uint32_t j : chosen)
                    if (const Size code = smallest[j] + pass; code < largest[j])
                        thresholds_.add({j, static_cast<Code>(code), kUnset, -1});
                thresholds_.score(s_, tile, rows_);
                for (Size i = 0; i < thresholds_.size(); ++i) {
                    BinSplit& own = best[thresholds_[i].column];
                    if (n_passes == 1)
                        keep_threshold(tile, i);
                    else if (thresholds_.quality(i) > own.quality)
                        own.set({thresholds_.quality(i), thresholds_[i].last_left});
                }
            }
            for (const std::uint32_t j : chosen)
                if (best[j].found() && keep_if_better(static_cast<std::uint32_t>(tile.first + j), best[j]))
                    out_->left = {};  // summed when the node is split
        });
        return varied;
    }

    /// Make a scored threshold the best split of the node if it is better.
    void keep_threshold(const Tile& tile, Size i) {
        const TileThreshold& t = thresholds_[i];
        BinSplit split;
        split.last_left = t.last_left;
        split.quality = thresholds_.quality(i);
        if (!split.found() || !keep_if_better(static_cast<std::uint32_t>(tile.first + t.column), split))
            return;
        out_->drawn = t.drawn;
        out_->best.missing = t.missing;
        if (t.missing == 1 && t.drawn == kUnset) out_->best.threshold = DBL_MAX;  // known against missing
        if (thresholds_.has_sums())
            thresholds_.left_of(new_left(), i);
        else
            out_->left = {};
    }

    /// Search features (ascending) through a scratch histogram that is cleared after use. True: some feature
    /// was not constant.
    bool search_marked(std::span<const std::uint32_t> features) {
        if (!scratch_) scratch_ = pool_.acquire();
        bool varied = false;
        by_tile(features, [&](const Tile& tile, std::span<const std::uint32_t> chosen) {
            std::array<CodeSet, kWideTileFeatures> used;
            const bool marked = L != Layout::packed && rows_.size() < kMarked;
            if (marked)
                add_rows_marked<L>(scratch_.get(), used.data(), chosen, data_, tile, rows_, c_.s);
            else
                add_rows_chosen<L>(scratch_.get(), chosen, data_, tile, rows_, c_.s);
            for (Size j = 0; j < chosen.size(); ++j) {
                const Size f = tile.first + chosen[j];
                Stat* bins = bins_of(scratch_.get(), f);
                varied = search_bins(f, bins, marked ? &used[j] : nullptr) || varied;
                if (marked)
                    used[j].for_each([&](Size code) { std::fill_n(bins + code * width_, width_, 0); });
                else
                    std::fill_n(bins, (c_.x.columns[f].n_bins + 1) * width_, 0);
            }
        });
        return varied;
    }

    /// Search the bins of a feature. `used`: those that are not empty, or null if unknown. True: the feature
    /// is not constant in the node.
    bool search_bins(Size f, const Stat* bins, const CodeSet* used) {
        const CodeColumn& column = c_.x.columns[f];
        const Stat* missing = bins + column.n_bins * width_;
        const bool known = std::all_of(missing, missing + width_, [](Stat w) { return w == 0; });
        if (column.kind != ColumnKind::numeric || c_.options.random_splitter()) {
            SmallSum left(width_);
            Candidate c = sweep_bins(s_, f, bins, used ? *used : used_bins_of(bins, f), groups_, left.data());
            const bool varied = !c.constant;
            keep_if_better(std::move(c), std::move(left));
            return varied;
        }
        s_.limits.set_direction(c_.options.monotonic_cst, static_cast<std::int32_t>(f));
        CodeSet used_known;
        if (used) {
            used_known = *used;
            used_known.bits[column.n_bins / 64] &= ~(std::uint64_t{1} << (column.n_bins % 64));
        }
        const BinSplit split =
            bin_search_.search(s_.scorer, bins, column.n_bins, used ? &used_known : nullptr,
                               known ? nullptr : missing, left_.data());
        if (split.found() && keep_if_better(static_cast<std::uint32_t>(f), split))
            std::copy_n(left_.data(), width_, new_left());
        return !split.constant;
    }

    std::uint64_t address_of(Size feature) const { return mix(node_->state.address, 0x10000u + feature); }

    /// Search the bins of a feature of any kind, with missing values or without.
    Candidate sweep_bins(Scorer& s, Size feature, const Stat* bins, CodeSet used, CategorySums& groups,
                         Stat* left) const {
        const CodeColumn& column = c_.x.columns[feature];
        s.limits.set_direction(c_.options.monotonic_cst, static_cast<std::int32_t>(feature));
        FeatureSearch q{c_.s,    c_.options, column, static_cast<std::int32_t>(feature), node_->total.data(),
                        nullptr, s.limits};
        q.address = address_of(feature);
        q.node_weight_fraction = s.weight_fraction;
        q.keep_left = left;
        const Size n_bins = column.n_bins;
        if (used.holds(column.n_bins)) {
            q.missing = bins + n_bins * width_;
            used.bits[n_bins / 64] &= ~(std::uint64_t{1} << (n_bins % 64));
        }
        BinnedGroups binned(bins, std::span(used.bits).first(n_bins / 64 + 1), c_.s.width);
        if (column.kind == ColumnKind::numeric) return sweep_numeric(s.scorer, q, binned, [](auto&&...) {});
        collect(groups, binned, c_.s.width);
        return best_category_set(s.scorer, q, groups);
    }

    bool beats_best(double score, std::int32_t feature) const {
        const auto order = [&](std::int32_t f) { return tie_order(c_.options, node_->state.path, f); };
        const Candidate& best = out_->best;
        return !best.found() ||
               replaces(score, best.score, [&] { return order(feature) < order(best.feature); });
    }

    void keep_if_better(Candidate&& c, SmallSum&& left) {
        if (!c.found() || !beats_best(c.score, c.feature)) return;
        out_->best = std::move(c);
        out_->left = std::move(left);
    }

    /// Make a split the best of the node if it is better.
    bool keep_if_better(std::uint32_t f, const BinSplit& split) {
        const auto feature = static_cast<std::int32_t>(f);
        const double gain = (split.quality - s_.base) / s_.weight,
                     score = cost_adjusted(c_.options, gain, feature);
        if (!beats_best(score, feature)) return false;
        Candidate& best = out_->best;
        best.score = score;
        best.gain = gain;
        best.improvement = s_.weight_fraction * gain;
        best.feature = feature;
        best.kind = SplitKind::numeric;
        best.threshold_bin = split.last_left;
        best.threshold = kUnset;
        best.missing = split.missing;
        best.constant = false;
        best.bins.clear();
        best.seen.clear();
        out_->drawn = kUnset;
        return true;
    }

    Stat* new_left() {
        if (out_->left.size() == 0) out_->left = SmallSum(width_);
        return out_->left.data();
    }

    const GrowContext& c_;
    const HistogramData data_;
    Scorer s_;
    HistogramPool& pool_;
    int n_threads_;
    bool small_supported_;
    bool interchangeable_;                        // features differ in nothing but their codes
    Size width_;                                  // of a sum
    NodeSplit* out_ = nullptr;                    // the best split of the current node so far
    const HistogramNode* node_ = nullptr;         // the current node
    std::span<const Row> rows_;                   // of the current node
    std::vector<std::uint32_t> features_;         // all, ascending except while some are drawn
    std::vector<CodeTiles::FeatureCodes> codes_;  // (n_features,)
    std::unique_ptr<Stat[]> scratch_;             // all zero between searches
    std::vector<std::uint32_t> swaps_, drawn_, left_out_, few_, rest_;
    std::vector<std::uint8_t> few_valued_;  // (n_features,) whether search_few_valued searches it
    Size n_few_valued_ = 0;
    std::vector<TileLanes::Bytes> missing_codes_;  // (n_tiles,) codes of missing values, per column of a tile
    Size dense_rows_ = kDense;                     // rows from which a node has a histogram of all features
    SmallSearch small_;
    BinSearch bin_search_;
    std::vector<Stat> left_;  // of a split just found
    TileThresholds<L, Criterion> thresholds_;
    FeatureScreen<L, Criterion> screen_;
    CategorySums groups_;
};

template <Layout L, class Criterion>
std::unique_ptr<NodeSearch> NodeSearchOf<L, Criterion>::make(const GrowContext& c, const HistogramData& data,
                                                             HistogramPool& pool, int n_threads) {
    return std::make_unique<HistogramSearch<L, Criterion>>(c, data, pool, n_threads);
}

}  // namespace spinney::detail
