// The histogram grower: growth of a tree, or of a subtree, on bin codes.
#include <array>
#include <cfloat>
#include <iterator>
#include <memory>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "grow/growers.hpp"
#include "grow/growth_rules.hpp"
#include "grow/histogram_node.hpp"
#include "grow/small_subtrees.hpp"
#include "simd/partition_rows.hpp"
#include "split/scorer.hpp"

namespace spinney {

namespace {

using namespace detail;

/// Rows below which a subtree is copied together and grown by one thread.
constexpr Size kCompact = 8192;

std::unique_ptr<NodeSearch> make_search(const GrowContext& c, const HistogramData& data, HistogramPool& pool,
                                        int n_threads) {
    return with_criterion(c.options.criterion, c.s, [&]<Layout L, class Criterion>() {
        return NodeSearchOf<L, Criterion>::make(c, data, pool, n_threads);
    });
}

/// Growth on one HistogramData: the whole table with all threads, or the compacted rows of a subtree with
/// one thread.
class HistogramRun {
  public:
    /// table_row[i] is the row of the table at position i of the data; empty: the same.
    HistogramRun(const GrowContext& c, const HistogramData& data, std::span<const Row> table_row,
                 int n_threads)
        : c_(c),
          data_(data),
          table_row_(table_row),
          histogram_size_(data.codes.n_bins() * static_cast<Size>(c.s.width)),
          pool_(histogram_size_),
          search_(make_search(c, data, pool_, n_threads)) {}

    RowVector<Row> rows;  // nodes are ranges of it

    /// Grow the subtree of `first` depth first; returns the nodes of fewer rows than `compact_below`.
    std::vector<HistogramNode> depth_first(Fragment& f, HistogramNode first, Size compact_below) {
        // Where subtrees are deferred, the codes may be in files, and threads share the work.
        const bool small = compact_below == 0 && SmallSubtrees::supports(c_);
        if (small && !small_) small_ = std::make_unique<SmallSubtrees>(c_, data_);
        // Most nodes do not go through the stack. False: the node is to be pushed.
        const auto finish = [&](HistogramNode& node) {
            if (must_be_leaf(node)) {
                finalize_leaf(f, node);
                return true;
            }
            if (!small || node.size() > small_->max_rows()) return false;
            small_->grow(f, node.state, list(node), table_rows(node));
            pool_.release(std::move(node.histogram));
            return true;
        };
        const auto enqueue = [&](std::vector<HistogramNode>& stack, HistogramNode& node) {
            if (!finish(node)) stack.push_back(std::move(node));
        };
        if (finish(first)) return {};
        return spinney::depth_first(c_, f, std::move(first), compact_below,
                                    [&](HistogramNode& node, std::vector<HistogramNode>& stack) {
                                        search(f, node, split_);
                                        if (!split_.best.found()) return;
                                        auto [left, right] = split(f, node, split_, compact_below);
                                        // The smaller child first: then at most log2(n) histograms are kept.
                                        const bool left_first = left.size() < right.size();
                                        enqueue(stack, left_first ? right : left);
                                        enqueue(stack, left_first ? left : right);
                                    });
    }

    void best_first(Fragment& f, HistogramNode root) {
        struct Work : HistogramNode, NodeSplit {};
        const auto work = [](HistogramNode&& node) { return Work{std::move(node), {}}; };
        spinney::best_first(
            c_, work(std::move(root)),
            [&](Work& node) {
                if (must_be_leaf(node)) return finalize_leaf(f, node);
                search(f, node, node);
                if (c_.options.max_leaf_nodes > 256) pool_.release(std::move(node.histogram));
            },
            [&](Work& node) {
                auto [left, right] = split(f, node, node, 0);
                return std::array<Work, 2>{work(std::move(left)), work(std::move(right))};
            },
            [&](const Work& node) { record(f, node, true); });
    }

    /// Sum over a range of the row list.
    SmallSum sum_of(Size begin, Size end) const {
        SmallSum out(static_cast<Size>(c_.s.width));
        search_->add(out.data(), std::span(rows).subspan(begin, end - begin));
        return out;
    }

