// Deep trees and many rows: walks that take three or four levels of a tree in one step.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "code_features.hpp"
#include "dtypes.hpp"
#include "ensemble_layout.hpp"

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

}  // namespace detail

/// A node and its descendants, as many levels of tests as codes of which sixteen bytes hold one each: four of
/// bytes, three of two bytes. Tests are in breadth-first order; where the tree has a leaf above the lowest
/// level, all tests below it lead to child 0.
template <class Code>
struct alignas(64) FusedNode {
    static constexpr Size n_exits = 16 / sizeof(Code), n_tests = n_exits - 1;
    static constexpr Code missing = std::numeric_limits<Code>::min();

    std::uint8_t place[16] = {};      // of each byte of the tests' codes within a row
    Code rank[n_exits];               // a code above it goes to child 1
    std::uint8_t exit[n_exits] = {};  // the high bit: which of the next two the others are added to
    // The first of the fused nodes that this one leads to; the first of its leaves, with the sign bit.
    std::uint32_t first[2] = {};
    std::uint16_t missing_second = 0;  // the tests that send missing values to child 1

    FusedNode() { std::fill_n(rank, n_exits, std::numeric_limits<Code>::max()); }  // nothing is above
    /// The code of a number by how many thresholds are below it.
    static Code code_of(std::uint32_t rank) {
        return static_cast<Code>(missing + 1 + static_cast<int>(rank));
    }
};

/// All trees of an ensemble as fused nodes, one after the other, and their leaves likewise.  Code: signed
template <class Code>
class FusedTrees {
  public:
    using Fused = FusedNode<Code>;

#if defined(__AVX2__)
    /// Tell whether the codes of a row fit into 128 bytes.
    static bool suits(const EnsembleView& trees, const EnsembleCodes& codes) {
        for (const FeatureCodes& f : codes.features)
            if (f.categorical || f.ranks.size() > (sizeof(Code) == 1 ? 254 : 65534)) return false;
        return codes.features.size() * sizeof(Code) <= 128 && trees.kind.size() < Size{1} << 30;
    }
#else
    static bool suits(const EnsembleView&, const EnsembleCodes&) { return false; }
#endif

    FusedTrees(const EnsembleView& trees, const EnsembleCodes& codes)
        : n_parts_(std::bit_ceil((codes.features.size() * sizeof(Code) + 15) / 16)),
          n_values_(trees.n_values()) {
        NodeCursor cursor;
        for (Size t = 0; t < trees.n_trees(); ++t) {
            const Size begin = cursor.node, n_leaves = node_of_leaf_.size();
            add_tree(trees, codes, begin, first_children(trees, t, cursor));
            for (Size i = n_leaves; i < node_of_leaf_.size(); ++i) {
                const double* value = &trees.value[(begin + static_cast<Size>(node_of_leaf_[i])) * n_values_];
                values_.insert(values_.end(), value, value + n_values_);
            }
        }
    }

    Size row_codes() const { return n_parts_ * 16 / sizeof(Code); }
    const double* value(std::int32_t leaf) const { return &values_[static_cast<Size>(leaf) * n_values_]; }
    Node node_of(std::int32_t leaf) const { return node_of_leaf_[static_cast<Size>(leaf)]; }

    /// Code rows, one after the other; gives whether some value is missing.  rows (n, row_codes)
    bool code_rows(Code* rows, const EnsembleCodes& codes, std::span<const InputColumn> columns, Size begin,
                   Size n) const {
        constexpr Size at_once = 256;
        std::uint32_t code[at_once], greatest = 0;
        for (Size first = 0; first < n; first += at_once) {
            const Size here = std::min(at_once, n - first);
            for (Size s = 0; s < codes.features.size(); ++s) {
                const FeatureCodes& f = codes.features[s];
                f.code(code, columns[f.feature], begin + first, here);
                Code* const own = rows + first * row_codes() + s;
                for (Size i = 0; i < here; ++i) {
                    greatest = std::max(greatest, code[i]);
                    own[i * row_codes()] = Fused::code_of(code[i]);  // missing_code is −1 here
                }
            }
        }
        return greatest == missing_code;
    }

