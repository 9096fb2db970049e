#include "boost/node_histograms.hpp"

#include "core/thread_pool.hpp"

namespace spinney {

namespace {

// Functions with __restrict parameters, so that the loops are vectorized.
void add_bins(Stat* __restrict to, const Stat* __restrict from, Size n) {
    for (Size i = 0; i < n; ++i) to[i] += from[i];
}

void subtract_bins(Stat* __restrict to, const Stat* __restrict from, Size n) {
    for (Size i = 0; i < n; ++i) to[i] -= from[i];
}

Stat add_wrapping(Stat a, Stat b) {
    return static_cast<Stat>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

Stat sum_bins(const Stat* bins, Size n) {
    Stat sum = 0;
    for (Size i = 0; i < n; ++i) sum += bins[i];
    return sum;
}

/// The codes of some rows of a chunk.
struct ChunkCodes {
    const std::uint8_t* codes;
    const LocalRow* ids;
    Size n;
    Size of(Size i) const { return codes[ids[i]]; }
};

/// Count rows by code. Four counters a code: the next row has often the same, and would wait for its sum.
void count_codes(Stat* to, const ChunkCodes& codes, Size n_codes, bool never_missing) {
    if (n_codes == 3 && never_missing) {  // codes 0 and 1
        Size ones = 0;
        for (Size i = 0; i < codes.n; ++i) ones += codes.of(i);
        to[0] += static_cast<Stat>(codes.n - ones);
        to[1] += static_cast<Stat>(ones);
        return;
    }
    if (codes.n < 2 * n_codes) {
        for (Size i = 0; i < codes.n; ++i) ++to[codes.of(i)];
        return;
    }
    std::array<std::array<std::uint16_t, kBundleBins>, 4> counts;
    static_assert(kChunkRows / 4 < 65536);
    for (auto& count : counts) std::fill_n(count.begin(), n_codes, std::uint16_t{0});
    Size i = 0;
    for (; i + 4 <= codes.n; i += 4)
        for (Size j = 0; j < 4; ++j) ++counts[j][codes.of(i + j)];
    for (; i < codes.n; ++i) ++counts[0][codes.of(i)];
    for (Size code = 0; code < n_codes; ++code)
        to[code] += counts[0][code] + counts[1][code] + counts[2][code] + counts[3][code];
}

// Times of one thread, in nanoseconds: adding a row to a bundle's histogram, searching a bundle; the least
// that is worth the call of another thread.
constexpr double kAddTime = 0.5, kSearchTime = 300, kMinTime = 4000;
// The fewest bundles of a group, and the rows per thread above which the rows are in as many parts as there
// are threads.
constexpr Size kMinGroup = 3, kManyRows = 8192;

Size useful_threads(double work, Size n_threads) {
    return std::clamp<Size>(static_cast<Size>(work / kMinTime), 1, n_threads);
}

}  // namespace

bool NodeHistograms::fit_in_memory(Size max_leaf_nodes) const {
    constexpr Size max_kept = Size{1} << 26;  // sums
    return std::min<Size>(max_leaf_nodes, 4096) * table_.histogram_size() <= max_kept;
}

Size NodeHistograms::few_rows() const {
    // Rows are added at the rate at which bins are cleared, subtracted and read; four times as fast as bins
    // that are not in the second-level cache. Lists of sparse codes are too slow to be read by tiles.
    constexpr double kCached = 0.5, kNotCached = 2;
    constexpr Size cached_sums = Size{1} << 16;
    const Size d = table_.bundles.bundles.size();
    if (table_.bundles.n_dense < d) return 0;
    Size n_bins = 0;
    for (const Bundle& bundle : table_.bundles.bundles) n_bins += bundle.n_bins;
    const double share = n_bins > cached_sums ? kNotCached : kCached;
    return std::min(kBlockRows,
                    static_cast<Size>(share * static_cast<double>(n_bins / std::max<Size>(1, d))));
}

Size NodeHistograms::listed_rows() const {
    constexpr Size bins_per_entry = 24;
    Size n_bins = 0;
    for (Size s = table_.bundles.n_dense; s < table_.bundles.bundles.size(); ++s)
        n_bins += table_.bundles.bundles[s].n_bins;
    const Size n_entries = table_.rows.others.places.size();
    return n_entries > 0 ? n_bins * table_.x.n_rows / (bins_per_entry * n_entries) : 0;
}

const std::vector<BundleGroup>& NodeHistograms::groups(Size n) {
    std::vector<BundleGroup>& out = groups_[n];
    const Size d = table_.bundles.bundles.size();
    for (Size g = out.size(); g < n; ++g) {
        const Size first = g * d / n;
        out.emplace_back(BundleTile{first, (g + 1) * d / n - first}, table_.bundles.n_dense,
                         table_.rows.stride);
    }
    return out;
}

NodePlan NodeHistograms::plan(Size n_rows) {
    const Size d = table_.bundles.bundles.size(), max_groups = (d + kMinGroup - 1) / kMinGroup;
    const double work = kAddTime * static_cast<double>(n_rows * d) + 2 * kSearchTime * static_cast<double>(d);
    const Size n = useful_threads(work, threads_.size());
    if (n == 1) return {1, 1, &groups(1)};
    Size n_parts = 1;
    if (n_rows >= n * kManyRows)
        n_parts = n;  // copying the rows for every group would cost more than merging
    else
        while (n >= 2 * n_parts * n_parts && n_rows >= 2 * n_parts * kFewRows) n_parts *= 2;
    const Size n_groups = std::min(n / n_parts, max_groups);
    n_parts = std::max(n_parts, std::min(n / n_groups, n_rows / kFewRows));
    return {static_cast<int>(n_parts * n_groups), n_parts, &groups(n_groups)};
}

NodePlan NodeHistograms::search_plan(Size n_nodes) {
    const Size d = table_.bundles.bundles.size();
    const double parts = static_cast<double>(n_nodes) + 0.2 * static_cast<double>(n_parts_ - 1);
    const Size n = std::min(useful_threads(kSearchTime * parts * static_cast<double>(d), threads_.size()), d);
    return {static_cast<int>(n), 1, &groups(n)};
}

void NodeHistograms::build(BoostNode& node, const ChunkRange* range, BoostRows& rows,
                           const SparsePlan& sparse) {
    const NodePlan plan = this->plan(node.n_rows);
    start(node, plan.n_parts, sparse);
    while (parts_.size() + 1 < n_parts_) parts_.emplace_back(new Stat[table_.histogram_size()]());
    Pool::shared().parallel_for(plan.n_threads, plan.n_tasks(), [&](Size task, int thread) {
        build_group(node, (*plan.groups)[task / n_parts_], task % n_parts_, n_parts_, range, rows, thread);
    });
}

void NodeHistograms::build_group(BoostNode& node, const BundleGroup& group, Size part, Size n_parts,
                                 const ChunkRange* range, BoostRows& rows, int thread) {
    Stat* hist = part > 0 ? parts_[part - 1].get() : node.histogram.get();
    const Size n_sparse = sparse_.facts ? 0 : group.sparse.n;
    if (sparse_.facts && group.sparse.n > 0) finish_sparse(node, group, range, rows, thread);
    if (part == 0)
        for (Size s = group.bundles.first;
             s < group.bundles.first + group.bundles.n - (group.sparse.n - n_sparse); ++s)
            std::fill_n(hist + s * kBundleBins, table_.bundles.bundles[s].n_bins, 0);
    RowBuffer& buffer = threads_[static_cast<Size>(thread)].buffer;
    const bool all = node.n_rows == table_.x.n_rows;
    const Size from = part * node.n_rows / n_parts, to = (part + 1) * node.n_rows / n_parts;
    Size before = 0;  // rows of the node in earlier chunks
    for (Size c = 0; c < table_.n_chunks() && before < to; before += range[c++].size()) {
        const Size begin = from > before ? from - before : 0, end = std::min(range[c].size(), to - before);
        if (begin >= end) continue;
        const Size first = c * kChunkRows;
        const CodedRows chunk{table_.rows.codes.data() + first * table_.rows.stride,
                              rows.packed.data() + first};
        const LocalRow* ids = rows.ids.data() + first + range[c].begin;
        for (Size i = begin; n_sparse > 0 && i < end; ++i)
            table_.rows.others.for_each(
                group.sparse, first + ids[i],
                [&, packed = chunk.packed[ids[i]]](std::uint32_t place) { hist[place] += packed; });
        if (group.tiles.empty()) continue;
        if (all)
            add_rows(hist, group,
                     {chunk.codes + begin * table_.rows.stride + group.offset, chunk.packed + begin},
                     table_.rows.stride, end - begin);
        else
            buffer.add(hist, table_.rows, group, chunk, ids + begin, end - begin);
    }
    buffer.flush(hist, group);
}

void NodeHistograms::finish_sparse(const BoostNode& node, const BundleGroup& group, const ChunkRange* range,
                                   const BoostRows& rows, int thread) {
    Stat *own = node.histogram.get(), *other = sparse_.other;
    const auto for_each_code = [&](auto&& f) {
        for (Size c = 0; c < table_.n_chunks(); ++c)
            for (Size i = range[c].begin; i < range[c].end; ++i) {
                const Size row = c * kChunkRows + rows.ids[c * kChunkRows + i];
                table_.rows.others.for_each(
                    group.sparse, row,
                    [&, packed = rows.packed[row]](std::uint32_t place) { f(place, packed); });
            }
    };
    const Size first = group.sparse.first, end = first + group.sparse.n;
    // Summed side by side: common bins of the histogram are 2 KB apart, where few of them stay in the cache.
    std::vector<Stat>& commons = threads_[static_cast<Size>(thread)].commons;
    commons.assign(end - first, node.total);
    for_each_code([&](std::uint32_t place, Stat packed) { commons[place / kBundleBins - first] -= packed; });
    bool any_own = false, any_other = false;
    for (Size s = first; s < end; ++s) {
        const Size at = common_places_[s];
        const Stat common = own[at] = commons[s - first];
        if (other) {
            other[at] -= common;
            any_other = any_other || !sparse_.facts->too_light(sparse_.other_total - other[at]);
        }
        if (!sparse_.searched || sparse_.facts->too_light(node.total - common)) continue;
        any_own = true;
        std::fill_n(own + s * kBundleBins, table_.bundles.bundles[s].n_bins, 0);
        own[at] = common;
    }
    // Sums that nobody reads may overflow.
    if (any_own)
        for_each_code(
            [&](std::uint32_t place, Stat packed) { own[place] = add_wrapping(own[place], packed); });
    if (any_other)
        for_each_code(
            [&](std::uint32_t place, Stat packed) { other[place] = add_wrapping(other[place], -packed); });
}

void NodeHistograms::merge(BoostNode& built, Size s) {
    const Size n_bins = table_.bundles.bundles[s].n_bins;
    Stat* to = built.histogram.get() + s * kBundleBins;
    for (Size part = 1; part < n_parts_; ++part) {
        Stat* from = parts_[part - 1].get() + s * kBundleBins;
        add_bins(to, from, n_bins);
        std::fill_n(from, n_bins, 0);
    }
}

void NodeHistograms::finish(BoostNode& built, BoostNode* other, Size s) {
    if (s >= table_.bundles.n_dense && sparse_.facts) return;
    merge(built, s);
    if (s >= table_.bundles.n_dense) {
        const Bundle& bundle = table_.bundles.bundles[s];
        Stat* bins = built.histogram.get() + s * kBundleBins;
        bins[bundle.common] = built.total - sum_bins(bins, bundle.n_bins);
    }
    if (other)
        subtract_bins(other->histogram.get() + s * kBundleBins, built.histogram.get() + s * kBundleBins,
                      table_.bundles.bundles[s].n_bins);
}

void NodeHistograms::finish(BoostNode& built, BoostNode* other, const std::uint8_t* needed) {
    for (Size s = 0; s < table_.bundles.bundles.size(); ++s)
        if (!needed || needed[s] || n_parts_ > 1) finish(built, other, s);  // parts are cleared there
    set_finished();
}

Stat NodeHistograms::total(BoostNode& built, const BoostRows& rows) {
    if (table_.bundles.n_dense > 0) {
        merge(built, 0);
        return sum_bins(built.histogram.get(), table_.bundles.bundles[0].n_bins);
    }
    Stat sum = 0;
    for (Size c = 0; c < table_.n_chunks(); ++c)
        for (Size i = 0; i < rows.n_in[c]; ++i)
            sum += rows.packed[c * kChunkRows + rows.ids[c * kChunkRows + i]];
    return sum;
}

std::unique_ptr<Stat[]> NodeHistograms::copy(const Stat* histogram) {
    std::unique_ptr<Stat[]> out = pool_.acquire_as_left();
    for (Size s = 0; s < table_.bundles.bundles.size(); ++s)
        std::copy_n(histogram + s * kBundleBins, table_.bundles.bundles[s].n_bins,
                    out.get() + s * kBundleBins);
    return out;
}

void NodeHistograms::sum_column(Stat* out, const ChunkRange* range, const BoostRows& rows,
                                std::uint32_t feature) const {
    const CodeColumn& column = table_.x.columns[feature];
    std::fill_n(out, column.n_bins + 1, 0);
    for (Size c = 0; c < table_.n_chunks(); ++c)
        for (Size i = range[c].begin; i < range[c].end; ++i) {
            const Size r = c * kChunkRows + rows.ids[c * kChunkRows + i];
            out[column.as<std::uint8_t>()[r]] += rows.packed[r];
        }
}

void NodeHistograms::sum_weights(Stat* out, const BoostNode& node, const ChunkRange* range,
                                 const BoostRows& rows, std::uint32_t feature) {
    const CodeColumn& column = table_.x.columns[feature];
    const Size n_codes = column.n_bins + 1;
    const auto add_chunk = [&](Stat* to, Size c) {
        const ChunkCodes codes{column.as<std::uint8_t>() + c * kChunkRows,
                               rows.ids.data() + c * kChunkRows + range[c].begin, range[c].size()};
        if (rows.weights.empty())
            count_codes(to, codes, n_codes, !column.has_missing);
        else
            for (Size i = 0; i < codes.n; ++i) to[codes.of(i)] += rows.weights[c * kChunkRows + codes.ids[i]];
    };
    std::fill_n(out, n_codes, 0);
    const Size n_chunks = table_.n_chunks();
    if (n_chunks == 1 || node.n_rows < 4 * kFewRows || threads_.size() == 1) {
        for (Size c = 0; c < n_chunks; ++c)
            if (range[c].size() > 0) add_chunk(out, c);
        return;
    }
    std::vector<std::array<Stat, kBundleBins>> parts(threads_.size());
    for (auto& part : parts) part.fill(0);
    Pool::shared().parallel_for(static_cast<int>(parts.size()), n_chunks, [&](Size c, int thread) {
        add_chunk(parts[static_cast<Size>(thread)].data(), c);
    });
    for (const auto& part : parts) add_bins(out, part.data(), n_codes);
}

}  // namespace spinney
