// A block of rows as bit-vector traversal reads it: one plane per feature, one or two bytes per row.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "predict/threshold_ranks.hpp"

namespace spinney {

/// A numeric split is `code > rank` with the sign bit of both flipped, since SIMD comparisons are signed. The
/// code of a missing value is the highest or, in a second plane for the splits that send it left, the lowest.
/// A categorical feature has one plane per 254 codes, with 255 for "in no set" and, in the first plane, 254
/// for a missing value.
class CodePlanes {
  public:
    static constexpr Size block = 256;  // rows
    static constexpr Size part_codes = 254;

    /// Byte offsets of the planes of one feature: numeric features have `high`, `low` or both.
    struct Feature {
        std::uint32_t high = 0, low = 0, first_part = 0, n_parts = 0;
        bool wide = false;  // two bytes per code
    };

    /// Whether codes fit these planes.
    static bool suits(const EnsembleCodes& codes);

    explicit CodePlanes(const EnsembleCodes& codes);

    /// Bytes of a block.
    Size bytes() const { return bytes_; }

    /// The planes of a feature, by its index in EnsembleCodes.
    const Feature& operator[](Size index) const { return features_[index]; }

    /// Flip the sign bit: the lowest code is 0.
    template <class T>
    static T signed_code(std::uint32_t code) {
        return static_cast<T>(static_cast<T>(code) ^ std::numeric_limits<T>::min());
    }

    /// Code the rows of a block; the codes of rows beyond n are undefined.  planes (bytes,)
    void code(std::uint8_t* planes, const EnsembleCodes& codes, std::span<const InputColumn> columns,
              Size begin, Size n) const;

  private:
    Size bytes_ = 0;
    std::vector<Feature> features_;
};

}  // namespace spinney
