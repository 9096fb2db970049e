#include "boost/block_grower.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "boost/chunked_grower.hpp"
#include "boost/leaf_values.hpp"

namespace spinney {

namespace {

/// Sums of all histograms that one pass builds, at most.
constexpr Size kMaxBuilt = Size{1} << 26;
/// Node numbers of rows have two bytes.
constexpr Size kMaxNodes = 65535;

/// What the grower borrows: columns without rows.
struct BlockTable {
    CodeMatrix matrix;
    BoostOptions options;
    BoostTable table;
    PhaseTimes times;

    BlockTable(const CodeMatrix& x, const BoostOptions& o)
        : matrix(describe_columns(x)), options(o), table(matrix) {}

    static CodeMatrix describe_columns(const CodeMatrix& x) {
        CodeMatrix out;
        for (const CodeColumn& column : x.columns) {
            CodeColumn& own = out.columns.emplace_back();
            own.kind = column.kind;
            own.has_missing = column.has_missing;
            own.n_bins = column.n_bins;
            own.lo = column.lo;
            own.hi = column.hi;
            own.bin_of_category = column.bin_of_category;
        }
        return out;
    }
};

class BatchGrower final : public BlockGrower, private BlockTable, private ChunkedGrower {
  public:
    BatchGrower(const CodeMatrix& x, const BoostOptions& o)
        : BlockTable(x, o), ChunkedGrower(BlockTable::table, BlockTable::options, BlockTable::times) {}

    void start(const BlockRowFacts& facts, const Stat* histogram, std::uint64_t address) override {
        for (BoostNode& n : tree_.nodes) release(n);
        facts_ = facts;
        own_rows_.units = {1 / facts.scales.gradient, 1 / facts.scales.hessian};
        own_rows_.layout = facts.scales.layout;
        own_rows_.weight_unit = facts.weight_unit;
        own_rows_.score_noise = facts.score_noise;
        own_rows_.min_hessian_ratio = facts.min_hessian_ratio;
        own_rows_.max_hessian_ratio = facts.max_hessian_ratio;
        rows_ = &own_rows_;
        tree_ = {};
        tree_.fragment.add(1);
        weights_.clear();
        unweighed_.clear();
        splits_.clear();
        ledger_of_node_.clear();
        parents_ = {-1};
        level_ = {0};
        n_levels_ = 0;
        complete_ = false;
        columns_.draw(address);
        tree_.nodes.resize(1);
        BoostNode& root = node(0);
        root.address = address;
        root.n_rows = facts.n_rows;
        for (std::uint32_t g = 0; g < o_.interaction_cst.size(); ++g) root.groups.push_back(g);
        if (!within_depth(root)) return;
        root.histogram = histograms_.copy(histogram);
        if (o_.symmetric())
            start_levels(root);
        else
            search(nullptr, root, nullptr);
    }

    std::vector<Node> nodes_to_weigh() const override { return unweighed_; }

    void give_weights(const Stat* weights) override {
        const Size size = table_.histogram_size();
        const std::vector<Node> nodes = std::exchange(unweighed_, {});
        for (Size i = 0; i < nodes.size(); ++i)
            weights_[nodes[i]].assign(weights + i * size, weights + (i + 1) * size);
        for (const Node id : nodes) search(nullptr, node(id), nullptr);
        weights_.clear();
        drop_histograms(nodes);
    }

    const std::vector<BlockSplit>& splits() override {
        splits_.clear();
        if (complete_) return splits_;
        if (o_.symmetric())
            plan_level();
        else
            plan_nodes();
        if (tree_.nodes.size() > kMaxNodes)
            throw std::invalid_argument(
                "a tree of more than 65,535 nodes; lower max_leaf_nodes or max_depth");
        if (splits_.empty()) complete();
        return splits_;
    }

    void give(std::span<const BlockSplitResult> results) override {
        for (Size i = 0; i < splits_.size(); ++i) give_one(splits_[i], results[i]);
        std::vector<Node> children;
        for (const BlockSplit& split : splits_)
            children.insert(children.end(), {split.first_child, split.first_child + 1});
        if (!o_.symmetric()) drop_histograms(children);
    }

    const std::vector<BlockSplit>& planned() const override { return splits_; }

    Size n_leaves() const override { return tree_.leaves.size(); }

    std::vector<double> fit_leaves(const std::vector<LeafSums>& sums, LossName loss) const override {
        std::vector<double> out(sums.size());
        for (Size i = 0; i < out.size(); ++i)
            out[i] = scaled(i, newton_step(o_, sums[i], out.size() == 1, loss));
        return out;
    }

    std::vector<double> fit_quantiles(std::vector<std::vector<Residual>>& residuals, Size k,
                                      const Loss& loss) const override {
        std::vector<double> out(residuals.size());
        Pool::shared().parallel_for(o_.n_threads, out.size(), [&](Size i, int) {
            out[i] = scaled(i, fit_residuals(residuals[i], loss, k));
        });
        return out;
    }

    FlatTree finish(const std::vector<LeafSums>& sums, const std::vector<double>& values) override {
        return flatten(tree_, sums, values);
    }

