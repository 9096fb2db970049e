// Search for the best split of a node on bin codes, by the method that suits the node: a histogram of all
// features, a scratch histogram of some features, comparison of all rows in small nodes, or random
// thresholds.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "grow/histogram.hpp"
#include "grow/histogram_node.hpp"
#include "split/numeric_search.hpp"
#include "split/scorer.hpp"
#include "split/sorted_groups.hpp"

namespace spinney::detail {

/// Rows below which used bins are recorded; with more, most are used.
inline constexpr Size kMarked = 160;

/// What the searches of one node share.
template <Layout L, class Criterion>
struct NodeScorer {
    Limits limits;  // of the current feature
    SplitScorer<L, Criterion> scorer;
    double base = 0, weight = 0, weight_fraction = 0;

    explicit NodeScorer(const GrowContext& c) : limits(make_limits(c, {})), scorer(c.s, nullptr, limits) {}

    /// Switch to a node.
    void begin(const GrowContext& c, const NodeState& state, const Stat* total) {
        limits.lower = state.lower;
        limits.upper = state.upper;
        scorer.set_total(total);
        base = scorer.quality(total);
        weight = scorer.weight(total);
        weight_fraction = weight / c.all_weight;
    }
};

template <Layout L, class Criterion>
class HistogramSearch final : public NodeSearch {
  public:
    HistogramSearch(const GrowContext& c, const HistogramData& data, HistogramPool& pool, int n_threads)
        : c_(c),
          data_(data),
          s_(c),
          pool_(pool),
          n_threads_(n_threads),
          small_supported_(SmallNodeSearch<L>::supports(c.s)),
          small_weights_(c.s.max_weight < 256),
          interchangeable_(c.options.monotonic_cst.empty() && c.options.feature_costs.empty()),
          width_(static_cast<Size>(c.s.width)),
          bin_search_(width_),
          left_(width_),
          sums_(left_.size() * kRegister) {
        const Size d = c.x.columns.size();
        for (std::uint32_t f = 0; f < d; ++f) {
            features_.push_back(f);
            codes_.push_back(data.codes.feature_codes(f));
        }
    }

