// Searches of one numeric feature in one node: in small nodes, in histograms, and for random thresholds.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "data/tiles.hpp"
#include "split/row_stats.hpp"
#include "split/scorer.hpp"

namespace spinney {

/// Best split of a numeric feature: codes up to `last_left` go left.
struct BinSplit {
    double quality = kImpossible;  // by SplitScorer
    Code last_left = 0;
    std::int32_t missing = -1;  // child of missing values; −1: the node has none
    bool constant = true;       // the node has one value only, where missing is a value
    bool found() const { return quality > kImpossible; }
    void set(const std::pair<double, Size>& best) {
        quality = best.first;
        last_left = static_cast<Code>(best.second);
    }

    /// The better of the best splits with missing values on the right and on the left; the smaller threshold
    /// of equal ones, and then on the right.
    void set(const BestLanes& missing_right, const BestLanes& missing_left) {
        const auto right = missing_right.first(), left = missing_left.first();
        const bool is_left =
            left.first > right.first || (left.first == right.first && left.second < right.second);
        set(is_left ? left : right);
        missing = is_left ? 0 : 1;
    }
};

/// Search in a small node of layout packed. Each row is a lane whose candidate threshold is the row's own
/// code; its left sum is found by comparing every row with every other, O(n²), without sorting or a
/// histogram.
class SmallNodeSearch {
    using Number = std::uint8_t;  // holds a code and the total weight

  public:
    static constexpr Size max_rows = 96;

    /// Whether rows with such statistics are supported.
    static bool supports(const Statistics& s) { return s.layout == Layout::packed; }
    /// Whether a node of this size and total weight is supported.
    static bool supports(Size n, Stat weight_steps) {
        return n <= max_rows && weight_steps <= static_cast<Stat>(std::numeric_limits<Number>::max());
    }

    /// Load the statistics of the rows.
    void load(std::span<const Row> rows, const RowStats& all, const Statistics&) {
        n_ = rows.size();
        for (Size i = 0; i < n_; ++i) {
            const Row row = rows[i];
            const auto weight = static_cast<Number>(all.stats[row] & 0xFFFF);
            const auto second = static_cast<Number>(all.stats[row] >> 32);
            stats_[0][i] = static_cast<Number>(weight - second);
            stats_[1][i] = second;
        }
    }

    /// Load the codes of the rows.
    template <class Codes>
    void read(std::span<const Row> rows, const Codes& codes, Code missing) {
        for (Size i = 0; i < n_; ++i) code_[i] = codes.at(rows[i]);
        const Size end = (n_ + lanes - 1) / lanes * lanes;
        std::fill(code_.data() + n_, code_.data() + end, code_[0]);
        Vector other{}, absent{};
        for (Size begin = 0; begin < end; begin += lanes) {
            const Vector code = load_vector(code_.data() + begin);
            other |= code ^ code_[0];
            absent |= std::bit_cast<Vector>(code == static_cast<Number>(missing));
        }
        constant_ = !any(other);
        // Unused lanes: a threshold above all codes leaves nothing on the right.
        std::fill(code_.data() + n_, code_.data() + end, kAboveAll);
        n_bins_ = missing;
        missing_ = 0;
        if (!any(absent)) return;
        for (Size i = 0; i < n_; ++i)
            if (code_[i] == missing) missing_ += stats_[0][i] + stats_[1][i] + (Stat{stats_[1][i]} << 32);
    }

    /// Best split on the loaded codes.
    template <class Scorer>
    BinSplit search(Scorer& scorer) {
        BinSplit out;
        out.constant = constant_;
        if (constant_) return out;
        accumulate();
        BestLanes best, best_left;
        for (Size begin = 0; begin < n_; begin += kRegister) {
            const StatRegister sums = read_sums(begin), code = widened(code_.data() + begin);
            best.keep_smallest(scorer.score_lanes(reinterpret_cast<const Stat*>(&sums)), code);
            if (missing_ == 0) continue;
            const StatRegister with_missing = sums + missing_;
            const Register value = scorer.score_lanes(reinterpret_cast<const Stat*>(&with_missing));
            best_left.keep_smallest(where(code < n_bins_, value, Register{} + kImpossible), code);
        }
        if (missing_ == 0)
            out.set(best.first());
        else
            out.set(best, best_left);
        return out;
    }