    /// Find the leaf of each row in one tree, among all leaves.  leaves, scratch (n,); rows (n, row_codes)
    void walk_rows(std::int32_t* leaves, std::uint32_t* scratch, Size t, const Code* rows, Size n,
                   bool any_missing) const {
        const auto with = [&]<int Parts>() {
            any_missing ? walk<Parts, true>(leaves, scratch, t, rows, n)
                        : walk<Parts, false>(leaves, scratch, t, rows, n);
        };
        switch (n_parts_) {
            case 1:
                return with.template operator()<1>();
            case 2:
                return with.template operator()<2>();
            case 4:
                return with.template operator()<4>();
            default:
                return with.template operator()<8>();
        }
    }

  private:
    static constexpr Size kAhead = 32;  // rows between asking for a node and using it

    // Rows that are under way are listed anew for every step: no branch to foresee, so that the processor has
    // many rows under way at once.
    template <int Parts, bool Missing>
    void walk(std::int32_t* leaves, std::uint32_t* scratch, Size t, const Code* rows, Size n) const {
        constexpr Size row_codes = Parts * 16 / sizeof(Code);
        const Fused* const nodes = nodes_.data();
        const Fused& root = nodes[roots_[t]];
        Size under_way = 0;
        for (Size i = 0; i < n; ++i) {
            leaves[i] = step<Parts, Missing>(root, rows + i * row_codes);
            scratch[under_way] = static_cast<std::uint32_t>(i);
            under_way += leaves[i] >= 0;
        }
        while (under_way > 0) {
            const Size before = under_way;
            under_way = 0;
            for (Size i = 0; i < before; ++i) {
                const Size row = scratch[i];
                __builtin_prefetch(&nodes[leaves[scratch[std::min(i + kAhead, before - 1)]]]);
                const std::int32_t at =
                    step<Parts, Missing>(nodes[static_cast<Size>(leaves[row])], rows + row * row_codes);
                leaves[row] = at;
                scratch[under_way] = static_cast<std::uint32_t>(row);
                under_way += at >= 0;
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

    /// The bytes of a row at sixteen places.
    template <int Parts>
    [[gnu::always_inline]] static __m128i pick(const Code* row, __m128i place) {
        if constexpr (Parts == 1) return _mm_shuffle_epi8(load<__m128i>(row), place);
        const __m256i twice = _mm256_broadcastsi128_si256(place);
        __m256i out{};
#pragma GCC unroll 4
        for (int part = 0; part < Parts; part += 2) {
            const auto first = static_cast<char>(16 * part), second = static_cast<char>(16 * part + 16);
            const __m256i own = _mm256_set_m128i(_mm_set1_epi8(second), _mm_set1_epi8(first));
            // Places in other parts get the sign bit, which picks 0.
            const __m256i within = _mm256_adds_epu8(_mm256_xor_si256(twice, own), _mm256_set1_epi8(0x70));
            const auto* bytes = reinterpret_cast<const char*>(row) + 16 * part;
            out = _mm256_or_si256(out, _mm256_shuffle_epi8(load<__m256i>(bytes), within));
        }
        return _mm_or_si128(_mm256_castsi256_si128(out), _mm256_extracti128_si256(out, 1));
    }

    /// A bit for each code that is greater.
    [[gnu::always_inline]] static unsigned above(__m128i code, __m128i rank) {
        if constexpr (sizeof(Code) == 1)
            return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpgt_epi8(code, rank)));
        return static_cast<unsigned>(
            _mm_movemask_epi8(_mm_packs_epi16(_mm_cmpgt_epi16(code, rank), __m128i{})));
    }
    /// A bit for each that is missing.
    [[gnu::always_inline]] static unsigned absent(__m128i code) {
        if constexpr (sizeof(Code) == 1)
            return static_cast<unsigned>(
                _mm_movemask_epi8(_mm_cmpeq_epi8(code, _mm_set1_epi8(Fused::missing))));
        const __m128i equal = _mm_cmpeq_epi16(code, _mm_set1_epi16(Fused::missing));
        return static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi16(equal, __m128i{})));
    }

    /// Go down some levels.  -> a fused node, or a leaf with the sign bit
    template <int Parts, bool Missing>
    [[gnu::always_inline]] static std::int32_t step(const Fused& node, const Code* row) {
        const __m128i code = pick<Parts>(row, load<__m128i>(node.place));
        unsigned answers = above(code, load<__m128i>(node.rank));
        if constexpr (Missing) answers |= absent(code) & node.missing_second;
        unsigned way = detail::kThreeLevels[answers & 127];
        if constexpr (Fused::n_tests == 15) way = 2 * way + (answers >> (7 + way) & 1);
        const unsigned exit = node.exit[way];
        return static_cast<std::int32_t>(node.first[exit >> 7] + (exit & 127));
    }
