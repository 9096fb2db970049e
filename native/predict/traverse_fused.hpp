// Deep trees and many rows: the top of a tree is asked of many rows at once, and further down a row takes
// four levels in one step.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "predict/code_features.hpp"
#include "core/types.hpp"
#include "predict/ensemble_layout.hpp"
#include "predict/fused_rows.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace spinney {

namespace detail {

/// The way down three levels of tests, by their seven answers in breadth-first order: 0 is child 0 each time.
inline constexpr std::array<std::uint8_t, 128> kThreeLevels = [] {
    std::array<std::uint8_t, 128> out{};
    for (unsigned answers = 0; answers < 128; ++answers) {
        const unsigned a = answers & 1, b = answers >> (1 + a) & 1, c = answers >> (3 + 2 * a + b) & 1;
        out[answers] = static_cast<std::uint8_t>(4 * a + 2 * b + c);
    }
    return out;
}();

/// The tests on each way down four levels, a bit each.
inline constexpr std::array<std::uint16_t, 16> kOnTheWay = [] {
    std::array<std::uint16_t, 16> out{};
    for (unsigned way = 0; way < 16; ++way)
        out[way] = static_cast<std::uint16_t>(1u | 1u << (1 + (way >> 3)) | 1u << (3 + (way >> 2)) |
                                              1u << (7 + (way >> 1)));
    return out;
}();

}  // namespace detail

// In both layouts tests are in breadth-first order; where the tree has a leaf above the lowest level, all
// tests below it lead to child 0.

/// The first levels of a tree.
struct FusedTop {
    static constexpr Size n_levels = 6, n_exits = Size{1} << n_levels, n_tests = n_exits - 1;

    std::uint16_t feature[n_tests] = {};
    std::int16_t rank[n_tests];  // a code above it goes to child 1
    std::uint64_t missing_second = 0;
    std::int32_t exit[n_exits] = {};  // a fused node, or a leaf with the sign bit

    FusedTop() { std::fill_n(rank, n_tests, std::numeric_limits<std::int16_t>::max()); }  // nothing is above
};

/// A node and its descendants, four levels of tests.
struct alignas(64) FusedNode {
    static constexpr Size n_exits = 16, n_tests = n_exits - 1;

    std::uint8_t feature[n_exits] = {};
    std::int8_t rank[n_exits];        // a code above it goes to child 1
    std::uint8_t exit[n_exits] = {};  // the high bit: which of the next two the others are added to
    // The first of the fused nodes that this one leads to; the first of its leaves, with the sign bit.
    std::uint32_t first[2] = {};
    std::uint16_t missing_second = 0;  // the tests that send missing values to child 1
    std::uint16_t inexact = 0;         // the tests that need exact codes where coarse ones are equal

    FusedNode() { std::fill_n(rank, n_exits, std::numeric_limits<std::int8_t>::max()); }  // nothing is above
};

/// All trees of an ensemble as fused nodes, one after the other, and their leaves likewise.
class FusedTrees {
  public:
#if defined(__AVX2__)
    static bool suits(const EnsembleView& trees, const EnsembleCodes& codes) {
        return FusedRows::suits(codes) && trees.kind.size() < Size{1} << 30;
    }
#else
    static bool suits(const EnsembleView&, const EnsembleCodes&) { return false; }
#endif