  private:
    std::span<const Row> list(const HistogramNode& node) const {
        return std::span(rows).subspan(node.begin, node.size());
    }

    Row table_row(Row row) const { return table_row_.empty() ? row : table_row_[row]; }

    /// Rows of a node by their numbers in the table.
    std::span<const Row> table_rows(const HistogramNode& node) {
        if (table_row_.empty()) return list(node);
        listed_.resize(node.size());
        for (Size i = 0; i < node.size(); ++i) listed_[i] = table_row_[rows[node.begin + i]];
        return listed_;
    }

    void record(Fragment& f, const HistogramNode& node, bool leaf) {
        const bool by_sum = c_.node_values.exact();
        record_node(c_, f, node.state, {leaf && !by_sum ? table_rows(node) : list(node), {}}, leaf,
                    by_sum ? node.total.data() : nullptr);
    }

    bool is_pure(const HistogramNode& node) const {
        if (c_.s.task == Task::classification) return pure_classes(c_, node.total.data());
        const Row* row = rows.data() + node.begin;
        // Rows of equal weight with different statistics have different y; this avoids reading y itself.
        const Size width = static_cast<Size>(c_.s.row_width);
        if (node.size() > 1) {
            const Stat *a = data_.rows.stats + row[0] * width, *b = data_.rows.stats + row[1] * width;
            if (a[0] == b[0] && !std::equal(a, a + width, b)) return false;
        }
        return pure_values(c_, node.size(), [&](Size i) { return table_row(row[i]); });
    }

    /// Whether the node is a leaf whatever its features are.
    bool must_be_leaf(const HistogramNode& node) const {
        return must_stop(c_, node.state, node.total.data(), node.size()) || is_pure(node);
    }

    void finalize_leaf(Fragment& f, HistogramNode& node) {
        record(f, node, true);
        pool_.release(std::move(node.histogram));
    }

    /// Find the best split of the node, or make it a leaf.
    void search(Fragment& f, HistogramNode& node, NodeSplit& out) {
        out.clear();
        search_->find(out, node, list(node));
        if (!out.best.found()) return finalize_leaf(f, node);
        record(f, node, false);
    }

    /// Stable partition of the node's range of the row list.
    PartitionedRows partition(const HistogramNode& node, const Candidate& b) {
        const std::uint32_t n_bins = c_.x.columns[static_cast<Size>(b.feature)].n_bins;
        // The sixteen beyond are written with the last ones.
        spare_.resize(std::max(spare_.size(), node.size() + 16));
        if (b.kind == SplitKind::numeric) {
            const std::uint32_t last = b.threshold_bin, also = b.missing == 0 ? n_bins : last;
#ifdef SPINNEY_COMPRESSED_ROWS
            // The columns of a whole table do not have the bytes beyond the last code.
            const CodeTiles::FeatureCodes codes = data_.codes.feature_codes(static_cast<Size>(b.feature));
            if (!table_row_.empty() && node.size() >= kCompressedRows &&
                can_compress(data_.codes.n_rows * codes.stride))
                return partition_compressed(rows.data() + node.begin, node.size(), spare_.data(), codes.first,
                                            codes.stride, {last, also}, n_bins);
#endif
            return partition(node, b, [=](std::uint32_t code) -> std::uint32_t {
                return static_cast<std::uint32_t>(code <= last) | static_cast<std::uint32_t>(code == also);
            });
        }
        std::array<std::uint8_t, 256> goes_left{};
        for (Code member : b.bins) goes_left[member] = 1;
        goes_left[n_bins] = b.missing == 0;
        return partition(node, b, [&](std::uint32_t code) -> std::uint32_t { return goes_left[code]; });
    }

