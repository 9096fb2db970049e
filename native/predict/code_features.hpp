// The numbers and categories that an ensemble's tests tell apart, as codes: what a row looks like to its
// trees.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "core/types.hpp"
#include "predict/ensemble_layout.hpp"
#include "data/code_matrix.hpp"
#include "core/radix_sort.hpp"
#include "core/thread_pool.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace spinney {

/// The code of a missing value.
inline constexpr std::uint32_t missing_code = 0xffffffff;

/// Finds how many of a feature's thresholds lie below a number.
///
/// Equal shares of the line from the first threshold to the last have an entry each, which tells how many
/// thresholds are below the share; those within it are counted. Where too many are in a share, sixteen at a
/// time are counted, level by level: the finest level has all thresholds in order, each other level the last
/// of every sixteen of the one below it.
class RankTable {
  public:
    RankTable() = default;
    explicit RankTable(const std::vector<double>& sorted) : n_(sorted.size()) {
        std::vector<double> level = sorted;
        do {
            // Infinities enough for all that may be counted at once.
            level.resize(((level.size() + most_in_share - 1) / 16 + 1) * 16,
                         std::numeric_limits<double>::infinity());
            begin_[n_levels_++] = static_cast<std::uint32_t>(numbers_.size());
            numbers_.insert(numbers_.end(), level.begin(), level.end());
            for (Size i = 0; i < level.size() / 16; ++i) level[i] = level[16 * i + 15];
            level.resize(level.size() / 16);
        } while (level.size() > 1);
        share_out(sorted);
    }

    Size size() const { return n_; }

    std::uint32_t rank(double x) const {
        std::uint32_t at = 0;
        for (int l = n_levels_ - 1; l >= 0; --l) at = descend(at, l, x);
        return at;
    }

    /// Write the rank of each number of a column, `missing_code` for NaN.  codes (n,)
    void rank_column(std::uint32_t* codes, const InputColumn& column, Size begin, Size n) const {
        constexpr Size at_once = 256;
        double x[at_once];
        for (Size first = 0; first < n; first += at_once) {
            const Size here = std::min(at_once, n - first);
            read_numbers(x, column, begin + first, here);
            rank_numbers(codes + first, x, here);
        }
    }

  private:
    /// Numbers of a column of any type, NaN where they are missing.
    static void read_numbers(double* x, const InputColumn& column, Size begin, Size n) {
        const char* at =
            static_cast<const char*>(column.data) + static_cast<std::ptrdiff_t>(begin) * column.stride;
        const auto read = [&]<class T>(T) {
            for (Size i = 0; i < n; ++i, at += column.stride) {
                T value;  // memcpy: an input array need not be aligned
                std::memcpy(&value, at, sizeof(T));
                const bool missing = std::is_same_v<T, std::int32_t> && value < 0;
                x[i] = missing ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(value);
            }
        };
        switch (column.type) {
            case InputColumn::Type::f32:
                return read(float{});
            case InputColumn::Type::f64:
                return read(double{});
            case InputColumn::Type::category:
                return read(std::int32_t{});
        }
    }

    void rank_numbers(std::uint32_t* codes, const double* x, Size n) const {
        if (!below_share_.empty())
            rank_by_share(codes, x, n);
        else
            rank_by_levels(codes, x, n);
        for (Size i = 0; i < n; ++i) codes[i] = x[i] == x[i] ? codes[i] : missing_code;
    }

    // ---- by shares ----

    static constexpr Size most_in_share = 4, most_shares = 1 << 16;
    static constexpr std::uint16_t crowded = 0xffff;

    /// The share of a number, rounded as it may be, never falls when the number rises; nothing more is
    /// needed.
    void find_shares(std::int32_t* shares, const double* x, Size n) const {
        const double top = static_cast<double>(below_share_.size() - 1);
        for (Size i = 0; i < n; ++i) {
            const double share = (x[i] - first_) * shares_per_unit_, some = share > 0 ? share : 0.0;
            shares[i] = static_cast<std::int32_t>(some < top ? some : top);
        }
    }

    /// Try ever smaller shares until few thresholds are in crowded ones; give up where the line is too
    /// uneven.
    void share_out(const std::vector<double>& sorted) {
        if (n_ < 2 || n_ >= crowded) return;
        first_ = sorted.front();
        std::vector<std::int32_t> shares(n_);
        for (Size k = std::bit_ceil(n_); k <= most_shares; k *= 2) {
            below_share_.assign(k + 1, 0);
            shares_per_unit_ = static_cast<double>(k) / (sorted.back() - first_);
            if (!(shares_per_unit_ > 0 && shares_per_unit_ <= std::numeric_limits<double>::max())) break;
            find_shares(shares.data(), sorted.data(), n_);
            Size n_crowded = 0;
            for (Size share = 0, i = 0; share <= k; ++share) {
                const Size below = i;
                while (i < n_ && shares[i] == static_cast<std::int32_t>(share)) ++i;
                const bool few = i - below <= most_in_share;
                below_share_[share] = few ? static_cast<std::uint16_t>(below) : crowded;
                n_crowded += few ? 0 : i - below;
            }
            if (n_crowded <= n_ / 32) return;
        }
        below_share_.clear();
    }

