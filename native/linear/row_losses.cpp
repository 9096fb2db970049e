#include "linear/row_losses.hpp"

#include <algorithm>
#include <vector>

#include "core/exponential.hpp"
#include "simd/register_loops.hpp"

namespace spinney {
namespace {

constexpr Size kChunk = 4096;  // rows; sums of chunks are added in their order

/// Sum f(begin, end) over chunks of rows, in order, whatever thread computed them.
template <class F>
double sum_chunks(Size n, int n_threads, Interrupt& interrupt, F&& f) {
    std::vector<double> sums((n + kChunk - 1) / kChunk);
    Pool::shared().parallel_for(
        n_threads, sums.size(),
        [&](Size chunk, int) { sums[chunk] = f(chunk * kChunk, std::min(n, (chunk + 1) * kChunk)); },
        &interrupt);
    double total = 0;
    for (double sum : sums) total += sum;
    return total;
}

}  // namespace

double logistic_loss(double* gradient, double* curvature, const double* scores, const double* y,
                     const double* weights, Size n, int n_threads, Interrupt& interrupt) {
    return sum_chunks(n, n_threads, interrupt, [=](Size begin, Size end) {
        LaneSums sums;
        for_registers(begin, end, [&](Size r, Size m, Size part) {
            const Register s = load_register(scores + r, m), label = load_register(y + r, m);
            const Register w = weights ? load_register(weights + r, m) : every<Register>(1.0);
            const Register zero{};
            const Register decay = exp_same_bits(where(s < 0.0, s, -s));
            const Register near = 1.0 / (1.0 + decay);
            const Register probability = where(s < 0.0, decay * near, near);
            Register loss = log_same_bits(1.0 + decay) + (where(s > 0.0, s, zero) - label * s);
            store_register(gradient + r, w * (probability - label), m);
            store_register(curvature + r, w * (decay * near * near), m);
            loss = loss * w;
            for (Size i = m; i < kRegister; ++i) loss[i] = 0;
            sums.parts[part] += loss;
        });
        return sums.total();
    });
}

double softmax_loss(double* probabilities, double* gradient, const double* scores,
                    const std::int32_t* classes, const double* weights, Size n, Size k, int n_threads,
                    Interrupt& interrupt) {
    return sum_chunks(n, n_threads, interrupt, [=](Size begin, Size end) {
        double total = 0;
        std::vector<Register> e(k);
        for (Size r = begin; r < end; r += kRegister) {
            const Size m = std::min(kRegister, end - r);
            Register largest{}, own{};
            for (Size c = 0; c < k; ++c) {
                e[c] = Register{};
                for (Size i = 0; i < m; ++i) e[c][i] = scores[(r + i) * k + c];
                largest = c == 0 ? e[0] : where(e[c] > largest, e[c], largest);
            }
            for (Size i = 0; i < m; ++i) own[i] = e[static_cast<Size>(classes[r + i])][i] - largest[i];
            Register sum{};
            for (Size c = 0; c < k; ++c) {
                e[c] = exp_same_bits(e[c] - largest);
                sum += e[c];
            }
            const Register loss = log_same_bits(sum) - own;
            for (Size c = 0; c < k; ++c) e[c] /= sum;
            for (Size i = 0; i < m; ++i) {
                const double w = weights ? weights[r + i] : 1.0;
                total += w * loss[i];
                double *p = probabilities + (r + i) * k, *g = gradient + (r + i) * k;
                for (Size c = 0; c < k; ++c) {
                    p[c] = e[c][i];
                    g[c] = w * e[c][i];
                }
                g[classes[r + i]] -= w;
            }
        }
        return total;
    });
}

}  // namespace spinney