    FusedTrees(const EnsembleView& trees, const EnsembleCodes& codes)
        : n_values_(trees.n_values()), row_bytes_(FusedRows::row_bytes(codes.features.size())) {
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

    /// How finely numbers are told apart in a byte.  (n_features,)
    const std::vector<CoarseRanks>& coarse() const { return coarse_; }
    const double* value(std::int32_t leaf) const { return &values_[static_cast<Size>(leaf) * n_values_]; }
    Node node_of(std::int32_t leaf) const { return node_of_leaf_[static_cast<Size>(leaf)]; }

    /// A row on its way, and the fused node it has come to.
    struct UnderWay {
        std::uint32_t row;
        std::int32_t at;
    };

    /// Find the leaf of each row in one tree, among all leaves.  leaves, scratch (n + ahead,)
    void walk_rows(std::int32_t* leaves, UnderWay* scratch, Size t, const FusedRows& rows, Size n) const {
        const auto with = [&]<int Parts>() {
            rows.any_missing() ? walk<Parts, true>(leaves, scratch, t, rows, n)
                               : walk<Parts, false>(leaves, scratch, t, rows, n);
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
    static constexpr Size ahead = 32;  // rows between asking for a node and using it

  private:
    // ---- walks ----

    static constexpr Size at_once = 64;  // rows that take a step together

    // Rows that are under way are listed anew for every step: no branch to foresee, so that the processor has
    // many rows under way at once.
    template <int Parts, bool Missing>
    void walk(std::int32_t* leaves, UnderWay* list, Size t, const FusedRows& rows, Size n) const {
        constexpr Size row_bytes = Parts * 16;
        const FusedNode* const nodes = nodes_.data();
        const FusedTop& top = tops_[t];
        Size under_way = 0;
        for (Size first = 0; first < n; first += FusedRows::group) {
            std::int16_t way[FusedRows::group];
            go_down<Missing>(way, top, rows.exact(first / FusedRows::group));
            const Size here = std::min(FusedRows::group, n - first);
            for (Size i = 0; i < here; ++i) {
                const std::int32_t at = top.exit[way[i]];
                leaves[first + i] = at;
                list[under_way] = {static_cast<std::uint32_t>(first + i), at};
                under_way += at >= 0;
            }
        }
        const std::int8_t* const coarse = rows.coarse();
        while (under_way > 0) {
            const Size before = under_way;
            under_way = 0;
            for (Size first = 0; first < before; first += at_once) {
                const Size here = std::min(at_once, before - first);
                // Two loops: the processor then has more rows in each under way at once.
                std::uint32_t answers[at_once];
                for (Size i = 0; i < here; ++i) {
                    const UnderWay row = list[first + i];
                    __builtin_prefetch(&nodes[list[first + i + ahead].at]);
                    answers[i] = ask<Parts, Missing>(nodes[row.at], coarse + row.row * row_bytes);
                }
                for (Size i = 0; i < here; ++i) {
                    const UnderWay row = list[first + i];
                    unsigned way = way_down(answers[i]);
                    if ((answers[i] >> 16 & detail::kOnTheWay[way]) != 0) [[unlikely]]
                        way = way_down(look_closer(answers[i], row, rows));
                    const unsigned exit = nodes[row.at].exit[way];
                    const auto at = static_cast<std::int32_t>(nodes[row.at].first[exit >> 7] + (exit & 127));
                    leaves[row.row] = at;
                    list[under_way] = {row.row, at};
                    under_way += at >= 0;
                }
            }
        }
        for (Size i = 0; i < n; ++i) leaves[i] &= 0x7fffffff;
    }

#if defined(__AVX2__)
    template <class V>
    static V load(const void* at) {
        V out;
        std::memcpy(&out, at, sizeof out);
        return out;
    }

    static constexpr Size kLanes = 16;

    /// The answers on the way of each row: 0 or −1.
    template <Size Levels>
    struct Answers {
        __m256i level[Levels];
    };

    /// Go down some levels from a test on.
    template <Size Levels, bool Missing>
    [[gnu::always_inline]] static Answers<Levels> answers_below(const FusedTop& top, Size test,
                                                                const std::int16_t* exact) {
        const __m256i code = load<__m256i>(exact + top.feature[test] * FusedRows::group);
        __m256i own = _mm256_cmpgt_epi16(code, _mm256_set1_epi16(top.rank[test]));
        if constexpr (Missing) {
            const __m256i missing =
                _mm256_cmpeq_epi16(code, _mm256_set1_epi16(SignedCode<std::int16_t>::missing));
            const auto second = static_cast<std::int16_t>(-static_cast<int>(top.missing_second >> test & 1));
            own = _mm256_or_si256(own, _mm256_and_si256(missing, _mm256_set1_epi16(second)));
        }
        Answers<Levels> out;
        out.level[0] = own;
        if constexpr (Levels > 1) {
            const auto left = answers_below<Levels - 1, Missing>(top, 2 * test + 1, exact);
            const auto right = answers_below<Levels - 1, Missing>(top, 2 * test + 2, exact);
#pragma GCC unroll 8
            for (Size i = 0; i + 1 < Levels; ++i)
                out.level[i + 1] = _mm256_blendv_epi8(left.level[i], right.level[i], own);
        }
        return out;
    }

    /// Find the exit of each row of a group.
    template <bool Missing>
    static void go_down(std::int16_t* way, const FusedTop& top, const std::int16_t* exact) {
        for (Size first = 0; first < FusedRows::group; first += kLanes) {
            const auto answers = answers_below<FusedTop::n_levels, Missing>(top, 0, exact + first);
            __m256i sum{};
#pragma GCC unroll 8
            for (Size i = 0; i < FusedTop::n_levels; ++i)
                sum = _mm256_sub_epi16(_mm256_add_epi16(sum, sum), answers.level[i]);  // yes is −1
            std::memcpy(way + first, &sum, sizeof sum);
        }
    }

    /// The bytes of a row at sixteen places.
    template <int Parts>
    [[gnu::always_inline]] static __m128i pick(const std::int8_t* row, __m128i place) {
        if constexpr (Parts == 1) return _mm_shuffle_epi8(load<__m128i>(row), place);
        const __m256i twice = _mm256_broadcastsi128_si256(place);
        __m256i out{};
#pragma GCC unroll 4
        for (int part = 0; part < Parts; part += 2) {
            const auto first = static_cast<char>(16 * part), second = static_cast<char>(16 * part + 16);
            const __m256i own = _mm256_set_m128i(_mm_set1_epi8(second), _mm_set1_epi8(first));
            // Places in other parts get the sign bit, which picks 0.
            const __m256i within = _mm256_adds_epu8(_mm256_xor_si256(twice, own), _mm256_set1_epi8(0x70));
            out = _mm256_or_si256(out, _mm256_shuffle_epi8(load<__m256i>(row + 16 * part), within));
        }
        return _mm_or_si128(_mm256_castsi256_si128(out), _mm256_extracti128_si256(out, 1));
    }

    static unsigned bits(__m128i answers) { return static_cast<unsigned>(_mm_movemask_epi8(answers)); }

    /// Ask all tests of a node: the answers, and above them the tests that need exact codes.
    template <int Parts, bool Missing>
    [[gnu::always_inline]] static unsigned ask(const FusedNode& node, const std::int8_t* row) {
        const __m128i code = pick<Parts>(row, load<__m128i>(node.feature));
        const __m128i rank = load<__m128i>(node.rank);
        unsigned answers = bits(_mm_cmpgt_epi8(code, rank));
        if constexpr (Missing) {
            const __m128i missing = _mm_cmpeq_epi8(code, _mm_set1_epi8(SignedCode<std::int8_t>::missing));
            answers |= bits(missing) & node.missing_second;
        }
        return answers | (bits(_mm_cmpeq_epi8(code, rank)) & node.inexact) << 16;
    }
#else
    // `suits` has said no.
    template <bool Missing>
    static void go_down(std::int16_t*, const FusedTop&, const std::int16_t*) {}
    template <int Parts, bool Missing>
    static unsigned ask(const FusedNode&, const std::int8_t*) {
        return 0;
    }
#endif

    static unsigned way_down(unsigned answers) {
        const unsigned way = detail::kThreeLevels[answers & 127];
        return 2 * way + (answers >> (7 + way) & 1);
    }

    /// Answer the tests that need exact codes.
    [[gnu::noinline]] unsigned look_closer(unsigned answers, UnderWay here, const FusedRows& rows) const {
        const auto at = static_cast<Size>(here.at);
        for (unsigned open = answers >> 16; open != 0; open &= open - 1) {
            const auto test = static_cast<Size>(std::countr_zero(open));
            const std::int16_t code = rows.exact(here.row, nodes_[at].feature[test]);
            answers |= static_cast<unsigned>(code > exact_[at][test]) << test;
        }
        return answers;
    }

    // ---- layout ----

    /// The place of each node's threshold among those of its feature, and codes of a byte by them all.
    std::vector<std::uint16_t> rank_thresholds(const EnsembleView& trees, const EnsembleCodes& codes) {
        std::vector<std::uint16_t> rank(trees.kind.size());
        std::vector<std::vector<std::uint32_t>> tests;
        for (const FeatureCodes& f : codes.features) tests.emplace_back(f.ranks.size());
        for (Size node = 0; node < rank.size(); ++node) {
            if (trees.test(node) == TestKind::leaf) continue;
            const Size slot = codes.slot_of_feature[static_cast<Size>(trees.feature[node])];
            rank[node] = static_cast<std::uint16_t>(codes.features[slot].ranks.rank(trees.threshold[node]));
            ++tests[slot][rank[node]];
        }
        for (const auto& of_feature : tests) coarse_.emplace_back(of_feature);
        return rank;
    }

    /// Some levels of a tree from a node on: calls test(place, node) for its tests, and exit(place, node) for
    /// the nodes below them and the leaves.
    template <Size NTests, class Test, class Exit>
    static void unfold(Node top, const std::vector<Node>& first_child, Test&& test, Exit&& exit) {
        std::array<Node, 2 * NTests + 1> here;  // −1: none
        here.fill(-1);
        here[0] = top;
        for (Size place = 0; place < NTests; ++place) {
            const Node node = here[place];
            if (node < 0) continue;
            const Node child = first_child[static_cast<Size>(node)];
            here[2 * place + 1] = child < 0 ? node : child;
            if (child < 0) continue;
            here[2 * place + 2] = child + 1;
            test(place, node);
        }
        for (Size place = 0; place <= NTests; ++place)
            if (here[NTests + place] >= 0) exit(place, here[NTests + place]);
    }

    void add_tree(const EnsembleView& trees, const EnsembleCodes& codes,
                  const std::vector<std::uint16_t>& rank, Size begin, const std::vector<Node>& first_child) {
        const auto is_leaf = [&](Node node) { return first_child[static_cast<Size>(node)] < 0; };
        const auto slot = [&](Size node) {
            return codes.slot_of_feature[static_cast<Size>(trees.feature[node])];
        };
        const Size first = nodes_.size();
        std::vector<Node> begins;  // of this tree's fused nodes
        // What is below the tests of a layout is a leaf, or begins a fused node.
        const auto next = [&](Node node) { (is_leaf(node) ? node_of_leaf_ : begins).push_back(node); };
        FusedTop top;
        unfold<FusedTop::n_tests>(
            0, first_child,
            [&](Size place, Node node) {
                const Size i = begin + static_cast<Size>(node);
                top.feature[place] = static_cast<std::uint16_t>(slot(i));
                top.rank[place] = SignedCode<std::int16_t>::of(rank[i]);
                top.missing_second |= std::uint64_t{trees.missing(i) == 1} << place;
            },
            [&](Size place, Node node) {
                top.exit[place] = static_cast<std::int32_t>(is_leaf(node) ? 0x80000000u | node_of_leaf_.size()
                                                                          : first + begins.size());
                next(node);
            });
        tops_.push_back(top);
        for (Size k = 0; k < begins.size(); ++k) {
            FusedNode out;
            std::array<std::int16_t, 16> exact{};
            out.first[0] = static_cast<std::uint32_t>(first + begins.size());
            out.first[1] = 0x80000000u | static_cast<std::uint32_t>(node_of_leaf_.size());
            std::uint8_t n_nodes = 0, n_leaves = 0;
            unfold<FusedNode::n_tests>(
                begins[k], first_child,
                [&](Size place, Node node) {
                    const Size i = begin + static_cast<Size>(node), s = slot(i);
                    const auto bit = static_cast<std::uint16_t>(1u << place);
                    out.feature[place] = static_cast<std::uint8_t>(s);
                    out.rank[place] = coarse_[s].code(rank[i]);
                    exact[place] = SignedCode<std::int16_t>::of(rank[i]);
                    if (trees.missing(i) == 1) out.missing_second |= bit;
                    if (!coarse_[s].is_cut(rank[i])) out.inexact |= bit;
                },
                [&](Size place, Node node) {
                    out.exit[place] = is_leaf(node) ? static_cast<std::uint8_t>(128 | n_leaves++) : n_nodes++;
                    next(node);
                });
            nodes_.push_back(out);
            exact_.push_back(exact);
        }
    }

    Size n_values_, row_bytes_;  // numbers of a leaf
    std::vector<CoarseRanks> coarse_;
    std::vector<FusedTop> tops_;  // (n_trees,)
    std::vector<FusedNode> nodes_;
    std::vector<std::array<std::int16_t, 16>> exact_;  // the ranks of each node's tests
    std::vector<Node> node_of_leaf_;                   // (n_leaves,), within its tree
    std::vector<double> values_;                       // (n_leaves, n_values)
};

}  // namespace spinney
