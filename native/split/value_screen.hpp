// ValueScreen: which features of a node can have its best split, from approximate sums in narrow lanes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "data/tiles.hpp"
#include "simd/vectors.hpp"
#include "split/statistics.hpp"

namespace spinney {

/// For squared errors of one output, or the Gini impurity of two classes, which is the squared error of the
/// second class's indicator but for a constant and a factor of 2; with whole weights. The values of a node's
/// rows, less their mean, are rounded to a few bits, and every threshold of many features, one per lane, is
/// scored in single precision. The rounding errors have a bound, so a feature whose best score is further
/// below the best of all than the bound allows cannot win, and need not be searched exactly. The choice is
/// the same with the screen and without it.
class ValueScreen {
  public:
    static constexpr Size max_rows = 1024;
    static constexpr Size kColumns = 2 * kRegister;  // of a tile that are screened side by side

    /// A row's, or a node's, weight and value.
    struct Pair {
        Stat weight, value;
    };

    /// Load the rows of a node. False: the node is not supported.
    /// of_row(i): of row i of the node; total: of the node; min_side: least weight of a child; offset: what
    /// exact scores have beside the decrease of the sum of squares, as a square of values
    template <class OfRow>
    bool load(Size n, OfRow&& of_row, const Pair& total, Stat min_side, double offset) {
        n_ = n;
        if (n_ > max_rows || total.weight >= kWeights / 2) return false;
        const double weight = static_cast<double>(total.weight);
        const double mean = static_cast<double>(total.value) / weight;
        double spread = 0;
        for (Size i = 0; i < n_; ++i) {
            const Pair own = of_row(i);
            centred_[i] = static_cast<double>(own.value) - static_cast<double>(own.weight) * mean;
            spread += std::abs(centred_[i]);
        }
        // The values of one side sum to at most half the spread, beside their rounding errors.
        const double limit = compared() ? 0x1.0p15 : 0x1.0p19, room = limit - static_cast<double>(n_) - 2.0;
        const double scale = room / (0.5 * spread);
        if (!(scale < 0x1.0p1000)) return false;
        double error = 0, sum = 0;
        for (Size i = 0; i < n_; ++i) {
            const double exact = centred_[i] * scale, rounded = std::nearbyint(exact);
            error += std::abs(rounded - exact);
            sum += rounded;
            load_row(i, static_cast<std::int32_t>(of_row(i).weight), static_cast<std::int32_t>(rounded));
        }
        weight_ = static_cast<float>(total.weight);
        least_ = static_cast<float>(min_side);
        most_ = static_cast<float>(total.weight - min_side);
        // The errors of one side are half of (one side − the other) + (both sides).
        const double side_error = 0.5 * (error + std::abs(sum)) + 0.01;
        margin_ = 2.0 * side_error / std::sqrt(weight - 1.0);
        rounding_ = 1e-14 * offset * (scale * scale / weight);  // of an exact score
        return true;
    }

    /// Score the columns first, …, first + kColumns − 1 of the tile; `missing`: their codes of missing
    /// values.
    void score(const Tile& tile, Size first, std::span<const Row> rows, const std::uint8_t* missing) {
        Bytes smallest = Bytes{} + static_cast<std::uint8_t>(255), largest{};
        const auto read = [&](Size i) {
            Bytes code;
            std::memcpy(&code, tile.codes.data() + rows[i] * tile.n + first, sizeof code);
            smallest = smallest < code ? smallest : code;
            largest = largest > code ? largest : code;
            return code;
        };
        Bytes absent;
        std::memcpy(&absent, missing, sizeof absent);
        best_ = Floats{} - 1.0f;
        if (compared()) {
            for (Size i = 0; i < n_; ++i) codes_[i] = __builtin_convertvector(read(i), Shorts);
            compare();
            any_missing_ = any(largest == absent);
            if (any_missing_) {
                const Shorts code_of_missing = __builtin_convertvector(absent, Shorts);
                for (Size i = 0; i < n_; ++i) codes_[i] |= codes_[i] == code_of_missing;  // −1: first of all
                compare();
            }
        } else {
            for (Size i = 0; i < n_; ++i) read(i);
            fill(tile, first, rows);
            any_missing_ = any(largest == absent);
            sweep(smallest, largest, missing);
        }
        varied_ = smallest != largest;
        std::memcpy(scores_.data(), &best_, sizeof best_);
    }

    /// Of a scored column: whether it is not constant in the node, and the root of its best score, below 0
    /// without a split.
    bool varied(Size column) const { return varied_[column] != 0; }
    double score_of(Size column) const {
        return scores_[column] < 0 ? -1.0 : std::sqrt(static_cast<double>(scores_[column]));
    }

    /// The least score of a feature that can win if the best is this.
    double least_of_contenders(double best) const {
        const double least = std::max(0.0, best * (1.0 - 1e-5) - margin_);
        return std::sqrt(std::max(0.0, least * least - rounding_));
    }

