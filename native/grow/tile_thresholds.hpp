// Thresholds of features of one tile, whose left sums are computed side by side in passes over the rows.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include "grow/histogram.hpp"
#include "grow/node_scorer.hpp"
#include "split/numeric_search.hpp"

namespace spinney::detail {

/// Up to two thresholds per feature of a tile with their left sums and qualities.
template <Layout L, class Criterion>
class TileThresholds {
  public:
    TileThresholds(const GrowContext& c, const HistogramData& data)
        : c_(c),
          data_(data),
          width_(static_cast<Size>(c.s.width)),
          in_lanes_(sums_in_lanes(c.s)),
          sums_(width_ * (max_size + kRegister)),
          known_(width_ * (max_size + kRegister)),
          left_(width_),
          counts_(L == Layout::by_class ? width_ : 0) {}

    /// Whether the left sums of many thresholds are computed side by side: weights must be small whole
    /// numbers, or the statistics those of regression with one output.
    bool in_lanes() const { return in_lanes_; }

    Size size() const { return n_; }
    const TileThreshold& operator[](Size i) const { return thresholds_[i]; }
    double quality(Size i) const { return qualities_[i]; }

    void clear() { n_ = n_missing_ = 0; }

    void add(const TileThreshold& threshold) {
        n_missing_ += threshold.missing == 0;
        thresholds_[n_++] = threshold;
    }

    /// Compute the left sums and qualities of all thresholds.
    void score(NodeScorer<L, Criterion>& s, const Tile& tile, std::span<const Row> rows) {
        if constexpr (SplitScorer<L, Criterion>::of_squares) {
            by_squares_ = suits_squares(s, tile, rows.size());
            if (by_squares_) return score_squares(s, tile, rows);
        }
        sum_left(sums_, tile, rows, [](const TileThreshold& t) { return t.last_left; });
        if (n_missing_ > 0) add_missing(s, tile, rows);
        for (Size begin = 0; begin < n_; begin += kRegister) {
            Register qualities;
            if (c_.options.monotonic_cst.empty()) {
                qualities = s.scorer.score_lanes(sums_.data() + begin * width_);
            } else {  // each feature has its own monotonic constraint
                for (Size i = begin; i < std::min(n_, begin + kRegister); ++i) {
                    s.limits.set_direction(c_.options.monotonic_cst,
                                           static_cast<std::int32_t>(tile.first + thresholds_[i].column));
                    left_of(left_.data(), i);
                    qualities[i - begin] = s.scorer(left_.data());
                }
            }
            std::memcpy(qualities_.data() + begin, &qualities, sizeof qualities);
        }
    }

    /// Whether the last scores come from left sums, not only from their squares.
    bool has_sums() const { return !by_squares_; }

    /// Left sum of a threshold.  left (width,)
    void left_of(Stat* left, Size i) const {
        const Stat* from = sums_.data() + place(i);
        for (Size w = 0; w < width_; ++w) left[w] = from[w * kRegister];
    }

  private:
    static constexpr Size max_size = 2 * kWideTileFeatures;
    static constexpr Size kFewFeatures = 16;

    /// Whether sums of squares, updated row by row, take less time than sums of every class.
    bool suits_squares(const NodeScorer<L, Criterion>& s, const Tile& tile, Size n_rows) const {
        const Size lanes = tile.n <= kFewFeatures ? kFewFeatures : kWideTileFeatures;
        return in_lanes_ && c_.options.monotonic_cst.empty() && s.weight < 256.0 &&
               n_rows * lanes < 32 * width_;
    }

    /// Qualities of all thresholds from sums of squares.
    void score_squares(NodeScorer<L, Criterion>& s, const Tile& tile, std::span<const Row> rows) {
        TileLanes::Bytes last_left{}, also;
        for (const TileThreshold& t : thresholds())
            last_left[t.column] = static_cast<std::uint8_t>(t.last_left);
        also = last_left;
        score_squares(s, tile, rows, last_left, also, [](const TileThreshold& t) { return t.missing != 0; });
        if (n_missing_ == 0) return;
        for (const TileThreshold& t : thresholds())
            also[t.column] = static_cast<std::uint8_t>(c_.x.columns[tile.first + t.column].n_bins);
        score_squares(s, tile, rows, last_left, also, [](const TileThreshold& t) { return t.missing == 0; });
    }

    /// The same of some thresholds.
    template <class Chosen>
    void score_squares(NodeScorer<L, Criterion>& s, const Tile& tile, std::span<const Row> rows,
                       const TileLanes::Bytes& last_left, const TileLanes::Bytes& also, Chosen&& chosen) {
        const Stat* total = s.scorer.total();
        TileLanes::Squares of;
        if (tile.n <= kFewFeatures)
            TileLanes::left_squares<kFewFeatures>(of, counts_, tile, rows, last_left, also, data_.rows,
                                                  total);
        else
            TileLanes::left_squares<kWideTileFeatures>(of, counts_, tile, rows, last_left, also, data_.rows,
                                                       total);
        Stat all = 0, all_squares = 0;
        for (const Row row : rows) {
            all += data_.rows.stats[row];
            all_squares += data_.rows.stats[row] * total[data_.rows.class_code[row]];
        }
        for (Size begin = 0; begin < n_; begin += kRegister) {
            StatRegister left{}, right{}, weight{};
            for (Size i = begin; i < std::min(n_, begin + kRegister); ++i) {
                const Size column = thresholds_[i].column;
                left[i - begin] = of.left[column];
                right[i - begin] = all_squares - 2 * of.products[column] + of.left[column];
                weight[i - begin] = of.weight[column];
            }
            const Register qualities = s.scorer.score_squares(left, right, weight, all);
            for (Size i = begin; i < std::min(n_, begin + kRegister); ++i)
                if (chosen(thresholds_[i])) qualities_[i] = qualities[i - begin];
        }
    }

