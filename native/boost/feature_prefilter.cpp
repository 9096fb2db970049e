#include "boost/feature_prefilter.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/thread_pool.hpp"

namespace spinney {

namespace {

/// Whether at least `needed` of some rows have another code than most.  rows (n,): those that count, or null
/// for all
bool divides(const std::uint8_t* codes, const Row* rows, Size n, Size needed) {
    const auto code = [&](Size i) { return codes[rows ? rows[i] : i]; };
    // If fewer than `needed` rows have another code than most, most of the first 2 · needed − 1 have it.
    const Size n_first = std::min(n, 2 * needed - 1);
    std::array<Size, 256> counts{};
    for (Size i = 0; i < n_first; ++i) ++counts[code(i)];
    const auto most = std::max_element(counts.begin(), counts.end());
    if (n_first - *most >= needed) return true;
    const auto common = static_cast<std::uint8_t>(most - counts.begin());
    constexpr Size kBlock = 256;
    Size others = 0;
    for (Size begin = 0; begin < n && others < needed; begin += kBlock)
        for (Size i = begin; i < std::min(n, begin + kBlock); ++i) others += code(i) != common;
    return others >= needed;
}

}  // namespace

std::vector<std::uint8_t> splittable_features(const CodeMatrix& x, const BoostOptions& options,
                                              const BoostTarget& target) {
    std::vector<std::uint8_t> out(x.columns.size(), 1);
    // A level of symmetric trees has one split, which may leave a node whole.
    if (options.symmetric() || !target.unit_weights || !(options.min_samples_leaf > 1)) return out;
    std::vector<Row> rows;
    for (Size r = 0; r < target.weights.size(); ++r)
        if (target.weights[r] > 0) rows.push_back(static_cast<Row>(r));
    const Size n = target.weights.empty() ? x.n_rows : rows.size();
    const double needed = std::ceil(std::min(options.min_samples_leaf * (1 - 1e-12), 1.0 * (n + 1)));
    Pool::shared().parallel_for(options.n_threads, out.size(), [&](Size f, int) {
        out[f] = divides(x.columns[f].as<std::uint8_t>(), rows.empty() ? nullptr : rows.data(), n,
                         static_cast<Size>(needed));
    });
    return out;
}

}  // namespace spinney
