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

}  // namespace

bool NodeHistograms::fit_in_memory(Size max_leaf_nodes) const {
    constexpr Size max_kept = Size{1} << 26;  // sums
    return std::min<Size>(max_leaf_nodes, 4096) * table_.histogram_size() <= max_kept;
}

void NodeHistograms::build(BoostNode& node, const ChunkRange* range, BoostRows& rows) {
    node.histogram = cleared_histogram();
    const Size n_chunks = table_.n_chunks();
    const int n_threads = threads_for(node.n_rows);
    const Size n_parts = n_threads == 1 ? 1 : std::min<Size>(n_chunks, 8 * static_cast<Size>(n_threads));
    in_parts_ = n_threads > 1;
    Pool::shared().parallel_for(n_threads, n_parts, [&](Size part, int thread) {
        Stat* hist = thread > 0 ? own_histogram(thread) : node.histogram.get();
        RowBuffer& buffer = threads_[static_cast<Size>(thread)].buffer;
        for (Size c = part * n_chunks / n_parts; c < (part + 1) * n_chunks / n_parts; ++c) {
            const Size first = c * kChunkRows, size = range[c].size();
            const CodedRows chunk{table_.rows.codes.data() + first * table_.rows.stride,
                                  rows.packed.data() + first};
            if (node.n_rows == table_.x.n_rows)
                add_rows(hist, table_.rows, chunk, size);
            else
                buffer.add(hist, table_.rows, chunk, rows.ids.data() + first + range[c].begin, size);
        }
        buffer.flush(hist, table_.rows);
    });
}

std::unique_ptr<Stat[]> NodeHistograms::cleared_histogram() {
    std::unique_ptr<Stat[]> out = pool_.acquire_as_left();
    for (Size s = 0; s < table_.bundles.bundles.size(); ++s)
        std::fill_n(out.get() + s * kBundleBins, table_.bundles.bundles[s].n_bins, 0);
    return out;
}

Stat* NodeHistograms::own_histogram(int thread) {
    auto& own = threads_[static_cast<Size>(thread)].histogram;
    if (!own) own.reset(new Stat[table_.histogram_size()]());
    return own.get();
}

void NodeHistograms::merge(BoostNode& built, Size s) {
    if (!in_parts_) return;
    const Size n_bins = table_.bundles.bundles[s].n_bins;
    Stat* to = built.histogram.get() + s * kBundleBins;
    for (Size t = 1; t < threads_.size(); ++t) {
        if (!threads_[t].histogram) continue;
        Stat* from = threads_[t].histogram.get() + s * kBundleBins;
        add_bins(to, from, n_bins);
        std::fill_n(from, n_bins, 0);
    }
}

void NodeHistograms::finish(BoostNode& built, BoostNode* other, Size s) {
    merge(built, s);
    if (other)
        subtract_bins(other->histogram.get() + s * kBundleBins, built.histogram.get() + s * kBundleBins,
                      table_.bundles.bundles[s].n_bins);
}

void NodeHistograms::finish(BoostNode& built, BoostNode* other) {
    for (Size s = 0; s < table_.bundles.bundles.size(); ++s) finish(built, other, s);
    set_finished();
}

std::unique_ptr<Stat[]> NodeHistograms::copy(const Stat* histogram) {
    std::unique_ptr<Stat[]> out = pool_.acquire_as_left();
    std::copy_n(histogram, table_.histogram_size(), out.get());
    return out;
}

std::array<Stat, kBundleBins> NodeHistograms::sum_weights(const BoostNode& node, const ChunkRange* range,
                                                          const BoostRows& rows, std::uint32_t feature) {
    const Size n_chunks = table_.n_chunks();
    const int n_threads = threads_for(node.n_rows / 4);
    Pool::shared().parallel_for(n_threads, n_threads == 1 ? 1 : n_chunks, [&](Size task, int thread) {
        auto& own = threads_[static_cast<Size>(thread)].weights;
        for (Size c = n_threads == 1 ? 0 : task; c < (n_threads == 1 ? n_chunks : task + 1); ++c) {
            const std::uint8_t* codes = table_.x.columns[feature].as<std::uint8_t>() + c * kChunkRows;
            const LocalRow* ids = rows.ids.data() + c * kChunkRows;
            const Stat* weights = rows.weights.empty() ? nullptr : rows.weights.data() + c * kChunkRows;
            for (Size i = range[c].begin; i < range[c].end; ++i)
                own[codes[ids[i]]] += weights ? weights[ids[i]] : 1;
        }
    });
    std::array<Stat, kBundleBins> out{};
    for (Thread& thread : threads_)
        for (Size i = 0; i < kBundleBins; ++i) {
            out[i] += thread.weights[i];
            thread.weights[i] = 0;
        }
    return out;
}

}  // namespace spinney
