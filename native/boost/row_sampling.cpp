#include "boost/row_sampling.hpp"

#include <cmath>

#include "boost/sampling_rule.hpp"
#include "core/random.hpp"
#include "simd/register_loops.hpp"

namespace spinney {

namespace {

/// Write the importance of each row, and count those of rows with weight. The importance of a row is what it
/// may add to a gain: its gradient and, for MVS, its hessian times the mean gradient per hessian.
ImportanceCounts find_importances(double* importance, const BoostTable& table, const BoostOptions& o,
                                  const BoostTarget& target, const double* gradient, const double* hessian,
                                  const GradientSums& sums) {
    const double slope =
        o.sampling == Sampling::goss || !(sums.hessian > 0) ? 0.0 : sums.gradient / sums.hessian;
    std::vector<ImportanceCounts> counts(static_cast<Size>(o.n_threads));
    Pool::shared().parallel_for(o.n_threads, table.n_chunks(), [&](Size c, int thread) {
        const Size begin = c * kChunkRows, end = begin + table.chunk_size(c);
        const double* weights = target.weights_or_null();
        ImportanceCounts& own = counts[static_cast<Size>(thread)];
        for_registers(begin, end, [&](Size r, Size m, Size) {
            const Register g = load_register(gradient + r, m), h = slope * load_register(hessian + r, m);
            const Register w = weights ? load_register(weights + r, m) : every<Register>(1.0);
            const Register s = w * root(g * g + h * h);
            store_register(importance + r, s, m);
            for (Size i = 0; i < m; ++i)
                if (w[i] > 0) own.add(s[i]);
        });
    });
    ImportanceCounts all;
    for (const auto& part : counts) all.merge(part);
    return all;
}

}  // namespace

GradientSums draw_rows(std::vector<double>& multiplier, const BoostTable& table, const BoostOptions& o,
                       const BoostTarget& target, const double* gradient, const double* hessian,
                       const GradientSums& sums, std::uint64_t address) {
    const Size n_chunks = table.n_chunks();
    multiplier.resize(table.x.n_rows);
    ImportanceCounts counts;
    if (o.sampling != Sampling::uniform)
        counts = find_importances(multiplier.data(), table, o, target, gradient, hessian, sums);
    const SamplingRule rule = make_rule(o, counts);
    std::vector<GradientSums> parts(n_chunks);
    Pool::shared().parallel_for(o.n_threads, n_chunks, [&](Size c, int) {
        const Size begin = c * kChunkRows, end = begin + table.chunk_size(c);
        const std::uint64_t stream = mix(address, 0x5A);
        const double *g = gradient, *h = hessian, *weights = target.weights_or_null();
        double* out = multiplier.data();
        GradientSums sum;
        for (Size r = begin; r < end; ++r) {
            const double w = weights ? weights[r] : 1.0;
            const double m = w > 0 ? rule.multiplier(out[r], mix(stream, r)) : 0.0;
            out[r] = m;
            sum.gradient += w * m * std::abs(g[r]);
            sum.hessian += w * m * h[r];
        }
        parts[c] = sum;
    });
    GradientSums drawn;
    for (const GradientSums& part : parts) {
        drawn.gradient += part.gradient;
        drawn.hessian += part.hessian;
    }
    return drawn;
}

}  // namespace spinney
