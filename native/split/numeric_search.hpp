// Searches of one numeric feature in one node without missing values: in small nodes, in histograms, and for
// random thresholds.
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
    bool constant = true;  // the node has one value only
    bool found() const { return quality > kImpossible; }
    void set(const std::pair<double, Size>& best) {
        quality = best.first;
        last_left = static_cast<Code>(best.second);
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

    /// Load the codes of the rows. Returns false if a value is missing.
    template <class Codes>
    bool read(std::span<const Row> rows, const Codes& codes, Code missing) {
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
        return !any(absent);
    }

    /// Best split on the loaded codes. `left_of` computes its left sum.
    template <class Scorer>
    BinSplit search(Scorer& scorer) {
        BinSplit out;
        out.constant = constant_;
        if (constant_) return out;
        accumulate();
        BestLanes best;
        for (Size begin = 0; begin < n_; begin += kRegister) {
            const StatRegister sums = read_sums(begin);
            const Register value = scorer.score_lanes(reinterpret_cast<const Stat*>(&sums));
            const StatRegister code = widened(code_.data() + begin);
            // The smallest code among equal splits; the rows are in any order.
            best.keep((value > best.value) | ((value == best.value) & (code < best.index)), value, code);
        }
        out.set(best.first());
        return out;
    }

    /// Left sum of a split that `search` just returned.
    void left_of(Stat* sum, Code last_left) const {
        const Size lane = static_cast<Size>(
            std::find(code_.begin(), code_.end(), static_cast<Number>(last_left)) - code_.begin());
        sum[0] = read_sums(lane / kRegister * kRegister)[lane % kRegister];
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
    alignas(64) std::array<Number, capacity> code_;
    alignas(64) std::array<std::array<Number, capacity>, 2> stats_, sums_;
};

/// Search over the histogram of one numeric feature by prefix sums, kept in the form of score_lanes.
class BinSearch {
  public:
    explicit BinSearch(Size width)
        : width_(width), sum_(width), prefix_((256 / kRegister + 1) * kRegister * width) {}

    /// Best split. `used`: the bins that are not empty, or null if unknown.
    /// bins (n_bins, width), left (width,): receives the left sum
    template <class Scorer>
    BinSplit search(Scorer& scorer, const Stat* bins, Size n_bins, const CodeSet* used, Stat* left) {
        n_ = 0;
        std::fill_n(sum_.data(), width_, 0);
        if (width_ == 1)
            accumulate<1>(bins, n_bins, used);
        else if (width_ == 2)
            accumulate<2>(bins, n_bins, used);
        else
            accumulate<0>(bins, n_bins, used);
        BinSplit out;
        out.constant = n_ < 2;
        if (n_ < 2) return out;
        // The last threshold leaves nothing on the right; the unused lanes of the last register repeat it.
        for (Size i = n_; i % kRegister != 0; ++i)
            for (Size w = 0; w < width_; ++w) prefix(i, w) = sum_[w];
        BestLanes best;
        StatRegister index = lane_numbers();
        for (Size begin = 0; begin + 1 < n_; begin += kRegister, index += static_cast<Stat>(kRegister)) {
            const Register value = scorer.score_lanes(prefix_.data() + begin * width_);
            best.keep(value > best.value, value, index);
        }
        out.set(best.first());
        if (!out.found()) return out;
        for (Size w = 0; w < width_; ++w) left[w] = prefix(out.last_left, w);
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
    std::vector<Stat> sum_, prefix_;
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

    /// Left sums of each threshold by class.  sums (thresholds / kRegister, n_classes, kRegister); counts
    /// (n_classes,), memory for it; weights (n_rows,): up to max_weight < 256
    static void left_sums_by_class(Stat* sums, std::span<Bytes> counts,
                                   std::span<const TileThreshold> thresholds, const Tile& tile,
                                   std::span<const Row> rows, const Bytes& last_left, const RowStats& of,
                                   Stat max_weight) {
        const Size chunk = 255 / static_cast<Size>(max_weight), width = counts.size();
        for (Size begin = 0; begin < rows.size(); begin += chunk) {
            std::fill(counts.begin(), counts.end(), Bytes{});
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
            }
        }
    }

  private:
    static Bytes load(const Tile& tile, Row row) {
        Bytes out;
        std::memcpy(&out, tile.codes.data() + row * tile.n, sizeof out);
        return out;
    }
};

}  // namespace spinney
