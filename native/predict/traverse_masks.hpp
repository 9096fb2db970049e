// Shallow trees over blocks of rows: every test of a tree is asked of all rows at once, one bit a row, and
// the bits lead each row to its leaf.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "predict/code_features.hpp"
#include "core/types.hpp"
#include "predict/ensemble_layout.hpp"
#include "predict/mask_planes.hpp"
#include "simd/vectors.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define SPINNEY_MASKS_AVX512
#endif
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace spinney {

/// Trees of at most 256 leaves each, laid out for blocks of 256 rows.
///
/// Leaves are numbered from left to right: going right at a test adds the leaves on its left to the number.
class MaskTrees {
  public:
    static constexpr Size block = MaskPlanes::block, most_leaves = 256;

    /// Tell whether the trees are of a kind that this is made for.
    static bool suits(const EnsembleView& trees, const EnsembleTraits& traits, const EnsembleCodes& codes) {
        // Every test of a tree is asked, where a walk asks a few: that pays for small trees only.
        if (traits.most_leaves > most_leaves || traits.n_leaves > 100 * trees.n_trees()) return false;
        return MaskPlanes::suits(codes);
    }

    MaskTrees(const EnsembleView& trees, const EnsembleCodes& codes)
        : planes_(codes), n_values_(trees.n_values()) {
        NodeCursor cursor;
        for (Size t = 0; t < trees.n_trees(); ++t) add_tree(trees, codes, t, cursor);
    }

    /// How rows are coded for these trees.
    const MaskPlanes& planes() const { return planes_; }

    /// Find the leaves of n rows, in left-to-right numbers.  ids (block,); planes: a block coded by `planes`
    void find_leaves(std::uint8_t* ids, Size t, const std::uint8_t* planes, Size n) const {
#ifdef SPINNEY_MASKS_AVX512
        if (n > 128) return find_leaves_wide<4>(ids, trees_[t], planes);
        if (n > 64) return find_leaves_wide<2>(ids, trees_[t], planes);
        find_leaves_wide<1>(ids, trees_[t], planes);
#else
        // Several registers at a time, so that a test is looked up once for them all.
        Size first = 0;
        for (; n - first > 2 * lanes; first += 4 * lanes) {
            find_leaves_narrow<4>(ids + first, trees_[t], planes, first);
            if (first + 4 * lanes >= n) return;
        }
        find_leaves_narrow<2>(ids + first, trees_[t], planes, first);
#endif
    }

    /// Add to each row the value of its leaf, times the weight.  sums (n,), for trees of one value a node
    void add_values(double* sums, const std::uint8_t* ids, Size t, double weight, Size n) const {
        const double* const table = &values_[trees_[t].leaves * n_values_];
#ifdef SPINNEY_MASKS_AVX512
        const Size leaves = trees_[t].n_branches + 1;
        if (leaves <= 16) return add_looked_up<2>(sums, ids, table, weight, n);
        if (leaves <= 32) return add_looked_up<4>(sums, ids, table, weight, n);
        if (leaves <= 64) return add_looked_up<8>(sums, ids, table, weight, n);
#endif
        Size i = 0;
        for (; i + kRegister <= n; i += kRegister) {
            Register value, sum;
#pragma GCC unroll 8
            for (Size k = 0; k < kRegister; ++k) value[k] = table[ids[i + k]];
            std::memcpy(&sum, sums + i, sizeof sum);
            sum += weight * value;
            std::memcpy(sums + i, &sum, sizeof sum);
        }
        for (; i < n; ++i) sums[i] += weight * table[ids[i]];
    }

    /// Do the same for several values a node.  sums (n, n_values)
    void add_value_rows(double* sums, const std::uint8_t* ids, Size t, double weight, Size n) const {
        const double* const table = &values_[trees_[t].leaves * n_values_];
        for (Size i = 0; i < n; ++i, sums += n_values_) {
            const double* value = table + ids[i] * n_values_;
            for (Size k = 0; k < n_values_; ++k) sums[k] += weight * value[k];
        }
    }

    /// Give the node, within its tree, of a leaf.
    Node node_of(Size t, std::uint8_t id) const { return leaf_nodes_[trees_[t].leaves + id]; }

  private:
    struct ByteTest {
        std::uint32_t plane;
        std::int8_t rank;
        std::uint8_t slot;
    };
    struct WordTest {
        std::uint32_t plane;
        std::int16_t rank;
        std::uint8_t slot;
    };
    struct SetTest {
        std::uint32_t plane, n_parts, bits;  // of each part 32 bytes of `set_bits_`
        std::uint8_t slot;
    };
    // What becomes of the rows of an inner node; an inner node's slot is its place among them. Those with an
    // inner child come first, breadth-first: the rows of the others need not be noted for anybody.
    struct Branch {
        std::uint8_t left, right, leaves_left;
    };
    static constexpr std::uint8_t no_slot = 255;  // of a leaf: its rows are noted where nobody looks
    struct Tree {
        std::uint32_t bytes, words, sets, branches;  // where each begins
        std::uint32_t n_bytes, n_words, n_sets, n_branches;
        std::uint32_t n_forks;  // branches with an inner child
        Size leaves;
    };

    // ---- layout ----

    void add_tree(const EnsembleView& trees, const EnsembleCodes& codes, Size t, NodeCursor& cursor) {
        const Size n = trees.size(t), begin = cursor.node;
        Tree tree{};
        tree.bytes = static_cast<std::uint32_t>(byte_tests_.size());
        tree.words = static_cast<std::uint32_t>(word_tests_.size());
        tree.sets = static_cast<std::uint32_t>(set_tests_.size());
        tree.branches = static_cast<std::uint32_t>(branches_.size());
        tree.leaves = leaf_nodes_.size();
        NodeCursor node = cursor;
        node.enter_tree();
        const std::vector<Node> first_child = first_children(trees, t, cursor);
        const std::vector<std::uint8_t> slot = number_branches(tree, first_child);
        for (Size i = 0; i < n; ++i, node.advance(trees))
            if (first_child[i] >= 0) add_test(trees, codes, node, slot[i]);
        std::sort(byte_tests_.begin() + tree.bytes, byte_tests_.end(),
                  [](const ByteTest& a, const ByteTest& b) { return a.slot < b.slot; });
        add_branches(first_child, slot);
        number_leaves(trees, first_child, begin);
        tree.n_bytes = static_cast<std::uint32_t>(byte_tests_.size()) - tree.bytes;
        tree.n_words = static_cast<std::uint32_t>(word_tests_.size()) - tree.words;
        tree.n_sets = static_cast<std::uint32_t>(set_tests_.size()) - tree.sets;
        trees_.push_back(tree);
    }

    static std::vector<std::uint8_t> number_branches(Tree& tree, const std::vector<Node>& first_child) {
        std::vector<std::uint8_t> slot(first_child.size(), no_slot);
        const auto inner = [&](Node node) { return first_child[static_cast<Size>(node)] >= 0; };
        for (const bool forks : {true, false}) {
            for (Size i = 0; i < first_child.size(); ++i) {
                const Node left = first_child[i];
                if (left < 0 || (inner(left) || inner(left + 1)) != forks) continue;
                slot[i] = static_cast<std::uint8_t>(tree.n_branches++);
            }
            if (forks) tree.n_forks = tree.n_branches;
        }
        return slot;
    }

    void add_test(const EnsembleView& trees, const EnsembleCodes& codes, const NodeCursor& at,
                  std::uint8_t slot) {
        const auto feature = static_cast<Size>(trees.feature[at.node]);
        const MaskPlanes::Feature& p = planes_[codes.slot_of_feature[feature]];
        if (trees.test(at.node) == TestKind::category_set) {
            set_tests_.push_back(
                {p.first_part, p.n_parts, static_cast<std::uint32_t>(set_bits_.size()), slot});
            add_set(trees, at, p.n_parts);
            return;
        }
        const std::uint32_t plane = trees.missing(at.node) == 0 ? p.low : p.high;
        const std::uint32_t rank = codes.of(trees.feature[at.node]).ranks.rank(trees.threshold[at.node]);
        if (p.wide) {
            word_tests_.push_back({plane, MaskPlanes::signed_code<std::int16_t>(rank), slot});
        } else {
            byte_tests_.push_back({plane, MaskPlanes::signed_code<std::int8_t>(rank), slot});
        }
    }

    void add_set(const EnsembleView& trees, const NodeCursor& at, Size n_parts) {
        const Size first = set_bits_.size();
        set_bits_.resize(first + 32 * n_parts, 0);
        const auto begin = static_cast<Size>(trees.set_begin[at.n_sets]);
        const Size n_codes = 64 * (static_cast<Size>(trees.set_begin[at.n_sets + 1]) - begin);
        const auto set = [&](Size part, Size bit) {
            set_bits_[first + 32 * part + bit / 8] |= static_cast<std::uint8_t>(1u << bit % 8);
        };
        for (Size c = 0; c < std::min(n_codes, n_parts * MaskPlanes::part_codes); ++c) {
            if (trees.set_bits[begin + c / 64] >> c % 64 & 1)
                set(c / MaskPlanes::part_codes, c % MaskPlanes::part_codes);
        }
        if (trees.missing(at.node) == 0) set(0, MaskPlanes::part_codes);
    }

    // Counts leaves from the bottom up: breadth-first, children come after their parents.
    void add_branches(const std::vector<Node>& first_child, const std::vector<std::uint8_t>& slot) {
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
            branches_.resize(std::max(branches_.size(), before + slot[i] + 1));
            branches_[before + slot[i]] = {slot[left], slot[left + 1],
                                           static_cast<std::uint8_t>(leaves_below_[left])};
        }
    }

    void number_leaves(const EnsembleView& trees, const std::vector<Node>& first_child, Size begin) {
        std::vector<Size> first_leaf(first_child.size(), 0);
        const Size before = leaf_nodes_.size();
        // Values are looked up in tables of 16, 32 or 64.
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

    // ---- tests and branches ----

#ifdef SPINNEY_MASKS_AVX512
    // One bit a row: rows 64 s to 64 s + 63 are the bits of word s.
    template <int S>
    void find_leaves_wide(std::uint8_t* ids, const Tree& tree, const std::uint8_t* planes) const {
        alignas(64) std::uint64_t right[256][S], here[256][S];
        for (Size i = tree.bytes, end = i + tree.n_bytes; i < end; ++i) {
            const ByteTest test = byte_tests_[i];
            const __m512i rank = _mm512_set1_epi8(test.rank);
            const std::uint8_t* codes = planes + test.plane;
            for (int s = 0; s < S; ++s) {
                right[test.slot][s] = _mm512_cmpgt_epi8_mask(_mm512_loadu_si512(codes + 64 * s), rank);
            }
        }
        for (Size i = tree.words, end = i + tree.n_words; i < end; ++i) {
            const WordTest test = word_tests_[i];
            const __m512i rank = _mm512_set1_epi16(test.rank);
            const std::uint8_t* codes = planes + test.plane;
            for (int s = 0; s < S; ++s) {
                const auto low = _mm512_cmpgt_epi16_mask(_mm512_loadu_si512(codes + 128 * s), rank);
                const auto high = _mm512_cmpgt_epi16_mask(_mm512_loadu_si512(codes + 128 * s + 64), rank);
                right[test.slot][s] = _mm512_kunpackd(high, low);
            }
        }
        for (Size i = tree.sets, end = i + tree.n_sets; i < end; ++i)
            ask_set<S>(right[set_tests_[i].slot], set_tests_[i], planes);
        __m512i id[S];
        for (int s = 0; s < S; ++s) id[s] = _mm512_setzero_si512();
        for (int s = 0; s < S; ++s) here[0][s] = ~0ull;
        const Branch* const branches = &branches_[tree.branches];
        for (Size i = 0; i < tree.n_branches; ++i) {
            const Branch branch = branches[i];
            const __m512i step = _mm512_set1_epi8(static_cast<char>(branch.leaves_left));
            for (int s = 0; s < S; ++s) {
                const std::uint64_t rows = here[i][s], to_right = rows & right[i][s];
                here[branch.left][s] = rows ^ to_right;
                here[branch.right][s] = to_right;
                id[s] = _mm512_mask_add_epi8(id[s], to_right, id[s], step);
            }
        }
        for (int s = 0; s < S; ++s) _mm512_storeu_si512(ids + 64 * s, id[s]);
    }

    // A byte of a set is found by its number, code / 8, in two shuffles of sixteen; then its bit, code % 8.
    template <int S>
    void ask_set(std::uint64_t* right, const SetTest& test, const std::uint8_t* planes) const {
        const __m512i bit_of = _mm512_set1_epi64(static_cast<long long>(0x8040201008040201ull));
        std::uint64_t inside[S] = {};
        for (Size part = 0; part < test.n_parts; ++part) {
            const std::uint8_t* bits = &set_bits_[test.bits + 32 * part];
            const __m512i low =
                _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bits)));
            const __m512i high =
                _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bits + 16)));
            for (int s = 0; s < S; ++s) {
                const __m512i codes =
                    _mm512_loadu_si512(planes + test.plane + part * block + 64 * static_cast<Size>(s));
                const __m512i number = _mm512_and_si512(_mm512_srli_epi16(codes, 3), _mm512_set1_epi8(15));
                const __mmask64 upper = _mm512_movepi8_mask(codes);  // codes of 128 and more
                const __m512i byte =
                    _mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(low, number), upper, high, number);
                const __m512i bit = _mm512_shuffle_epi8(bit_of, _mm512_and_si512(codes, _mm512_set1_epi8(7)));
                inside[s] |= _mm512_test_epi8_mask(byte, bit);
            }
        }
        for (int s = 0; s < S; ++s) right[s] = ~inside[s];
    }

    // Look values up in Tables registers of eight.
    template <int Tables>
    static void add_looked_up(double* sums, const std::uint8_t* ids, const double* table, double weight,
                              Size n) {
        __m512d values[Tables];
        const __m512d scale = _mm512_set1_pd(weight);
        for (int k = 0; k < Tables; ++k) values[k] = _mm512_mul_pd(scale, _mm512_loadu_pd(table + 8 * k));
        for (Size i = 0; i < n; i += 8) {
            const __mmask8 rows = n - i >= 8 ? 0xff : static_cast<__mmask8>((1u << (n - i)) - 1);
            const __m512i id =
                _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(ids + i)));
            __m512d value = _mm512_permutex2var_pd(values[0], id, values[1]);
            for (int k = 2; k < Tables; k += 2) {
                const auto later = _mm512_cmpge_epu64_mask(id, _mm512_set1_epi64(8 * k));
                value =
                    _mm512_mask_mov_pd(value, later, _mm512_permutex2var_pd(values[k], id, values[k + 1]));
            }
            _mm512_mask_storeu_pd(sums + i, rows,
                                  _mm512_add_pd(_mm512_maskz_loadu_pd(rows, sums + i), value));
        }
    }
