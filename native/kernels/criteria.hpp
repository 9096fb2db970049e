// Split criteria as functions of the channels of a sum.
//
// A criterion has quality(c) with  weight · impurity = constant − quality,  so the impurity decrease of a split is
// (quality(left) + quality(right) − quality(node)) / weight, and a sweep needs no more than pair(left, right).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "statistics.hpp"

namespace spinney {

enum class CriterionName : std::uint8_t { gini, entropy, squared_error, friedman_mse, poisson, absolute_error };

/// log2 of a positive normal number from additions, multiplications and one division only, so that every processor,
/// compiler and C library gives the same bits. Error below 2 ulp.
inline double log2_exact_order(double x) {
    std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    // Mantissa to [√½, √2): 0x3FE6A09E667F3BCD is √½.
    const std::uint64_t shifted = bits - 0x3FE6A09E667F3BCDull;
    const auto exponent = static_cast<std::int64_t>(shifted) >> 52;
    const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(exponent) << 52));
    const double t = (m - 1.0) / (m + 1.0), t2 = t * t;
    double p = 1.0 / 21.0;
    p = p * t2 + 1.0 / 19.0;
    p = p * t2 + 1.0 / 17.0;
    p = p * t2 + 1.0 / 15.0;
    p = p * t2 + 1.0 / 13.0;
    p = p * t2 + 1.0 / 11.0;
    p = p * t2 + 1.0 / 9.0;
    p = p * t2 + 1.0 / 7.0;
    p = p * t2 + 1.0 / 5.0;
    p = p * t2 + 1.0 / 3.0;
    p = p * t2 + 1.0;
    return static_cast<double>(exponent) + p * t * (2.0 * std::numbers::log2e);
}

/// x·log2(x) with 0·log 0 = 0.
inline double xlog2x(double x) { return x > 0 ? x * log2_exact_order(x) : 0.0; }

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

/// Class weights of a single output; Classes is their number, or 0 when known only at run time.
template <int Classes>
struct OneOutput {
    int n;
    explicit OneOutput(const Statistics& s) : n(Classes ? Classes : s.n_channels) {}
    int classes() const { return Classes ? Classes : n; }
};

template <int Classes = 0>
struct Gini : OneOutput<Classes> {
    using OneOutput<Classes>::OneOutput;
    double quality(const double* c) const {
        double w = 0, squares = 0;
        for (int k = 0; k < this->classes(); ++k) {
            w += c[k];
            squares += c[k] * c[k];
        }
        return w > 0 ? squares / w : 0.0;
    }
    double pair(const double* l, const double* r) const { return quality(l) + quality(r); }
};

template <int Classes = 0>
struct Entropy : OneOutput<Classes> {
    using OneOutput<Classes>::OneOutput;
    double quality(const double* c) const {
        double w = 0, sum = 0;
        for (int k = 0; k < this->classes(); ++k) {
            w += c[k];
            sum += xlog2x(c[k]);
        }
        return sum - xlog2x(w);
    }
    double pair(const double* l, const double* r) const { return quality(l) + quality(r); }
};

/// The mean over several outputs of a criterion for one.
template <template <int> class Single>
struct ManyOutputs {
    const Statistics* s;
    explicit ManyOutputs(const Statistics& statistics) : s(&statistics) {}
    double quality(const double* c) const {
        Single<0> single(*s);
        double sum = 0;
        for (int k : s->n_classes) {
            single.n = k;
            sum += single.quality(c);
            c += k;
        }
        return sum / s->n_outputs;
    }
    double pair(const double* l, const double* r) const { return quality(l) + quality(r); }
};

struct SquaredError {
    int m;
    explicit SquaredError(const Statistics& s) : m(s.n_outputs) {}
    double quality(const double* c) const {
        double squares = 0;
        for (int o = 1; o <= m; ++o) squares += c[o] * c[o];
        return c[0] > 0 ? squares / c[0] / m : 0.0;
    }
    double pair(const double* l, const double* r) const { return quality(l) + quality(r); }
};

/// Friedman's improvement w_l·w_r/w · (mean_l − mean_r)², the means taken over all outputs.
struct FriedmanError {
    int m;
    explicit FriedmanError(const Statistics& s) : m(s.n_outputs) {}
    double quality(const double*) const { return 0.0; }
    double pair(const double* l, const double* r) const {
        double left = 0, right = 0;
        for (int o = 1; o <= m; ++o) {
            left += l[o];
            right += r[o];
        }
        const double d = (left / l[0] - right / r[0]) / m;
        return l[0] * r[0] / (l[0] + r[0]) * d * d;
    }
};

/// Half the Poisson deviance; a child whose mean is not positive has none, so such a split is impossible.
struct Poisson {
    int m;
    explicit Poisson(const Statistics& s) : m(s.n_outputs) {}
    double quality(const double* c) const {
        double sum = 0;
        for (int o = 1; o <= m; ++o) {
            if (!(c[o] > 0)) return kImpossible;
            sum += c[o] * (log2_exact_order(c[o] / c[0]) * std::numbers::ln2);
        }
        return sum / m;
    }
    double pair(const double* l, const double* r) const { return quality(l) + quality(r); }
};

/// Call f with the criterion as a type of its own, so that its loop is compiled for it.
template <class F>
decltype(auto) with_criterion(CriterionName name, const Statistics& s, F&& f) {
    if (s.task == Task::classification) {
        const bool entropy = name == CriterionName::entropy;
        if (s.n_outputs > 1)
            return entropy ? f(ManyOutputs<Entropy>(s)) : f(ManyOutputs<Gini>(s));
        if (s.n_channels == 2) return entropy ? f(Entropy<2>(s)) : f(Gini<2>(s));
        return entropy ? f(Entropy<0>(s)) : f(Gini<0>(s));
    }
    switch (name) {
        case CriterionName::friedman_mse: return f(FriedmanError(s));
        case CriterionName::poisson: return f(Poisson(s));
        default: return f(SquaredError(s));
    }
}

}  // namespace spinney
