#include "boost/losses.hpp"

#include <algorithm>
#include <cmath>

#include "simd/register_loops.hpp"

namespace spinney {

namespace {

// The losses. V is double, or a register of rows; both give the same bits. Row weights are applied outside.

template <class V>
[[gnu::always_inline]] inline V absolute(V x) {
    return where(x < 0.0, -x, x);
}

template <class V>
struct GradientPair {
    V gradient, hessian;
};

struct SquaredLoss {
    template <class V>
    [[gnu::always_inline]] GradientPair<V> gradients(V s, V y) const {
        return {s - y, every<V>(1.0)};
    }
    template <class V>
    [[gnu::always_inline]] V value(V s, V y) const {
        return 0.5 * (s - y) * (s - y);
    }
};

/// Absolute error is the quantile loss at ½, doubled.
struct QuantileLoss {
    double alpha, factor;
    template <class V>
    [[gnu::always_inline]] GradientPair<V> gradients(V s, V y) const {
        const V below = every<V>(-alpha * factor), above = every<V>((1.0 - alpha) * factor);
        return {where(y > s, below, where(y < s, above, every<V>(0.0))), every<V>(1.0)};
    }
    template <class V>
    [[gnu::always_inline]] V value(V s, V y) const {
        return factor * where(y > s, alpha * (y - s), (1.0 - alpha) * (s - y));
    }
};

struct HuberLoss {
    double delta;
    template <class V>
    [[gnu::always_inline]] GradientPair<V> gradients(V s, V y) const {
        return {hold(s - y, -delta, delta), every<V>(1.0)};
    }
    template <class V>
    [[gnu::always_inline]] V value(V s, V y) const {
        const V r = absolute(s - y);
        return where(r <= delta, 0.5 * r * r, delta * (r - 0.5 * delta));
    }
};

struct PoissonLoss {
    template <class V>
    [[gnu::always_inline]] GradientPair<V> gradients(V s, V y) const {
        const V mean = exp_same_bits(s);
        return {mean - y, mean};
    }
    template <class V>
    [[gnu::always_inline]] V value(V s, V y) const {
        return exp_same_bits(s) - y * s;
    }
};

struct GammaLoss {
    template <class V>
    [[gnu::always_inline]] GradientPair<V> gradients(V s, V y) const {
        const V ratio = y * exp_same_bits(-s);
        return {1.0 - ratio, ratio};
    }
    template <class V>
    [[gnu::always_inline]] V value(V s, V y) const {
        return s + y * exp_same_bits(-s);
    }
};

struct TweedieLoss {
    double power;
    template <class V>
    [[gnu::always_inline]] GradientPair<V> gradients(V s, V y) const {
        const V a = exp_same_bits(s * (2.0 - power)), b = y * exp_same_bits(s * (1.0 - power));
        return {a - b, a * (2.0 - power) - b * (1.0 - power)};
    }
    template <class V>
    [[gnu::always_inline]] V value(V s, V y) const {
        return exp_same_bits(s * (2.0 - power)) / (2.0 - power) -
               y * exp_same_bits(s * (1.0 - power)) / (1.0 - power);
    }
};

/// Classes 0 and 1; the score is the log odds.
struct LogLoss {
    template <class V>
    [[gnu::always_inline]] GradientPair<V> gradients(V s, V y) const {
        const V p = 1.0 / (1.0 + exp_same_bits(-s));
        return {p - y, p * (1.0 - p)};
    }
    template <class V>
    [[gnu::always_inline]] V value(V s, V y) const {
        const V positive = where(s < 0.0, every<V>(0.0), s);
        return positive - y * s + log_same_bits(1.0 + exp_same_bits(-absolute(s)));
    }
};

/// Classes 0 and 1; the score is half the log odds.
struct ExponentialLoss {
    template <class V>
    [[gnu::always_inline]] GradientPair<V> gradients(V s, V y) const {
        const V sign = 2.0 * y - 1.0, e = exp_same_bits(-sign * s);
        return {-sign * e, e};
    }
    template <class V>
    [[gnu::always_inline]] V value(V s, V y) const {
        return exp_same_bits((1.0 - 2.0 * y) * s);
    }
};

/// One class of several: `log_sum_exp` is ln Σ e^score over the classes.
struct SoftmaxLoss {
    double own;  // the class whose score this is
    template <class V>
    [[gnu::always_inline]] GradientPair<V> gradients(V s, V y, V log_sum_exp) const {
        const V p = exp_same_bits(s - log_sum_exp);
        return {p - where(y == own, every<V>(1.0), every<V>(0.0)), p * (1.0 - p)};
    }
};

/// Call f with the loss of score k as a type of its own; softmax has several scores and is not among them.
template <class F>
decltype(auto) with_loss(const Loss& loss, Size k, F&& f) {
    switch (loss.name) {
        case LossName::absolute:
            return f(QuantileLoss{0.5, 2.0});
        case LossName::quantile:
            return f(QuantileLoss{loss.parameter(k), 1.0});
        case LossName::huber:
        case LossName::adaptive_huber:
            return f(HuberLoss{loss.parameter(k)});
        case LossName::poisson:
            return f(PoissonLoss{});
        case LossName::gamma:
            return f(GammaLoss{});
        case LossName::tweedie:
            return f(TweedieLoss{loss.parameter(k)});
        case LossName::log:
            return f(LogLoss{});
        case LossName::exponential:
            return f(ExponentialLoss{});
        default:
            return f(SquaredLoss{});
    }
}

template <class F>
GradientSums write_gradients(const LossRows& rows, Size begin, Size end, double* gradient, double* hessian,
                             F&& gradients_of) {
    LaneSums gradients, hessians;
    for_registers(begin, end, [&](Size r, Size n, Size part) {
        GradientPair<Register> pair = gradients_of(r, n);
        pair.hessian = where(pair.hessian < kMinHessian, every<Register>(kMinHessian), pair.hessian);
        store_register(gradient + r, pair.gradient, n);
        store_register(hessian + r, pair.hessian, n);
        Register w = rows.weights ? load_register(rows.weights + r, n) : every<Register>(1.0);
        for (Size i = n; i < kRegister; ++i) w[i] = 0;
        gradients.parts[part] += w * absolute(pair.gradient);
        hessians.parts[part] += w * pair.hessian;
    });
    return {gradients.total(), hessians.total()};
}

}  // namespace

GradientSums compute_gradients(const Loss& loss, const LossRows& rows, Size k, Size begin, Size end,
                               double* gradient, double* hessian) {
    const double *y = rows.output(k), *s = rows.scores[k], *z = rows.log_sum_exp;
    if (loss.name == LossName::softmax) {
        const SoftmaxLoss softmax{static_cast<double>(k)};
        return write_gradients(rows, begin, end, gradient, hessian, [=](Size r, Size n) {
            return softmax.gradients(load_register(s + r, n), load_register(y + r, n),
                                     load_register(z + r, n));
        });
    }
    return with_loss(loss, k, [&](auto one) {
        return write_gradients(rows, begin, end, gradient, hessian, [=](Size r, Size n) {
            return one.gradients(load_register(s + r, n), load_register(y + r, n));
        });
    });
}

void compute_log_sum_exp(double* out, std::span<const double* const> scores, Size begin, Size end) {
    for_registers(begin, end, [&](Size r, Size n, Size) {
        Register max = load_register(scores[0] + r, n), sum{};
        for (const double* one : scores) {
            const Register s = load_register(one + r, n);
            max = where(s > max, s, max);
        }
        for (const double* one : scores) sum += exp_same_bits(load_register(one + r, n) - max);
        store_register(out + r, max + log_same_bits(sum), n);
    });
}

void compute_losses(double* out, const Loss& loss, const LossRows& rows, Size begin, Size end) {
    if (loss.name == LossName::softmax) {
        for (Size r = begin; r < end; ++r) out[r] = loss_of_row(loss, rows, r);
        return;
    }
    std::fill(out + begin, out + end, 0.0);
    for (Size k = 0; k < rows.scores.size(); ++k)
        with_loss(loss, k, [&](auto one) {
            const double *y = rows.output(k), *s = rows.scores[k];
            for_registers(begin, end, [&](Size r, Size n, Size) {
                const Register value = one.value(load_register(s + r, n), load_register(y + r, n));
                store_register(out + r, load_register(out + r, n) + value, n);
            });
        });
    const auto n_scores = static_cast<double>(rows.scores.size());
    for (Size r = begin; n_scores > 1 && r < end; ++r) out[r] /= n_scores;
}

double loss_of_row(const Loss& loss, const LossRows& rows, Size r) {
    if (loss.name == LossName::softmax)
        return rows.log_sum_exp[r] - rows.scores[static_cast<Size>(rows.y[r])][r];
    double sum = 0;
    for (Size k = 0; k < rows.scores.size(); ++k)
        sum += with_loss(loss, k, [&](auto one) { return one.value(rows.scores[k][r], rows.output(k)[r]); });
    return sum / static_cast<double>(rows.scores.size());
}

}  // namespace spinney
