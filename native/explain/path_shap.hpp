// Path-dependent TreeSHAP by Gauss–Legendre quadrature (Wettenstein, Mitchell and Yu 2026), on the rows of a
// vector register at a time.
//
// The Shapley value of feature i is Σ over leaves of v (o_i − z_i) ∫₀¹ Π_{j≠i} w_j(p) dp with
// w_j(p) = z_j + p (o_j − z_j), where z_j is the share of the training weight that passes the tests of
// feature j on the path and o_j is 1 if the row passes them, else 0. The integrand has degree d − 1 for d
// features on the path, so ⌈d/2⌉ points are exact. For a row whose missing value was divided, o_j = z_j.
//
// Both children of a split on feature i are summed at once. With u the edge of the same feature above,
// r = w_left / w_u is the factor of the left child and 1 − r that of the right one. The contribution to
// feature i is Σ_p D(p) g(p) (L(p) − R(p)), where D is the product of the factors above, L and R are the sums
// of the leaves below, and g = (b z_u − z_left) / w_u², with b = 1 if the row goes left. Where the row has
// failed a test of the feature above, r is the share and g is 0.
#pragma once

#include <vector>

#include "explain/explained_tree.hpp"
#include "explain/gauss_legendre.hpp"
#include "simd/vectors.hpp"

namespace spinney {

/// A vector register in memory.
struct Pack {
    Register v;
};

/// Computes the contributions of one tree to the rows of a register. One object per thread.
class PathShap {
  public:
    static constexpr Size max_points = 8;  // at once; more are done in several passes over the tree

    /// Prepare for the trees of an ensemble.  interactions: also for `add_pairs`
    PathShap(Size n_values, bool interactions) : n_values_(n_values), pairs_(interactions) {}

    /// Prepare for one tree, which must stay alive.
    void prepare(const ExplainedTree& tree, const std::vector<Quadrature>& rules);

    /// Add the contributions of kRegister rows.  sums (n_compact_features, stride) packs, of which this tree
    /// adds to n_values from `first` on; x (n_columns,) in steps of `step`: kRegister values each
    void add(Pack* sums, Size stride, Size first, const double* x, Size step);

    /// Add also the interactions of pairs.  pairs (n_pairs, stride): pair (i, j), i < j, at j (j − 1) / 2 + i
    void add_pairs(Pack* sums, Pack* pairs, Size stride, Size first, const double* x, Size step);

  private:
    struct Pass {
        Size n_points;
        std::vector<double> points, weights;
        std::vector<double> inverse;  // 1 / w_u where the row has passed the tests above: (splits, n_points)
        std::vector<double> left_on, right_on;  // (1 − z) / w of both edges: (splits, n_points), with pairs
        std::vector<double> off;                // −1 / (1 − p)
    };
    /// A split above another, the last one on its feature.
    struct Above {
        std::uint32_t depth, feature;
    };
    template <Size P, bool Pairs>
    struct Walk;

    void find_above();
    template <bool Pairs>
    void run(Pack* sums, Pack* pairs, Size stride, Size first, const double* x, Size step);

    Size n_values_;
    bool pairs_;
    const ExplainedTree* tree_ = nullptr;
    std::vector<Pass> passes_;
    Size n_passes_ = 0;
    std::vector<Size> above_begin_;  // (splits + 1,)
    std::vector<Above> above_;       // the other features above each split
    std::vector<Pack> frames_;
};

}  // namespace spinney
