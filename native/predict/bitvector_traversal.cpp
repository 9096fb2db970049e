#include "predict/bitvector_traversal.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "simd/row_masks.hpp"

namespace spinney {

bool BitvectorTrees::suits(const EnsembleView& trees, const EnsembleTraits& traits,
                           const EnsembleCodes& codes) {
    // Every split of a tree is evaluated, where a walk evaluates a few: that pays for small trees only.
    if (traits.max_leaves > max_leaves || traits.n_leaves > 100 * trees.n_trees()) return false;
    return CodePlanes::suits(codes);
}

BitvectorTrees::BitvectorTrees(const EnsembleView& trees, const EnsembleCodes& codes)
    : planes_(codes), n_values_(trees.n_values()) {
    if (SplitMasks::suits(codes)) masks_ = SplitMasks(codes, planes_);
    NodeCursor cursor;
    for (Size t = 0; t < trees.n_trees(); ++t) add_tree(trees, codes, t, cursor);
}

// ---- layout ----

void BitvectorTrees::add_tree(const EnsembleView& trees, const EnsembleCodes& codes, Size t,
                              NodeCursor& cursor) {
    const Size n = trees.size(t), begin = cursor.node;
    Tree tree{};
    tree.bytes = static_cast<std::uint32_t>(byte_splits_.size());
    tree.words = static_cast<std::uint32_t>(word_splits_.size());
    tree.sets = static_cast<std::uint32_t>(set_splits_.size());
    tree.branches = static_cast<std::uint32_t>(branches_.size());
    tree.leaves = leaf_nodes_.size();
    NodeCursor node = cursor;
    node.enter_tree();
    const std::vector<Node> first_child = first_children(trees, t, cursor);
    const std::vector<std::uint8_t> branch_of = number_branches(tree, first_child);
    for (Size i = 0; i < n; ++i, node.advance(trees))
        if (first_child[i] >= 0) add_split(trees, codes, node, branch_of[i]);
    std::sort(byte_splits_.begin() + tree.bytes, byte_splits_.end(),
              [](const ByteSplit& a, const ByteSplit& b) { return a.branch < b.branch; });
    add_branches(first_child, branch_of);
    number_leaves(trees, first_child, begin);
    tree.n_bytes = static_cast<std::uint32_t>(byte_splits_.size()) - tree.bytes;
    tree.n_words = static_cast<std::uint32_t>(word_splits_.size()) - tree.words;
    tree.n_sets = static_cast<std::uint32_t>(set_splits_.size()) - tree.sets;
    trees_.push_back(tree);
}

std::vector<std::uint8_t> BitvectorTrees::number_branches(Tree& tree, const std::vector<Node>& first_child) {
    std::vector<std::uint8_t> branch_of(first_child.size(), no_branch);
    const auto inner = [&](Node node) { return first_child[static_cast<Size>(node)] >= 0; };
    for (const bool forks : {true, false}) {
        for (Size i = 0; i < first_child.size(); ++i) {
            const Node left = first_child[i];
            if (left < 0 || (inner(left) || inner(left + 1)) != forks) continue;
            branch_of[i] = static_cast<std::uint8_t>(tree.n_branches++);
        }
        if (forks) tree.n_forks = tree.n_branches;
    }
    return branch_of;
}

void BitvectorTrees::add_split(const EnsembleView& trees, const EnsembleCodes& codes, const NodeCursor& at,
                               std::uint8_t branch) {
    const CodePlanes::Feature& p = planes_[codes.index(trees.feature[at.node])];
    if (trees.split(at.node) == SplitKind::category_set) {
        set_splits_.push_back(
            {p.first_part, p.n_parts, static_cast<std::uint32_t>(set_bits_.size()), branch});
        add_set(trees, at, p.n_parts);
        return;
    }
    const bool missing_left = trees.missing(at.node) == 0;
    const std::uint32_t plane = missing_left ? p.low : p.high;
    const std::uint32_t rank = codes.of(trees.feature[at.node]).ranks.rank(trees.threshold[at.node]);
    if (masks_.size() > 0) {
        const Size place = trees_.empty() ? 0 : trees_.back().branches + trees_.back().n_branches;
        split_of_branch_.resize(std::max(split_of_branch_.size(), place + branch + 1));
        split_of_branch_[place + branch] =
            masks_.number(codes.index(trees.feature[at.node]), rank, missing_left);
    } else if (p.wide) {
        word_splits_.push_back({plane, CodePlanes::signed_code<std::int16_t>(rank), branch});
    } else {
        byte_splits_.push_back({plane, CodePlanes::signed_code<std::int8_t>(rank), branch});
    }
}

void BitvectorTrees::add_set(const EnsembleView& trees, const NodeCursor& at, Size n_parts) {
    const Size first = set_bits_.size();
    set_bits_.resize(first + 32 * n_parts, 0);
    const auto begin = static_cast<Size>(trees.set_begin[at.n_sets]);
    const Size n_codes = 64 * (static_cast<Size>(trees.set_begin[at.n_sets + 1]) - begin);
    const auto set = [&](Size part, Size bit) {
        set_bits_[first + 32 * part + bit / 8] |= static_cast<std::uint8_t>(1u << bit % 8);
    };
    for (Size c = 0; c < std::min(n_codes, n_parts * CodePlanes::part_codes); ++c) {
        if (trees.set_bits[begin + c / 64] >> c % 64 & 1)
            set(c / CodePlanes::part_codes, c % CodePlanes::part_codes);
    }
    if (trees.missing(at.node) == 0) set(0, CodePlanes::part_codes);
}

/// Leaves are counted from the bottom up: in breadth-first order, children come after their parents.
void BitvectorTrees::add_branches(const std::vector<Node>& first_child,
                                  const std::vector<std::uint8_t>& branch_of) {
    leaves_below_.assign(first_child.size(), 1);
    for (Size i = first_child.size(); i-- > 0;) {
        if (first_child[i] < 0) continue;
        const auto left = static_cast<Size>(first_child[i]);
        leaves_below_[i] = leaves_below_[left] + leaves_below_[left + 1];
    }
    const Size before = branches_.size();
    for (Size i = 0; i < first_child.size(); ++i) {
        if (first_child[i] < 0) continue;
        const auto left = static_cast<Size>(first_child[i]);
        branches_.resize(std::max(branches_.size(), before + branch_of[i] + 1));
        branches_[before + branch_of[i]] = {branch_of[left], branch_of[left + 1],
                                            static_cast<std::uint8_t>(leaves_below_[left])};
    }
}

void BitvectorTrees::number_leaves(const EnsembleView& trees, const std::vector<Node>& first_child,
                                   Size begin) {
    std::vector<Size> first_leaf(first_child.size(), 0);
    const Size before = leaf_nodes_.size();
    // Values are looked up in tables of 16, 32 or 64 entries.
    const Size room = std::max<Size>(std::bit_ceil(leaves_below_[0]), 16);
    leaf_nodes_.resize(before + room, 0);
    values_.resize((before + room) * n_values_, 0.0);
    for (Size i = 0; i < first_child.size(); ++i) {
        if (first_child[i] >= 0) {
            const auto left = static_cast<Size>(first_child[i]);
            first_leaf[left] = first_leaf[i];
            first_leaf[left + 1] = first_leaf[i] + leaves_below_[left];
            continue;
        }
        const Size leaf = before + first_leaf[i];
        leaf_nodes_[leaf] = static_cast<Node>(i);
        std::copy_n(&trees.value[(begin + i) * n_values_], n_values_, &values_[leaf * n_values_]);
    }
}

// ---- traversal ----

namespace {

/// Follow the branches by the masks of their splits.  mask(i, right): the rows that go right at branch i
template <int S, class Branch, class Mask>
[[gnu::always_inline]] inline void follow(std::uint8_t* ids, const Branch* branches, Size n_forks,
                                          Size n_branches, Mask&& mask) {
    RowMask here[256][S];
    RowBytes id[S];
#pragma GCC unroll 4
    for (int s = 0; s < S; ++s) {
        id[s] = RowBytes{};
        here[0][s] = ~RowMask{};
    }
    const auto go_right = [&](Size i, auto&& note) {
        const Branch branch = branches[i];
        RowMask right[S];
        mask(i, right);
#pragma GCC unroll 4
        for (int s = 0; s < S; ++s) {
            const RowMask rows = here[i][s], to_right = rows & right[s];
            note(branch, s, rows & ~right[s], to_right);
            id[s] = add_where(id[s], to_right, branch.leaves_left);
        }
    };
    for (Size i = 0; i < n_forks; ++i)
        go_right(i, [&](const Branch& branch, int s, RowMask to_left, RowMask to_right) {
            here[branch.left][s] = to_left;
            here[branch.right][s] = to_right;
        });
    for (Size i = n_forks; i < n_branches; ++i) go_right(i, [](auto&&...) {});
#pragma GCC unroll 4
    for (int s = 0; s < S; ++s) std::memcpy(ids + kMaskRows * s, &id[s], sizeof id[s]);
}

}  // namespace

/// For S masks of rows from `first` on.
template <int S>
void BitvectorTrees::find_leaves_of(std::uint8_t* ids, const Tree& tree, const Block& rows,
                                    Size first) const {
    const std::uint8_t* const planes = rows.planes.data();
    const auto evaluate = [&](RowMask* to, const ByteSplit& split) {
        const std::uint8_t* codes = planes + split.plane + first;
#pragma GCC unroll 4
        for (int s = 0; s < S; ++s) to[s] = greater_bytes(codes + kMaskRows * s, split.rank);
    };
    const Branch* const branches = branches_.data() + tree.branches;
    if (masks_.size() > 0) {
        const std::uint32_t* const split = split_of_branch_.data() + tree.branches;
        constexpr Size split_bytes = block / kMaskRows * sizeof(RowMask);
        const std::uint8_t* const masks = rows.masks.data() + first / kMaskRows * sizeof(RowMask);
        return follow<S>(ids, branches, tree.n_forks, tree.n_branches, [&](Size i, RowMask* right) {
            std::memcpy(right, masks + split[i] * split_bytes, S * sizeof(RowMask));
        });
    }
    const ByteSplit* const splits = byte_splits_.data() + tree.bytes;
    if (tree.n_words + tree.n_sets == 0)  // then the splits are in the order of the branches
        return follow<S>(ids, branches, tree.n_forks, tree.n_branches,
                         [&](Size i, RowMask* right) { evaluate(right, splits[i]); });
    RowMask masks[256][S];
    for (Size i = 0; i < tree.n_bytes; ++i) evaluate(masks[splits[i].branch], splits[i]);
    for (Size i = tree.words, end = i + tree.n_words; i < end; ++i) {
        const WordSplit split = word_splits_[i];
        const std::uint8_t* codes = planes + split.plane + 2 * first;
        for (int s = 0; s < S; ++s)
            masks[split.branch][s] = greater_words(codes + 2 * kMaskRows * s, split.rank);
    }
    for (Size i = tree.sets, end = i + tree.n_sets; i < end; ++i) {
        const SetSplit split = set_splits_[i];
        for (int s = 0; s < S; ++s) {
            RowMask inside{};
            for (Size part = 0; part < split.n_parts; ++part)
                inside |= in_set(planes + split.plane + part * block + first + kMaskRows * s,
                                 &set_bits_[split.bits + 32 * part]);
            masks[split.branch][s] = ~inside;
        }
    }
    follow<S>(ids, branches, tree.n_forks, tree.n_branches,
              [&](Size i, RowMask* right) { std::copy_n(masks[i], S, right); });
}

void BitvectorTrees::read(Block& out, const EnsembleCodes& codes, std::span<const InputColumn> columns,
                          Size begin, Size n) const {
    out.planes.resize(planes_.bytes() + 64);
    planes_.code(out.planes.data(), codes, columns, begin, n);
    out.masks.resize(masks_.bytes());
    masks_.evaluate(out.masks.data(), out.planes.data(), n);
}

void BitvectorTrees::find_leaves(std::uint8_t* ids, Size t, const Block& rows, Size n) const {
    // Several masks at a time, so that a split is loaded once for all of them.
    Size first = 0;
    for (; n > first + 2 * kMaskRows; first += 4 * kMaskRows)
        find_leaves_of<4>(ids + first, trees_[t], rows, first);
    if (n > first + kMaskRows)
        find_leaves_of<2>(ids + first, trees_[t], rows, first);
    else if (n > first)
        find_leaves_of<1>(ids + first, trees_[t], rows, first);
}

// ---- values ----

void BitvectorTrees::add_values(double* sums, const std::uint8_t* ids, Size t, Size n) const {
    const double* const table = &values_[trees_[t].leaves * n_values_];
#ifdef SPINNEY_ROW_BITS
    const Size leaves = trees_[t].n_branches + 1;
    if (leaves <= 16) return add_looked_up<2>(sums, ids, table, n);
    if (leaves <= 32) return add_looked_up<4>(sums, ids, table, n);
    if (leaves <= 64) return add_looked_up<8>(sums, ids, table, n);
#endif
    Size i = 0;
    for (; i + kRegister <= n; i += kRegister) {
        Register value, sum;
#pragma GCC unroll 8
        for (Size k = 0; k < kRegister; ++k) value[k] = table[ids[i + k]];
        std::memcpy(&sum, sums + i, sizeof sum);
        sum += value;
        std::memcpy(sums + i, &sum, sizeof sum);
    }
    for (; i < n; ++i) sums[i] += table[ids[i]];
}

void BitvectorTrees::add_value_rows(double* sums, const std::uint8_t* ids, Size t, Size n) const {
    const double* const table = &values_[trees_[t].leaves * n_values_];
    for (Size i = 0; i < n; ++i, sums += n_values_) {
        const double* value = table + ids[i] * n_values_;
        for (Size k = 0; k < n_values_; ++k) sums[k] += value[k];
    }
}

}  // namespace spinney
