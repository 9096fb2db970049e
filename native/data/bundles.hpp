// Feature bundles: lossless exclusive feature bundling (EFB; Ke et al. 2017, "LightGBM").
//
// A bundle is one byte per row that holds the code of one column, or of several columns with few values
// together. Columns share a bundle while at most 256 combinations of their codes occur (a one-hot group of
// 200 columns fills one bundle). The byte numbers the combination; the histograms of the columns are sums
// over the histogram of the bundle. A histogram costs one addition per row and bundle, and nothing is lost.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "data/code_matrix.hpp"

namespace spinney {

inline constexpr Size kBundleBins = 256;

struct Bundle {
    std::vector<std::uint32_t> features;  // ascending; one: the bundle's code is the column's
    // shared: the columns' codes in each combination  (n_combinations, features.size())
    std::vector<std::uint8_t> codes_of;
    Size n_bins = 0;  // codes in use: missing included

    bool shared() const { return features.size() > 1; }
};

/// The bundles of a matrix and the codes of those that are shared.
struct Bundles {
    std::vector<Bundle> bundles;
    std::vector<std::vector<std::uint8_t>> codes;  // (n_slots,): (n_rows,) if shared, else empty
    std::vector<std::pair<Size, Size>> place_of;   // (n_features,): bundle, and place in it

    /// The codes of a bundle.  (n_rows,)
    const std::uint8_t* codes_of(Size bundle, const CodeMatrix& x) const {
        return bundles[bundle].shared() ? codes[bundle].data()
                                        : x.columns[bundles[bundle].features[0]].as<std::uint8_t>();
    }
};

/// Give every column a bundle, shared where possible with neighbours among the columns of few values.
Bundles make_bundles(const CodeMatrix& x);

/// Give every column a bundle of its own.
inline Bundles bundle_each(const CodeMatrix& x) {
    Bundles out;
    for (std::uint32_t j = 0; j < x.columns.size(); ++j) {
        out.bundles.push_back({{j}, {}, Size{x.columns[j].n_bins} + 1});
        out.place_of.emplace_back(j, 0);
    }
    out.codes.resize(x.columns.size());
    return out;
}

/// A column's own histogram from that of its shared bundle.  out (n_bins + 1,), cleared here
inline void unpack(Stat* out, Size n_out, const Bundle& bundle, Size place, const Stat* bins) {
    std::fill_n(out, n_out, 0);
    const Size step = bundle.features.size();
    const std::uint8_t* code = bundle.codes_of.data() + place;
    for (Size i = 0; i < bundle.n_bins; ++i) out[code[i * step]] += bins[i];
}

}  // namespace spinney
