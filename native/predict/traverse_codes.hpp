// Deep trees, and single rows: walks over nodes of eight bytes that compare codes, several under way at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "predict/code_features.hpp"
#include "core/types.hpp"
#include "predict/ensemble_layout.hpp"

namespace spinney {

/// A test in eight bytes, from the highest bit: rank (26), plane (13), whether it is of a category set (1),
/// child 0 (24, within the tree; child 1 follows it).
///
/// A number goes to child 1 if its code in the plane is above the rank. A leaf has the highest rank, and is
/// its own child. For a category set `rank` is where its words begin.
struct CodedNode {
    static constexpr int child_bits = 24, plane_bits = 13, rank_bits = 26;
    static constexpr std::uint32_t highest_rank = (1u << rank_bits) - 1;

    std::uint64_t bits;

    static CodedNode test(std::uint32_t rank, std::uint32_t plane, bool is_set, Node child) {
        return {std::uint64_t{rank} << 38 | std::uint64_t{plane} << 25 | std::uint64_t{is_set} << 24 |
                static_cast<std::uint64_t>(child)};
    }
    static CodedNode leaf(Node self) { return test(highest_rank, 0, false, self); }

    Node child() const { return static_cast<Node>(bits & 0xffffff); }
    std::uint32_t plane() const { return static_cast<std::uint32_t>(bits >> 25) & 0x1fff; }
    std::uint32_t rank() const { return static_cast<std::uint32_t>(bits >> 38); }
    std::uint32_t is_set() const { return static_cast<std::uint32_t>(bits >> 24) & 1; }

    /// Go to a child; a leaf stays.  row: one code a plane; sets: the words of all category sets
    template <bool Sets, class Code>
    Node next(const Code* row, [[maybe_unused]] const std::uint64_t* sets) const {
        const std::uint32_t code = row[plane()];
        if constexpr (!Sets) return child() + static_cast<Node>(code > rank());
        // No branch: which kind of test comes next cannot be foreseen.
        const std::uint32_t word = (rank() + code / 64) & (0u - is_set());
        const std::uint32_t outside = ~static_cast<std::uint32_t>(sets[word] >> code % 64) & 1;
        return child() + static_cast<Node>(is_set() ? outside : code > rank());
    }
};

/// All trees of an ensemble as coded nodes.
class CodedTrees {
  public:
    /// Tell whether every number fits into its bits.
    static bool suits(const EnsembleView& trees, const EnsembleTraits& traits, const EnsembleCodes& codes) {
        if (traits.most_nodes >= Size{1} << CodedNode::child_bits) return false;
        Size n_planes = 0, n_words = 0;
        for (const FeatureCodes& f : codes.features) {
            n_planes += f.categorical ? 1 : 2;
            n_words += f.categorical ? f.n_tests * (f.n_codes / 64 + 2) : 0;
            if (f.ranks.size() >= CodedNode::highest_rank || f.n_codes >= 1u << 30) return false;
        }
        return n_planes <= Size{1} << CodedNode::plane_bits && n_words <= CodedNode::highest_rank &&
               trees.n_trees() > 0;
    }

    CodedTrees(const EnsembleView& trees, const EnsembleCodes& codes) : tree_begin_(trees.tree_begin) {
        lay_out_planes(codes);
        nodes_.resize(trees.kind.size());
        sets_.push_back(0);  // what a test of a number reads in vain
        NodeCursor cursor;
        for (Size t = 0; t < trees.n_trees(); ++t) {
            cursor.enter_tree();
            for (Size i = 0; i < trees.size(t); ++i, cursor.advance(trees)) {
                nodes_[cursor.node] = trees.test(cursor.node) == TestKind::leaf
                                          ? CodedNode::leaf(static_cast<Node>(i))
                                          : make_test(trees, codes, cursor);
            }
        }
    }

    Size n_planes() const { return n_planes_; }
    bool wide() const { return wide_; }  // codes of four bytes, not two

