// Search of one numeric feature in a node of few rows: the rows are put in the order of their codes, and the
// sums of the left side follow row by row.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "split/numeric_search.hpp"
#include "split/row_stats.hpp"
#include "split/scorer.hpp"

namespace spinney {

/// For the layouts dense and by_class. With the Gini impurity, the sums over classes are not scored class by
/// class: the sums of their squares change by one term per row. Very few rows with numbers are not sorted,
/// but each is compared with every other. Missing values are tried on both sides.
template <Layout L>
class SortedNodeSearch {
    static_assert(L != Layout::packed);

    static constexpr Size kRanked = 128;   // rows up to which they are sorted by comparing all codes
    static constexpr Size kCompared = 16;  // rows up to which numbers are not sorted

  public:
    static constexpr Size max_rows = L == Layout::dense ? kRanked : 4096;

    /// of_sums: SplitScorer has of_values or of_squares, and no feature has a monotonic constraint.
    SortedNodeSearch(const Statistics& s, bool of_sums)
        : width_(static_cast<Size>(s.width)),
          compared_(L == Layout::dense && of_sums && s.width == 2),
          squares_(L == Layout::by_class && of_sums && s.weight_unit == 1.0 && s.row_width == 1),
          prefix_(squares_ ? 0 : (kRanked + kRegister) * width_),
          counts_(L == Layout::by_class ? width_ : 0),
          missing_(width_),
          with_missing_(squares_ ? 0 : kRegister * width_) {}

    /// Whether rows with such statistics are supported.
    static bool supports(const Statistics& s) { return L == Layout::dense ? s.width <= 4 : s.row_width == 1; }
    /// Whether a node of this size and total weight is supported.
    bool supports(Size n, Stat weight_steps) const {
        if (!squares_) return n <= kRanked;
        return n <= max_rows && weight_steps < kExactSquares;
    }

    /// Load the statistics of the rows.
    void load(std::span<const Row> rows, const RowStats& all, const Statistics&) {
        n_ = rows.size();
        if (squares_ && left_squares_.size() < n_ + kRegister)
            for (auto* sums : {&left_squares_, &right_squares_, &left_weight_, &products_})
                sums->resize(n_ + kRegister);
        for (Size i = 0; i < n_; ++i) {
            const Row row = rows[i];
            if constexpr (L == Layout::by_class) {
                stats_[i] = all.stats[row];
                class_code_[i] = all.class_code[row];
            } else {
                std::copy_n(all.stats + row * width_, width_, stats_.data() + i * width_);
            }
        }
    }

    /// Load the codes of the rows.
    template <class Codes>
    void read(std::span<const Row> rows, const Codes& codes, Code missing) {
        for (Size i = 0; i < n_; ++i) code_[i] = codes.at(rows[i]);
        const Size end = (n_ + kBytes - 1) / kBytes * kBytes;
        std::fill(code_.data() + n_, code_.data() + end, code_[0]);
        Bytes other{}, absent{};
        for (Size begin = 0; begin < end; begin += kBytes) {
            Bytes code;
            std::memcpy(&code, code_.data() + begin, sizeof code);
            other |= code ^ code_[0];
            absent |= std::bit_cast<Bytes>(code == static_cast<std::uint8_t>(missing));
        }
        constant_ = nonzero_lanes(std::bit_cast<StatRegister>(other)) == 0;
        n_bins_ = missing;
        any_missing_ = nonzero_lanes(std::bit_cast<StatRegister>(absent)) != 0;
    }

    /// Best split on the loaded codes.
    template <class Scorer>
    BinSplit search(Scorer& scorer) {
        BinSplit out;
        out.constant = constant_;
        if (constant_) return out;
        if constexpr (Scorer::of_values)
            if (n_ <= kCompared && compared_) return search_compared(scorer, out);
        if (n_ <= kRanked)
            order_by_rank();
        else
            order_by_counts();
        sorted_[n_] = kEnd;
        n_known_ = n_;
        while (any_missing_ && sorted_[n_known_ - 1] >> 16 == n_bins_) --n_known_;
        if constexpr (Scorer::of_squares)
            if (squares_) return search_squares(scorer, out);
        if constexpr (L == Layout::dense)
            add_values();
        else
            add_classes();
        for (Size i = n_thresholds_; i % kRegister != 0; ++i)
            for (Size w = 0; w < width_; ++w)
                prefix(i)[w * kRegister] = prefix(n_thresholds_ - 1)[w * kRegister];
        if (any_missing_) sum_missing();
        BestLanes best, best_left;
        StatRegister index = lane_numbers();
        for (Size begin = 0; begin < n_scored(); begin += kRegister, index += Stat{kRegister}) {
            const Stat* sums = prefix_.data() + begin * width_;
            best.keep_first(scorer.score_lanes(sums), index);
            if (!any_missing_) continue;
            add_to_lanes(with_missing_.data(), sums, missing_.data(), width_);
            best_left.keep_first(scorer.score_lanes(with_missing_.data()), index);
        }
        return finish(out, best, best_left);
    }