    /// The same by a function of the code: 1 if it goes left, else 0.
    template <class GoesLeft>
    PartitionedRows partition(const HistogramNode& node, const Candidate& b, GoesLeft&& goes_left) {
        const CodeColumn& column = c_.x.columns[static_cast<Size>(b.feature)];
        const auto by = [&](const std::uint8_t* codes, auto stride) {
            return partition_rows(rows.data() + node.begin, node.size(), spare_.data(), codes, stride,
                                  goes_left, b.threshold_bin, column.n_bins);
        };
        // The usual stride is a constant, which saves a multiplication per row.
        if (table_row_.empty()) return by(column.as<std::uint8_t>(), std::integral_constant<Size, 1>());
        const CodeTiles::FeatureCodes codes = data_.codes.feature_codes(static_cast<Size>(b.feature));
        return by(codes.first, codes.stride);
    }

    /// Threshold of a split: the midpoint of the neighbouring values, the largest number for known against
    /// missing values, or the random threshold unless the node has values of the bin it falls into.
    double threshold_of(const NodeSplit& by, const PartitionedRows& part) const {
        const CodeColumn& column = c_.x.columns[static_cast<Size>(by.best.feature)];
        const double below = column.max_of(by.best.threshold_bin);
        if (by.drawn != kUnset && (by.drawn >= below || !part.bin_used)) return by.drawn;
        return part.after == column.n_bins ? DBL_MAX : midpoint(below, column.min_of(part.after));
    }

    std::array<HistogramNode, 2> split(Fragment& f, HistogramNode& node, NodeSplit& by, Size compact_below) {
        const PartitionedRows part = partition(node, by.best);
        Row* list = rows.data() + node.begin;
        std::copy_n(spare_.data(), node.size() - part.n_left, list + part.n_left);
        if (by.best.kind == SplitKind::numeric && by.best.threshold == kUnset)
            by.best.threshold = threshold_of(by, part);
        std::array<HistogramNode, 2> out;
        HistogramNode &left = out[0], &right = out[1];
        left.begin = node.begin;
        left.end = right.begin = node.begin + part.n_left;
        right.end = node.end;
        HistogramNode& small = left.size() < right.size() ? left : right;
        HistogramNode& large = left.size() < right.size() ? right : left;
        const bool known = by.left.size() > 0;
        HistogramNode &summed = known ? left : small, &rest = known ? right : large;
        summed.total = known ? std::move(by.left) : sum_of(small.begin, small.end);
        rest.total = std::move(node.total);
        subtract(rest.total.data(), summed.total.data(), rest.total.size());
        assign_unseen(by.best, left.size(), right.size(), false);
        f.set_split(node.state.id, by.best, c_.x);
        const GrownNode& record = f.nodes[static_cast<Size>(node.state.id)];
        const auto values = child_values(c_, by.best, left.total.data(), right.total.data());
        left.state = child_state(c_, node.state, record, 0, values);
        right.state = child_state(c_, node.state, record, 1, values);
        pass_histogram(node, small, large, std::max(compact_below, kDense));
        return out;
    }

    /// Histograms of the children by subtraction, if they are large enough to use them and may be split.
    void pass_histogram(HistogramNode& node, HistogramNode& small, HistogramNode& large, Size min_size) {
        const bool useful = large.size() >= min_size && large.state.depth < c_.options.max_depth;
        if (node.histogram && useful) {
            small.histogram = pool_.acquire();
            search_->build(small.histogram.get(), list(small));
            subtract(node.histogram.get(), small.histogram.get(), histogram_size_);
            large.histogram = std::move(node.histogram);
            if (small.size() < min_size) pool_.release(std::move(small.histogram));
        }
        pool_.release(std::move(node.histogram));
    }

