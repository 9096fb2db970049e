// Histograms of the nodes of a boosted tree: built from rows, merged over threads, subtracted.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "boost/boosted_tree.hpp"
#include "boost/row_buffer.hpp"
#include "grow/histogram_pool.hpp"

namespace spinney {

/// Fewer rows are handled by one thread.
inline constexpr Size kFewRows = 2048;

/// Sums of packed gradients and hessians per bin of every bundle. A histogram is built by all threads, and
/// has to be finished before it is read, bundle by bundle or as a whole.
class NodeHistograms {
  public:
    NodeHistograms(const BoostTable& table, int n_threads)
        : table_(table), threads_(static_cast<Size>(n_threads)), pool_(table.histogram_size()) {}

    /// Whether the histograms of so many leaves can be kept until the leaves are split.
    bool fit_in_memory(Size max_leaf_nodes) const;

    void release(std::unique_ptr<Stat[]>& histogram) { pool_.release(std::move(histogram)); }

    /// Add the rows of a node to its histogram: thread 0 directly, the others into their own, which `finish`
    /// merges.  range (n_chunks,): of the node
    void build(BoostNode& node, const ChunkRange* range, BoostRows& rows);

    /// Merge the threads' parts of bundle s of the node built last.
    void merge(BoostNode& built, Size s);

    /// Merge bundle s of the node built last, and subtract it from `other`, which has the parent's histogram.
    /// other may be null.
    void finish(BoostNode& built, BoostNode* other, Size s);

    /// Finish all bundles.
    void finish(BoostNode& built, BoostNode* other);

    /// All threads' parts are merged.
    void set_finished() { in_parts_ = false; }

    /// A copy of a histogram, such as that of all rows, which is that of the nodes of any level together.
    std::unique_ptr<Stat[]> copy(const Stat* histogram);

    /// Bins of one column, out of those of its bundle; valid until the thread's next call.  total: of the
    /// node
    const Stat* column_bins(const Stat* histogram, Stat total, std::uint32_t feature, int thread) {
        const auto [s, place] = table_.bundles.place_of[feature];
        const Bundle& bundle = table_.bundles.bundles[s];
        const Stat* bins = histogram + s * kBundleBins;
        if (!bundle.shared()) return bins;
        std::array<Stat, kBundleBins>& out = threads_[static_cast<Size>(thread)].column;
        unpack(out.data(), table_.x.columns[feature].n_bins + 1, bundle.columns[place], bins, total);
        return out.data();
    }

    /// Row weights of a node per bin code of a feature.
    std::array<Stat, kBundleBins> sum_weights(const BoostNode& node, const ChunkRange* range,
                                              const BoostRows& rows, std::uint32_t feature);

  private:
    struct Thread {
        std::unique_ptr<Stat[]> histogram;  // all zero between nodes
        RowBuffer buffer;
        std::array<Stat, kBundleBins> column, weights{};
    };

    int threads_for(Size n_rows) const { return n_rows < kFewRows ? 1 : static_cast<int>(threads_.size()); }
    Stat* own_histogram(int thread);

    /// A histogram whose bins in use are 0.
    std::unique_ptr<Stat[]> cleared_histogram();

    const BoostTable& table_;
    std::vector<Thread> threads_;
    detail::HistogramPool pool_;
    bool in_parts_ = false;  // the histogram built last is spread over threads
};

}  // namespace spinney