  private:
    static constexpr Size kBytes = 8 * kRegister, kShorts = 4 * kRegister;
    static constexpr std::uint32_t kEnd = ~std::uint32_t{0};
    using Bytes = typename VectorOf<std::uint8_t, kBytes>::type;
    using Shorts = typename VectorOf<std::int16_t, kShorts>::type;

    static std::uint32_t entry(std::uint32_t code, Size i) {
        return code << 16 | static_cast<std::uint32_t>(i);
    }

    /// sorted_[k] = (code, row) in the order of the codes: the place of a row is the number of smaller keys.
    void order_by_rank() {
        alignas(64) std::array<std::int16_t, kRanked + kShorts> key, rank;
        const Size end = (n_ + kShorts - 1) / kShorts * kShorts;
        for (Size i = 0; i < end; ++i)
            key[i] = static_cast<std::int16_t>(code_[i] << 7 | static_cast<int>(i % kRanked));
        for (Size begin = 0; begin < end; begin += kShorts) {
            Shorts own, smaller{};
            std::memcpy(&own, key.data() + begin, sizeof own);
            for (Size j = 0; j < n_; ++j) smaller -= own > key[j];
            std::memcpy(rank.data() + begin, &smaller, sizeof smaller);
        }
        for (Size i = 0; i < n_; ++i) sorted_[static_cast<Size>(rank[i])] = entry(code_[i], i);
    }

    /// The same by counting the rows of each code.
    void order_by_counts() {
        std::array<std::uint16_t, 256> place{};
        for (Size i = 0; i < n_; ++i) ++place[code_[i]];
        std::uint16_t before = 0;
        for (Size code = 0; code <= n_bins_; ++code) {
            const std::uint16_t own = place[code];
            place[code] = before;
            before = static_cast<std::uint16_t>(before + own);
        }
        for (Size i = 0; i < n_; ++i) sorted_[place[code_[i]]++] = entry(code_[i], i);
    }

    Size place(Size i) const { return i / kRegister * kRegister * width_ + i % kRegister; }
    Stat* prefix(Size i) { return prefix_.data() + place(i); }

    /// Thresholds to score: nothing is right of the last one but missing values.
    Size n_scored() const { return n_thresholds_ - (any_missing_ ? 0 : 1); }

    /// missing_ = sum of the rows with missing values.
    void sum_missing() {
        std::fill(missing_.begin(), missing_.end(), 0);
        for (Size p = n_known_; p < n_; ++p) {
            const Size i = sorted_[p] & 0xFFFF;
            if constexpr (L == Layout::by_class)
                missing_[class_code_[i]] += stats_[i];
            else
                for (Size w = 0; w < width_; ++w) missing_[w] += stats_[i * width_ + w];
        }
    }

    /// Each row is a lane whose threshold is its own code.
    template <class Scorer>
    BinSplit search_compared(Scorer& scorer, BinSplit out) {
        Stat missing_weight = 0, missing_value = 0;
        if (any_missing_)
            for (Size i = 0; i < n_; ++i)
                if (code_[i] == n_bins_) {
                    missing_weight += stats_[2 * i];
                    missing_value += stats_[2 * i + 1];
                }
        BestLanes best, best_left;
        for (Size begin = 0; begin < n_; begin += kRegister) {
            const StatRegister own = widened(code_.data() + begin);
            StatRegister weight{}, value{};
            for (Size j = 0; j < n_; ++j) {
                const StatRegister left = own >= static_cast<Stat>(code_[j]);
                weight += left & stats_[2 * j];
                value += left & stats_[2 * j + 1];
            }
            best.keep_smallest(scorer.score_values(weight, value), own);
            if (any_missing_)
                best_left.keep_smallest(scorer.score_values(weight + missing_weight, value + missing_value),
                                        own);
        }
        if (any_missing_)
            out.set(best, best_left);
        else
            out.set(best.first());
        return out;
    }

    /// Call add(row, threshold) for the rows in the order of their codes, but for missing values; a threshold
    /// that another row of the same code follows is written again.
    template <class Add>
    [[gnu::always_inline]] void for_each_sorted(Add&& add) {
        Size n = 0;
        for (Size p = 0; p < n_known_; ++p) {
            const std::uint32_t own = sorted_[p], code = own >> 16;
            add(static_cast<Size>(own & 0xFFFF), n);
            threshold_[n] = static_cast<std::uint8_t>(code);
            n += code != sorted_[p + 1] >> 16;
        }
        n_thresholds_ = n;
    }