    void rank_by_share(std::uint32_t* codes, const double* x, Size n) const {
        constexpr Size at_once = 256;
        std::int32_t shares[at_once];
        find_shares(shares, x, n);
        for (Size i = 0; i < n; ++i) {
            const std::uint32_t below = below_share_[static_cast<Size>(shares[i])];
            codes[i] = below != crowded ? below + count_few(numbers_.data() + below, x[i]) : rank(x[i]);
        }
    }

    static std::uint32_t count_few(const double* four, double x) {
#if defined(__AVX2__)
        const __m256d below = _mm256_cmp_pd(_mm256_set1_pd(x), _mm256_loadu_pd(four), _CMP_GT_OQ);
        return static_cast<std::uint32_t>(
            __builtin_popcount(static_cast<unsigned>(_mm256_movemask_pd(below))));
#else
        std::uint32_t count = 0;
        for (Size i = 0; i < most_in_share; ++i) count += x > four[i];
        return count;
#endif
    }

    // ---- by levels ----

    static std::uint32_t count_below(const double* sixteen, double x) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
        const __m512d wide = _mm512_set1_pd(x);
        const auto low = _mm512_cmp_pd_mask(wide, _mm512_loadu_pd(sixteen), _CMP_GT_OQ);
        const auto high = _mm512_cmp_pd_mask(wide, _mm512_loadu_pd(sixteen + 8), _CMP_GT_OQ);
        return static_cast<std::uint32_t>(__builtin_popcount(_mm512_kunpackb(high, low)));
#elif defined(__AVX2__)
        const __m256d wide = _mm256_set1_pd(x);
        const auto below = [&](int k) {
            return _mm256_castpd_si256(_mm256_cmp_pd(wide, _mm256_loadu_pd(sixteen + 4 * k), _CMP_GT_OQ));
        };
        // Each answer is packed into two bytes.
        const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(below(0), below(1)),
                                                 _mm256_packs_epi32(below(2), below(3)));
        const auto bits = static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes));
        return static_cast<std::uint32_t>(__builtin_popcount(bits)) / 2;
#else
        // No branch: which half a number is in cannot be foreseen.
        std::uint32_t count = static_cast<std::uint32_t>(x > sixteen[7]) << 3;
        count += static_cast<std::uint32_t>(x > sixteen[count + 3]) << 2;
        count += static_cast<std::uint32_t>(x > sixteen[count + 1]) << 1;
        count += static_cast<std::uint32_t>(x > sixteen[count]);
        return count;
#endif
    }

    std::uint32_t descend(std::uint32_t at, int level, double x) const {
        return 16 * at + count_below(numbers_.data() + begin_[level] + 16 * at, x);
    }

    void rank_by_levels(std::uint32_t* codes, const double* x, Size n) const {
        switch (n_levels_) {
            case 1:
                return rank_levels<1>(codes, x, n);
            case 2:
                return rank_levels<2>(codes, x, n);
            case 3:
                return rank_levels<3>(codes, x, n);
            case 4:
                return rank_levels<4>(codes, x, n);
            default:
                return rank_levels<0>(codes, x, n);
        }
    }

    // Levels 0: as many as there are.
    template <int Levels>
    void rank_levels(std::uint32_t* codes, const double* x, Size n) const {
        for (Size i = 0; i < n; ++i) {
            std::uint32_t code = 0;
#pragma GCC unroll 4
            for (int l = (Levels > 0 ? Levels : n_levels_) - 1; l >= 0; --l) code = descend(code, l, x[i]);
            codes[i] = code;
        }
    }

    Size n_ = 0;
    int n_levels_ = 0;
    std::uint32_t begin_[8] = {};
    std::vector<double> numbers_;
    double first_ = 0, shares_per_unit_ = 0;
    std::vector<std::uint16_t> below_share_;  // the last share has what is beyond the last threshold
};

/// What the tests of an ensemble ask of one feature.
struct FeatureCodes {
    std::uint32_t feature = 0;
    bool categorical = false;
    bool missing_first = false, missing_second = false;  // the children that tests send missing values to
    RankTable ranks;                                     // numeric
    std::uint32_t n_codes = 0;                           // categorical: no set has a code of this or above
    Size n_tests = 0;