    double score_noise(std::uint64_t round, double n_counted, double squares,
                       double hessians) const override {
        return noise_deviation(o_, round, n_counted, squares, hessians);
    }

    std::vector<std::int32_t> leaf_of_node() const override { return leaf_of_node_; }

  private:
    double scaled(Size i, double value) const {
        const BoostNode& leaf = tree_.nodes[static_cast<Size>(tree_.leaves[i])];
        return o_.learning_rate * std::clamp(value, leaf.lower, leaf.upper);
    }

    void weigh_root(BoostNode& root) override { root.weight = facts_.weight; }

    bool knows_weights(const BoostNode& n) override {
        if (weights_.contains(n.id)) return true;
        unweighed_.push_back(n.id);
        return false;
    }

    void sum_weights(Stat* out, const BoostNode& n, std::uint32_t f) override {
        std::copy_n(weights_.at(n.id).data() + f * kBundleBins, table_.x.columns[f].n_bins + 1, out);
    }

    /// Search one node, or both children of a parent whose histogram the larger one takes over. Candidates of
    /// the ledger are kept by node.
    void search(BoostNode* parent, BoostNode& built, BoostNode* other) {
        merge_and_search(parent, &built, other);
        for (LedgerRow& row : tree_.fragment.ledger) ledger_of_node_[row.node].push_back(row);
        tree_.fragment.ledger.clear();
    }

    /// Histograms are not kept where there would be too many; those of nodes to weigh are still searched.
    void drop_histograms(const std::vector<Node>& nodes) {
        for (const Node id : nodes) {
            const bool waits = std::find(unweighed_.begin(), unweighed_.end(), id) != unweighed_.end();
            if (!waits && (!keeps_histograms_ || node(id).feature < 0)) release(node(id));
        }
    }

    // --- leaf-wise and level-wise growth ---

    bool is_expanded(Node id) const {
        return static_cast<Size>(id) < tree_.fragment.nodes.size() &&
               tree_.fragment.nodes[static_cast<Size>(id)].n_children > 0;
    }

    /// Grow as in memory, over the splits that are known. Return the nodes that are split, in this order, and
    /// put those whose children are not known into `unknown`; they count as if neither child could be split.
    std::vector<Node> simulate(std::vector<Node>* unknown) {
        std::vector<Node> open, chosen;
        const auto add = [&](Node id) {
            if (node(id).feature >= 0) open.push_back(id);
        };
        add(0);
        Size n_leaves = 1;
        while (!open.empty() && n_leaves < o_.max_leaf_nodes) {
            const Node id = pop_best(open);
            chosen.push_back(id);
            ++n_leaves;
            if (is_expanded(id)) {
                const Node first = tree_.fragment.nodes[static_cast<Size>(id)].first_child;
                add(first);
                add(first + 1);
            } else if (unknown) {
                unknown->push_back(id);
            }
        }
        return chosen;
    }

    void plan_nodes() {
        std::vector<Node> unknown;
        simulate(&unknown);
        Size room = std::max<Size>(1, kMaxBuilt / table_.histogram_size());
        for (const Node id : unknown) {
            plan(id, node(id).depth + 1 < o_.max_depth);
            const Size n_built = static_cast<Size>(splits_.back().builds[0]) + splits_.back().builds[1];
            if (n_built >= room) break;
            room -= n_built;
        }
    }

    /// Split a node; of its children, the one with the smaller hessian is built, both if there is no
    /// histogram to subtract it from.
    void plan(Node id, bool more) {
        const Node first = add_children(id);
        BlockSplit split;
        split.node = id;
        split.first_child = first;
        split.feature = static_cast<std::uint32_t>(node(id).feature);
        split.goes_left = partition_.sides();
        if (more) {
            const bool left_is_small = hessian_of(node(first).total, rows_->layout) <
                                       hessian_of(node(first + 1).total, rows_->layout);
            split.builds = {left_is_small || !node(id).histogram, !left_is_small || !node(id).histogram};
        }
        splits_.push_back(split);
        parents_.insert(parents_.end(), 2, id);
    }

    void give_one(const BlockSplit& split, const BlockSplitResult& result) {
        for (Size side = 0; side < 2; ++side) {
            BoostNode& child = node(split.first_child + static_cast<Node>(side));
            child.n_rows = result.n_rows[side];
            child.weight = result.weights[side];
            if (split.builds[side]) child.histogram = histograms_.copy(result.histograms[side]);
        }
        BoostNode &parent = node(split.node), &left = node(split.first_child),
                  &right = node(split.first_child + 1);
        const bool both = split.builds[0] && split.builds[1], any = split.builds[0] || split.builds[1];
        BoostNode &built = split.builds[0] ? left : right, &other = split.builds[0] ? right : left;
        if (o_.symmetric()) {
            if (any) {
                other.histogram = std::move(parent.histogram);
                histograms_.finish(built, &other);
            }
        } else if (both) {
            search(nullptr, left, nullptr);
            search(nullptr, right, nullptr);
        } else if (any) {
            search(&parent, built, &other);
        }
        release(parent);
    }

