#include "boost/row_sampling.hpp"

#include <bit>
#include <utility>

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
    for (Size i = 1; i < counts.size(); ++i) counts[0].merge(counts[i]);
    return std::move(counts[0]);
}

/// The draws of the rows from r on, as `uniform_draw` gives them one by one.
[[gnu::always_inline]] inline Register uniform_draws(std::uint64_t stream, Size r) {
    const auto row = std::bit_cast<UnsignedRegister>(lane_numbers()) + r;
    const UnsignedRegister address = scramble(stream + kMixStep * (row + 1));
    return to_real(std::bit_cast<StatRegister>(scramble(address + kMixStep) >> 11)) * 0x1.0p-53;
}

/// SamplingRule::multiplier of a register of rows.
[[gnu::always_inline]] inline Register multipliers(const SamplingRule& rule, Register importance,
                                                   Register draw) {
    const Register one = every<Register>(1.0);
    const Register p =
        where(importance >= rule.always, one,
              rule.proportional ? importance / rule.always : every<Register>(rule.probability));
    return where(draw < p, rule.reweight ? one / p : one, Register{});
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
        const double* weights = target.weights_or_null();
        double* out = multiplier.data();
        GradientSums sum;
        for_registers(begin, end, [&](Size r, Size n, Size) {
            const Register w = weights ? load_register(weights + r, n) : every<Register>(1.0);
            const Register drawn = multipliers(rule, load_register(out + r, n), uniform_draws(stream, r));
            const Register m = where(w > 0.0, drawn, every<Register>(0.0));
            store_register(out + r, m, n);
            const Register g = load_register(gradient + r, n);
            const Register gs = w * m * where(g < 0.0, -g, g), hs = w * m * load_register(hessian + r, n);
            for (Size i = 0; i < n; ++i) {  // in the order of the rows
                sum.gradient += gs[i];
                sum.hessian += hs[i];
            }
        });
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