    /// Sums of the left sides of all thresholds, of numbers.
    void add_values() {
        if (width_ == 2) {
            Stat weight = 0, value = 0;
            for_each_sorted([&](Size i, Size threshold) {
                Stat* to = prefix(threshold);
                to[0] = weight += stats_[2 * i];
                to[kRegister] = value += stats_[2 * i + 1];
            });
            return;
        }
        std::array<Stat, 4> sum{};
        for_each_sorted([&](Size i, Size threshold) {
            Stat* to = prefix(threshold);
            for (Size w = 0; w < width_; ++w) to[w * kRegister] = sum[w] += stats_[i * width_ + w];
        });
    }

    /// The same of classes.
    void add_classes() {
        Size last = kRanked;  // threshold that was written
        for_each_sorted([&](Size i, Size threshold) {
            Stat* to = prefix(threshold);
            if (threshold != last)
                for (Size k = 0; k < width_; ++k) to[k * kRegister] = counts_[k];
            last = threshold;
            to[class_code_[i] * kRegister] = counts_[class_code_[i]] += stats_[i];
        });
        std::fill(counts_.begin(), counts_.end(), 0);
    }

    template <class Scorer>
    BinSplit search_squares(Scorer& scorer, BinSplit out) {
        const Stat* total = scorer.total();
        Stat left = 0, right = 0, weight = 0;
        for (Size k = 0; k < width_; ++k) right += total[k] * total[k];
        for_each_sorted([&](Size i, Size threshold) {
            const Size k = class_code_[i];
            const Stat own = stats_[i], before = counts_[k];
            left += own * (2 * before + own);
            right -= own * (2 * (total[k] - before) - own);
            counts_[k] = before + own;
            weight += own;
            left_squares_[threshold] = left;
            right_squares_[threshold] = right;
            left_weight_[threshold] = weight;
        });
        for (Size i = 0; i < n_; ++i) counts_[class_code_[i]] = 0;
        const MissingSquares missing = any_missing_ ? add_products(total) : MissingSquares{};
        const Stat all = weight + missing.weight;
        for (Size i = n_thresholds_; i % kRegister != 0; ++i) left_weight_[i] = all;  // nothing is right
        BestLanes best, best_left;
        StatRegister index = lane_numbers();
        for (Size begin = 0; begin < n_scored(); begin += kRegister, index += Stat{kRegister}) {
            const StatRegister l = widened(left_squares_.data() + begin),
                               r = widened(right_squares_.data() + begin),
                               w = widened(left_weight_.data() + begin);
            best.keep_first(scorer.score_squares(l, r, w, all), index);
            if (!any_missing_) continue;
            const StatRegister twice = 2 * widened(products_.data() + begin);
            best_left.keep_first(scorer.score_squares(l + twice + missing.squares,
                                                      r + twice + (missing.squares - 2 * missing.with_total),
                                                      w + missing.weight, all),
                                 index);
        }
        return finish(out, best, best_left);
    }

    /// Of the class weights m of the rows with missing values: Σ m, Σ m² and Σ m·(weight in the node).
    struct MissingSquares {
        Stat weight = 0, squares = 0, with_total = 0;
    };

    /// Sums of squares with missing values on the left follow from Σ m·(left weight) of every threshold.
    MissingSquares add_products(const Stat* total) {
        sum_missing();
        MissingSquares out;
        for (Size p = n_known_; p < n_; ++p) {
            const Size i = sorted_[p] & 0xFFFF, k = class_code_[i];
            out.weight += stats_[i];
            out.squares += stats_[i] * missing_[k];
            out.with_total += stats_[i] * total[k];
        }
        Stat product = 0;
        for_each_sorted([&](Size i, Size threshold) {
            product += stats_[i] * missing_[class_code_[i]];
            products_[threshold] = product;
        });
        return out;
    }

    BinSplit finish(BinSplit out, const BestLanes& best, const BestLanes& best_left) {
        if (any_missing_)
            out.set(best, best_left);
        else
            out.set(best.first());
        if (out.found()) out.last_left = threshold_[out.last_left];
        return out;
    }

    Size n_ = 0, n_known_ = 0, n_bins_ = 0, n_thresholds_ = 0, width_;
    bool constant_ = true, any_missing_ = false, compared_, squares_;
    std::array<std::uint8_t, max_rows + kBytes> code_;
    std::array<std::uint32_t, max_rows + 1> sorted_;
    std::array<std::uint8_t, max_rows + 1> threshold_;
    std::array<std::uint16_t, L == Layout::by_class ? max_rows : 1> class_code_;
    std::array<Stat, L == Layout::by_class ? max_rows : 4 * max_rows> stats_;
    std::vector<Stat> prefix_;   // (thresholds / kRegister, width, kRegister)
    std::vector<Stat> counts_;   // (n_classes,), all zero between searches
    std::vector<Stat> missing_;  // (width,) sum of the rows with missing values
    std::vector<Stat> with_missing_;
    std::vector<Stat> left_squares_, right_squares_, left_weight_, products_;
};

}  // namespace spinney