#else
    template <int Parts, bool Missing>
    static std::int32_t step(const Fused&, const Code*) {
        return -1;  // `suits` has said no
    }
#endif

    // ---- layout ----

    void add_tree(const EnsembleView& trees, const EnsembleCodes& codes, Size begin,
                  const std::vector<Node>& first_child) {
        const auto is_leaf = [&](Node node) { return first_child[static_cast<Size>(node)] < 0; };
        roots_.push_back(static_cast<std::uint32_t>(nodes_.size()));
        std::vector<Node> tops{0};  // of this tree's fused nodes
        for (Size i = 0; i < tops.size(); ++i) {
            Fused out;
            out.first[0] = roots_.back() + static_cast<std::uint32_t>(tops.size());
            out.first[1] = 0x80000000u | static_cast<std::uint32_t>(node_of_leaf_.size());
            std::array<Node, Fused::n_tests + Fused::n_exits> here;  // −1: none
            here.fill(-1);
            here[0] = tops[i];
            for (Size place = 0; place < Fused::n_tests; ++place) {
                const Node node = here[place];
                if (node < 0) continue;
                if (is_leaf(node)) {
                    here[2 * place + 1] = node;
                    continue;
                }
                here[2 * place + 1] = first_child[static_cast<Size>(node)];
                here[2 * place + 2] = here[2 * place + 1] + 1;
                write_test(out, place, trees, codes, begin + static_cast<Size>(node));
            }
            std::uint8_t n_nodes = 0, n_leaves = 0;
            for (Size exit = 0; exit < Fused::n_exits; ++exit) {
                const Node node = here[Fused::n_tests + exit];
                if (node < 0) continue;
                out.exit[exit] = is_leaf(node) ? static_cast<std::uint8_t>(128 | n_leaves++) : n_nodes++;
                (is_leaf(node) ? node_of_leaf_ : tops).push_back(node);
            }
            nodes_.push_back(out);
        }
    }

    static void write_test(Fused& out, Size place, const EnsembleView& trees, const EnsembleCodes& codes,
                           Size node) {
        const auto slot = codes.slot_of_feature[static_cast<Size>(trees.feature[node])];
        for (Size byte = 0; byte < sizeof(Code); ++byte)
            out.place[place * sizeof(Code) + byte] = static_cast<std::uint8_t>(slot * sizeof(Code) + byte);
        out.rank[place] = Fused::code_of(codes.features[slot].ranks.rank(trees.threshold[node]));
        if (trees.missing(node) == 1) out.missing_second |= static_cast<std::uint16_t>(1u << place);
    }

    Size n_parts_, n_values_;  // sixteen bytes of a row; numbers of a leaf
    std::vector<Fused> nodes_;
    std::vector<std::uint32_t> roots_;  // (n_trees,)
    std::vector<Node> node_of_leaf_;    // (n_leaves,), within its tree
    std::vector<double> values_;        // (n_leaves, n_values)
};

}  // namespace spinney
