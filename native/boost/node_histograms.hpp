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

/// What is known of a node when its histogram is built: its sparse bundles are then finished at once.
struct SparsePlan {
    const NewtonNode* facts = nullptr;  // of the node; null: nothing is known
    bool searched = false;              // else only `other` is searched
    Stat* other = nullptr;              // the parent's histogram, which becomes the other child's; or null
    Stat other_total = 0;
};

/// Sums of packed gradients and hessians per bin of every bundle. A histogram is built by all threads, and
/// has to be finished before it is read, bundle by bundle or as a whole.
class NodeHistograms {
  public:
    NodeHistograms(const BoostTable& table, int n_threads)
        : table_(table),
          threads_(static_cast<Size>(n_threads)),
          groups_(static_cast<Size>(n_threads) + 1),
          pool_(table.histogram_size()),
          max_few_(few_rows()),
          max_listed_(listed_rows()) {
        for (Size s = 0; s < table.bundles.bundles.size(); ++s)
            common_places_.push_back(s * kBundleBins + table.bundles.bundles[s].common);
    }

    /// The plan of building and searching a node of so many rows: no more threads than there is work for.
    NodePlan plan(Size n_rows);

    /// The plan of searching nodes whose histograms are there.  n_nodes: that are searched
    NodePlan search_plan(Size n_nodes);

    /// Whether the histograms of so many leaves can be kept until the leaves are split.
    bool fit_in_memory(Size max_leaf_nodes) const;

    void release(std::unique_ptr<Stat[]>& histogram) { pool_.release(std::move(histogram)); }

    /// Build the histogram of a node; where the rows are in several parts, `finish` merges them.
    /// range (n_chunks,): of the node
    void build(BoostNode& node, const ChunkRange* range, BoostRows& rows, const SparsePlan& sparse = {});

    /// Give a node the memory of a histogram, whose groups `build_group` builds.  n_parts: of the rows
    void start(BoostNode& node, Size n_parts, const SparsePlan& sparse = {}) {
        node.histogram = pool_.acquire_as_left();
        n_parts_ = n_parts;
        sparse_ = n_parts == 1 && node.n_rows <= max_listed_ ? sparse : SparsePlan{};
    }

    /// Build the histograms of a group of bundles from some of the node's rows.  part: 0 goes to the node's
    /// own histogram, the others to be merged
    void build_group(BoostNode& node, const BundleGroup& group, Size part, Size n_parts,
                     const ChunkRange* range, BoostRows& rows, int thread);

    /// The sum of all rows, from the histogram of the root, which was built last.
    Stat total(BoostNode& root, const BoostRows& rows);

    /// Merge bundle s of the node built last, and subtract it from `other`, which has the parent's histogram.
    /// other may be null.
    void finish(BoostNode& built, BoostNode* other, Size s);

    /// Finish all bundles.  needed (n_bundles,): those whose bins are read, or null
    void finish(BoostNode& built, BoostNode* other, const std::uint8_t* needed = nullptr);

    /// Whether the histograms of so few rows are built tile by tile in the first-level cache, used and
    /// forgotten, because that is cheaper than to subtract and to keep them.
    bool are_few(Size n_rows) const { return n_rows <= max_few_; }

    /// Call f(s, bins) for each bundle of a group, with the histogram of a node of few rows.  range
    /// (n_chunks,): of the node
    template <class F>
    void for_each_bundle(const BundleGroup& group, const ChunkRange* range, BoostRows& rows, int thread,
                         F&& f);

    /// All parts are merged.
    void set_finished() {
        n_parts_ = 1;
        sparse_ = {};
    }

    /// A copy of a histogram, such as that of all rows, which is that of the nodes of any level together.
    std::unique_ptr<Stat[]> copy(const Stat* histogram);

    /// The histogram of a feature's bundle.
    const Stat* bundle_bins(const Stat* histogram, std::uint32_t feature) const {
        return histogram + table_.bundles.place_of[feature].first * kBundleBins;
    }

    /// Bins of one column, out of those of its bundle; valid until the thread's next call.  total: of the
    /// node
    const Stat* column_bins(const Stat* bins, Stat total, std::uint32_t feature, int thread) {
        const auto [s, place] = table_.bundles.place_of[feature];
        const Bundle& bundle = table_.bundles.bundles[s];
        if (!bundle.shared()) return bins;
        std::array<Stat, kBundleBins>& out = threads_[static_cast<Size>(thread)].column;
        unpack(out.data(), table_.x.columns[feature].n_bins + 1, bundle.columns[place], bins, total);
        return out.data();
    }

    /// Packed sums of a node per bin code of a feature.  out (n_bins + 1,)
    void sum_column(Stat* out, const ChunkRange* range, const BoostRows& rows, std::uint32_t feature) const;

    /// Row weights of a node per bin code of a feature.  out (n_bins + 1,)
    void sum_weights(Stat* out, const BoostNode& node, const ChunkRange* range, const BoostRows& rows,
                     std::uint32_t feature);

  private:
    /// The most rows that are few.
    Size few_rows() const;

    /// The most rows whose lists of other codes are read three times at less cost than that of clearing,
    /// summing and subtracting all bins of the sparse bundles.
    Size listed_rows() const;

    /// Finish the sparse bundles of a group by the rows' lists alone. A node of few rows has few other codes
    /// in each: most bundles are too light to be split, here and below, and of them only the common bin is
    /// kept.
    void finish_sparse(const BoostNode& node, const BundleGroup& group, const ChunkRange* range,
                       const BoostRows& rows, int thread);

    /// Merge the parts of bundle s of the node built last.
    void merge(BoostNode& built, Size s);

    struct Thread {
        RowBuffer buffer;
        std::array<Stat, kBundleBins> column;
        std::vector<Stat> tile;     // histograms of a tile, of few rows
        std::vector<Stat> commons;  // common bins of a group's sparse bundles
    };

    const std::vector<BundleGroup>& groups(Size n);

    const BoostTable& table_;
    std::vector<Thread> threads_;
    std::vector<std::vector<BundleGroup>> groups_;  // by their number
    std::vector<std::unique_ptr<Stat[]>> parts_;    // of the rows after the first; all zero between nodes
    detail::HistogramPool pool_;
    std::vector<Size> common_places_;  // (n_bundles,): of the bundles' common bins
    Size n_parts_ = 1;                 // of the histogram built last
    SparsePlan sparse_;                // of the same
    Size max_few_, max_listed_;
};

template <class F>
void NodeHistograms::for_each_bundle(const BundleGroup& group, const ChunkRange* range, BoostRows& rows,
                                     int thread, F&& f) {
    Thread& own = threads_[static_cast<Size>(thread)];
    own.tile.resize(kTileBundles * kBundleBins);
    for (Size c = 0; c < table_.n_chunks(); ++c) {
        const Size first = c * kChunkRows;
        own.buffer.copy(table_.rows, group,
                        {table_.rows.codes.data() + first * table_.rows.stride, rows.packed.data() + first},
                        rows.ids.data() + first + range[c].begin, range[c].size());
    }
    for (const BundleTile& tile : group.tiles) {
        for (Size s = 0; s < tile.n; ++s)
            std::fill_n(own.tile.data() + s * kBundleBins, table_.bundles.bundles[tile.first + s].n_bins, 0);
        own.buffer.add_to(own.tile.data(), group, tile);
        for (Size s = 0; s < tile.n; ++s) f(tile.first + s, own.tile.data() + s * kBundleBins);
    }
    own.buffer.clear();
}

}  // namespace spinney
