// The numbers and categories that an ensemble's tests tell apart, as codes: what a row looks like to its
// trees.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "dtypes.hpp"
#include "ensemble_layout.hpp"
#include "matrix.hpp"
#include "radix.hpp"
#include "threads.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace spinney {

/// The code of a missing value.
inline constexpr std::uint32_t missing_code = 0xffffffff;

/// Finds how many of a feature's thresholds lie below a number: sixteen at a time, level by level.
///
/// The finest level has all thresholds in order, each other level the last of every sixteen of the one below
/// it; each is padded with infinities to whole sixteens, at least one.
class RankTable {
  public:
    RankTable() = default;
    explicit RankTable(const std::vector<double>& sorted) : n_(sorted.size()) {
        std::vector<double> level = sorted;
        do {
            level.resize((level.size() / 16 + 1) * 16, std::numeric_limits<double>::infinity());
            begin_[n_levels_++] = static_cast<std::uint32_t>(numbers_.size());
            numbers_.insert(numbers_.end(), level.begin(), level.end());
            for (Size i = 0; i < level.size() / 16; ++i) level[i] = level[16 * i + 15];
            level.resize(level.size() / 16);
        } while (level.size() > 1);
    }

    Size size() const { return n_; }

    std::uint32_t rank(double x) const {
        std::uint32_t at = 0;
        for (int l = n_levels_ - 1; l >= 0; --l) at = descend(at, l, x);
        return at;
    }

    /// Write the rank of each number of a column, `missing_code` for NaN.  codes (n,)
    void rank_column(std::uint32_t* codes, const InputColumn& column, Size begin, Size n) const {
        const char* at =
            static_cast<const char*>(column.data) + static_cast<std::ptrdiff_t>(begin) * column.stride;
        switch (column.type) {
            case InputColumn::Type::f32:
                return rank_strided<float>(codes, at, column.stride, n);
            case InputColumn::Type::f64:
                return rank_strided<double>(codes, at, column.stride, n);
            case InputColumn::Type::category:
                return rank_strided<std::int32_t>(codes, at, column.stride, n);
        }
    }

  private:
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

    template <class T>
    void rank_strided(std::uint32_t* codes, const char* at, std::ptrdiff_t stride, Size n) const {
        switch (n_levels_) {
            case 1:
                return rank_levels<T, 1>(codes, at, stride, n);
            case 2:
                return rank_levels<T, 2>(codes, at, stride, n);
            case 3:
                return rank_levels<T, 3>(codes, at, stride, n);
            case 4:
                return rank_levels<T, 4>(codes, at, stride, n);
            default:
                return rank_levels<T, 0>(codes, at, stride, n);
        }
    }

    // Levels 0: as many as there are.
    template <class T, int Levels>
    void rank_levels(std::uint32_t* codes, const char* at, std::ptrdiff_t stride, Size n) const {
        for (Size i = 0; i < n; ++i, at += stride) {
            T value;  // memcpy: an input array need not be aligned
            std::memcpy(&value, at, sizeof(T));
            const double x = static_cast<double>(value);
            std::uint32_t code = 0;
#pragma GCC unroll 4
            for (int l = (Levels > 0 ? Levels : n_levels_) - 1; l >= 0; --l) code = descend(code, l, x);
            const bool missing = std::is_same_v<T, std::int32_t> ? value < 0 : x != x;
            codes[i] = missing ? missing_code : code;
        }
    }

    Size n_ = 0;
    int n_levels_ = 0;
    std::uint32_t begin_[8] = {};
    std::vector<double> numbers_;
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