    std::span<const TileThreshold> thresholds() const { return {thresholds_.data(), n_}; }

    static bool sums_in_lanes(const Statistics& s) {
        if constexpr (L == Layout::packed) return s.max_weight < 256;
        if constexpr (L == Layout::by_class)
            return s.max_weight < 256 && s.weight_unit == 1.0 && s.row_width == 1;
        return s.width == 2;
    }

    /// Sums are kept in the form of score_lanes: (n / kRegister, width, kRegister).
    Size place(Size i) const { return i / kRegister * kRegister * width_ + i % kRegister; }

    /// Missing values go left where a threshold says so: their sum is what is not known of the node's.
    void add_missing(NodeScorer<L, Criterion>& s, const Tile& tile, std::span<const Row> rows) {
        sum_left(known_, tile, rows,
                 [&](const TileThreshold& t) { return c_.x.columns[tile.first + t.column].n_bins - 1; });
        const Stat* total = s.scorer.total();
        for (Size i = 0; i < n_; ++i)
            if (thresholds_[i].missing == 0)
                for (Size w = 0, at = place(i); w < width_; ++w, at += kRegister)
                    sums_[at] += total[w] - known_[at];
    }

    /// Sums over the rows whose codes are at most last_left(threshold).
    template <class LastLeft>
    void sum_left(std::vector<Stat>& sums, const Tile& tile, std::span<const Row> rows,
                  LastLeft&& last_left) {
        const std::span<const TileThreshold> all = thresholds();
        if constexpr (L != Layout::dense) {
            if (in_lanes_) {
                TileLanes::Bytes bytes{};
                for (const TileThreshold& t : all) bytes[t.column] = static_cast<std::uint8_t>(last_left(t));
                return sum_in_bytes(sums, tile, rows, bytes);
            }
        }
        if (L == Layout::dense && width_ == 2) {
            TileLanes::Bytes bytes{};
            for (const TileThreshold& t : all) bytes[t.column] = static_cast<std::uint8_t>(last_left(t));
            return sum_pairs(sums, tile, rows, bytes);
        }
        for (Size begin = 0; begin < n_; begin += kRegister) {
            const auto some = all.subspan(begin, std::min(kRegister, n_ - begin));
            Stat* to = sums.data() + begin * width_;
            for (Size i = 0; i < some.size(); ++i)
                sum_one(to + i, tile, rows, some[i].column, last_left(some[i]));
        }
    }

    void sum_in_bytes(std::vector<Stat>& sums, const Tile& tile, std::span<const Row> rows,
                      const TileLanes::Bytes& last_left) {
        const std::span<const TileThreshold> all = thresholds();
        const auto max_weight = static_cast<Stat>(c_.s.max_weight);
        if constexpr (L == Layout::packed)
            TileLanes::left_sums(sums.data(), all, tile, rows, last_left, data_.rows.stats, max_weight);
        else if constexpr (L == Layout::by_class)
            TileLanes::left_sums_by_class(sums.data(), counts_, all, tile, rows, last_left, data_.rows,
                                          max_weight);
    }

    /// The left sum of one threshold.  sums (width, kRegister)
    void sum_one(Stat* sums, const Tile& tile, std::span<const Row> rows, Size column, Code last_left) {
        std::fill(left_.begin(), left_.end(), 0);
        for (const Row row : rows)
            if (tile.codes[row * tile.n + column] <= last_left)
                data_.rows.template add<L>(left_.data(), row, c_.s.row_width);
        for (Size w = 0; w < width_; ++w) sums[w * kRegister] = left_[w];
    }

    /// The left sums of regression with one output.
    void sum_pairs(std::vector<Stat>& sums, const Tile& tile, std::span<const Row> rows,
                   const TileLanes::Bytes& last_left) {
        std::array<Stat, kWideTileFeatures> weight, value;
        std::uint64_t wanted = 0;  // one bit per register of columns
        for (const TileThreshold& t : thresholds()) wanted |= std::uint64_t{1} << (t.column / kRegister);
        while (wanted != 0) {
            const auto first = static_cast<Size>(std::countr_zero(wanted)) * kRegister;
            if (wanted & (wanted - 1)) {  // two at a time
                wanted &= wanted - 1;
                const auto second = static_cast<Size>(std::countr_zero(wanted)) * kRegister;
                TileLanes::left_values<2>(weight.data(), value.data(), {first, second}, tile, rows, last_left,
                                          data_.rows.stats);
            } else {
                TileLanes::left_values<1>(weight.data(), value.data(), {first}, tile, rows, last_left,
                                          data_.rows.stats);
            }
            wanted &= wanted - 1;
        }
        for (Size i = 0; i < n_; ++i) {
            sums[place(i)] = weight[thresholds_[i].column];
            sums[place(i) + kRegister] = value[thresholds_[i].column];
        }
    }

    const GrowContext& c_;
    const HistogramData data_;
    Size width_, n_ = 0, n_missing_ = 0;
    bool in_lanes_;
    std::array<TileThreshold, max_size> thresholds_;
    std::array<double, max_size> qualities_;
    std::vector<Stat> sums_, known_;
    std::vector<Stat> left_;                // of one threshold
    std::vector<TileLanes::Bytes> counts_;  // (n_classes,), all zero between uses
    bool by_squares_ = false;
};

}  // namespace spinney::detail