    const GrowContext& c_;
    const HistogramData data_;
    std::span<const Row> table_row_;
    Size histogram_size_;
    HistogramPool pool_;
    std::unique_ptr<NodeSearch> search_;
    std::unique_ptr<SmallSubtrees> small_;  // null: not used
    RowVector<Row> listed_, spare_;
    NodeSplit split_;  // of the current node in depth-first growth
};

/// Number the rows from 0, as those of a copy are.
void take_all(HistogramRun& run, HistogramNode& node) {
    run.rows.resize(node.size());
    std::iota(run.rows.begin(), run.rows.end(), Row{0});
    node.end = node.size();
    node.begin = 0;
}

/// Grow the subtree of `first`: large nodes by all threads, the others copied together and by one thread
/// each. table_row: of the rows of `codes`; empty: the same; fragments: empty ones
std::vector<Fragment> grow_subtrees(const GrowContext& c, const CodeTiles& codes, HistogramRun& run,
                                    std::span<const Row> table_row, HistogramNode first,
                                    std::vector<Fragment> fragments) {
    if (fragments.empty()) fragments.resize(1);
    fragments[0].add(1);
    first.state.id = 0;
    auto deferred = run.depth_first(fragments[0], std::move(first), kCompact);
    grow_deferred(c, fragments, std::move(deferred), [&](Fragment& f, HistogramNode node, int) {
        const auto chosen = std::span<const Row>(run.rows).subspan(node.begin, node.size());
        std::vector<Row> listed(table_row.empty() ? 0 : chosen.size());
        for (Size i = 0; i < listed.size(); ++i) listed[i] = table_row[chosen[i]];
        const std::span<const Row> own_rows = table_row.empty() ? chosen : std::span<const Row>(listed);
        const CompactRows own(codes, chosen, own_rows, c.s);
        HistogramRun subtree(c, own.view(), own_rows, 1);
        take_all(subtree, node);
        subtree.depth_first(f, std::move(node), 0);
    });
    return fragments;
}

/// Grow a tree on codes in files: nodes of at least so many rows read the files in the order of the rows, the
/// subtrees of the others are copied to memory one after the other.
std::vector<Fragment> grow_from_files(const GrowContext& c, const CodeTiles& codes, HistogramRun& run,
                                      HistogramNode root, Size rows_in_memory) {
    std::vector<Fragment> fragments(1);
    fragments[0].add(1);
    auto deferred = run.depth_first(fragments[0], std::move(root), std::max(rows_in_memory, kCompact));
    fragments.resize(1 + deferred.size());
    const SpillPause pause;
    for (Size i = 0; i < deferred.size(); ++i) {
        HistogramNode& node = deferred[i];
        const auto table_row = std::span<const Row>(run.rows).subspan(node.begin, node.size());
        const CompactRows own(codes, table_row, table_row, c.s);
        HistogramRun subtree(c, own.view(), table_row, c.options.n_threads);
        take_all(subtree, node);
        auto grown = grow_subtrees(c, own.codes, subtree, table_row, std::move(node), {});
        const auto offset = static_cast<std::int32_t>(fragments.size()) - 1;
        for (GrownNode& one : grown[0].nodes)
            if (one.fragment > 0) one.fragment += offset;
        fragments[i + 1] = std::move(grown[0]);
        std::move(grown.begin() + 1, grown.end(), std::back_inserter(fragments));
    }
    return fragments;
}

}  // namespace

bool histogram_grower_supports(const GrowContext& c) {
    constexpr Size max_histogram = Size{1} << 24;
    Size n_bins = 0;
    for (const auto& column : c.x.columns) {
        if (column.width != 1) return false;
        n_bins += column.n_bins + 1;
    }
    return n_bins * static_cast<Size>(c.s.width) <= max_histogram && c.options.fit_histograms();
}

std::vector<Fragment> grow_histogram(const GrowContext& c, const CodeTiles& codes, RowVector<Row> rows,
                                     std::vector<Fragment> fragments) {
    const HistogramData data{codes, {c.s.stats.data(), c.s.class_code.data()}};
    HistogramRun run(c, data, {}, c.options.n_threads);
    run.rows = std::move(rows);
    HistogramNode root;
    root.end = run.rows.size();
    root.total = run.sum_of(0, root.end);
    root.state.address = mix(c.options.seed, 0);
    if (!c.options.best_first()) {
        const Size fits = codes.rows_in_memory();
        return fits < codes.n_rows ? grow_from_files(c, codes, run, std::move(root), fits)
                                   : grow_subtrees(c, codes, run, {}, std::move(root), std::move(fragments));
    }
    fragments.resize(1);
    fragments[0].add(1);
    run.best_first(fragments[0], std::move(root));
    return fragments;
}

}  // namespace spinney
