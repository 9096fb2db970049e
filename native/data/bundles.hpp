// Feature bundles: lossless exclusive feature bundling (EFB; Ke et al. 2017, "LightGBM").
//
// A bundle is one byte per row that holds the code of one column, or of several columns with few values
// together. Columns share a bundle while that saves time and at most 256 combinations of their codes occur
// (a one-hot group of 200 columns fills one bundle). The byte numbers the combination; the histograms of the
// columns are sums over the histogram of the bundle. A histogram costs one addition per row and bundle, and
// nothing is lost.
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

/// A column of a shared bundle. Its histogram is summed over the combinations of every code but the one with
/// the most combinations, whose sum is what the others leave of the node's total.
struct SharedColumn {
    struct Run {
        std::uint8_t code, end;  // the code's combinations are those from the run before to `end`, exclusive
    };
    std::uint8_t common = 0;                 // the code that is left out
    std::vector<std::uint8_t> combinations;  // by code
    std::vector<Run> runs;                   // ascending codes
};

struct Bundle {
    std::vector<std::uint32_t> features;  // ascending; one: the bundle's code is the column's
    std::vector<SharedColumn> columns;    // (features.size(),) if shared, else empty
    Size n_bins = 0;                      // codes in use: missing included
    std::uint8_t common = 0;              // not shared: the code of most rows, as far as is known

    bool shared() const { return features.size() > 1; }
};

/// The bundles of a matrix and the codes of those that are shared.
struct Bundles {
    std::vector<Bundle> bundles;
    Size n_dense = 0;  // the bundles after these are sparse: most rows have the common code
    std::vector<std::vector<std::uint8_t>> codes;  // (n_slots,): (n_rows,) if shared, else empty
    std::vector<std::pair<Size, Size>> place_of;  // (n_features,): bundle, past the last if none; place in it

    /// The codes of a bundle.  (n_rows,)
    const std::uint8_t* codes_of(Size bundle, const CodeMatrix& x) const {
        return bundles[bundle].shared() ? codes[bundle].data()
                                        : x.columns[bundles[bundle].features[0]].as<std::uint8_t>();
    }
};

/// Give every column a bundle, shared where possible with neighbours among the columns of few values. Sparse
/// columns come last, where there are enough of them.  kept (n_features,): columns marked 0 get no bundle;
/// empty: all are kept
Bundles make_bundles(const CodeMatrix& x, std::span<const std::uint8_t> kept = {});

/// Give every column a bundle of its own.
inline Bundles bundle_each(const CodeMatrix& x) {
    Bundles out;
    for (std::uint32_t j = 0; j < x.columns.size(); ++j) {
        out.bundles.push_back({{j}, {}, Size{x.columns[j].n_bins} + 1});
        out.place_of.emplace_back(j, 0);
    }
    out.codes.resize(x.columns.size());
    out.n_dense = out.bundles.size();
    return out;
}

/// A column's own histogram from that of its shared bundle.  out (n_out,), cleared here; total: of the node
inline void unpack(Stat* out, Size n_out, const SharedColumn& column, const Stat* bins, Stat total) {
    std::fill_n(out, n_out, 0);
    const std::uint8_t* combination = column.combinations.data();
    Size i = 0;
    for (const SharedColumn::Run& run : column.runs) {
        Stat sum = 0;
        for (; i < run.end; ++i) sum += bins[combination[i]];
        out[run.code] = sum;
        total -= sum;
    }
    out[column.common] = total;
}

}  // namespace spinney
