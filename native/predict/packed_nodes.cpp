#include "predict/packed_nodes.hpp"

#include <algorithm>

namespace spinney {

bool PackedTrees::suits(const EnsembleView& trees, const EnsembleTraits& traits, const EnsembleCodes& codes) {
    if (traits.max_nodes >= Size{1} << PackedNode::child_bits) return false;
    Size n_planes = 0, n_words = 0;
    for (const FeatureCodes& f : codes.features) {
        n_planes += f.categorical ? 1 : 2;
        n_words += f.categorical ? f.n_splits * (f.n_codes / 64 + 2) : 0;
        if (f.ranks.size() >= PackedNode::max_rank || f.n_codes >= 1u << 30) return false;
    }
    return n_planes <= Size{1} << PackedNode::plane_bits && n_words <= PackedNode::max_rank &&
           trees.n_trees() > 0;
}

namespace {

/// The place of each node of a tree: siblings side by side, and next to them the children of the one with the
/// larger subtree, so that a long path is in few cache lines.
std::vector<Node> place_nodes(const std::vector<Node>& first_child) {
    std::vector<Node> size(first_child.size(), 1), place(first_child.size(), 0), open{0};
    for (Size i = size.size(); i-- > 0;) {
        if (first_child[i] < 0) continue;
        const auto left = static_cast<Size>(first_child[i]);
        size[i] += size[left] + size[left + 1];
    }
    for (Node next = 1; !open.empty();) {
        const auto node = static_cast<Size>(open.back());
        open.pop_back();
        if (first_child[node] < 0) continue;
        const auto left = static_cast<Size>(first_child[node]);
        place[left] = next;
        place[left + 1] = next + 1;
        next += 2;
        const bool left_is_larger = size[left] >= size[left + 1];
        open.push_back(static_cast<Node>(left + left_is_larger));
        open.push_back(static_cast<Node>(left + !left_is_larger));
    }
    return place;
}

}  // namespace

PackedTrees::PackedTrees(const EnsembleView& trees, const EnsembleCodes& codes)
    : tree_begin_(trees.tree_begin) {
    lay_out_planes(codes);
    nodes_.resize(trees.kind.size());
    sets_.push_back(0);  // read by numeric splits, without effect
    node_at_.resize(nodes_.size());
    NodeCursor cursor;
    for (Size t = 0; t < trees.n_trees(); ++t) {
        const Size begin = cursor.node;
        NodeCursor node = cursor;
        node.enter_tree();
        const std::vector<Node> first_child = first_children(trees, t, cursor);
        const std::vector<Node> places = place_nodes(first_child);
        for (Size i = 0; i < trees.size(t); ++i, node.advance(trees)) {
            const Node child = first_child[i];
            const Size at = begin + static_cast<Size>(places[i]);
            node_at_[at] = static_cast<Node>(i);
            nodes_[at] = child < 0 ? PackedNode::leaf(places[i])
                                   : make_split(trees, codes, node, places[static_cast<Size>(child)]);
        }
    }
}

void PackedTrees::lay_out_planes(const EnsembleCodes& codes) {
    std::uint32_t at = 0;
    for (const FeatureCodes& f : codes.features) {
        Planes p;
        p.high = at;
        at += f.categorical || f.missing_right;
        p.low = at;
        at += !f.categorical && f.missing_left;
        planes_.push_back(p);
        has_sets_ |= f.categorical;
    }
    n_planes_ = std::max<Size>(at, 1);
}

PackedNode PackedTrees::make_split(const EnsembleView& trees, const EnsembleCodes& codes,
                                   const NodeCursor& at, Node child) {
    const auto feature = trees.feature[at.node];
    const FeatureCodes& f = codes.of(feature);
    const Planes& p = planes_[codes.index(feature)];
    if (!f.categorical) {
        const std::uint32_t plane = trees.missing(at.node) == 0 ? p.low : p.high;
        return PackedNode::split(f.ranks.rank(trees.threshold[at.node]), plane, false, child);
    }
    const auto first_word = static_cast<std::uint32_t>(sets_.size());
    add_set(trees, at, f);
    return PackedNode::split(first_word, p.high, true, child);
}

/// The code n_codes is in no set; a missing value has the next one, which is in the sets that send it left.
void PackedTrees::add_set(const EnsembleView& trees, const NodeCursor& at, const FeatureCodes& f) {
    const Size first = sets_.size(), missing = f.n_codes + 1;
    sets_.resize(first + missing / 64 + 1, 0);
    const auto begin = trees.set_begin[at.n_sets], end = trees.set_begin[at.n_sets + 1];
    for (Size w = 0; w < std::min(static_cast<Size>(end - begin), sets_.size() - first); ++w)
        sets_[first + w] = trees.set_bits[static_cast<Size>(begin) + w];
    if (trees.missing(at.node) == 0) sets_[first + missing / 64] |= 1ull << missing % 64;
}

void PackedTrees::code_rows(std::uint32_t* rows, const EnsembleCodes& codes,
                            std::span<const InputColumn> columns, Size begin, Size n) const {
    constexpr Size at_once = 256;
    std::uint32_t code[at_once];
    for (Size first = 0; first < n; first += at_once) {
        const Size here = std::min(at_once, n - first);
        for (Size s = 0; s < planes_.size(); ++s) {
            const FeatureCodes& f = codes.features[s];
            f.code(code, columns[f.feature], begin + first, here);
            write_planes(rows + first * n_planes_, planes_[s], f, code, here);
        }
    }
}

void PackedTrees::write_planes(std::uint32_t* rows, const Planes& p, const FeatureCodes& f,
                               const std::uint32_t* code, Size n) const {
    const auto write = [&](std::uint32_t plane, std::uint32_t missing) {
        for (Size i = 0; i < n; ++i)
            rows[i * n_planes_ + plane] = code[i] == missing_code ? missing : code[i];
    };
    if (f.categorical) return write(p.high, f.n_codes + 1);
    // Nothing is above the maximum rank, which leaves have.
    if (f.missing_right) write(p.high, PackedNode::max_rank);
    if (f.missing_left) write(p.low, 0);
}

namespace {

struct Lane {
    const PackedNode* nodes;
    const std::uint32_t* row;
};

}  // namespace

template <class MakeLane>
void PackedTrees::walk(Node* leaves, Size n, MakeLane&& make_lane) const {
    has_sets_ ? walk_with<true>(leaves, n, make_lane) : walk_with<false>(leaves, n, make_lane);
}

/// Eight rows or trees are walked at once to hide memory latency; those at a leaf stay there.
template <bool Sets, class MakeLane>
void PackedTrees::walk_with(Node* leaves, Size n, MakeLane&& make_lane) const {
    constexpr Size lanes = 8;
    const std::uint64_t* const sets = sets_.data();
    for (Size begin = 0; begin < n; begin += lanes) {
        const Size here = std::min(lanes, n - begin);
        Lane lane[lanes];
        Node at[lanes] = {};
        // Lanes without work repeat the first.
        for (Size k = 0; k < lanes; ++k) lane[k] = make_lane(begin + (k < here ? k : 0));
        for (Node moved = 1; moved != 0;) {
            moved = 0;
            for (int step = 0; step < 2; ++step) {
#pragma GCC unroll 8
                for (Size k = 0; k < lanes; ++k) {
                    const Node next = lane[k].nodes[at[k]].template next<Sets>(lane[k].row, sets);
                    if (step == 1) moved |= next ^ at[k];
                    at[k] = next;
                }
            }
        }
        std::copy_n(at, here, leaves + begin);
    }
}

void PackedTrees::walk_rows(Node* leaves, Size tree, const std::uint32_t* rows, Size n) const {
    const PackedNode* const nodes = &nodes_[static_cast<Size>(tree_begin_[tree])];
    walk(leaves, n, [&](Size i) { return Lane{nodes, rows + i * n_planes_}; });
    const Node* node_at = &node_at_[static_cast<Size>(tree_begin_[tree])];
    for (Size i = 0; i < n; ++i) leaves[i] = node_at[leaves[i]];
}

void PackedTrees::walk_trees(Node* leaves, Size first_tree, Size n, const std::uint32_t* row) const {
    walk(leaves, n,
         [&](Size i) { return Lane{&nodes_[static_cast<Size>(tree_begin_[first_tree + i])], row}; });
    for (Size i = 0; i < n; ++i)
        leaves[i] = node_at_[static_cast<Size>(tree_begin_[first_tree + i] + leaves[i])];
}

}  // namespace spinney