  private:
    static constexpr Size lanes = 8 * kRegister / sizeof(Number);
    static constexpr Number kAboveAll = 255;  // codes are bytes, and the last of 256 is the missing bin
    using Vector = typename VectorOf<Number, lanes>::type;
    static constexpr Size capacity = (max_rows + lanes - 1) / lanes * lanes;

    static bool any(Vector v) { return nonzero_lanes(std::bit_cast<StatRegister>(v)) != 0; }

    static Vector load_vector(const Number* from) {
        Vector v;
        std::memcpy(&v, from, sizeof v);
        return v;
    }

    /// sums_[w][lane] = Σ statistic w over the rows whose code is at most the code of the lane.
    void accumulate() {
        for (Size begin = 0; begin < n_; begin += lanes) {
            const Vector own = load_vector(code_.data() + begin);
            Vector a{}, b{};
            for (Size j = 0; j < n_; ++j) {
                const auto left = own >= code_[j];
                a += left ? Vector{} + stats_[0][j] : Vector{};
                b += left ? Vector{} + stats_[1][j] : Vector{};
            }
            std::memcpy(sums_[0].data() + begin, &a, sizeof a);
            std::memcpy(sums_[1].data() + begin, &b, sizeof b);
        }
    }

    /// The packed sums of one register of lanes.
    StatRegister read_sums(Size begin) const {
        const StatRegister second = widened(sums_[1].data() + begin);
        return widened(sums_[0].data() + begin) + second + (second << 32);
    }

    Size n_ = 0;
    bool constant_ = true;
    Stat n_bins_ = 0, missing_ = 0;  // the code of missing values, and the packed sum of their rows
    alignas(64) std::array<Number, capacity> code_;
    alignas(64) std::array<std::array<Number, capacity>, 2> stats_, sums_;
};

/// out = sums + added to every lane.  out, sums (width, kRegister), added (width,)
inline void add_to_lanes(Stat* out, const Stat* sums, const Stat* added, Size width) {
    for (Size w = 0; w < width; ++w)
        for (Size i = 0; i < kRegister; ++i) out[w * kRegister + i] = sums[w * kRegister + i] + added[w];
}

/// Search over the histogram of one numeric feature by prefix sums, kept in the form of score_lanes.
class BinSearch {
  public:
    explicit BinSearch(Size width)
        : width_(width),
          sum_(width),
          prefix_((256 / kRegister + 1) * kRegister * width),
          with_missing_(kRegister * width) {}

    /// Best split. `used`: the bins that are not empty, or null if unknown; `missing`: the sum of the rows
    /// with missing values, or null if there are none.
    /// bins (n_bins, width), missing (width,), left (width,): receives the left sum
    template <class Scorer>
    BinSplit search(Scorer& scorer, const Stat* bins, Size n_bins, const CodeSet* used, const Stat* missing,
                    Stat* left) {
        n_ = 0;
        std::fill_n(sum_.data(), width_, 0);
        if (width_ == 1)
            accumulate<1>(bins, n_bins, used);
        else if (width_ == 2)
            accumulate<2>(bins, n_bins, used);
        else
            accumulate<0>(bins, n_bins, used);
        BinSplit out;
        const Size n_sides = n_ + (missing ? 1 : 0);
        out.constant = n_ == 0 || n_sides < 2;
        if (out.constant) return out;
        // Only missing values are right of the last threshold; the unused lanes of the last register repeat
        // it.
        for (Size i = n_; i % kRegister != 0; ++i)
            for (Size w = 0; w < width_; ++w) prefix(i, w) = sum_[w];
        BestLanes best, best_left;
        StatRegister index = lane_numbers();
        for (Size begin = 0; begin + 1 < n_sides; begin += kRegister, index += static_cast<Stat>(kRegister)) {
            const Stat* sums = prefix_.data() + begin * width_;
            best.keep_first(scorer.score_lanes(sums), index);
            if (!missing) continue;
            add_to_lanes(with_missing_.data(), sums, missing, width_);
            best_left.keep_first(scorer.score_lanes(with_missing_.data()), index);
        }
        if (missing)
            out.set(best, best_left);
        else
            out.set(best.first());
        if (!out.found()) return out;
        for (Size w = 0; w < width_; ++w)
            left[w] = prefix(out.last_left, w) + (out.missing == 0 ? missing[w] : 0);
        out.last_left = code_[out.last_left];
        return out;
    }

  private:
    Stat& prefix(Size i, Size w) { return prefix_[(i / kRegister * width_ + w) * kRegister + i % kRegister]; }

