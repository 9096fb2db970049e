// Rows as blocked trees read them: exact codes for comparing many rows with one threshold, and codes of one
// byte for comparing one row with many.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "predict/threshold_ranks.hpp"

namespace spinney {

/// Signed codes, as SIMD instructions compare them: missing is the lowest, then ranks from 0 on.
template <class Code>
struct SignedCode {
    static constexpr Code missing = std::numeric_limits<Code>::min();

    static constexpr Code of(std::uint32_t rank) {
        return static_cast<Code>(missing + 1 + static_cast<int>(rank));  // missing_code is −1 here
    }
};

/// The ranks of one feature in at most 256 codes.
///
/// Some of the thresholds are bounds; a code is the number of bounds below a value. A split at a bound needs
/// no more. At another threshold, a value with the code of the threshold may be on either side.
class CoarseRanks {
  public:
    /// n_splits: number of splits at each threshold, in order
    explicit CoarseRanks(const std::vector<std::uint32_t>& n_splits);

    /// The code of a value with `rank` thresholds below it, or of missing_code, which comes before 0.
    std::int8_t code(std::uint32_t rank) const { return code_[rank + 1]; }
    bool is_bound(std::uint32_t threshold) const { return is_bound_[threshold]; }

  private:
    void choose_bounds(const std::vector<std::uint32_t>& n_splits);

    std::vector<bool> is_bound_;     // (n_thresholds,)
    std::vector<std::int8_t> code_;  // (n_thresholds + 2,): of missing, then by rank
};

/// A block of coded rows.
class BlockedRows {
  public:
    static constexpr Size group = 32;  // rows whose exact codes of one feature are contiguous

    /// Whether rows of these features can be coded.
    static bool suits(const EnsembleCodes& codes);

    /// Code n rows from `begin` on.  coarse (n_features,)
    void code(const EnsembleCodes& codes, const std::vector<CoarseRanks>& coarse,
              std::span<const InputColumn> columns, Size begin, Size n);

    bool any_missing() const { return any_missing_; }
    /// Bytes of the coarse codes of a row: one register or several.
    static Size row_bytes(Size n_features) { return 16 * std::bit_ceil((n_features + 15) / 16); }
    const std::int8_t* coarse() const { return coarse_.data()->code; }
    /// The exact codes of a group: (n_features, group)
    const std::int16_t* exact(Size g) const { return exact_[g * n_features_].code; }
    std::int16_t exact(Size row, Size feature) const {
        return exact_[row / group * n_features_ + feature].code[row % group];
    }

  private:
    struct alignas(64) CacheLine {
        std::int8_t code[64];
    };
    struct alignas(64) Group {
        std::int16_t code[group] = {};
    };

    void write_exact(Size first, Size feature, const std::uint32_t* code, Size n);
    void write_coarse(Size first, Size feature, const std::uint32_t* code, Size n, const CoarseRanks& coarse);

    Size n_features_ = 0, row_bytes_ = 0;
    bool any_missing_ = false;
    std::vector<Group> exact_;       // (n / group, n_features)
    std::vector<CacheLine> coarse_;  // (n, row_bytes)
};

}  // namespace spinney
