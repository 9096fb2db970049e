// The rows that go right at each split of an ensemble, for trees that have many splits in common.
#pragma once

#include <cstdint>
#include <vector>

#include "predict/code_planes.hpp"

namespace spinney {

/// Trees of many classes or rounds on few features split at the same thresholds again and again: each is
/// compared with a block of rows once, for all trees.
class SplitMasks {
  public:
    /// Whether the splits of an ensemble are mostly repetitions, and the masks of the others fit in the
    /// caches.
    static bool suits(const EnsembleCodes& codes);

    /// Of no splits.
    SplitMasks() = default;
    SplitMasks(const EnsembleCodes& codes, const CodePlanes& planes);

    /// Number of distinct splits.
    Size size() const { return n_; }

    /// The number of a split: the index of its feature, its rank, and where it sends missing values.
    std::uint32_t number(Size feature, std::uint32_t rank, bool missing_left) const {
        return (missing_left ? first_[feature].low : first_[feature].high) + rank;
    }

    /// Bytes of the masks of a block.
    Size bytes() const;

    /// Compare the first n rows of a block with all splits.  masks (bytes(),): for each split the RowMask of
    /// every kMaskRows rows; planes: the block
    void evaluate(std::uint8_t* masks, const std::uint8_t* planes, Size n) const;

  private:
    /// All splits of a feature with the same direction of missing values: `n_ranks` from number `first` on.
    struct Plane {
        std::uint32_t plane, first, n_ranks;
        bool wide;
    };
    struct First {
        std::uint32_t high = 0, low = 0;
    };

    std::vector<Plane> planes_;
    std::vector<First> first_;  // (n_features,)
    std::uint32_t n_ = 0;
};

}  // namespace spinney