#else
    using Bytes = std::uint8_t __attribute__((vector_size(8 * kRegister)));
    using Words = std::uint16_t __attribute__((vector_size(8 * kRegister)));
    using SignedBytes = std::int8_t __attribute__((vector_size(8 * kRegister)));
    using SignedWords = std::int16_t __attribute__((vector_size(8 * kRegister)));
    static constexpr Size lanes = sizeof(Bytes);

    template <class V>
    [[gnu::always_inline]] static V load(const void* from) {
        V v;
        std::memcpy(&v, from, sizeof(V));
        return v;
    }

    // Masks of one byte a row out of masks of two.
    [[gnu::always_inline]] static Bytes narrowed(Words low, Words high) {
#if defined(__AVX2__)
        const __m256i both = _mm256_packs_epi16(std::bit_cast<__m256i>(low), std::bit_cast<__m256i>(high));
        return std::bit_cast<Bytes>(_mm256_permute4x64_epi64(both, 0xD8));
#elif defined(__SSE2__)
        return std::bit_cast<Bytes>(
            _mm_packs_epi16(std::bit_cast<__m128i>(low), std::bit_cast<__m128i>(high)));
#else
        Bytes out;
        for (Size i = 0; i < lanes / 2; ++i) {
            out[i] = static_cast<std::uint8_t>(low[i]);
            out[i + lanes / 2] = static_cast<std::uint8_t>(high[i]);
        }
        return out;
#endif
    }

    // One byte a row, all bits set or none, for S registers of rows from `first` on.
    template <int S>
    void find_leaves_narrow(std::uint8_t* ids, const Tree& tree, const std::uint8_t* planes,
                            Size first) const {
        const auto ask_bytes = [&](Bytes* to, const ByteTest& test) {
            const std::uint8_t* codes = planes + test.plane + first;
#pragma GCC unroll 4
            for (int s = 0; s < S; ++s)
                to[s] = std::bit_cast<Bytes>(load<SignedBytes>(codes + lanes * s) > test.rank);
        };
        if (tree.n_words + tree.n_sets == 0) {  // then tests are in the order of branches
            const ByteTest* const tests = &byte_tests_[tree.bytes];
            return follow<S>(ids, tree, [&](Size i, Bytes* right) { ask_bytes(right, tests[i]); });
        }
        Bytes answers[256][S];
        for (Size i = tree.bytes, end = i + tree.n_bytes; i < end; ++i)
            ask_bytes(answers[byte_tests_[i].slot], byte_tests_[i]);
        for (Size i = tree.words, end = i + tree.n_words; i < end; ++i) {
            const WordTest test = word_tests_[i];
            const std::uint8_t* codes = planes + test.plane + 2 * first;
            for (int s = 0; s < S; ++s) {
                const auto low = load<SignedWords>(codes + 2 * lanes * s) > test.rank;
                const auto high = load<SignedWords>(codes + 2 * lanes * s + lanes) > test.rank;
                answers[test.slot][s] = narrowed(std::bit_cast<Words>(low), std::bit_cast<Words>(high));
            }
        }
        for (Size i = tree.sets, end = i + tree.n_sets; i < end; ++i)
            for (int s = 0; s < S; ++s)
                answers[set_tests_[i].slot][s] = ask_set(set_tests_[i], planes, first + lanes * s);
        follow<S>(ids, tree, [&](Size i, Bytes* right) { std::copy_n(answers[i], S, right); });
    }

    // Lead rows down the branches by the answers to their tests.  ask(i, right): those of branch i
    template <int S, class Ask>
    [[gnu::always_inline]] void follow(std::uint8_t* ids, const Tree& tree, Ask&& ask) const {
        Bytes here[256][S], id[S];
        const Branch* const branches = &branches_[tree.branches];
#pragma GCC unroll 4
        for (int s = 0; s < S; ++s) here[0][s] = ~(id[s] = Bytes{});
        const auto go_right = [&](Size i, auto&& note) {
            const Branch branch = branches[i];
            Bytes right[S];
            ask(i, right);
#pragma GCC unroll 4
            for (int s = 0; s < S; ++s) {
                const Bytes rows = here[i][s], to_right = rows & right[s];
                note(branch, s, rows & ~right[s], to_right);
                id[s] += to_right & branch.leaves_left;
            }
        };
        for (Size i = 0; i < tree.n_forks; ++i)
            go_right(i, [&](const Branch& branch, int s, Bytes to_left, Bytes to_right) {
                here[branch.left][s] = to_left;
                here[branch.right][s] = to_right;
            });
        for (Size i = tree.n_forks; i < tree.n_branches; ++i) go_right(i, [](auto&&...) {});
#pragma GCC unroll 4
        for (int s = 0; s < S; ++s) std::memcpy(ids + lanes * s, &id[s], sizeof id[s]);
    }

    Bytes ask_set(const SetTest& test, const std::uint8_t* planes, Size first) const {
        std::uint8_t outside[lanes];
        std::memset(outside, 0xff, sizeof(outside));
        for (Size part = 0; part < test.n_parts; ++part) {
            const std::uint8_t* bits = &set_bits_[test.bits + 32 * part];
            const std::uint8_t* codes = planes + test.plane + part * block + first;
            for (Size i = 0; i < lanes; ++i)
                outside[i] &= static_cast<std::uint8_t>((bits[codes[i] / 8] >> codes[i] % 8 & 1) - 1);
        }
        return load<Bytes>(outside);
    }
#endif

    MaskPlanes planes_;
    Size n_values_;
    std::vector<Tree> trees_;
    std::vector<ByteTest> byte_tests_;
    std::vector<WordTest> word_tests_;
    std::vector<SetTest> set_tests_;
    std::vector<std::uint8_t> set_bits_;
    std::vector<Branch> branches_;
    std::vector<Node> leaf_nodes_;  // left to right, room for a power of two a tree
    std::vector<double> values_;    // (leaves, n_values)
    std::vector<Size> leaves_below_;
};

}  // namespace spinney
