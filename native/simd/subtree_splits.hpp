// All splits of a small complete subtree at once: sixteen rows by one split, or one row by sixteen splits.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "core/types.hpp"

#define SPINNEY_SUBTREE_SPLITS

namespace spinney {

inline constexpr Size kWordLanes = 16;

namespace detail {

template <class V>
[[gnu::always_inline]] inline V load_vector(const void* at) {
    V out;
    std::memcpy(&out, at, sizeof out);
    return out;
}

/// The results on the way down of each row, per level: 0 or −1.
template <Size Levels>
struct LevelResults {
    __m256i level[Levels];
};

}  // namespace detail

/// Evaluate `Levels` levels of splits below split `at` for sixteen rows. Splits are in breadth-first order.
/// rank: greater codes go right; codes: those of feature j are at codes + j * group; missing codes go right
/// where the bit of the split is set in missing_right
template <Size Levels, bool Missing>
[[gnu::always_inline]] inline detail::LevelResults<Levels> evaluate_levels(
    Size at, const std::uint16_t* feature, const std::int16_t* rank, std::uint64_t missing_right,
    std::int16_t missing_code, const std::int16_t* codes, Size group) {
    const auto code = detail::load_vector<__m256i>(codes + feature[at] * group);
    __m256i own = _mm256_cmpgt_epi16(code, _mm256_set1_epi16(rank[at]));
    if constexpr (Missing) {
        const __m256i missing = _mm256_cmpeq_epi16(code, _mm256_set1_epi16(missing_code));
        const auto right = static_cast<std::int16_t>(-static_cast<int>(missing_right >> at & 1));
        own = _mm256_or_si256(own, _mm256_and_si256(missing, _mm256_set1_epi16(right)));
    }
    detail::LevelResults<Levels> out;
    out.level[0] = own;
    if constexpr (Levels > 1) {
        const auto left = evaluate_levels<Levels - 1, Missing>(2 * at + 1, feature, rank, missing_right,
                                                               missing_code, codes, group);
        const auto right = evaluate_levels<Levels - 1, Missing>(2 * at + 2, feature, rank, missing_right,
                                                                missing_code, codes, group);
#pragma GCC unroll 8
        for (Size i = 0; i + 1 < Levels; ++i)
            out.level[i + 1] = _mm256_blendv_epi8(left.level[i], right.level[i], own);
    }
    return out;
}

/// Write the exit of each of sixteen rows: its results on all levels as a binary number.  exits (16,)
template <Size Levels>
[[gnu::always_inline]] inline void store_exits(std::int16_t* exits,
                                               const detail::LevelResults<Levels>& results) {
    __m256i sum{};
#pragma GCC unroll 8
    for (Size i = 0; i < Levels; ++i)
        sum = _mm256_sub_epi16(_mm256_add_epi16(sum, sum), results.level[i]);  // right is −1
    std::memcpy(exits, &sum, sizeof sum);
}

namespace detail {

/// The bytes of a row of 16 · Parts bytes at sixteen positions.
template <int Parts>
[[gnu::always_inline]] inline __m128i pick_bytes(const std::int8_t* row, __m128i position) {
    if constexpr (Parts == 1) return _mm_shuffle_epi8(load_vector<__m128i>(row), position);
    const __m256i twice = _mm256_broadcastsi128_si256(position);
    __m256i out{};
#pragma GCC unroll 4
    for (int part = 0; part < Parts; part += 2) {
        const auto first = static_cast<char>(16 * part), second = static_cast<char>(16 * part + 16);
        const __m256i own = _mm256_set_m128i(_mm_set1_epi8(second), _mm_set1_epi8(first));
        // Positions in other parts get the sign bit, which picks 0.
        const __m256i within = _mm256_adds_epu8(_mm256_xor_si256(twice, own), _mm256_set1_epi8(0x70));
        out = _mm256_or_si256(out, _mm256_shuffle_epi8(load_vector<__m256i>(row + 16 * part), within));
    }
    return _mm_or_si128(_mm256_castsi256_si128(out), _mm256_extracti128_si256(out, 1));
}

[[gnu::always_inline]] inline unsigned byte_mask(__m128i results) {
    return static_cast<unsigned>(_mm_movemask_epi8(results));
}

}  // namespace detail

/// The results of sixteen splits for one row.
struct RowResults {
    unsigned right, equal, missing;  // one bit per split
};

/// feature, rank (16,); row (16 · Parts,)
template <int Parts, bool Missing>
[[gnu::always_inline]] inline RowResults evaluate_splits(const std::uint8_t* feature, const std::int8_t* rank,
                                                         std::int8_t missing_code, const std::int8_t* row) {
    const __m128i code = detail::pick_bytes<Parts>(row, detail::load_vector<__m128i>(feature));
    const auto ranks = detail::load_vector<__m128i>(rank);
    RowResults out{detail::byte_mask(_mm_cmpgt_epi8(code, ranks)),
                   detail::byte_mask(_mm_cmpeq_epi8(code, ranks)), 0};
    if constexpr (Missing) out.missing = detail::byte_mask(_mm_cmpeq_epi8(code, _mm_set1_epi8(missing_code)));
    return out;
}

}  // namespace spinney
#endif