    /// Code rows, one after the other.  rows (n, n_planes)
    template <class Code>
    void code_rows(Code* rows, const EnsembleCodes& codes, std::span<const InputColumn> columns, Size begin,
                   Size n) const {
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

    /// Find the leaf of each row in one tree.  leaves (n,); rows (n, n_planes)
    template <class Code>
    void walk_rows(Node* leaves, Size t, const Code* rows, Size n) const {
        const CodedNode* const nodes = &nodes_[static_cast<Size>(tree_begin_[t])];
        const auto lane = [&](Size i) { return Lane<Code>{nodes, rows + i * n_planes_}; };
        has_sets_ ? walk<true, Code>(leaves, n, lane) : walk<false, Code>(leaves, n, lane);
    }

    /// Find the leaf of one row in each of some trees.  leaves (n,); row (n_planes,)
    template <class Code>
    void walk_trees(Node* leaves, Size first_tree, Size n, const Code* row) const {
        const auto lane = [&](Size i) {
            return Lane<Code>{&nodes_[static_cast<Size>(tree_begin_[first_tree + i])], row};
        };
        has_sets_ ? walk<true, Code>(leaves, n, lane) : walk<false, Code>(leaves, n, lane);
    }

  private:
    struct Planes {
        std::uint32_t high = 0, low = 0;  // of a category feature, `high` is the one there is
    };

    template <class Code>
    struct Lane {
        const CodedNode* nodes;
        const Code* row;
    };

    // Some rows or trees are under way at once, so that one's waiting for memory is another's time to
    // compare.
    template <bool Sets, class Code, class MakeLane>
    void walk(Node* leaves, Size n, MakeLane&& make_lane) const {
        constexpr Size lanes = 8;
        const std::uint64_t* const sets = sets_.data();
        for (Size begin = 0; begin < n; begin += lanes) {
            const Size here = std::min(lanes, n - begin);
            Lane<Code> lane[lanes];
            Node at[lanes] = {};
            // Lanes without work of their own follow the first.
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

    // ---- layout ----

    void lay_out_planes(const EnsembleCodes& codes) {
        std::uint32_t at = 0;
        for (const FeatureCodes& f : codes.features) {
            Planes p;
            p.high = at;
            at += f.categorical || f.missing_second;
            p.low = at;
            at += !f.categorical && f.missing_first;
            planes_.push_back(p);
            has_sets_ |= f.categorical;
            wide_ |= f.ranks.size() > 65534 || f.n_codes > 65000;
        }
        n_planes_ = std::max<Size>(at, 1);
    }

    CodedNode make_test(const EnsembleView& trees, const EnsembleCodes& codes, const NodeCursor& at) {
        const auto feature = trees.feature[at.node];
        const FeatureCodes& f = codes.of(feature);
        const Planes& p = planes_[codes.slot_of_feature[static_cast<Size>(feature)]];
        if (!f.categorical) {
            const std::uint32_t plane = trees.missing(at.node) == 0 ? p.low : p.high;
            return CodedNode::test(f.ranks.rank(trees.threshold[at.node]), plane, false, at.first_child);
        }
        const auto words = static_cast<std::uint32_t>(sets_.size());
        add_set(trees, at, f);
        return CodedNode::test(words, p.high, true, at.first_child);
    }

    // The code n_codes is in no set; a missing value has the next one, and is in those that send it to child
    // 0.
    void add_set(const EnsembleView& trees, const NodeCursor& at, const FeatureCodes& f) {
        const Size first = sets_.size(), missing = f.n_codes + 1;
        sets_.resize(first + missing / 64 + 1, 0);
        const auto begin = trees.set_begin[at.n_sets], end = trees.set_begin[at.n_sets + 1];
        for (Size w = 0; w < std::min(static_cast<Size>(end - begin), sets_.size() - first); ++w) {
            sets_[first + w] = trees.set_bits[static_cast<Size>(begin) + w];
        }
        if (trees.missing(at.node) == 0) sets_[first + missing / 64] |= 1ull << missing % 64;
    }

    // ---- rows ----

    template <class Code>
    void write_planes(Code* rows, const Planes& p, const FeatureCodes& f, const std::uint32_t* code,
                      Size n) const {
        const auto write = [&](std::uint32_t plane, std::uint32_t missing) {
            for (Size i = 0; i < n; ++i) {
                rows[i * n_planes_ + plane] = static_cast<Code>(code[i] == missing_code ? missing : code[i]);
            }
        };
        if (f.categorical) return write(p.high, f.n_codes + 1);
        // The highest rank is that of leaves, which nothing is above.
        if (f.missing_second) write(p.high, sizeof(Code) == 2 ? 0xffff : CodedNode::highest_rank);
        if (f.missing_first) write(p.low, 0);
    }

    std::span<const std::int64_t> tree_begin_;
    std::vector<CodedNode> nodes_;
    std::vector<std::uint64_t> sets_;
    std::vector<Planes> planes_;  // as the features of the codes
    Size n_planes_ = 0;
    bool has_sets_ = false, wide_ = false;
};

}  // namespace spinney
