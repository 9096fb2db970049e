// The bag of a member of an ensemble: which rows it is given, drawn as a function of a seed.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "data/code_matrix.hpp"
#include "core/random.hpp"
#include "split/statistics.hpp"
#include "core/thread_pool.hpp"

namespace spinney {

/// What stands for each code of a column when rows are hashed, missing last: the least value of a bin, or a
/// key of a category. The codes themselves depend on which other values there are.
using CodeKeys = std::vector<std::vector<std::uint64_t>>;

/// An order of the rows by a hash of their codes and targets: rows that hold the same are neighbours, and
/// shuffled rows come in the same order.  code_keys (n_columns) of (n_bins + 1)  -> (n_rows,)
inline std::vector<std::int64_t> row_order(const CodeMatrix& x, const Target& target,
                                           const CodeKeys& code_keys, int n_threads) {
    struct Key {
        std::uint64_t hash;
        std::int64_t row;
    };
    std::vector<Key> keys(x.n_rows);
    const auto m = static_cast<Size>(target.n_outputs);
    constexpr Size block = 4096;
    Pool::shared().parallel_for(n_threads, (x.n_rows + block - 1) / block, [&](Size b, int) {
        const Size begin = b * block, end = std::min(x.n_rows, begin + block);
        for (Size r = begin; r < end; ++r) keys[r] = {0, static_cast<std::int64_t>(r)};
        const auto add = [&](auto&& value_of) {
            for (Size r = begin; r < end; ++r) keys[r].hash = mix(keys[r].hash, value_of(r));
        };
        for (Size j = 0; j < x.columns.size(); ++j) {
            const CodeColumn& column = x.columns[j];
            const std::uint64_t* key_of = code_keys[j].data();
            const std::uint8_t* bytes = column.as<std::uint8_t>();
            if (column.width == 1)
                add([=](Size r) { return key_of[bytes[r]]; });
            else
                add([&](Size r) { return key_of[column.at(r)]; });
        }
        for (Size o = 0; o < m; ++o)
            add([&](Size r) {
                return target.classes ? static_cast<std::uint64_t>(target.classes[r * m + o])
                                      : std::bit_cast<std::uint64_t>(target.values[r * m + o] + 0.0);
            });
    });
    std::sort(keys.begin(), keys.end(),
              [](const Key& a, const Key& b) { return a.hash != b.hash ? a.hash < b.hash : a.row < b.row; });
    std::vector<std::int64_t> out(x.n_rows);
    std::transform(keys.begin(), keys.end(), out.begin(), [](const Key& key) { return key.row; });
    return out;
}

/// What bags are drawn from.
///
/// Copies: each row is there so many times, and each copy is drawn as a row of its own. Chances: rows are
/// drawn in proportion, with replacement. Neither: each row is there once.
class Bag {
  public:
    Bag(Size n_rows, Size n_draw, bool replace, std::span<const std::int64_t> order)
        : n_rows_(n_rows), n_draw_(n_draw), replace_(replace), order_(order.begin(), order.end()) {}

    void set_copies(std::span<const std::int64_t> copies) {
        ends_.resize(n_rows_);
        for (Size i = 0; i < n_rows_; ++i) ends_[i] = copies[row_at(i)];
        std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
    }

    void set_chances(std::span<const double> chances) {
        const double most = *std::max_element(chances.begin(), chances.end());
        bounds_.resize(n_rows_);
        // Scaled first: the sum of large weights may be more than a number can hold.
        for (Size i = 0; i < n_rows_; ++i) bounds_[i] = chances[row_at(i)] / most;
        std::partial_sum(bounds_.begin(), bounds_.end(), bounds_.begin());
    }

    Size n_rows() const { return n_rows_; }

    /// How often each row is drawn.  counts (n_rows,)
    void draw(std::vector<std::uint32_t>& counts, std::uint64_t seed) const {
        Draws draws(mix(seed, 0xBA6));
        counts.assign(n_rows_, 0);
        // In the order first, where the draws are easy; then to the rows' own places.
        std::vector<std::uint32_t> drawn;
        if (!bounds_.empty())
            drawn = draw_by_chance(draws);
        else if (!ends_.empty())
            drawn = of_copies(draw_evenly(draws, static_cast<Size>(ends_.back())));
        else
            drawn = draw_evenly(draws, n_rows_);
        for (Size i = 0; i < n_rows_; ++i) counts[row_at(i)] = drawn[i];
    }

  private:
    Size row_at(Size i) const { return order_.empty() ? i : static_cast<Size>(order_[i]); }

    std::vector<std::uint32_t> draw_evenly(Draws& draws, Size n) const {
        std::vector<std::uint32_t> out(n, 0);
        if (replace_) {
            for (Size i = 0; i < n_draw_; ++i) ++out[draws.below(static_cast<std::uint32_t>(n))];
            return out;
        }
        // Each in turn is taken with the chance that is left to it.
        Size wanted = std::min(n_draw_, n);
        for (Size i = 0; i < n && wanted > 0; ++i)
            if (draws.uniform() * static_cast<double>(n - i) < static_cast<double>(wanted)) {
                out[i] = 1;
                --wanted;
            }
        return out;
    }

    std::vector<std::uint32_t> of_copies(const std::vector<std::uint32_t>& drawn) const {
        std::vector<std::uint32_t> out(n_rows_, 0);
        std::int64_t at = 0;
        for (Size i = 0; i < n_rows_; ++i)
            for (; at < ends_[i]; ++at) out[i] += drawn[static_cast<Size>(at)];
        return out;
    }

    std::vector<std::uint32_t> draw_by_chance(Draws& draws) const {
        std::vector<std::uint32_t> out(n_rows_, 0);
        const Size last = static_cast<Size>(std::lower_bound(bounds_.begin(), bounds_.end(), bounds_.back()) -
                                            bounds_.begin());
        for (Size i = 0; i < n_draw_; ++i) {
            const double place = draws.uniform() * bounds_.back();
            const auto at = std::upper_bound(bounds_.begin(), bounds_.end(), place) - bounds_.begin();
            ++out[std::min(static_cast<Size>(at), last)];  // a product may be rounded up to the end itself
        }
        return out;
    }

    Size n_rows_, n_draw_;
    bool replace_;
    std::vector<std::int64_t> order_;  // empty: the rows' own
    std::vector<std::int64_t> ends_;   // of copies, added up in the order
    std::vector<double> bounds_;       // of chances, the same
};

}  // namespace spinney
