#include "data/bin_coder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "data/bin_learning.hpp"
#include "simd/edge_table.hpp"

namespace spinney {

namespace {

constexpr Size block_rows = 2048;
constexpr double empty = std::numeric_limits<double>::quiet_NaN();

void check_number(const InputColumn& column) {
    if (column.type == InputColumn::Type::category)
        throw std::invalid_argument("only columns of numbers have bins to learn");
}

}  // namespace

void widen_bins(Bins& bins, const std::uint8_t* codes, const double* values, const double* weights, Size n) {
    for (Size i = 0; i < n; ++i) {
        if (codes[i] >= bins.size() || (weights && !(weights[i] > 0))) continue;
        double &lo = bins.lo[codes[i]], &hi = bins.hi[codes[i]];
        if (values[i] < lo) lo = values[i];
        if (values[i] > hi) hi = values[i];
    }
}

void merge_bins(Bins& bins, const Bins& other) {
    for (Size b = 0; b < bins.size(); ++b) {
        bins.lo[b] = std::min(bins.lo[b], other.lo[b] + 0.0);
        bins.hi[b] = std::max(bins.hi[b], other.hi[b] + 0.0);
    }
}

struct BinCoder::Tables {
    std::vector<EdgeTable> of_column;
};

BinCoder::BinCoder(std::vector<Bins> bins, bool sampled)
    : sampled_(sampled),
      tables_(new Tables{{bins.begin(), bins.end()}}),
      extents_(std::move(bins)),
      missing_(extents_.size(), 0) {}

BinCoder::~BinCoder() = default;

void BinCoder::code(std::uint8_t* codes, Size stride, Size at, std::span<const InputColumn> columns,
                    const double* weights, Size n, int n_threads, Interrupt& interrupt) {
    if (columns.size() != n_columns()) throw std::invalid_argument("there are not as many columns as bins");
    if (at > stride || n > stride - at) throw std::invalid_argument("the codes do not fit in the block");
    for (const InputColumn& column : columns) check_number(column);
    // A column is a task: its extents are its own.
    Pool::shared().parallel_for(
        n_threads, columns.size(),
        [&](Size j, int) {
            if (!columns[j].data) return;
            std::uint8_t* const out = codes + j * stride + at;
            const auto missing = static_cast<std::uint8_t>(extents_[j].size());
            Bins seen = extents_[j];
            double values[block_rows];
            for (Size begin = 0; begin < n; begin += block_rows) {
                const Size m = std::min(block_rows, n - begin);
                read_values(values, 1, columns[j], begin, m);
                tables_->of_column[j].code(out + begin, values, m, missing);
                if (std::memchr(out + begin, missing, m)) missing_[j] = 1;
                if (sampled_) widen_bins(seen, out + begin, values, weights ? weights + begin : nullptr, m);
            }
            if (sampled_) merge_bins(extents_[j], seen);
        },
        &interrupt);
}

void BinCoder::merge(Size j, const Bins& extents, bool has_missing) {
    if (extents.lo.size() != extents_[j].size() || extents.hi.size() != extents_[j].size())
        throw std::invalid_argument("the extents are not those of the same bins");
    merge_bins(extents_[j], extents);
    missing_[j] |= has_missing;
}

std::vector<Bins> learn_bins(std::span<const InputColumn> columns, Size n, const double* weights,
                             std::uint32_t max_bins, int n_threads, Interrupt& interrupt) {
    if (max_bins < 2 || max_bins > 255) throw std::invalid_argument("max_bins must be from 2 to 255");
    for (const InputColumn& column : columns) check_number(column);
    std::vector<Bins> bins(columns.size());
    n_threads = std::clamp(n_threads, 1, Pool::max_threads);
    std::vector<detail::BinningScratch> scratch(static_cast<Size>(n_threads));
    const detail::EdgeRows rows{.weights = weights, .n = n};
    Pool::shared().parallel_for(
        n_threads, columns.size(),
        [&](Size j, int thread) {
            auto& own = scratch[static_cast<Size>(thread)];
            const std::span<Bins> out(&bins[j], 1);
            const auto in = columns.subspan(j, 1);
            if (in[0].type == InputColumn::Type::f32)
                detail::learn_bins<float>(out, in, rows, max_bins, own.narrow, own.values, interrupt);
            else
                detail::learn_bins<double>(out, in, rows, max_bins, own.wide, own.values, interrupt);
        },
        &interrupt);
    return bins;
}

Bins bins_of_masses(std::span<const double> values, std::span<const double> masses, std::uint32_t max_bins) {
    std::vector<std::uint64_t> keys(values.size());
    for (Size i = 0; i < values.size(); ++i) keys[i] = key_of(values[i]);
    Bins bins;
    const std::span<const std::uint64_t> sorted(keys);
    if (bins_of_distinct(bins, sorted, max_bins)) return bins;
    const double total = std::accumulate(masses.begin(), masses.end(), 0.0);
    bins_of_quantiles(bins, sorted, total, max_bins, [&](Size i) { return masses[i]; });
    return bins;
}

void ValueCounter::add(std::span<const InputColumn> columns, const double* masses, Size n, int n_threads,
                       Interrupt& interrupt) {
    if (columns.size() != columns_.size()) throw std::invalid_argument("there are not as many columns");
    for (const InputColumn& column : columns) check_number(column);
    Pool::shared().parallel_for(
        n_threads, columns.size(),
        [&](Size j, int) {
            double values[block_rows];
            if (!columns[j].data) return;
            for (Size begin = 0; begin < n && !columns_[j].dropped; begin += block_rows) {
                const Size m = std::min(block_rows, n - begin);
                read_values(values, 1, columns[j], begin, m);
                for (Size i = 0; i < m && !columns_[j].dropped; ++i) {
                    const double mass = masses ? masses[begin + i] : 1.0;
                    if (values[i] == values[i] && mass >= 0) count(columns_[j], values[i] + 0.0, mass);
                }
                if (columns_[j].n > limit_) drop(j);
            }
        },
        &interrupt);
}

void ValueCounter::drop(Size j) {
    columns_[j] = {};
    columns_[j].dropped = true;
}

Size ValueCounter::place_of(const Column& column, double value) {
    const Size last = column.values.size() - 1;
    Size at = mix(0, std::bit_cast<std::uint64_t>(value)) & last;
    while (column.values[at] == column.values[at] && column.values[at] != value) at = (at + 1) & last;
    return at;
}

void ValueCounter::count(Column& column, double value, double mass) const {
    if (2 * (column.n + 1) > column.values.size()) {
        Column larger;
        larger.n = column.n;
        larger.values.assign(std::max<Size>(64, 2 * column.values.size()), empty);
        larger.masses.assign(larger.values.size(), 0.0);
        for (Size i = 0; i < column.values.size(); ++i) {
            if (column.values[i] != column.values[i]) continue;
            const Size at = place_of(larger, column.values[i]);
            larger.values[at] = column.values[i];
            larger.masses[at] = column.masses[i];
        }
        column = std::move(larger);
    }
    const Size at = place_of(column, value);
    column.n += column.values[at] != column.values[at];
    column.values[at] = value;
    column.masses[at] += mass;
}

void ValueCounter::read(Size j, std::vector<double>& values, std::vector<double>& masses) const {
    const Column& column = columns_[j];
    std::vector<std::pair<double, double>> sorted;
    for (Size i = 0; i < column.values.size(); ++i)
        if (column.values[i] == column.values[i]) sorted.emplace_back(column.values[i], column.masses[i]);
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [value, mass] : sorted) {
        values.push_back(value);
        masses.push_back(mass);
    }
}

}  // namespace spinney
