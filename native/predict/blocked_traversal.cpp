#include "predict/blocked_traversal.hpp"

#include <algorithm>
#include <bit>

#include "simd/subtree_splits.hpp"

namespace spinney {

namespace {

constexpr Size rows_per_step = 64;  // rows that take a step together

/// The exit of three levels of splits, by their seven results in breadth-first order: 0 is child 0 each time.
constexpr std::array<std::uint8_t, 128> kThreeLevels = [] {
    std::array<std::uint8_t, 128> out{};
    for (unsigned results = 0; results < 128; ++results) {
        const unsigned a = results & 1, b = results >> (1 + a) & 1, c = results >> (3 + 2 * a + b) & 1;
        out[results] = static_cast<std::uint8_t>(4 * a + 2 * b + c);
    }
    return out;
}();

/// The splits on the path to each exit of four levels, one bit each.
constexpr std::array<std::uint16_t, 16> kOnPath = [] {
    std::array<std::uint16_t, 16> out{};
    for (unsigned exit = 0; exit < 16; ++exit)
        out[exit] = static_cast<std::uint16_t>(1u | 1u << (1 + (exit >> 3)) | 1u << (3 + (exit >> 2)) |
                                               1u << (7 + (exit >> 1)));
    return out;
}();

unsigned exit_of(unsigned results) {
    const unsigned upper = kThreeLevels[results & 127];
    return 2 * upper + (results >> (7 + upper) & 1);
}

#ifdef SPINNEY_SUBTREE_SPLITS
/// The exit of each row of a group.
template <bool Missing>
void find_exits(std::int16_t* exits, const TopTree& top, const std::int16_t* exact) {
    for (Size first = 0; first < BlockedRows::group; first += kWordLanes)
        store_exits(exits + first, evaluate_levels<TopTree::n_levels, Missing>(
                                       0, top.feature, top.rank, top.missing_right,
                                       SignedCode<std::int16_t>::missing, exact + first, BlockedRows::group));
}

/// Evaluate all splits of a subtree: the results and, above them, the splits that need exact codes.
template <int Parts, bool Missing>
[[gnu::always_inline]] inline unsigned evaluate(const SubtreeNode& node, const std::int8_t* row) {
    const RowResults results =
        evaluate_splits<Parts, Missing>(node.feature, node.rank, SignedCode<std::int8_t>::missing, row);
    return results.right | (results.missing & node.missing_right) | (results.equal & node.inexact) << 16;
}
#else
// Never called: `suits` is false.
template <bool Missing>
void find_exits(std::int16_t*, const TopTree&, const std::int16_t*) {}
template <int Parts, bool Missing>
unsigned evaluate(const SubtreeNode&, const std::int8_t*) {
    return 0;
}
#endif

/// Visit some levels of a tree from a node on: split(place, node) for its splits, exit(place, node) for the
/// nodes and leaves below them.
template <Size NSplits, class Split, class Exit>
void unfold(Node top, const std::vector<Node>& first_child, Split&& split, Exit&& exit) {
    std::array<Node, 2 * NSplits + 1> here;  // −1: none
    here.fill(-1);
    here[0] = top;
    for (Size place = 0; place < NSplits; ++place) {
        const Node node = here[place];
        if (node < 0) continue;
        const Node child = first_child[static_cast<Size>(node)];
        here[2 * place + 1] = child < 0 ? node : child;
        if (child < 0) continue;
        here[2 * place + 2] = child + 1;
        split(place, node);
    }
    for (Size place = 0; place <= NSplits; ++place)
        if (here[NSplits + place] >= 0) exit(place, here[NSplits + place]);
}

}  // namespace

bool BlockedTrees::suits([[maybe_unused]] const EnsembleView& trees,
                         [[maybe_unused]] const EnsembleCodes& codes) {
#ifdef SPINNEY_SUBTREE_SPLITS
    return BlockedRows::suits(codes) && trees.kind.size() < Size{1} << 30;
#else
    return false;
#endif
}

BlockedTrees::BlockedTrees(const EnsembleView& trees, const EnsembleCodes& codes)
    : n_values_(trees.n_values()), row_bytes_(BlockedRows::row_bytes(codes.features.size())) {
    const std::vector<std::uint16_t> rank = rank_thresholds(trees, codes);
    NodeCursor cursor;
    for (Size t = 0; t < trees.n_trees(); ++t) {
        const Size begin = cursor.node, n_leaves = node_of_leaf_.size();
        add_tree(trees, codes, rank, begin, first_children(trees, t, cursor));
        for (Size i = n_leaves; i < node_of_leaf_.size(); ++i) {
            const double* value = &trees.value[(begin + static_cast<Size>(node_of_leaf_[i])) * n_values_];
            values_.insert(values_.end(), value, value + n_values_);
        }
    }
}

// ---- traversal ----

void BlockedTrees::walk_rows(std::int32_t* leaves, Pending* scratch, Size tree, const BlockedRows& rows,
                             Size n) const {
    const auto with = [&]<int Parts>() {
        rows.any_missing() ? walk<Parts, true>(leaves, scratch, tree, rows, n)
                           : walk<Parts, false>(leaves, scratch, tree, rows, n);
    };
    switch (row_bytes_) {
        case 16:
            return with.template operator()<1>();
        case 32:
            return with.template operator()<2>();
        case 64:
            return with.template operator()<4>();
        default:
            return with.template operator()<8>();
    }
}

/// The rows that have not reached a leaf are listed anew for every step: without branches, so that the
/// processor overlaps many rows.
template <int Parts, bool Missing>
void BlockedTrees::walk(std::int32_t* leaves, Pending* list, Size t, const BlockedRows& rows, Size n) const {
    constexpr Size row_bytes = Parts * 16;
    const SubtreeNode* const nodes = nodes_.data();
    const TopTree& top = tops_[t];
    Size n_pending = 0;
    for (Size first = 0; first < n; first += BlockedRows::group) {
        std::int16_t exits[BlockedRows::group];
        find_exits<Missing>(exits, top, rows.exact(first / BlockedRows::group));
        const Size here = std::min(BlockedRows::group, n - first);
        for (Size i = 0; i < here; ++i) {
            const std::int32_t at = top.exit[exits[i]];
            leaves[first + i] = at;
            list[n_pending] = {static_cast<std::uint32_t>(first + i), at};
            n_pending += at >= 0;
        }
    }
    const std::int8_t* const coarse = rows.coarse();
    while (n_pending > 0) {
        const Size before = n_pending;
        n_pending = 0;
        for (Size first = 0; first < before; first += rows_per_step) {
            const Size here = std::min(rows_per_step, before - first);
            // Two loops: the processor then overlaps more rows in each.
            std::uint32_t results[rows_per_step];
            for (Size i = 0; i < here; ++i) {
                const Pending row = list[first + i];
                __builtin_prefetch(&nodes[list[first + i + ahead].at]);
                results[i] = evaluate<Parts, Missing>(nodes[row.at], coarse + row.row * row_bytes);
            }
            for (Size i = 0; i < here; ++i) {
                const Pending row = list[first + i];
                unsigned exit = exit_of(results[i]);
                if ((results[i] >> 16 & kOnPath[exit]) != 0) [[unlikely]]
                    exit = exit_of(compare_exact(results[i], row, rows));
                const unsigned next = nodes[row.at].exit[exit];
                const auto at = static_cast<std::int32_t>(nodes[row.at].first[next >> 7] + (next & 127));
                leaves[row.row] = at;
                list[n_pending] = {row.row, at};
                n_pending += at >= 0;
            }
        }
    }
    for (Size i = 0; i < n; ++i) leaves[i] &= 0x7fffffff;
}

/// Evaluate the splits that need exact codes.
[[gnu::noinline]] unsigned BlockedTrees::compare_exact(unsigned results, Pending here,
                                                       const BlockedRows& rows) const {
    const auto at = static_cast<Size>(here.at);
    for (unsigned open = results >> 16; open != 0; open &= open - 1) {
        const auto split = static_cast<Size>(std::countr_zero(open));
        const std::int16_t code = rows.exact(here.row, nodes_[at].feature[split]);
        results |= static_cast<unsigned>(code > exact_[at][split]) << split;
    }
    return results;
}

// ---- layout ----

/// The rank of each node's threshold among those of its feature; also makes the coarse codes.
std::vector<std::uint16_t> BlockedTrees::rank_thresholds(const EnsembleView& trees,
                                                         const EnsembleCodes& codes) {
    std::vector<std::uint16_t> rank(trees.kind.size());
    std::vector<std::vector<std::uint32_t>> n_splits;
    for (const FeatureCodes& f : codes.features) n_splits.emplace_back(f.ranks.size());
    for (Size node = 0; node < rank.size(); ++node) {
        if (trees.split(node) == SplitKind::leaf) continue;
        const Size f = codes.index(trees.feature[node]);
        rank[node] = static_cast<std::uint16_t>(codes.features[f].ranks.rank(trees.threshold[node]));
        ++n_splits[f][rank[node]];
    }
    for (const auto& of_feature : n_splits) coarse_.emplace_back(of_feature);
    return rank;
}

void BlockedTrees::add_tree(const EnsembleView& trees, const EnsembleCodes& codes,
                            const std::vector<std::uint16_t>& rank, Size begin,
                            const std::vector<Node>& first_child) {
    const auto is_leaf = [&](Node node) { return first_child[static_cast<Size>(node)] < 0; };
    const auto index = [&](Size node) { return codes.index(trees.feature[node]); };
    const Size first = nodes_.size();
    std::vector<Node> begins;  // of the subtrees below the top
    // Below the splits is a leaf, or another subtree begins.
    const auto next = [&](Node node) { (is_leaf(node) ? node_of_leaf_ : begins).push_back(node); };
    TopTree top;
    unfold<TopTree::n_splits>(
        0, first_child,
        [&](Size place, Node node) {
            const Size i = begin + static_cast<Size>(node);
            top.feature[place] = static_cast<std::uint16_t>(index(i));
            top.rank[place] = SignedCode<std::int16_t>::of(rank[i]);
            top.missing_right |= std::uint64_t{trees.missing(i) == 1} << place;
        },
        [&](Size place, Node node) {
            top.exit[place] = static_cast<std::int32_t>(is_leaf(node) ? 0x80000000u | node_of_leaf_.size()
                                                                      : first + begins.size());
            next(node);
        });
    tops_.push_back(top);
    for (Size k = 0; k < begins.size(); ++k) {
        SubtreeNode out;
        std::array<std::int16_t, 16> exact{};
        out.first[0] = static_cast<std::uint32_t>(first + begins.size());
        out.first[1] = 0x80000000u | static_cast<std::uint32_t>(node_of_leaf_.size());
        std::uint8_t n_nodes = 0, n_leaves = 0;
        unfold<SubtreeNode::n_splits>(
            begins[k], first_child,
            [&](Size place, Node node) {
                const Size i = begin + static_cast<Size>(node), s = index(i);
                const auto bit = static_cast<std::uint16_t>(1u << place);
                out.feature[place] = static_cast<std::uint8_t>(s);
                out.rank[place] = coarse_[s].code(rank[i]);
                exact[place] = SignedCode<std::int16_t>::of(rank[i]);
                if (trees.missing(i) == 1) out.missing_right |= bit;
                if (!coarse_[s].is_bound(rank[i])) out.inexact |= bit;
            },
            [&](Size place, Node node) {
                out.exit[place] = is_leaf(node) ? static_cast<std::uint8_t>(128 | n_leaves++) : n_nodes++;
                next(node);
            });
        nodes_.push_back(out);
        exact_.push_back(exact);
    }
}

}  // namespace spinney