    void find(NodeSplit& out, HistogramNode& node, std::span<const Row> rows) override {
        out_ = &out;
        node_ = &node;
        rows_ = rows;
        s_.begin(c_, node.state, node.total.data());
        if (static_cast<Size>(c_.options.max_features) < features_.size())
            search_drawn();
        else if (node.histogram || (rows.size() >= kDense && !c_.options.random_splitter()))
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
        left_out_.clear();  // categorical features, and those with missing values
        if (rows_.size() == 2 && interchangeable_) features = first_of_two_rows(features);
        if (c_.options.random_splitter())
            varied = search_random(features);
        else if (small_supported_ && small_.supports(rows_.size(), c_.s.weight_steps(node_->total.data())))
            varied = search_small(features);
        else
            varied = search_marked(features);
        if (!left_out_.empty()) varied = search_marked(left_out_) || varied;
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
            if (column.kind != ColumnKind::numeric || std::max(a, b) == column.n_bins) {
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

    /// Search features of a small node; categorical features and those with missing values go to left_out_.
    bool search_small(std::span<const std::uint32_t> features) {
        bool varied = false;
        small_.load(rows_, data_.rows, c_.s);
        for (const std::uint32_t f : features) {
            const CodeColumn& column = c_.x.columns[f];
            if (column.kind != ColumnKind::numeric || !small_.read(rows_, codes_[f], column.n_bins)) {
                left_out_.push_back(f);
                continue;
            }
            s_.limits.set_direction(c_.options.monotonic_cst, static_cast<std::int32_t>(f));
            const BinSplit split = small_.search(s_.scorer);
            varied = varied || !split.constant;
            if (split.found() && keep_if_better(f, split)) small_.left_of(new_left(), split.last_left);
        }
        return varied;
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

    /// Try one random threshold per numeric feature (Extra-Trees); categorical features and those with
    /// missing values go to left_out_.
    bool search_random(std::span<const std::uint32_t> features) {
        bool varied = false;
        by_tile(features, [&](const Tile& tile, std::span<const std::uint32_t> chosen) {
            TileLanes::Bytes smallest, largest, last_left{};
            TileLanes::ranges(smallest, largest, tile, rows_);
            std::array<RandomThreshold, kWideTileFeatures> drawn;
            Size n = 0;
            for (const std::uint32_t j : chosen) {
                const Size f = tile.first + j;
                const CodeColumn& column = c_.x.columns[f];
                if (column.kind != ColumnKind::numeric || largest[j] == column.n_bins)
                    left_out_.push_back(static_cast<std::uint32_t>(f));
                else if (smallest[j] != largest[j])
                    drawn[n++] = draw(j, f, smallest[j], largest[j]);
            }
            if (n == 0) return;
            varied = true;
            const std::span<RandomThreshold> all(drawn.data(), n);
            for (const RandomThreshold& t : all) last_left[t.column] = static_cast<std::uint8_t>(t.last_left);
            const bool in_lanes = sum_left_in_lanes(all, tile, last_left);
            for (Size begin = 0; begin < n; begin += kRegister) {
                const auto some = all.subspan(begin, std::min(kRegister, n - begin));
                if (in_lanes)
                    read_lanes(some);
                else
                    sum_left(tile, some);
                score_thresholds(tile, some);
            }
        });
        return varied;
    }

    RandomThreshold draw(std::uint32_t column, Size f, Code smallest, Code largest) const {
        const double drawn = draw_threshold(c_.x.columns[f], smallest, largest, address_of(f));
        return {column, c_.starts[f].last_below(drawn), drawn, 0};
    }

    /// Compute the left sums of all thresholds in bytes, where weights are small whole numbers.
    bool sum_left_in_lanes(std::span<RandomThreshold> all, const Tile& tile,
                           const TileLanes::Bytes& last_left) {
        const auto max_weight = static_cast<Stat>(c_.s.max_weight);
        if constexpr (L == Layout::packed) {
            if (!small_weights_) return false;
            TileLanes::left_sums(all, tile, rows_, last_left, data_.rows.stats, max_weight);
            return true;
        } else if constexpr (L == Layout::by_class) {
            if (!small_weights_ || c_.s.weight_unit != 1.0 || c_.s.row_width != 1) return false;
            class_sums_.resize(width_ * kWideTileFeatures);
            class_counts_.resize(width_);
            TileLanes::left_sums_by_class(class_sums_, class_counts_, tile, rows_, last_left, data_.rows,
                                          max_weight);
            return true;
        }
        return false;
    }

    /// Copy the left sums of up to kRegister thresholds into sums_.
    void read_lanes(std::span<const RandomThreshold> thresholds) {
        for (Size i = 0; i < thresholds.size(); ++i) {
            if constexpr (L == Layout::packed)
                sums_[i] = thresholds[i].packed;
            else
                for (Size w = 0; w < width_; ++w)
                    sums_[w * kRegister + i] = class_sums_[w * kWideTileFeatures + thresholds[i].column];
        }
    }

    /// Compute the left sums of up to kRegister thresholds into sums_.
    void sum_left(const Tile& tile, std::span<const RandomThreshold> thresholds) {
        if constexpr (L == Layout::dense) {
            if (c_.s.width == 2) return sum_left_lanes<2>(tile, thresholds);
        }
        for (Size i = 0; i < thresholds.size(); ++i) {
            std::fill(left_.begin(), left_.end(), 0);
            for (const Row row : rows_)
                if (tile.codes[row * tile.n + thresholds[i].column] <= thresholds[i].last_left)
                    data_.rows.template add<L>(left_.data(), row, c_.s.row_width);
            for (Size w = 0; w < left_.size(); ++w) sums_[w * kRegister + i] = left_[w];
        }
    }

    /// The same for regression: one threshold per lane and without branches, which would be mispredicted.
    template <Size width>
    void sum_left_lanes(const Tile& tile, std::span<const RandomThreshold> thresholds) {
        std::array<std::uint32_t, kRegister> column{};
        StatRegister last_left = StatRegister{} - 1;  // below all codes: nothing goes left
        for (Size i = 0; i < thresholds.size(); ++i) {
            column[i] = thresholds[i].column;
            last_left[i] = static_cast<Stat>(thresholds[i].last_left);
        }
        std::array<StatRegister, width> own{};
        for (const Row row : rows_) {
            const std::uint8_t* codes = tile.codes.data() + row * tile.n;
            StatRegister code;
            for (Size i = 0; i < kRegister; ++i) code[i] = codes[column[i]];
            const StatRegister left = code <= last_left;
            for (Size w = 0; w < width; ++w) own[w] += left & data_.rows.stats[row * width + w];
        }
        for (Size w = 0; w < width; ++w) std::memcpy(sums_.data() + w * kRegister, &own[w], sizeof own[w]);
    }

    /// Score up to kRegister thresholds by their left sums in sums_.
    void score_thresholds(const Tile& tile, std::span<const RandomThreshold> thresholds) {
        const auto read_left = [&](Stat* left, Size i) {
            for (Size w = 0; w < left_.size(); ++w) left[w] = sums_[w * kRegister + i];
        };
        const auto feature = [&](Size i) {
            return static_cast<std::uint32_t>(tile.first + thresholds[i].column);
        };
        Register qualities;
        if (c_.options.monotonic_cst.empty()) {
            qualities = s_.scorer.score_lanes(sums_.data());
        } else {  // each feature has its own monotonic constraint
            for (Size i = 0; i < thresholds.size(); ++i) {
                s_.limits.set_direction(c_.options.monotonic_cst, static_cast<std::int32_t>(feature(i)));
                read_left(left_.data(), i);
                qualities[i] = s_.scorer(left_.data());
            }
        }
        for (Size i = 0; i < thresholds.size(); ++i) {
            BinSplit split;
            split.last_left = thresholds[i].last_left;
            split.quality = qualities[i];
            if (!split.found() || !keep_if_better(feature(i), split)) continue;
            out_->drawn = thresholds[i].drawn;
            read_left(new_left(), i);
        }
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
        if (!known || column.kind != ColumnKind::numeric || c_.options.random_splitter()) {
            SmallSum left(width_);
            Candidate c = sweep_bins(s_, f, bins, used ? *used : used_bins_of(bins, f), groups_, left.data());
            const bool varied = !c.constant;
            keep_if_better(std::move(c), std::move(left));
            return varied;
        }
        s_.limits.set_direction(c_.options.monotonic_cst, static_cast<std::int32_t>(f));
        const BinSplit split = bin_search_.search(s_.scorer, bins, column.n_bins, used, left_.data());
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
        best.missing = -1;
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
    bool small_supported_, small_weights_;
    bool interchangeable_;                        // features differ in nothing but their codes
    Size width_;                                  // of a sum
    NodeSplit* out_ = nullptr;                    // the best split of the current node so far
    const HistogramNode* node_ = nullptr;         // the current node
    std::span<const Row> rows_;                   // of the current node
    std::vector<std::uint32_t> features_;         // all, ascending except while some are drawn
    std::vector<CodeTiles::FeatureCodes> codes_;  // (n_features,)
    std::unique_ptr<Stat[]> scratch_;             // all zero between searches
    std::vector<std::uint32_t> swaps_, drawn_, left_out_;
    SmallNodeSearch<L> small_;
    BinSearch bin_search_;
    std::vector<Stat> left_;                      // of a split just found
    std::vector<Stat> sums_;                      // (width, kRegister) of random thresholds
    std::vector<Stat> class_sums_;                // (width, kWideTileFeatures)
    std::vector<TileLanes::Bytes> class_counts_;  // (width,)
    CategorySums groups_;
};

template <Layout L, class Criterion>
std::unique_ptr<NodeSearch> NodeSearchOf<L, Criterion>::make(const GrowContext& c, const HistogramData& data,
                                                             HistogramPool& pool, int n_threads) {
    return std::make_unique<HistogramSearch<L, Criterion>>(c, data, pool, n_threads);
}

}  // namespace spinney::detail
