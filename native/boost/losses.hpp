// The losses of gradient boosting: value, gradient and hessian in the score of one row.
//
// V is double, or Lanes for eight rows at once; both have the same bits. Row weights are not in here.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/exponential.hpp"

namespace spinney {

enum class LossName : std::uint8_t {
    squared,
    absolute,
    quantile,
    huber,
    poisson,
    gamma,
    tweedie,
    log,
    softmax,
    exponential
};

/// A gradient and a hessian.
template <class V>
struct Slopes {
    V gradient, hessian;
};

struct SquaredLoss {
    explicit SquaredLoss(double = 0) {}
    template <class V>
    [[gnu::always_inline]] Slopes<V> slopes(V s, V y) const {
        return {s - y, every<V>(1.0)};
    }
    double value(double s, double y) const { return 0.5 * (s - y) * (s - y); }
};

/// Absolute error is the quantile loss of ½, doubled.
struct QuantileLoss {
    double alpha, factor;
    explicit QuantileLoss(double level, double scale = 1.0) : alpha(level), factor(scale) {}
    template <class V>
    [[gnu::always_inline]] Slopes<V> slopes(V s, V y) const {
        const V below = every<V>(-alpha * factor), above = every<V>((1.0 - alpha) * factor);
        return {where(y > s, below, where(y < s, above, every<V>(0.0))), every<V>(1.0)};
    }
    double value(double s, double y) const {
        return factor * (y > s ? alpha * (y - s) : (1.0 - alpha) * (s - y));
    }
};

struct HuberLoss {
    double delta;
    explicit HuberLoss(double width) : delta(width) {}
    template <class V>
    [[gnu::always_inline]] Slopes<V> slopes(V s, V y) const {
        return {hold(s - y, -delta, delta), every<V>(1.0)};
    }
    double value(double s, double y) const {
        const double r = std::abs(s - y);
        return r <= delta ? 0.5 * r * r : delta * (r - 0.5 * delta);
    }
};

struct PoissonLoss {
    explicit PoissonLoss(double = 0) {}
    template <class V>
    [[gnu::always_inline]] Slopes<V> slopes(V s, V y) const {
        const V mean = exp_same_bits(s);
        return {mean - y, mean};
    }
    double value(double s, double y) const { return exp_same_bits(s) - y * s; }
};

struct GammaLoss {
    explicit GammaLoss(double = 0) {}
    template <class V>
    [[gnu::always_inline]] Slopes<V> slopes(V s, V y) const {
        const V ratio = y * exp_same_bits(-s);
        return {1.0 - ratio, ratio};
    }
    double value(double s, double y) const { return s + y * exp_same_bits(-s); }
};

struct TweedieLoss {
    double power;
    explicit TweedieLoss(double p) : power(p) {}
    template <class V>
    [[gnu::always_inline]] Slopes<V> slopes(V s, V y) const {
        const V a = exp_same_bits(s * (2.0 - power)), b = y * exp_same_bits(s * (1.0 - power));
        return {a - b, a * (2.0 - power) - b * (1.0 - power)};
    }
    double value(double s, double y) const {
        return exp_same_bits(s * (2.0 - power)) / (2.0 - power) -
               y * exp_same_bits(s * (1.0 - power)) / (1.0 - power);
    }
};

/// Classes 0 and 1; the score is the log odds.
struct LogLoss {
    explicit LogLoss(double = 0) {}
    template <class V>
    [[gnu::always_inline]] Slopes<V> slopes(V s, V y) const {
        const V p = 1.0 / (1.0 + exp_same_bits(-s));
        return {p - y, p * (1.0 - p)};
    }
    double value(double s, double y) const {
        return std::max(s, 0.0) - y * s + log_same_bits(1.0 + exp_same_bits(-std::abs(s)));
    }
};

/// Classes 0 and 1; the score is half the log odds.
struct ExponentialLoss {
    explicit ExponentialLoss(double = 0) {}
    template <class V>
    [[gnu::always_inline]] Slopes<V> slopes(V s, V y) const {
        const V sign = 2.0 * y - 1.0, e = exp_same_bits(-sign * s);
        return {-sign * e, e};
    }
    double value(double s, double y) const { return exp_same_bits((1.0 - 2.0 * y) * s); }
};

/// One class of several: `normaliser` is ln Σ e^score over the classes.
struct SoftmaxLoss {
    double own;  // the class whose score this is
    explicit SoftmaxLoss(double k) : own(k) {}
    template <class V>
    [[gnu::always_inline]] Slopes<V> slopes(V s, V y, V normaliser) const {
        const V p = exp_same_bits(s - normaliser);
        return {p - where(y == own, every<V>(1.0), every<V>(0.0)), p * (1.0 - p)};
    }
};

/// Call f with the loss of one score as a type of its own. Softmax has several scores and is no such loss.
template <class F>
decltype(auto) with_loss(LossName name, double parameter, F&& f) {
    switch (name) {
        case LossName::absolute:
            return f(QuantileLoss(0.5, 2.0));
        case LossName::quantile:
            return f(QuantileLoss(parameter));
        case LossName::huber:
            return f(HuberLoss(parameter));
        case LossName::poisson:
            return f(PoissonLoss());
        case LossName::gamma:
            return f(GammaLoss());
        case LossName::tweedie:
            return f(TweedieLoss(parameter));
        case LossName::log:
            return f(LogLoss());
        case LossName::exponential:
            return f(ExponentialLoss());
        default:
            return f(SquaredLoss());
    }
}

}  // namespace spinney