    /// Store the prefix sum after each used bin. Width: of a bin, or 0 when it is only known at run time.
    template <Size Width>
    void accumulate(const Stat* bins, Size n_bins, const CodeSet* used) {
        const Size width = Width ? Width : width_;
        Stat* sum = sum_.data();
        const auto add = [&](Size b) {
            const Stat* bin = bins + b * width;
            Stat* to = prefix_.data() + n_ / kRegister * kRegister * width + n_ % kRegister;
            Stat any = 0;
            for (Size w = 0; w < width; ++w) {
                any |= bin[w];
                sum[w] += bin[w];
                to[w * kRegister] = sum[w];
            }
            code_[n_] = static_cast<std::uint8_t>(b);
            n_ += any != 0;
        };
        if (used)
            used->for_each(add);
        else
            for (Size b = 0; b < n_bins; ++b) add(b);
    }

    Size width_, n_ = 0;
    std::vector<Stat> sum_, prefix_, with_missing_;
    std::array<std::uint8_t, 256 + 1> code_;
};

/// A threshold of a numeric feature of a tile.
struct TileThreshold {
    std::uint32_t column;  // of the feature in the tile
    Code last_left;        // codes up to it go left
    double drawn;          // Extra-Trees: between the values of the smallest and the largest code of the node
    std::int32_t missing;  // child of missing values, −1 if there are none
};

/// One lane per feature of a tile: what one threshold per feature needs, in one pass over the rows.
class TileLanes {
  public:
    using Bytes = VectorOf<std::uint8_t, kWideTileFeatures>::type;

    /// Smallest and largest code of every feature among some rows.
    static void ranges(Bytes& smallest, Bytes& largest, const Tile& tile, std::span<const Row> rows) {
        smallest = Bytes{} + static_cast<std::uint8_t>(255);
        largest = Bytes{};
        for (const Row row : rows) {
            const Bytes code = load(tile, row);
            smallest = smallest < code ? smallest : code;
            largest = largest > code ? largest : code;
        }
    }

    /// The same, and the largest code but for that of missing values.
    static void ranges(Bytes& smallest, Bytes& largest, Bytes& known_largest, const Tile& tile,
                       std::span<const Row> rows, const Bytes& missing) {
        smallest = Bytes{} + static_cast<std::uint8_t>(255);
        largest = known_largest = Bytes{};
        for (const Row row : rows) {
            const Bytes code = load(tile, row), known = std::bit_cast<Bytes>(code != missing) & code;
            smallest = smallest < code ? smallest : code;
            largest = largest > code ? largest : code;
            known_largest = known_largest > known ? known_largest : known;
        }
    }

    /// Packed left sums of each threshold.  sums (n_thresholds,); stats (n_rows,): weights up to
    /// max_weight < 256
    static void left_sums(Stat* sums, std::span<const TileThreshold> thresholds, const Tile& tile,
                          std::span<const Row> rows, const Bytes& last_left, const Stat* stats,
                          Stat max_weight) {
        // Rows whose total weight fits into a byte.
        const Size chunk = 255 / static_cast<Size>(max_weight);
        for (Size begin = 0; begin < rows.size(); begin += chunk) {
            Bytes weight{}, second{};
            for (Size i = begin; i < std::min(rows.size(), begin + chunk); ++i) {
                const auto goes_left = std::bit_cast<Bytes>(load(tile, rows[i]) <= last_left);
                const Stat own = stats[rows[i]];
                weight += goes_left & static_cast<std::uint8_t>(own);
                second += goes_left & static_cast<std::uint8_t>(own >> 32);
            }
            for (Size i = 0; i < thresholds.size(); ++i) {
                const Size column = thresholds[i].column;
                sums[i] = (begin == 0 ? 0 : sums[i]) + static_cast<Stat>(weight[column]) +
                          (static_cast<Stat>(second[column]) << 32);
            }
        }
    }

