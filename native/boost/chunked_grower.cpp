#include "boost/chunked_grower.hpp"

#include <algorithm>
#include <cfloat>
#include <limits>
#include <utility>

#include "core/random.hpp"
#include "grow/growth_rules.hpp"

namespace spinney {

ChunkedGrower::ChunkedGrower(const BoostTable& table, const BoostOptions& options, PhaseTimes& times)
    : table_(table),
      o_(options),
      times_(times),
      n_chunks_(table.n_chunks()),
      scratch_(static_cast<Size>(options.n_threads)),
      histograms_(table, options.n_threads),
      keeps_histograms_(histograms_.fit_in_memory(options.max_leaf_nodes)),
      columns_(options, table.x.columns.size()),
      partition_(options.n_threads) {
    const Size d = table.x.columns.size();
    found_[0].resize(d);
    found_[1].resize(d);
    level_scores_.resize(d);
    allowed_[0].resize(d);
    allowed_[1].resize(d);
}

BoostedTree ChunkedGrower::grow(BoostRows& rows, std::uint64_t address, Interrupt& interrupt) {
    rows_ = &rows;
    tree_ = {};
    tree_.fragment.add(1);
    columns_.draw(address);
    add_root(address);
    if (o_.symmetric())
        grow_symmetric(interrupt);
    else
        grow_nodes(interrupt);
    for (LedgerRow& row : tree_.fragment.ledger)  // the candidates of a leaf were not chosen
        row.chosen = row.chosen && tree_.fragment.nodes[static_cast<Size>(row.node)].n_children > 0;
    return std::move(tree_);
}

void ChunkedGrower::grow_nodes(Interrupt& interrupt) {
    std::vector<Node> open;
    enqueue(open, 0);
    Size n_leaves = 1;
    while (!open.empty() && n_leaves < o_.max_leaf_nodes) {
        interrupt.poll();
        const Node id = pop_best(open);
        const Node first = split_node(id);
        ++n_leaves;
        if (n_leaves < o_.max_leaf_nodes) search_children(id, first);
        for (const Node child : {first, first + 1}) enqueue(open, child);
    }
    for (const Node id : open) finalize_leaf(id);
}

// --- nodes ---

void ChunkedGrower::add_root(std::uint64_t address) {
    tree_.nodes.resize(1);
    tree_.ranges.resize(n_chunks_);
    BoostNode& root = node(0);
    root.address = address;
    root.path = 0;
    for (std::uint32_t g = 0; g < o_.interaction_cst.size(); ++g) root.groups.push_back(g);
    for (Size c = 0; c < n_chunks_; ++c) {
        const auto in = static_cast<LocalRow>(rows_->n_in[c]);
        ranges(0)[c] = {0, in, in, static_cast<LocalRow>(table_.chunk_size(c))};
        root.n_rows += in;
    }
    if (within_depth(root)) {
        build(root);
        if (o_.symmetric())
            start_levels(root);
        else
            times_.time(Phase::split, [&] { merge_and_search(nullptr, &root, nullptr); });
    }
}

bool ChunkedGrower::within_depth(const BoostNode& n) const {
    return n.depth < o_.max_depth && n.n_rows >= 2 && o_.max_leaf_nodes > 1;
}

bool ChunkedGrower::splittable(const BoostNode& n) const {
    const double weight = static_cast<double>(n.weight) * rows_->weight_unit;
    return within_depth(n) && weight >= 2 * o_.min_samples_leaf &&
           static_cast<double>(hessian_of(n.total, rows_->layout)) * rows_->units.hessian >=
               2 * o_.min_hessian;
}

void ChunkedGrower::enqueue(std::vector<Node>& open, Node id) {
    BoostNode& n = node(id);
    if (n.feature < 0) return finalize_leaf(id);
    if (!keeps_histograms_) release(n);
    open.push_back(id);
}

void ChunkedGrower::finalize_leaf(Node id) {
    release(node(id));
    tree_.leaves.push_back(id);
}

Node ChunkedGrower::pop_best(std::vector<Node>& open) {
    Size best = 0;
    for (Size i = 1; i < open.size() && !o_.level_wise(); ++i)
        if (node(open[i]).gain > node(open[best]).gain) best = i;
    const Node id = open[best];
    open.erase(open.begin() + static_cast<long>(best));
    return id;
}

void ChunkedGrower::build(BoostNode& n, const SparsePlan& sparse) {
    times_.time(Phase::histogram, [&] { histograms_.build(n, ranges(n.id), *rows_, sparse); });
}

// --- splits ---

Node ChunkedGrower::split_node(Node id) {
    const Node first = add_children(id);
    times_.time(Phase::partition, [&] { partition(id, first); });
    return first;
}

Node ChunkedGrower::add_children(Node id) {
    const Stat left = node(id).best.left, right = node(id).total - left;
    const auto f = static_cast<std::uint32_t>(node(id).feature);
    const CodeColumn& column = table_.x.columns[f];
    const Candidate c = make_candidate(node(id));
    tree_.fragment.set_split(id, c, table_.x);
    partition_.set_sides(c, column);
    const Node first = tree_.fragment.nodes[static_cast<Size>(id)].first_child;
    tree_.nodes.resize(static_cast<Size>(first) + 2);
    tree_.ranges.resize((static_cast<Size>(first) + 2) * n_chunks_);
    const std::array<double, 2> values{value_of(node(id), left), value_of(node(id), right)};
    for (int side = 0; side < 2; ++side) {
        BoostNode& child = node(first + side);
        const BoostNode& parent = node(id);
        child.id = first + side;
        child.depth = parent.depth + 1;
        child.address = mix(parent.address, static_cast<std::uint64_t>(side) + 1);
        child.path = mix(parent.path, static_cast<std::uint64_t>(side) + 1);
        child.total = side == 0 ? left : right;
        child.lower = parent.lower;
        child.upper = parent.upper;
        bound(child, f, side, values);
        for (const std::uint32_t g : parent.groups) {
            const auto& set = o_.interaction_cst[g];
            if (std::find(set.begin(), set.end(), f) != set.end()) child.groups.push_back(g);
        }
    }
    return first;
}

Candidate ChunkedGrower::make_candidate(const BoostNode& n) const {
    const auto f = static_cast<std::uint32_t>(n.feature);
    const CodeColumn& column = table_.x.columns[f];
    Candidate c;
    c.feature = n.feature;
    c.threshold = threshold(f, n.best);
    c.missing = n.best.missing;
    if (column.kind == ColumnKind::numeric) {
        c.kind = SplitKind::numeric;
        c.threshold_bin = static_cast<Code>(n.best.threshold_bin);
    } else {
        c.kind = SplitKind::category_set;
        c.bins = n.best.set.below(column.n_bins);
        c.seen = n.best.seen.below(column.n_bins);
    }
    assign_unseen(c, static_cast<Size>(hessian_of(n.best.left, rows_->layout)),
                  static_cast<Size>(hessian_of(n.total - n.best.left, rows_->layout)), false);
    return c;
}

double ChunkedGrower::threshold(std::uint32_t f, const NewtonSplit& cut) const {
    const CodeColumn& column = table_.x.columns[f];
    if (column.kind == ColumnKind::categorical) return std::numeric_limits<double>::quiet_NaN();
    if (cut.last) return DBL_MAX;
    const auto bin = static_cast<Code>(cut.threshold_bin);
    return midpoint(column.max_of(bin), column.min_of(bin + 1));
}

double ChunkedGrower::value_of(const BoostNode& n, Stat sum) const {
    const NewtonUnits& u = rows_->units;
    const double g = static_cast<double>(gradient_of(sum, rows_->layout)),
                 h = static_cast<double>(hessian_of(sum, rows_->layout)) + o_.l2_regularization / u.hessian;
    return std::clamp(-g / h * u.value(), n.lower, n.upper);
}

void ChunkedGrower::bound(BoostNode& child, std::uint32_t f, int side,
                          const std::array<double, 2>& values) const {
    if (o_.monotonic_cst.empty() || o_.monotonic_cst[f] == 0) return;
    const double middle = values[0] / 2 + values[1] / 2;
    if ((o_.monotonic_cst[f] > 0) == (side == 0))
        child.upper = std::min(child.upper, middle);
    else
        child.lower = std::max(child.lower, middle);
}

void ChunkedGrower::partition(Node id, Node first) {
    const std::uint8_t* codes = table_.x.columns[static_cast<Size>(node(id).feature)].as<std::uint8_t>();
    const ChunkRange* from = ranges(id);
    ChunkRange *left = ranges(first), *right = ranges(first + 1);
    const int n_threads = threads_for(node(id).n_rows + (rows_->any_out ? kFewRows : 0));
    partition_.split(left, right, from, n_chunks_, rows_->ids.data(), codes, n_threads);
    BoostNode &l = node(first), &r = node(first + 1);
    for (Size c = 0; c < n_chunks_; ++c) {
        l.n_rows += left[c].size();
        r.n_rows += right[c].size();
    }
    l.weight = weight_of(l);
    r.weight = node(id).weight - l.weight;
}

Stat ChunkedGrower::weight_of(const BoostNode& n) {
    if (rows_->weights.empty()) return static_cast<Stat>(n.n_rows);
    const ChunkRange* range = ranges(n.id);
    Stat sum = 0;
    for (Size c = 0; c < n_chunks_; ++c)
        for (Size i = range[c].begin; i < range[c].end; ++i)
            sum += rows_->weights[c * kChunkRows + rows_->ids[c * kChunkRows + i]];
    return sum;
}

}  // namespace spinney
