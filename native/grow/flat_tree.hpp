// A fitted tree as flat arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "core/types.hpp"

namespace spinney {

/// A split candidate as the ledger keeps it.
struct LedgerRow {
    std::int32_t node;  // within its fragment until flattened
    std::int32_t feature;
    double threshold, gain, gain_ratio, score;
    bool chosen;
};

/// The arrays of Python's TreeArrays, nodes in breadth-first order.
struct FlatTree {
    std::vector<std::uint8_t> kind;
    std::vector<std::int32_t> feature, first_child, n_children, missing;
    std::vector<double> threshold, weight, impurity, value;  // value (n_nodes, n_outputs, width)
    std::vector<std::int64_t> n_samples;
    std::vector<std::int64_t> set_begin, branch_begin, term_begin;  // empty: no split of that kind
    std::vector<std::uint64_t> set_bits;
    std::vector<std::int32_t> branch, term_feature;
    std::vector<double> term_coefficient, term_fill;
    std::vector<LedgerRow> ledger;
    int n_outputs = 1, width = 1;

    /// Empty what nodes append to. The arrays of all nodes keep their size, for a tree that writes every
    /// element: filling them with zeros before takes as long as a pass over the tree.
    void clear_lists() {
        for (auto* v : {&branch, &term_feature}) v->clear();
        for (auto* v : {&term_coefficient, &term_fill}) v->clear();
        for (auto* v : {&set_begin, &branch_begin, &term_begin}) v->clear();
        set_bits.clear();
        ledger.clear();
    }

    /// Make room for the split and the row count of n nodes.
    void resize(Size n) {
        kind.resize(n);
        for (auto* v : {&feature, &first_child, &n_children, &missing}) v->resize(n);
        threshold.resize(n);
        n_samples.resize(n);
    }

    /// Append the nodes of a tree with values of the same shape; children stay numbered within their own
    /// tree. Its ledger is not taken.
    void append(const FlatTree& other);
};

}  // namespace spinney