    // --- symmetric growth ---

    void plan_level() {
        const int depth = n_levels_;
        if (!within_depth(node(0)) || depth >= o_.max_depth || 2 * level_.size() > o_.max_leaf_nodes) return;
        const std::int32_t f = search_level(level_, depth);
        if (f < 0) return;
        std::vector<Node> next;
        for (const Node id : level_) {
            if (!take_level_split(id, f)) {
                next.push_back(id);
                continue;
            }
            plan(id, depth + 1 < o_.max_depth);
            next.insert(next.end(), {splits_.back().first_child, splits_.back().first_child + 1});
        }
        level_ = std::move(next);
        ++n_levels_;
    }

    // --- the finished tree ---

    void complete() {
        complete_ = true;
        if (o_.symmetric()) {
            tree_.leaves = level_;
            histograms_.release(level_histogram_);
        } else {
            keep(simulate(nullptr));
        }
        for (BoostNode& n : tree_.nodes) release(n);
        number_leaves();
        compact();
        for (LedgerRow& row : tree_.fragment.ledger)
            row.chosen = row.chosen && tree_.fragment.nodes[static_cast<Size>(row.node)].n_children > 0;
    }

    /// Make leaves of all nodes but the chosen ones, and write the ledger as growth in memory does.
    void keep(const std::vector<Node>& chosen) {
        std::vector<bool> is_split(tree_.nodes.size(), false);
        for (const Node id : chosen) is_split[static_cast<Size>(id)] = true;
        const auto add_leaf = [&](Node id) {
            if (!is_split[static_cast<Size>(id)]) tree_.leaves.push_back(id);
        };
        const auto write = [&](Node id) {
            if (const auto found = ledger_of_node_.find(id); found != ledger_of_node_.end())
                tree_.fragment.ledger.insert(tree_.fragment.ledger.end(), found->second.begin(),
                                             found->second.end());
        };
        add_leaf(0);
        write(0);
        Size n_leaves = 1;
        for (const Node id : chosen) {
            const Node first = tree_.fragment.nodes[static_cast<Size>(id)].first_child;
            const Node small = first + (node(first).n_rows < node(first + 1).n_rows ? 0 : 1);
            add_leaf(first);
            add_leaf(first + 1);
            if (++n_leaves >= o_.max_leaf_nodes) break;
            write(small);
            write(2 * first + 1 - small);
        }
        for (Size i = 0; i < is_split.size(); ++i)
            if (!is_split[i]) tree_.fragment.nodes[i] = GrownNode{};
    }

    void number_leaves() {
        leaf_of_node_.assign(parents_.size(), -1);
        for (Size i = 0; i < tree_.leaves.size(); ++i)
            leaf_of_node_[static_cast<Size>(tree_.leaves[i])] = static_cast<std::int32_t>(i);
        for (Size i = 1; i < leaf_of_node_.size(); ++i)  // children come after their parents
            if (leaf_of_node_[i] < 0) leaf_of_node_[i] = leaf_of_node_[static_cast<Size>(parents_[i])];
    }

    /// Drop the nodes below the leaves.
    void compact() {
        std::vector<Node> number(tree_.nodes.size(), -1);
        BoostedTree out;
        const Fragment& from = tree_.fragment;
        for (Size i = 0; i < number.size(); ++i) {
            const bool is_leaf = leaf_of_node_[i] >= 0;
            if (is_leaf && tree_.leaves[static_cast<Size>(leaf_of_node_[i])] != static_cast<Node>(i))
                continue;
            number[i] = static_cast<Node>(out.nodes.size());
            out.nodes.push_back(std::move(tree_.nodes[i]));
            out.nodes.back().id = number[i];
            GrownNode& own = out.fragment.nodes.emplace_back(from.nodes[i]);
            if (own.detail < 0) continue;
            out.fragment.sets.push_back(from.sets[static_cast<Size>(own.detail)]);
            own.detail = static_cast<std::int32_t>(out.fragment.sets.size()) - 1;
        }
        for (GrownNode& own : out.fragment.nodes)
            if (own.n_children > 0) own.first_child = number[static_cast<Size>(own.first_child)];
        for (const Node id : tree_.leaves) out.leaves.push_back(number[static_cast<Size>(id)]);
        for (LedgerRow row : from.ledger) {
            row.node = number[static_cast<Size>(row.node)];
            out.fragment.ledger.push_back(row);
        }
        tree_ = std::move(out);
    }

    BoostRows own_rows_;
    BlockRowFacts facts_;
    bool complete_ = false;
    int n_levels_ = 0;  // of symmetric growth
    std::vector<BlockSplit> splits_;
    std::vector<Node> parents_, level_, unweighed_;
    std::vector<std::int32_t> leaf_of_node_;
    std::map<Node, std::vector<Stat>> weights_;
    std::map<Node, std::vector<LedgerRow>> ledger_of_node_;
};

}  // namespace

std::unique_ptr<BlockGrower> make_block_grower(const CodeMatrix& matrix, const BoostOptions& options) {
    return std::make_unique<BatchGrower>(matrix, options);
}

}  // namespace spinney