    /// Left weights and values of the thresholds of N registers of columns, regression with one output.
    /// weight, value (kWideTileFeatures,): receive those columns; stats (n_rows, 2)
    template <Size N>
    static void left_values(Stat* weight, Stat* value, const std::array<Size, N>& columns, const Tile& tile,
                            std::span<const Row> rows, const Bytes& last_left, const Stat* stats) {
        std::array<StatRegister, N> weights{}, values{};
        for (const Row row : rows) {
            const auto left = std::bit_cast<std::array<std::int8_t, sizeof(Bytes)>>(
                std::bit_cast<Bytes>(load(tile, row) <= last_left));
            for (Size i = 0; i < N; ++i) {
                const StatRegister goes_left = widened(left.data() + columns[i]);
                weights[i] += goes_left & stats[row * 2];
                values[i] += goes_left & stats[row * 2 + 1];
            }
        }
        for (Size i = 0; i < N; ++i) {
            std::memcpy(weight + columns[i], &weights[i], sizeof weights[i]);
            std::memcpy(value + columns[i], &values[i], sizeof values[i]);
        }
    }

    /// Left sums of each threshold by class.  sums (thresholds / kRegister, n_classes, kRegister); counts
    /// (n_classes,): all zero before and after; weights (n_rows,): up to max_weight < 256
    static void left_sums_by_class(Stat* sums, std::span<Bytes> counts,
                                   std::span<const TileThreshold> thresholds, const Tile& tile,
                                   std::span<const Row> rows, const Bytes& last_left, const RowStats& of,
                                   Stat max_weight) {
        const Size chunk = 255 / static_cast<Size>(max_weight), width = counts.size();
        for (Size begin = 0; begin < rows.size(); begin += chunk) {
            for (Size i = begin; i < std::min(rows.size(), begin + chunk); ++i) {
                const auto goes_left = std::bit_cast<Bytes>(load(tile, rows[i]) <= last_left);
                counts[of.class_code[rows[i]]] += goes_left & static_cast<std::uint8_t>(of.stats[rows[i]]);
            }
            for (Size k = 0; k < width; ++k) {
                const auto* own = reinterpret_cast<const std::uint8_t*>(&counts[k]);
                for (Size i = 0; i < thresholds.size(); ++i) {
                    Stat& to = sums[(i / kRegister * width + k) * kRegister + i % kRegister];
                    to = (begin == 0 ? 0 : to) + own[thresholds[i].column];
                }
                counts[k] = Bytes{};
            }
        }
    }

    /// Of each feature's threshold: Σ (left weight of the class)², Σ (left weight of the class · its weight
    /// in the node), and the left weight.  (kWideTileFeatures,)
    struct Squares {
        alignas(64) std::array<std::int32_t, kWideTileFeatures> left, products, weight;
    };

    /// Sums over the rows whose codes are at most last_left or equal `also`, row by row, so that the number
    /// of classes does not count. The first N features only; the weight of all rows must be below 256. total
    /// (n_classes,); counts (n_classes,): all zero before and after
    template <Size N>
    static void left_squares(Squares& out, std::span<Bytes> counts, const Tile& tile,
                             std::span<const Row> rows, const Bytes& last_left, const Bytes& also,
                             const RowStats& of, const Stat* total) {
        using Some = typename VectorOf<std::uint8_t, N>::type;
        using Signs = typename VectorOf<std::int8_t, N>::type;
        using Words = typename VectorOf<std::int32_t, N>::type;
        const Some last = read<Some>(&last_left), equal = read<Some>(&also);
        Words left{}, products{}, weight{};
        for (const Row row : rows) {
            const Some code = read<Some>(tile.codes.data() + row * tile.n);
            const auto goes_left = (code <= last) | (code == equal);
            const Words mask = __builtin_convertvector(std::bit_cast<Signs>(goes_left), Words);
            const auto own = static_cast<std::int32_t>(of.stats[row]);
            const Size k = of.class_code[row];
            const Some before = read<Some>(&counts[k]);
            const Some after = before + (std::bit_cast<Some>(goes_left) & static_cast<std::uint8_t>(own));
            std::memcpy(&counts[k], &after, sizeof after);
            left += mask & (2 * own * __builtin_convertvector(before, Words) + own * own);
            products += mask & (own * static_cast<std::int32_t>(total[k]));
            weight += mask & own;
        }
        for (const Row row : rows) counts[of.class_code[row]] = Bytes{};
        std::memcpy(out.left.data(), &left, sizeof left);
        std::memcpy(out.products.data(), &products, sizeof products);
        std::memcpy(out.weight.data(), &weight, sizeof weight);
    }

  private:
    template <class V>
    static V read(const void* from) {
        V out;
        std::memcpy(&out, from, sizeof out);
        return out;
    }

    static Bytes load(const Tile& tile, Row row) { return read<Bytes>(tile.codes.data() + row * tile.n); }
};

}  // namespace spinney