    /// Write codes: the rank of a number, or the category, n_codes for one that no set has; missing_code.
    void code(std::uint32_t* codes, const InputColumn& column, Size begin, Size n) const {
        if (!categorical) return ranks.rank_column(codes, column, begin, n);
        const char* at =
            static_cast<const char*>(column.data) + static_cast<std::ptrdiff_t>(begin) * column.stride;
        switch (column.type) {
            case InputColumn::Type::f32:
                return categories<float>(codes, at, column.stride, n);
            case InputColumn::Type::f64:
                return categories<double>(codes, at, column.stride, n);
            case InputColumn::Type::category:
                return categories<std::int32_t>(codes, at, column.stride, n);
        }
    }

  private:
    template <class T>
    void categories(std::uint32_t* codes, const char* at, std::ptrdiff_t stride, Size n) const {
        for (Size i = 0; i < n; ++i, at += stride) {
            T value;
            std::memcpy(&value, at, sizeof(T));
            if (!(value >= 0)) {
                codes[i] = missing_code;
            } else {
                codes[i] = value < static_cast<T>(n_codes) ? static_cast<std::uint32_t>(value) : n_codes;
            }
        }
    }
};

/// The codes of every feature that some tree tests.
struct EnsembleCodes {
    std::vector<FeatureCodes> features;
    std::vector<std::uint32_t> slot_of_feature;  // (n_features,), into `features` where it is used

    const FeatureCodes& of(std::int32_t feature) const {
        return features[slot_of_feature[static_cast<Size>(feature)]];
    }

    EnsembleCodes(const EnsembleView& trees, const EnsembleTraits& traits, int n_threads)
        : features(traits.used_features.size()), slot_of_feature(trees.n_features, 0) {
        for (Size s = 0; s < features.size(); ++s) {
            features[s].feature = traits.used_features[s];
            slot_of_feature[features[s].feature] = static_cast<std::uint32_t>(s);
        }
        look_at_tests(trees);
        sort_thresholds(trees, n_threads);
    }

  private:
    void look_at_tests(const EnsembleView& trees) {
        Size n_sets = 0;
        for (Size node = 0; node < trees.kind.size(); ++node) {
            const TestKind kind = trees.test(node);
            if (kind == TestKind::leaf) continue;
            FeatureCodes& f = features[slot_of_feature[static_cast<Size>(trees.feature[node])]];
            (trees.missing(node) == 0 ? f.missing_first : f.missing_second) = true;
            ++f.n_tests;
            if (kind != TestKind::category_set) continue;
            f.categorical = true;
            f.n_codes = std::max(f.n_codes, end_of_set(trees, n_sets++));
        }
    }

    // One more than the greatest code in a set.
    static std::uint32_t end_of_set(const EnsembleView& trees, Size set) {
        for (auto w = trees.set_begin[set + 1]; w > trees.set_begin[set]; --w) {
            const std::uint64_t word = trees.set_bits[static_cast<Size>(w - 1)];
            if (word == 0) continue;
            const auto words = static_cast<std::uint32_t>(w - trees.set_begin[set]);
            return 64 * words - static_cast<std::uint32_t>(std::countl_zero(word));
        }
        return 0;
    }

    void sort_thresholds(const EnsembleView& trees, int n_threads) {
        std::vector<Size> begin(features.size() + 1, 0);
        for (Size s = 0; s < features.size(); ++s) {
            begin[s + 1] = begin[s] + (features[s].categorical ? 0 : features[s].n_tests);
        }
        std::vector<std::uint64_t> keys(begin.back()), scratch(begin.back());
        std::vector<Size> at(begin.begin(), begin.end() - 1);
        for (Size node = 0; node < trees.kind.size(); ++node) {
            if (trees.test(node) != TestKind::numeric) continue;
            keys[at[slot_of_feature[static_cast<Size>(trees.feature[node])]]++] =
                key_of(trees.threshold[node]);
        }
        Pool::shared().parallel_for(n_threads, features.size(), [&](Size s, int) {
            if (features[s].categorical) return;
            const auto first = keys.begin() + static_cast<std::ptrdiff_t>(begin[s]);
            const auto last = keys.begin() + static_cast<std::ptrdiff_t>(begin[s + 1]);
            radix_sort(keys.data() + begin[s], scratch.data() + begin[s], begin[s + 1] - begin[s]);
            std::vector<double> distinct;
            std::for_each(first, std::unique(first, last),
                          [&](std::uint64_t key) { distinct.push_back(number_of(key)); });
            features[s].ranks = RankTable(distinct);
        });
    }
};

}  // namespace spinney
