#include "predict/threshold_ranks.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/radix_sort.hpp"
#include "core/thread_pool.hpp"
#include "simd/count_below.hpp"

namespace spinney {

namespace {

constexpr Size max_in_interval = 4, max_intervals = 1 << 16;
constexpr std::uint16_t crowded = 0xffff;
constexpr Size rows_at_once = 256;
// Up to so many thresholds, comparing with each of them is fastest.
constexpr Size few_thresholds = 12;

/// One more than the largest code in a set.
std::uint32_t end_of_set(const EnsembleView& trees, Size set) {
    for (auto w = trees.set_begin[set + 1]; w > trees.set_begin[set]; --w) {
        const std::uint64_t word = trees.set_bits[static_cast<Size>(w - 1)];
        if (word == 0) continue;
        const auto n_words = static_cast<std::uint32_t>(w - trees.set_begin[set]);
        return 64 * n_words - static_cast<std::uint32_t>(std::countl_zero(word));
    }
    return 0;
}

}  // namespace

RankTable::RankTable(const std::vector<double>& sorted) : n_(sorted.size()) {
    std::vector<double> level = sorted;
    do {
        // Padded with infinities for all that may be counted at once.
        level.resize(((level.size() + max_in_interval - 1) / 16 + 1) * 16,
                     std::numeric_limits<double>::infinity());
        begin_[n_levels_++] = static_cast<std::uint32_t>(thresholds_.size());
        thresholds_.insert(thresholds_.end(), level.begin(), level.end());
        for (Size i = 0; i < level.size() / 16; ++i) level[i] = level[16 * i + 15];
        level.resize(level.size() / 16);
    } while (level.size() > 1);
    make_intervals(sorted);
}

std::uint32_t RankTable::rank(double x) const {
    std::uint32_t at = 0;
    for (int l = n_levels_ - 1; l >= 0; --l) at = descend(at, l, x);
    return at;
}

void RankTable::rank(std::uint32_t* codes, const double* x, Size n) const {
    if (n_ <= few_thresholds) {
        std::fill_n(codes, n, 0u);
        for (Size k = 0; k < n_; ++k)
            for (Size i = 0; i < n; ++i) codes[i] += thresholds_[k] < x[i];
    } else if (!below_interval_.empty()) {
        rank_by_interval(codes, x, n);
    } else {
        for (Size i = 0; i < n; ++i) codes[i] = rank(x[i]);
    }
    for (Size i = 0; i < n; ++i) codes[i] = x[i] == x[i] ? codes[i] : missing_code;
}

// ---- by intervals ----

/// Rounding may move a number to another interval, but never against the order of the numbers: that is
/// enough.
void RankTable::find_intervals(std::int32_t* intervals, const double* x, Size n) const {
    const double top = static_cast<double>(below_interval_.size() - 1);
    for (Size i = 0; i < n; ++i) {
        const double at = (x[i] - first_) * intervals_per_unit_, positive = at > 0 ? at : 0.0;
        intervals[i] = static_cast<std::int32_t>(positive < top ? positive : top);
    }
}

/// Try ever shorter intervals until few thresholds are in crowded ones; give up on uneven thresholds.
void RankTable::make_intervals(const std::vector<double>& sorted) {
    if (n_ < 2 || n_ >= crowded) return;
    first_ = sorted.front();
    std::vector<std::int32_t> intervals(n_);
    for (Size k = std::bit_ceil(n_); k <= max_intervals; k *= 2) {
        below_interval_.assign(k + 1, 0);
        intervals_per_unit_ = static_cast<double>(k) / (sorted.back() - first_);
        if (!(intervals_per_unit_ > 0 && intervals_per_unit_ <= std::numeric_limits<double>::max())) break;
        find_intervals(intervals.data(), sorted.data(), n_);
        Size n_crowded = 0;
        for (Size interval = 0, i = 0; interval <= k; ++interval) {
            const Size below = i;
            while (i < n_ && intervals[i] == static_cast<std::int32_t>(interval)) ++i;
            const bool few = i - below <= max_in_interval;
            below_interval_[interval] = few ? static_cast<std::uint16_t>(below) : crowded;
            n_crowded += few ? 0 : i - below;
        }
        if (n_crowded <= n_ / 32) return;
    }
    below_interval_.clear();
}

void RankTable::rank_by_interval(std::uint32_t* codes, const double* x, Size n) const {
    std::int32_t intervals[rows_at_once];
    find_intervals(intervals, x, n);
    for (Size i = 0; i < n; ++i) {
        const std::uint32_t below = below_interval_[static_cast<Size>(intervals[i])];
        codes[i] = below != crowded ? below + count_below_4(thresholds_.data() + below, x[i]) : rank(x[i]);
    }
}

// ---- by levels ----

std::uint32_t RankTable::descend(std::uint32_t at, int level, double x) const {
    return 16 * at + count_below_16(thresholds_.data() + begin_[level] + 16 * at, x);
}

// ---- features ----

void FeatureCodes::code(std::uint32_t* codes, const InputColumn& column, Size begin, Size n) const {
    double x[rows_at_once];
    for (Size first = 0; first < n; first += rows_at_once) {
        const Size here = std::min(rows_at_once, n - first);
        read_values(x, 1, column, begin + first, here);
        if (categorical)
            code_categories(codes + first, x, here);
        else
            ranks.rank(codes + first, x, here);
    }
}

void FeatureCodes::code_categories(std::uint32_t* codes, const double* x, Size n) const {
    for (Size i = 0; i < n; ++i)
        if (x[i] >= 0)
            codes[i] = x[i] < n_codes ? static_cast<std::uint32_t>(x[i]) : n_codes;
        else
            codes[i] = missing_code;
}

EnsembleCodes::EnsembleCodes(const EnsembleView& trees, const EnsembleTraits& traits, int n_threads)
    : features(traits.used_features.size()), index_of_feature(trees.n_features, 0) {
    for (Size s = 0; s < features.size(); ++s) {
        features[s].feature = traits.used_features[s];
        index_of_feature[features[s].feature] = static_cast<std::uint32_t>(s);
    }
    read_splits(trees);
    sort_thresholds(trees, n_threads);
}

void EnsembleCodes::read_splits(const EnsembleView& trees) {
    Size n_sets = 0;
    for (Size node = 0; node < trees.kind.size(); ++node) {
        const SplitKind kind = trees.split(node);
        if (kind == SplitKind::leaf) continue;
        FeatureCodes& f = features[index(trees.feature[node])];
        (trees.missing(node) == 0 ? f.missing_left : f.missing_right) = true;
        ++f.n_splits;
        if (kind != SplitKind::category_set) continue;
        f.categorical = true;
        f.n_codes = std::max(f.n_codes, end_of_set(trees, n_sets++));
    }
}

void EnsembleCodes::sort_thresholds(const EnsembleView& trees, int n_threads) {
    std::vector<Size> begin(features.size() + 1, 0);
    for (Size s = 0; s < features.size(); ++s)
        begin[s + 1] = begin[s] + (features[s].categorical ? 0 : features[s].n_splits);
    std::vector<std::uint64_t> keys(begin.back()), scratch(begin.back());
    std::vector<Size> at(begin.begin(), begin.end() - 1);
    for (Size node = 0; node < trees.kind.size(); ++node) {
        if (trees.split(node) != SplitKind::numeric) continue;
        keys[at[index(trees.feature[node])]++] = key_of(trees.threshold[node]);
    }
    Pool::shared().parallel_for(n_threads, features.size(), [&](Size s, int) {
        if (features[s].categorical) return;
        const auto first = keys.begin() + static_cast<std::ptrdiff_t>(begin[s]);
        const auto last = keys.begin() + static_cast<std::ptrdiff_t>(begin[s + 1]);
        radix_sort(keys.data() + begin[s], scratch.data() + begin[s], begin[s + 1] - begin[s]);
        std::vector<double> distinct;
        std::for_each(first, std::unique(first, last),
                      [&](std::uint64_t key) { distinct.push_back(number_of(key)); });
        features[s].ranks = RankTable(distinct);
    });
}

}  // namespace spinney
