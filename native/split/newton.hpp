// Splits of largest second-order gain (XGBoost, Chen and Guestrin 2016) from packed sums of gradients and
// hessians.
//
// Gains and values are in integer steps; NewtonUnits, which are powers of two, convert them to real numbers
// without rounding.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "core/types.hpp"
#include "data/code_matrix.hpp"
#include "simd/vectors.hpp"
#include "split/criteria.hpp"
#include "split/options.hpp"
#include "split/packed_sum.hpp"

namespace spinney {

/// Real values of one step of gradients and hessians.
struct NewtonUnits {
    double gradient = 1, hessian = 1;
    double gain() const { return 0.5 * gradient * (gradient / hessian); }  // powers of two
    double value() const { return gradient / hessian; }
};

/// A range of candidate splits, in the order of their left sides.
struct Candidates {
    Size begin = 0, end = 0;
};

/// What a search needs to know about a node.
struct NewtonNode {
    Stat total = 0;
    PackedLayout layout;
    double l2 = 0;  // in steps of the hessian, as the next two
    double category_l2 = 0, category_smoothing = 0;
    CategorySplit categories = CategorySplit::subset;
    Stat min_hessian = 1;   // a child below it is too small for sure
    Stat sure_hessian = 1;  // a child of at least this is large enough for sure
    Stat min_weight = 0;    // in steps of weight, when weights are given or packed
    Stat weight = 0;        // of the node, in the same steps
    bool bounded = false;   // values are clipped to [lower, upper]
    double lower = kImpossible, upper = -kImpossible;
    int direction = 0;          // monotonic constraint of the feature: +1 increasing, −1 decreasing
    double base = 0;            // what the gain of a split with l2 exceeds, from base_quality
    bool random = false;        // only one candidate of a feature is tried, as in extra-trees
    std::uint64_t address = 0;  // of the draw that chooses it

    /// The candidates that are tried of n. The last one, with all of n on the left, is drawn only if
    /// `with_last`.
    Candidates candidates(Size n, bool with_last) const {
        if (!random) return {0, n};
        const Size m = with_last || n == 0 ? n : n - 1;
        if (m == 0) return {};
        const Size drawn = Draws(address).below(static_cast<std::uint32_t>(m));
        return {drawn, drawn + 1};
    }

    /// Whether some rows are too light for a child, so that no split may have one of a part of them.
    bool too_light(Stat sum) const {
        return hessian_of(sum, layout) < min_hessian ||
               (layout.has_weight() && weight_of(sum, layout) < min_weight);
    }
};

/// Best split on one feature.
struct NewtonSplit {
    double gain = kImpossible;  // in steps
    Stat left = 0;
    std::int32_t threshold_bin = -1;  // numeric: codes up to this one go left
    bool last = false;                // numeric: known values go left, missing ones right
    std::int32_t missing = -1;        // child of missing values; −1: the node has none
    bool sure = true;                 // both children are heavy enough for sure
    CodeSet set, seen;                // categories that go left; categories in the node

    bool found() const { return gain > kImpossible; }
};

/// Searches the histogram of one feature; owns memory that a thread reuses.
class NewtonSearch {
  public:
    /// The quality of a node that is not split, which `NewtonNode::base` must be.
    static double base_quality(const NewtonNode& node, double l2);

    /// out: the sets are left as they were; bins (n_bins + 1,) of 256: the last is the missing bin; weights:
    /// row weights per bin, or null
    void numeric(NewtonSplit& out, const Stat* bins, Size n_bins, const Stat* weights,
                 const NewtonNode& node);

    /// Missing values are one more category.
    void categorical(NewtonSplit& out, const Stat* bins, Size n_bins, const Stat* weights,
                     const NewtonNode& node);

  private:
    /// Where the row weights of a candidate's left side are: unknown, in weights_, in its packed sum.
    enum class Weights : std::uint8_t { none, listed, packed };

    static constexpr Size capacity = 256, padded = capacity + kRegister;

    Size accumulate(const Stat* bins, Size n_bins, const Stat* weights);
    /// The same a register at a time, without weights.
    Size accumulate_registers(const Stat* bins, Size n_bins);
    void gather(std::array<Stat, padded>& out, const Stat* bins, Size n, bool prefix) const;
    void try_all(NewtonSplit& out, Candidates tried, Stat extra, Stat extra_weight, std::int32_t missing,
                 double l2, double base, bool weighted, const NewtonNode& node);
    template <bool Bounded, Weights Given>
    static void offer(BestLanes& best, StatRegister left, StatRegister weight, StatRegister index, double l2,
                      const NewtonNode& node);
    static void accept(NewtonSplit& out, double gain, Size index, std::int32_t missing, Stat left,
                       bool weighted, const NewtonNode& node);
    static bool few_categories(NewtonSplit& out, const Stat* bins, Size n_bins, const NewtonNode& node);
    static void set_missing(NewtonSplit& out, Stat sum, Code missing, const NewtonNode& node);
    static void try_one(NewtonSplit& out, Stat left, const Stat* weight, const NewtonNode& node);
    template <bool Bounded, Weights Given>
    BestLanes best_of(Candidates tried, Stat extra, Stat extra_weight, double l2,
                      const NewtonNode& node) const;

    std::array<Stat, padded> sums_{}, weights_{};                  // left sums of the candidates
    std::array<Stat, padded> bins_{};                              // bins of the candidates
    std::array<std::pair<double, std::int32_t>, capacity> order_;  // categories by their ratio
};

}  // namespace spinney