  private:
    static constexpr Size kCompared = 32;   // rows up to which each is compared with every other
    static constexpr int kWeightBits = 12;  // of a packed sum; the others have the value
    static constexpr std::int32_t kWeights = 1 << kWeightBits;
    static constexpr Size kThresholds = 4;  // rows whose thresholds are summed in one pass
    using Bytes = VectorOf<std::uint8_t, kColumns>::type;
    using Shorts = VectorOf<std::int16_t, kColumns>::type;
    using Words = VectorOf<std::int32_t, kColumns>::type;
    using Unsigned = VectorOf<std::uint32_t, kColumns>::type;
    using Floats = VectorOf<float, kColumns>::type;

    bool compared() const { return n_ <= kCompared; }

    template <class V>
    static bool any(V condition) {
        std::array<std::uint64_t, (sizeof(V) + 7) / 8> words{};
        std::memcpy(words.data(), &condition, sizeof condition);
        std::uint64_t out = 0;
        for (const std::uint64_t word : words) out |= word;
        return out != 0;
    }

    void load_row(Size i, std::int32_t weight, std::int32_t value) {
        if (compared()) {
            weights_[i] = Shorts{} + static_cast<std::int16_t>(weight);
            values_[i] = Shorts{} + static_cast<std::int16_t>(value);
        } else {
            packed_[i] = static_cast<std::uint32_t>(value * kWeights + weight);
        }
    }

    /// Keep the best of the scores of these left sides.
    [[gnu::always_inline]] void keep(Words weight, Words value) {
        const Floats w = __builtin_convertvector(weight, Floats), v = __builtin_convertvector(value, Floats);
        const Words allowed = (w >= least_) & (w <= most_);
        const Floats score = allowed ? v * v / (w * (weight_ - w)) : Floats{} - 1.0f;
        best_ = score > best_ ? score : best_;
    }

    /// Try the code of every row as threshold.
    void compare() {
        const Size end = (n_ + kThresholds - 1) / kThresholds * kThresholds;
        std::fill(codes_.begin() + static_cast<long>(n_), codes_.begin() + static_cast<long>(end), codes_[0]);
        for (Size begin = 0; begin < end; begin += kThresholds) {
            std::array<Shorts, kThresholds> own, weight{}, value{};
            for (Size t = 0; t < kThresholds; ++t) own[t] = codes_[begin + t];
            for (Size j = 0; j < n_; ++j)
                for (Size t = 0; t < kThresholds; ++t) {
                    const auto left = own[t] >= codes_[j];
                    weight[t] = left ? weight[t] + weights_[j] : weight[t];
                    value[t] = left ? value[t] + values_[j] : value[t];
                }
            for (Size t = 0; t < kThresholds; ++t)
                keep(__builtin_convertvector(weight[t], Words), __builtin_convertvector(value[t], Words));
        }
    }

    /// Histogram of the packed values.
    void fill(const Tile& tile, Size first, std::span<const Row> rows) {
        const Size n = std::min(kColumns, tile.n - first);
        if (bins_.empty()) bins_.resize(256 * kColumns);
        for (Size i = 0; i < n_; ++i) {
            const std::uint8_t* code = tile.codes.data() + rows[i] * tile.n + first;
            const std::uint32_t own = packed_[i];
            for (Size c = 0; c < n; ++c) bins_[code[c] * kColumns + c] += own;
        }
    }

    /// Try all thresholds of the histogram, and clear it.
    void sweep(const Bytes& smallest, const Bytes& largest, const std::uint8_t* missing) {
        const auto [lo, unused] = std::minmax_element(reinterpret_cast<const std::uint8_t*>(&smallest),
                                                      reinterpret_cast<const std::uint8_t*>(&smallest + 1));
        const auto [unused_too, hi] =
            std::minmax_element(reinterpret_cast<const std::uint8_t*>(&largest),
                                reinterpret_cast<const std::uint8_t*>(&largest + 1));
        Unsigned sum{};  // may wrap around beyond the bin of missing values, where no split is allowed
        const auto step = [&](Size bin) {
            Unsigned own;
            std::memcpy(&own, bins_.data() + bin * kColumns, sizeof own);
            sum += own;
            keep(std::bit_cast<Words>(sum) & (kWeights - 1), std::bit_cast<Words>(sum) >> kWeightBits);
        };
        if (any_missing_) {
            for (Size c = 0; c < kColumns; ++c) sum[c] = bins_[missing[c] * kColumns + c];
            for (Size bin = *lo; bin <= *hi; ++bin) step(bin);
            sum = Unsigned{};
        }
        for (Size bin = *lo; bin <= *hi; ++bin) {
            step(bin);
            std::fill_n(bins_.data() + bin * kColumns, kColumns, 0);
        }
    }

    Size n_ = 0;
    float weight_ = 0, least_ = 0, most_ = 0;  // of the node, and the limits of a left side
    double margin_ = 0, rounding_ = 0;
    bool any_missing_ = false;
    Floats best_;
    Bytes varied_;
    std::array<float, kColumns> scores_;
    std::array<double, max_rows> centred_;
    std::array<Shorts, kCompared> codes_, weights_, values_;  // every lane of the latter is the same
    std::array<std::uint32_t, max_rows> packed_;
    std::vector<std::uint32_t> bins_;  // (256, kColumns) or empty, all zero between uses
};

}  // namespace spinney
