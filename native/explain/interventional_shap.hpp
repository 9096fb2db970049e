// Interventional TreeSHAP: absent features take the values of background rows.
//
// For a row x and a background row b, a leaf counts if every feature of its path is passed by x or by b. With
// n features passed by x alone and m by b alone, each of the former gets v (n−1)! m! / (n+m)! and each of the
// latter −v n! (m−1)! / (n+m)!. For short paths the background rows of a leaf are counted by the set of
// features that they pass, which gives a table over the sets that x may pass (as WOODELF, Nadel and
// Wettenstein 2026): a row then costs no more with many background rows than with one.
#pragma once

#include <cstdint>
#include <vector>

#include "explain/explained_tree.hpp"
#include "explain/gauss_legendre.hpp"

namespace spinney {

/// Rows as columns of doubles.  x (n_columns, n)
struct ColumnBlock {
    std::vector<double> x;
    Size n = 0;

    double at(Size column, Size row) const { return x[column * n + row]; }
};

/// The contributions of one tree, prepared for some background rows.
class InterventionalTree {
  public:
    /// All three must stay alive.
    void prepare(const ExplainedTree& tree, const ColumnBlock& background,
                 const std::vector<Quadrature>& rules);

    /// The mean value of the background rows.  (n_values,)
    const std::vector<double>& mean() const { return mean_; }

    /// Memory of a thread.
    struct Scratch {
        std::vector<std::uint32_t> passed;  // per leaf: the features that the row passes, as bits
        std::vector<std::uint32_t> masks;   // per split
        std::vector<double> row_share, other_share, sums;
        std::vector<std::uint32_t> features;
    };

    /// Add the contributions of one row, averaged over the background.  sums (features, stride), from `first`
    void add(double* sums, Size stride, Size first, const ColumnBlock& rows, Size row,
             Scratch& scratch) const;

  private:
    static constexpr Size max_table_features = 10, max_table_numbers = 1 << 22;

    struct Leaf {
        Size features, n_features;  // where its features begin
        Size table;
    };
    void find_leaves();
    void add_leaf(std::int32_t parent);
    bool can_tabulate() const;
    void find_passed(Scratch& scratch, const ColumnBlock& rows, Size row) const;
    void tabulate();
    void tabulate_leaf(const Leaf& leaf, std::uint32_t passed, double count);
    void find_mean();
    void add_pair(const ColumnBlock& rows, Size row, Size other, Scratch& scratch) const;
    void visit(std::int32_t node, Size n_slots, const ColumnBlock& rows, Size row, Size other,
               Scratch& scratch) const;
    void add_pair_leaf(Size leaf, Scratch& scratch) const;
    double left_share(const ExplainedSplit& split, const ColumnBlock& rows, Size row) const;

    const ExplainedTree* tree_ = nullptr;
    const ColumnBlock* background_ = nullptr;
    const std::vector<Quadrature>* rules_ = nullptr;
    bool tabulated_ = false;
    std::vector<Leaf> leaves_;
    std::vector<std::uint32_t> features_;
    std::vector<double> tables_, mean_;
};

}  // namespace spinney
