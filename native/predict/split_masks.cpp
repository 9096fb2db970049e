#include "predict/split_masks.hpp"

#include <cstring>
#include <limits>

#include "simd/row_masks.hpp"

namespace spinney {

namespace {

constexpr Size kMinRepeats = 4;  // splits per distinct one
constexpr Size kMaxBytes = Size{1} << 18, kSplitBytes = CodePlanes::block / kMaskRows * sizeof(RowMask);

Size count_distinct(const FeatureCodes& f) {
    return f.ranks.size() * (Size{f.missing_right} + Size{f.missing_left});
}

/// Compare with one rank after the other.  T: of the codes
template <class T, class Greater>
void compare(std::uint8_t* masks, const std::uint8_t* codes, std::uint32_t n_ranks, Size n_masks,
             Greater&& greater) {
    for (std::uint32_t rank = 0; rank < n_ranks; ++rank, masks += kSplitBytes)
        for (Size i = 0; i < n_masks; ++i) {
            const RowMask mask = greater(codes + i * kMaskRows * sizeof(T), CodePlanes::signed_code<T>(rank));
            std::memcpy(masks + i * sizeof mask, &mask, sizeof mask);
        }
}

}  // namespace

bool SplitMasks::suits(const EnsembleCodes& codes) {
    Size n_splits = 0, n_distinct = 0;
    for (const FeatureCodes& f : codes.features) {
        if (f.categorical) return false;
        n_splits += f.n_splits;
        n_distinct += count_distinct(f);
    }
    return n_splits >= kMinRepeats * n_distinct && n_distinct * kSplitBytes <= kMaxBytes;
}

SplitMasks::SplitMasks(const EnsembleCodes& codes, const CodePlanes& planes) {
    for (Size s = 0; s < codes.features.size(); ++s) {
        const FeatureCodes& f = codes.features[s];
        const CodePlanes::Feature& p = planes[s];
        const auto n_ranks = static_cast<std::uint32_t>(f.ranks.size());
        First first;
        const auto add = [&](bool occurs, std::uint32_t plane, std::uint32_t& number) {
            number = n_;
            if (!occurs) return;
            planes_.push_back({plane, n_, n_ranks, p.wide});
            n_ += n_ranks;
        };
        add(f.missing_right, p.high, first.high);
        add(f.missing_left, p.low, first.low);
        first_.push_back(first);
    }
}

Size SplitMasks::bytes() const { return n_ * kSplitBytes; }

void SplitMasks::evaluate(std::uint8_t* masks, const std::uint8_t* planes, Size n) const {
    const Size n_masks = (n + kMaskRows - 1) / kMaskRows;
    for (const Plane& p : planes_) {
        std::uint8_t* own = masks + p.first * kSplitBytes;
        if (p.wide)
            compare<std::int16_t>(
                own, planes + p.plane, p.n_ranks, n_masks,
                [](const auto* codes, std::int16_t rank) { return greater_words(codes, rank); });
        else
            compare<std::int8_t>(
                own, planes + p.plane, p.n_ranks, n_masks,
                [](const auto* codes, std::int8_t rank) { return greater_bytes(codes, rank); });
    }
}

}  // namespace spinney
