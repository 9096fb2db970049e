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

/// How the threads share the work on a node: each takes a group of bundles and a part of the rows.
struct NodePlan {
    int n_threads = 1;
    Size n_parts = 1;                                  // of the rows
    const std::vector<BundleGroup>* groups = nullptr;  // of the bundles

    Size n_tasks() const { return n_parts * groups->size(); }
};

/// Sums of packed gradients and hessians per bin of every bundle. A histogram is built by all threads, and
/// has to be finished before it is read, bundle by bundle or as a whole.
class NodeHistograms {
  public:
    NodeHistograms(const BoostTable& table, int n_threads)
        : table_(table),
          threads_(static_cast<Size>(n_threads)),
          groups_(static_cast<Size>(n_threads) + 1),
          pool_(table.histogram_size()) {}

    /// The plan of building and searching a node of so many rows: no more threads than there is work for.
    NodePlan plan(Size n_rows);

    /// The plan of searching nodes whose histograms are there.  n_nodes: that are searched
    NodePlan search_plan(Size n_nodes);

    /// Whether the histograms of so many leaves can be kept until the leaves are split.
    bool fit_in_memory(Size max_leaf_nodes) const;

    void release(std::unique_ptr<Stat[]>& histogram) { pool_.release(std::move(histogram)); }

    /// Build the histogram of a node; where the rows are in several parts, `finish` merges them.
    /// range (n_chunks,): of the node
    void build(BoostNode& node, const ChunkRange* range, BoostRows& rows);

    /// Give a node the memory of a histogram, whose groups `build_group` builds.
    void start(BoostNode& node) { node.histogram = pool_.acquire_as_left(); }

    /// Build the histograms of a group of bundles from some of the node's rows.  part: 0 goes to the node's
    /// own histogram, the others to be merged
    void build_group(BoostNode& node, const BundleGroup& group, Size part, Size n_parts,
                     const ChunkRange* range, BoostRows& rows, int thread);

    /// The sum of all rows, from the histogram of the root, which was built last.
    Stat total(BoostNode& root, const BoostRows& rows);

    /// Merge bundle s of the node built last, and subtract it from `other`, which has the parent's histogram.
    /// other may be null.
    void finish(BoostNode& built, BoostNode* other, Size s);

    /// Finish all bundles.
    void finish(BoostNode& built, BoostNode* other);

    /// All parts are merged.
    void set_finished() { n_parts_ = 1; }

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

    /// Row weights of a node per bin code of a feature.  out (n_bins + 1,)
    void sum_weights(Stat* out, const BoostNode& node, const ChunkRange* range, const BoostRows& rows,
                     std::uint32_t feature);

  private:
    /// Merge the parts of bundle s of the node built last.
    void merge(BoostNode& built, Size s);

    struct Thread {
        RowBuffer buffer;
        std::array<Stat, kBundleBins> column;
    };

    const std::vector<BundleGroup>& groups(Size n);

    const BoostTable& table_;
    std::vector<Thread> threads_;
    std::vector<std::vector<BundleGroup>> groups_;  // by their number
    std::vector<std::unique_ptr<Stat[]>> parts_;    // of the rows after the first; all zero between nodes
    detail::HistogramPool pool_;
    Size n_parts_ = 1;  // of the histogram built last
};

}  // namespace spinney
