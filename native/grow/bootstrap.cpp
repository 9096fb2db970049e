// Bootstrap samples, and an order of the rows that does not depend on how they are stored.
#include "grow/bootstrap.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/random.hpp"
#include "core/thread_pool.hpp"

namespace spinney {

RowVector<std::int64_t> row_order(const CodeMatrix& x, const Target& target, const CodeKeys& code_keys,
                                  int n_threads) {
    struct Key {
        std::uint64_t hash;
        std::int64_t row;
    };
    RowVector<Key> keys(x.n_rows);
    const auto m = static_cast<Size>(target.n_outputs);
    constexpr Size block = 4096;
    Pool::shared().parallel_for(n_threads, (x.n_rows + block - 1) / block, [&](Size b, int) {
        const Size begin = b * block, end = std::min(x.n_rows, begin + block);
        for (Size r = begin; r < end; ++r) keys[r] = {0, static_cast<std::int64_t>(r)};
        const auto add = [&](auto&& value_of) {
            for (Size r = begin; r < end; ++r) keys[r].hash = mix(keys[r].hash, value_of(r));
        };
        for (Size j = 0; j < x.columns.size(); ++j) {
            const std::uint64_t* key_of = code_keys[j].data();
            visit_codes(x.columns[j],
                        [&](const auto* codes) { add([=](Size r) { return key_of[codes[r]]; }); });
        }
        for (Size o = 0; o < m; ++o)
            add([&](Size r) {
                return target.classes ? static_cast<std::uint64_t>(target.classes[r * m + o])
                                      : std::bit_cast<std::uint64_t>(target.values[r * m + o] + 0.0);
            });
    });
    std::sort(keys.begin(), keys.end(),
              [](const Key& a, const Key& b) { return a.hash != b.hash ? a.hash < b.hash : a.row < b.row; });
    RowVector<std::int64_t> out(x.n_rows);
    std::transform(keys.begin(), keys.end(), out.begin(), [](const Key& key) { return key.row; });
    return out;
}

void BootstrapSampler::set_repeats(std::span<const std::int64_t> repeats) {
    ends_.resize(n_rows_);
    for (Size i = 0; i < n_rows_; ++i) ends_[i] = repeats[row_at(i)];
    std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
}

void BootstrapSampler::set_probabilities(std::span<const double> weights) {
    const double largest = *std::max_element(weights.begin(), weights.end());
    bounds_.resize(n_rows_);
    // Scaled first: the sum of large weights could overflow.
    for (Size i = 0; i < n_rows_; ++i) bounds_[i] = weights[row_at(i)] / largest;
    std::partial_sum(bounds_.begin(), bounds_.end(), bounds_.begin());
}

void BootstrapSampler::draw(RowVector<std::uint32_t>& counts, std::uint64_t seed) const {
    Draws draws(mix(seed, 0xBA6));
    counts.assign(n_rows_, 0);
    // Drawn in the canonical order, then mapped to the rows.
    RowVector<std::uint32_t> drawn;
    if (!bounds_.empty())
        drawn = draw_weighted(draws);
    else if (!ends_.empty())
        drawn = sum_repeats(draw_uniform(draws, static_cast<Size>(ends_.back())));
    else
        drawn = draw_uniform(draws, n_rows_);
    for (Size i = 0; i < n_rows_; ++i) counts[row_at(i)] = drawn[i];
}

RowVector<std::uint32_t> BootstrapSampler::draw_uniform(Draws& draws, Size n) const {
    RowVector<std::uint32_t> out(n, 0);
    if (replace_) {
        for (Size i = 0; i < n_draw_; ++i) ++out[draws.below(static_cast<std::uint32_t>(n))];
        return out;
    }
    // Selection sampling (Knuth, algorithm S).
    Size wanted = std::min(n_draw_, n);
    for (Size i = 0; i < n && wanted > 0; ++i)
        if (draws.uniform() * static_cast<double>(n - i) < static_cast<double>(wanted)) {
            out[i] = 1;
            --wanted;
        }
    return out;
}

/// Sum the draws of the repeats of each row.
RowVector<std::uint32_t> BootstrapSampler::sum_repeats(const RowVector<std::uint32_t>& drawn) const {
    RowVector<std::uint32_t> out(n_rows_, 0);
    std::int64_t at = 0;
    for (Size i = 0; i < n_rows_; ++i)
        for (; at < ends_[i]; ++at) out[i] += drawn[static_cast<Size>(at)];
    return out;
}

RowVector<std::uint32_t> BootstrapSampler::draw_weighted(Draws& draws) const {
    RowVector<std::uint32_t> out(n_rows_, 0);
    const Size last =
        static_cast<Size>(std::lower_bound(bounds_.begin(), bounds_.end(), bounds_.back()) - bounds_.begin());
    for (Size i = 0; i < n_draw_; ++i) {
        const double position = draws.uniform() * bounds_.back();
        const auto at = std::upper_bound(bounds_.begin(), bounds_.end(), position) - bounds_.begin();
        ++out[std::min(static_cast<Size>(at), last)];  // the product may be rounded up to the end
    }
    return out;
}

}  // namespace spinney
