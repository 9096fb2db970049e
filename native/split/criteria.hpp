// Split criteria as functions of the channels of a sum.
//
// A criterion defines quality(c) with  weight · impurity = constant − quality.  The impurity decrease of a
// split is then (quality(left) + quality(right) − quality(node)) / weight, and a sweep over thresholds only
// needs split_quality(left, right) = quality(left) + quality(right).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "simd/vectors.hpp"
#include "split/options.hpp"
#include "split/statistics.hpp"

namespace spinney {

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

/// Class weights of a single output; Classes is their number, or 0 when it is only known at run time.
/// In every criterion V is double, or a vector register for several sums at once; c (n_channels,)
template <int Classes>
struct OneOutput {
    int n;
    explicit OneOutput(const Statistics& s) : n(Classes ? Classes : s.n_channels) {}
    int classes() const { return Classes ? Classes : n; }
};

/// A criterion whose split quality is the sum over the two sides.
template <class Self>
struct Additive {
    template <class V>
    [[gnu::always_inline]] V split_quality(const V* l, const V* r) const {
        const Self& self = static_cast<const Self&>(*this);
        return self.quality(l) + self.quality(r);
    }
};

template <int Classes = 0>
struct Gini : OneOutput<Classes>, Additive<Gini<Classes>> {
    using OneOutput<Classes>::OneOutput;
    template <class V>
    [[gnu::always_inline]] V quality(const V* c) const {
        V w = c[0], squares = c[0] * c[0];
        for (int k = 1; k < this->classes(); ++k) {
            w += c[k];
            squares += c[k] * c[k];
        }
        return where(w > 0.0, squares / w, w);
    }
};

template <int Classes = 0>
struct Entropy : OneOutput<Classes>, Additive<Entropy<Classes>> {
    using OneOutput<Classes>::OneOutput;
    template <class V>
    [[gnu::always_inline]] V quality(const V* c) const {
        V w = c[0], sum = xlog2x(c[0]);
        for (int k = 1; k < this->classes(); ++k) {
            w += c[k];
            sum += xlog2x(c[k]);
        }
        return sum - xlog2x(w);
    }
};

/// Mean over several outputs of a criterion for one output.
template <template <int> class Single>
struct ManyOutputs : Additive<ManyOutputs<Single>> {
    const Statistics* s;
    explicit ManyOutputs(const Statistics& statistics) : s(&statistics) {}
    template <class V>
    [[gnu::always_inline]] V quality(const V* c) const {
        Single<0> single(*s);
        V sum = c[0] * 0.0;
        for (int k : s->n_classes) {
            single.n = k;
            sum += single.quality(c);
            c += k;
        }
        return sum / static_cast<double>(s->n_outputs);
    }
};

struct SquaredError : Additive<SquaredError> {
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
struct Poisson : Additive<Poisson> {
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

/// Call f with the criterion as a type, so that the search loops are compiled for it.
template <class F>
decltype(auto) with_criterion(CriterionName name, const Statistics& s, F&& f) {
    if (s.task == Task::classification) {
        const bool entropy = name == CriterionName::entropy;
        if (s.n_outputs > 1) return entropy ? f(ManyOutputs<Entropy>(s)) : f(ManyOutputs<Gini>(s));
        if (s.n_channels == 2) return entropy ? f(Entropy<2>(s)) : f(Gini<2>(s));
        return entropy ? f(Entropy<0>(s)) : f(Gini<0>(s));
    }
    if (name == CriterionName::poisson) return f(Poisson(s));
    return f(SquaredError(s));
}

}  // namespace spinney
