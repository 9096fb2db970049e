// Split criteria as functions of the channels of a sum.
//
// A criterion defines quality(c) with  weight · impurity = constant − quality.  The impurity decrease of a
// split is then (quality(left) + quality(right) − quality(node)) / weight, and a sweep over thresholds only
// needs quality(left) + quality(right).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <utility>

#include "simd/vectors.hpp"
#include "split/options.hpp"
#include "split/statistics.hpp"

namespace spinney {

/// The largest of the values offered to each lane, with the index of its split.
struct BestLanes {
    Register value = Register{} + kImpossible;
    StatRegister index = StatRegister{} + std::numeric_limits<Stat>::max();

    [[gnu::always_inline]] void keep(StatRegister better, Register offered, StatRegister offered_index) {
        value = where(better, offered, value);
        index = better ? offered_index : index;
    }

    /// Where indices are offered in ascending order.
    [[gnu::always_inline]] void keep_first(Register offered, StatRegister offered_index) {
        keep(offered > value, offered, offered_index);
    }

    /// Where indices are offered in any order: the smallest one of equal values.
    [[gnu::always_inline]] void keep_smallest(Register offered, StatRegister offered_index) {
        keep((offered > value) | ((offered == value) & (offered_index < index)), offered, offered_index);
    }

    /// The largest value of all lanes and the smallest index among equal ones.
    std::pair<double, Size> first() const {
        // Without branches, which would be mispredicted.
        const double largest = across_lanes(value, [](auto a, auto b) { return b > a ? b : a; });
        const StatRegister among =
            value == largest ? index : StatRegister{} + std::numeric_limits<Stat>::max();
        const Stat at = across_lanes(among, [](auto a, auto b) { return b < a ? b : a; });
        return {largest, static_cast<Size>(at)};
    }
};

/// log2 of a positive normal number from additions, multiplications and one division only, so that every
/// processor, compiler and C library gives the same bits. Error below 4 ulp.
template <class V>
[[gnu::always_inline]] inline V log2_same_bits(V x) {
    V e, m;
    split_exponent(x, e, m);
    const V t = (m - 1.0) / (m + 1.0), t2 = t * t;
    V p = t2 * (1.0 / 21.0) + 1.0 / 19.0;
    p = p * t2 + 1.0 / 17.0;
    p = p * t2 + 1.0 / 15.0;
    p = p * t2 + 1.0 / 13.0;
    p = p * t2 + 1.0 / 11.0;
    p = p * t2 + 1.0 / 9.0;
    p = p * t2 + 1.0 / 7.0;
    p = p * t2 + 1.0 / 5.0;
    p = p * t2 + 1.0 / 3.0;
    p = p * t2 + 1.0;
    return e + p * t * (2.0 * std::numbers::log2e);
}

/// x·log2(x) with 0·log 0 = 0.
template <class V>
[[gnu::always_inline]] inline V xlog2x(V x) {
    const auto positive = x > 0.0;
    const V one = x * 0.0 + 1.0;
    return where(positive, x * log2_same_bits(where(positive, x, one)), x * 0.0);
}

// In every criterion V is double, or a vector register for several sums at once.

/// Gini impurity of one output.  c (classes,): class weights
struct Gini {
    template <class V>
    [[gnu::always_inline]] static V quality(const V* c, int classes) {
        V w = c[0], squares = c[0] * c[0];
        for (int k = 1; k < classes; ++k) {
            w += c[k];
            squares += c[k] * c[k];
        }
        return where(w > 0.0, squares / w, w);
    }
};

/// Entropy of one output.  c (classes,): class weights
struct Entropy {
    template <class V>
    [[gnu::always_inline]] static V quality(const V* c, int classes) {
        V w = c[0], sum = xlog2x(c[0]);
        for (int k = 1; k < classes; ++k) {
            w += c[k];
            sum += xlog2x(c[k]);
        }
        return sum - xlog2x(w);
    }
};

/// Misclassification error of one output: the weight outside of the largest class.  c (classes,)
struct Error {
    template <class V>
    [[gnu::always_inline]] static V quality(const V* c, int classes) {
        V largest = c[0];
        for (int k = 1; k < classes; ++k) largest = where(c[k] > largest, c[k], largest);
        return largest;
    }
};

/// Mean over the outputs of a criterion of class weights. Layout packed has two classes of one output, layout
/// by_class any number of them, layout dense several outputs.  c (n_channels,)
template <class OneOutput, Layout L>
struct OfClasses {
    int classes;
    const std::vector<int>* n_classes;
    explicit OfClasses(const Statistics& s) : classes(s.n_channels), n_classes(&s.n_classes) {}
    template <class V>
    [[gnu::always_inline]] V quality(const V* c) const {
        if constexpr (L != Layout::dense) {
            if (L == Layout::packed || classes == 2) return OneOutput::quality(c, 2);  // unrolled
            return OneOutput::quality(c, classes);
        } else {
            V sum = c[0] * 0.0;
            for (int k : *n_classes) {
                sum += OneOutput::quality(c, k);
                c += k;
            }
            return sum / static_cast<double>(n_classes->size());
        }
    }
};

struct SquaredError {
    int m;
    explicit SquaredError(const Statistics& s) : m(s.n_outputs) {}
    template <class V>
    [[gnu::always_inline]] V quality(const V* c) const {
        V squares = c[1] * c[1];
        for (int o = 2; o <= m; ++o) squares += c[o] * c[o];
        return where(c[0] > 0.0, squares / c[0] / static_cast<double>(m), c[0]);
    }
};

/// Half the Poisson deviance. It is undefined for a child with a mean ≤ 0, so such a split is not allowed.
struct Poisson {
    int m;
    explicit Poisson(const Statistics& s) : m(s.n_outputs) {}
    template <class V>
    [[gnu::always_inline]] V quality(const V* c) const {
        V sum = c[0] * 0.0;
        const V impossible = sum + kImpossible, one = sum + 1.0;
        for (int o = 1; o <= m; ++o) {
            const auto positive = c[o] > 0.0;
            const V mean = where(positive, c[o] / c[0], one);
            sum += where(positive, c[o] * (log2_same_bits(mean) * std::numbers::ln2), impossible);
        }
        return sum / static_cast<double>(m);
    }
};

/// Call f.template operator()<Layout, Criterion>() for the layout and criterion in use, so that the search
/// loops are compiled for them.
template <class F>
decltype(auto) with_criterion(CriterionName name, const Statistics& s, F&& f) {
    const auto with_classes = [&]<class OneOutput>() -> decltype(auto) {
        return with_layout(s.layout, [&]<Layout L>() -> decltype(auto) {
            return f.template operator()<L, OfClasses<OneOutput, L>>();
        });
    };
    if (s.task == Task::classification) {
        if (name == CriterionName::entropy) return with_classes.template operator()<Entropy>();
        if (name == CriterionName::error) return with_classes.template operator()<Error>();
        return with_classes.template operator()<Gini>();
    }
    if (name == CriterionName::poisson) return f.template operator()<Layout::dense, Poisson>();
    return f.template operator()<Layout::dense, SquaredError>();
}

}  // namespace spinney
