// What a boosted tree is grown on, and what it is while it grows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "grow/grown_tree.hpp"
#include "split/newton.hpp"
#include "boost/row_stores.hpp"

namespace spinney {

/// The table in the forms that boosting reads, made once for all trees.
struct BoostTable {
    const CodeMatrix& x;
    Slots slots;
    SlotRows rows;

    BoostTable(const CodeMatrix& matrix, int n_threads)
        : x(matrix), slots(make_slots(matrix)), rows(matrix, slots, n_threads) {}

    Size n_chunks() const { return (x.n_rows + kChunkRows - 1) / kChunkRows; }
    Size chunk_size(Size chunk) const { return std::min(kChunkRows, x.n_rows - chunk * kChunkRows); }
    Size histogram_words() const { return slots.slots.size() * kSlotLines; }
};

/// What one tree is grown on. Rows that only follow the tests are "out": they have no word.
struct BoostRows {
    std::vector<LocalRow> ids;        // (n_rows,): in each chunk first the rows that count, then those out
    std::vector<std::uint32_t> n_in;  // (n_chunks,)
    std::vector<Stat> words;          // (n_rows,) packed sums
    std::vector<Stat> weights;        // (n_rows,) in steps; empty: every row weighs 1
    double weight_unit = 1;
    bool any_out = false;
    NewtonUnits units;
    // The least and the greatest hessian, in steps, for a step of weight.
    double least_ratio = 1, greatest_ratio = 1;
};

/// The part of a chunk's list that belongs to a node.
struct ChunkRange {
    LocalRow begin = 0, end = 0, out_begin = 0, out_end = 0;
    Size size() const { return static_cast<Size>(end - begin); }
};
static_assert(kChunkRows <= 65535);

/// A node of a boosted tree, and what is needed to divide it.
struct BoostNode {
    Node id = 0;
    int depth = 0;
    std::uint64_t address = 0, path = 0;
    double lower = kImpossible, upper = -kImpossible;  // of its value, in real numbers
    std::vector<std::uint32_t> groups;                 // interaction sets that its path is within
    Stat total = 0, weight = 0;
    Size n_rows = 0;
    std::unique_ptr<Stat[]> histogram;
    int store = RowStores::kTable;  // where its rows' codes and words are
    NewtonCut best;
    std::int32_t feature = -1;
    double gain = 0;  // of the best cut, in real numbers
};

struct BoostedTree {
    Fragment fragment;
    std::vector<BoostNode> nodes;    // by id
    std::vector<ChunkRange> ranges;  // (n_nodes, n_chunks)
    std::vector<Node> leaves;
};

}  // namespace spinney
