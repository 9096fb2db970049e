// Dispatch of the histogram grower to the layout of the sums and the criterion.
#include "grow/grow_histogram.hpp"

#include "split/scorer.hpp"

namespace spinney {

bool histogram_grower_supports(const GrowContext& c) {
    constexpr Size max_histogram = Size{1} << 24;
    Size n_bins = 0;
    for (const auto& column : c.x.columns) {
        if (column.width != 1) return false;
        n_bins += column.n_bins + 1;
    }
    return n_bins * static_cast<Size>(c.s.width) <= max_histogram && c.options.fit_histograms();
}

std::vector<Fragment> grow_histogram(const GrowContext& c, const CodeTiles& codes, std::vector<Row> rows) {
    std::vector<Fragment> fragments(1);
    with_scorer(c.options.criterion, c.s, [&]<Layout L, class Criterion>() {
        detail::grow_histogram_as<L, Criterion>(fragments, c, codes, std::move(rows));
    });
    return fragments;
}

}  // namespace spinney
