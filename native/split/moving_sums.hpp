// MovingClassSums: the quality of a split of many classes, updated as rows change sides.
#pragma once

#include <algorithm>
#include <cmath>

#include "split/criteria.hpp"
#include "split/statistics.hpp"

namespace spinney {

/// Criteria of one output whose quality follows from the weight and a sum over the classes.
template <class Criterion>
struct ClassTerm {
    static constexpr bool exists = false;
    static double of(double) { return 0.0; }
    static double quality(double, double) { return 0.0; }
};

template <>
struct ClassTerm<OfClasses<Gini, Layout::by_class>> {
    static constexpr bool exists = true;
    static double of(double x) { return x * x; }
    static double quality(double sum, double weight) { return weight > 0.0 ? sum / weight : 0.0; }
};

template <>
struct ClassTerm<OfClasses<Entropy, Layout::by_class>> {
    static constexpr bool exists = true;
    static double of(double x) { return xlog2x(x); }
    static double quality(double sum, double weight) { return sum - xlog2x(weight); }
};

/// Σ term(class weight) of both sides of a split. A row that changes sides takes O(1) instead of O(classes).
/// Terms are rounded to integers, so that the sums do not depend on the moves that led to them.
template <class Criterion>
class MovingClassSums {
    using Term = ClassTerm<Criterion>;

  public:
    /// All rows on the right side.  total (width,)
    MovingClassSums(const Statistics& s, const Stat* total) : unit_(s.weight_unit) {
        const double weight = std::max(1.0, static_cast<double>(s.weight_steps(total)) * unit_);
        // Terms of one side sum to no more than this; those of parts of rows may be negative, above −1.
        const double bound = Term::of(weight) + s.n_channels;
        scale_ = std::exp2(60.0 - std::ceil(std::log2(bound)));
        for (int k = 0; k < s.n_channels; ++k) {
            all_ += term(total[k * s.row_width]);
            all_steps_ += total[k * s.row_width];
        }
        reset();
    }

    void reset() {
        left_ = 0;
        right_ = all_;
        left_steps_ = 0;
    }

    /// The left weight of a class has changed; total: its weight on both sides.
    void change(Stat before, Stat after, Stat total) {
        left_ += term(after) - term(before);
        right_ += term(total - after) - term(total - before);
        left_steps_ += after - before;
    }

    Stat left_steps() const { return left_steps_; }
    Stat right_steps() const { return all_steps_ - left_steps_; }
    double left_weight() const { return static_cast<double>(left_steps_) * unit_; }

    /// quality(left) + quality(right)
    double quality() const {
        return Term::quality(static_cast<double>(left_) / scale_, left_weight()) +
               Term::quality(static_cast<double>(right_) / scale_,
                             static_cast<double>(right_steps()) * unit_);
    }

  private:
    Stat term(Stat steps) const {
        return std::llround(Term::of(static_cast<double>(steps) * unit_) * scale_);
    }

    double unit_, scale_ = 1.0;
    Stat all_ = 0, all_steps_ = 0, left_ = 0, right_ = 0, left_steps_ = 0;
};

}  // namespace spinney
