// FeatureScreen: the features of a node that can have its best split, so that the others need no exact
// search.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "grow/histogram.hpp"
#include "split/context.hpp"
#include "split/numeric_search.hpp"
#include "split/scorer.hpp"
#include "split/value_screen.hpp"

namespace spinney::detail {

/// Screens the features of one node after the other, a group of columns of a tile at a time.
template <Layout L, class Criterion>
class FeatureScreen {
    static constexpr bool of_classes = std::is_same_v<Criterion, OfClasses<Gini, Layout::packed>>;

  public:
    /// Whether there is a screen for the criterion.
    static constexpr bool exists = SplitScorer<L, Criterion>::of_values || of_classes;

    FeatureScreen(const GrowContext& c, const HistogramData& data)
        : c_(c),
          data_(data),
          supported_(c.s.width == (of_classes ? 1 : 2) && c.s.weight_unit == 1.0 &&
                     !c.options.random_splitter() && c.options.monotonic_cst.empty() &&
                     c.options.feature_costs.empty()) {}

    /// Load the rows of a node. False: its features are all to be searched.  total (width,): sum of the rows
    bool load(std::span<const std::uint32_t> features, std::span<const Row> rows, const Stat* total,
              const Limits& limits) {
        if (!supported_ || rows.size() < 3 || features.size() < std::max(fewest, c_.x.columns.size() / 2))
            return false;
        const auto pair = [](const Stat* sum) {
            if constexpr (of_classes)
                return ValueScreen::Pair{sum[0] & kLowHalf, sum[0] >> 32};
            else
                return ValueScreen::Pair{sum[0], sum[1]};
        };
        const auto of_row = [&](Size i) { return pair(data_.rows.stats + rows[i] * (of_classes ? 1 : 2)); };
        const ValueScreen::Pair all = pair(total);
        const auto weight = static_cast<double>(all.weight), value = static_cast<double>(all.value);
        return screen_.load(rows.size(), of_row, all, std::max(limits.min_weight, limits.min_count),
                            of_classes ? weight : value * value / weight);
    }

    /// Screen features (ascending) of the loaded node. True: some screened feature was not constant.
    /// missing_codes (n_tiles,): codes of missing values, per column of a tile
    bool run(std::span<const std::uint32_t> features, std::span<const Row> rows,
             std::span<const TileLanes::Bytes> missing_codes) {
        scores_.assign(features.size(), std::numeric_limits<double>::infinity());
        bool varied = false;
        double best = -1.0;
        Size at = 0;
        for (Size t = 0; t < data_.codes.tiles.size(); ++t) {
            const Tile& tile = data_.codes.tiles[t];
            const auto* missing = reinterpret_cast<const std::uint8_t*>(&missing_codes[t]);
            for (Size first = 0; first < tile.n; first += ValueScreen::kColumns) {
                const Size n = std::min(ValueScreen::kColumns, tile.n - first), begin = at;
                while (at < features.size() && features[at] < tile.first + first + n) ++at;
                if (at - begin < std::max(fewest, n / 2)) continue;
                screen_.score(tile, first, rows, missing + first);
                for (Size i = begin; i < at; ++i) {
                    if (c_.x.columns[features[i]].kind != ColumnKind::numeric) continue;
                    const Size column = features[i] - tile.first - first;
                    varied = varied || screen_.varied(column);
                    scores_[i] = screen_.score_of(column);
                    best = std::max(best, scores_[i]);
                }
            }
        }
        choose(features, screen_.least_of_contenders(best));
        return varied;
    }

    /// The features (ascending) that can have the best split, and those that are not screened.
    std::span<const std::uint32_t> contenders() const { return contenders_; }

  private:
    struct None {};
    static constexpr Size fewest = of_classes ? 8 : 4;  // fewer features are searched faster than screened

    void choose(std::span<const std::uint32_t> features, double least) {
        contenders_.resize(features.size());
        Size n = 0;
        for (Size i = 0; i < features.size(); ++i) {
            contenders_[n] = features[i];
            n += scores_[i] >= least;
        }
        contenders_.resize(n);
    }

    const GrowContext& c_;
    const HistogramData data_;
    bool supported_;
    std::vector<std::uint32_t> contenders_;
    std::vector<double> scores_;  // of features; infinite where they are not screened
    std::conditional_t<exists, ValueScreen, None> screen_;
};

}  // namespace spinney::detail
