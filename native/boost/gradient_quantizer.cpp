#include "boost/gradient_quantizer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "boost/leaf_values.hpp"
#include "grow/growth_rules.hpp"
#include "simd/register_loops.hpp"

namespace spinney {

void BoostTarget::set(const double* values, Size n_outputs, const double* row_weights, Size n) {
    y.assign(values, values + n_outputs * n);
    weights.clear();
    total_weight = static_cast<double>(n);
    n_weighted = n;
    integer_weights = unit_weights = true;
    if (!row_weights || std::all_of(row_weights, row_weights + n, [](double w) { return w == 1.0; })) return;
    weights.assign(row_weights, row_weights + n);
    ChunkSum total;
    n_weighted = 0;
    for (Size r = 0; r < n; ++r) {
        const double w = weights[r];
        total.add(r, w);
        n_weighted += w > 0;
        unit_weights = unit_weights && (w == 0.0 || w == 1.0);
        integer_weights = integer_weights && w == std::floor(w);
    }
    total_weight = total.total();
    integer_weights = integer_weights && total_weight < 0x1.0p28;
}

struct GradientQuantizer::Ratios {
    double min = std::numeric_limits<double>::infinity(), max = 0;
    void add(double ratio) {
        min = std::min(min, ratio);
        max = std::max(max, ratio);
    }
    void add(const Ratios& other) {
        min = std::min(min, other.min);
        max = std::max(max, other.max);
    }
};

GradientQuantizer::GradientQuantizer(const BoostTable& table, const BoostOptions& options,
                                     const BoostTarget& target)
    : table_(table), o_(options), target_(target) {
    rows_.ids.resize(table.x.n_rows);
    rows_.packed.resize(table.x.n_rows);
    rows_.n_in.resize(table.n_chunks());
}

void GradientQuantizer::set_weights() {
    rows_.weights.clear();
    rows_.weight_unit = 1;
    if (target_.unit_weights) return;  // rows of weight 0 are not drawn
    if (!target_.integer_weights) rows_.weight_unit = 1 / detail::power_of_two_scale(target_.total_weight);
    rows_.weights.reserve(target_.weights.size());
    for (const double w : target_.weights)
        rows_.weights.push_back(w > 0 ? std::max<Stat>(1, std::llround(w / rows_.weight_unit)) : Stat{0});
}

BoostRows& GradientQuantizer::quantize(const double* gradient, const double* hessian, GradientSums sums,
                                       LossName loss, std::uint64_t address) {
    gradient_ = gradient;
    hessian_ = hessian;
    multiplier_.clear();
    if (o_.sampling != Sampling::none)
        sums = draw_rows(multiplier_, table_, o_, target_, gradient, hessian, sums, address);
    set_units(sums, choose_layout(o_, loss, target_.total_weight, target_.integer_weights));
    const Size n_chunks = table_.n_chunks();
    const bool all_once = target_.weights.empty() && multiplier_.empty();
    std::vector<Ratios> ratios(n_chunks);
    Pool::shared().parallel_for(o_.n_threads, n_chunks, [&](Size c, int) {
        if (all_once)
            list_all(c);
        else
            list_rows(c);
        ratios[c] = target_.unit_weights ? quantize_units(c) : quantize_weighted(c);
    });
    Ratios all;
    rows_.any_out = false;
    for (Size c = 0; c < n_chunks; ++c) {
        all.add(ratios[c]);
        rows_.any_out = rows_.any_out || rows_.n_in[c] < table_.chunk_size(c);
    }
    rows_.min_hessian_ratio = all.min;
    rows_.max_hessian_ratio = all.max;
    return rows_;
}

PackedLayout choose_layout(const BoostOptions& options, LossName loss, double total_weight, bool integer) {
    constexpr double kMaxWeight = 0x1.0p14;
    const bool equal_hessians = loss == LossName::squared || fits_quantiles(loss);
    if (equal_hessians || !integer || total_weight >= kMaxWeight) return {};
    if (options.symmetric() || options.min_samples_leaf <= 1) return {};
    const int weight_bits = std::bit_width(static_cast<Size>(total_weight));
    return {weight_bits, (64 - weight_bits) / 2};
}

GradientScales choose_scales(const GradientSums& sums, double slack, PackedLayout layout) {
    const auto fit = [](double sum, double max) {
        if (!(sum > 0)) return 1.0;
        return std::ldexp(1.0, std::clamp(std::ilogb(max / sum), -1000, 1000));
    };
    return {fit(sums.gradient, std::ldexp(1.0, layout.gradient_bits() - 1) - 2 - slack),
            fit(sums.hessian, std::ldexp(1.0, layout.hessian_bits) - 2 - slack), layout};
}

void GradientQuantizer::set_units(const GradientSums& sums, PackedLayout layout) {
    scale_ = choose_scales(sums, target_.rounding_slack(table_.x.n_rows), layout);
    rows_.units = {1 / scale_.gradient, 1 / scale_.hessian};
    rows_.layout = layout;
}

/// List the rows of a chunk in which every row counts.
void GradientQuantizer::list_all(Size chunk) {
    const Size begin = chunk * kChunkRows, n = table_.chunk_size(chunk);
    rows_.n_in[chunk] = static_cast<std::uint32_t>(n);
    for (Size i = 0; i < n; ++i) rows_.ids[begin + i] = static_cast<LocalRow>(i);
}

/// Quantize a chunk whose rows have weights 0 and 1, all of them: those that do not count are never read.
GradientQuantizer::Ratios GradientQuantizer::quantize_units(Size chunk) {
    const Size begin = chunk * kChunkRows, n = table_.chunk_size(chunk);
    Register min = every<Register>(std::numeric_limits<double>::infinity()), max{};
    const PackedLayout layout = rows_.layout;
    const Stat weight = layout.has_weight() ? 1 : 0;
    // Rows that are drawn have a weight.
    const double* counts = multiplier_.empty() ? target_.weights_or_null() : multiplier_.data();
    for_registers(begin, begin + n, [&](Size r, Size m, Size) {
        // Adding 1.5 · 2^52 rounds to an integer, which is then in the low bits.
        constexpr double rounder = 0x1.8p52;
        Register times = counts ? load_register(counts + r, m) : every<Register>(1.0);
        for (Size i = m; i < kRegister; ++i) times[i] = 0;
        const Register g = times * load_register(gradient_ + r, m) * scale_.gradient + rounder;
        Register h = times * load_register(hessian_ + r, m) * scale_.hessian + rounder;
        h = where(h < rounder + 1, every<Register>(rounder + 1), h);
        const StatRegister zero = detail::bits_of(every<Register>(rounder));
        store_register(rows_.packed.data() + r,
                       ((detail::bits_of(g) - zero) << layout.gradient_shift()) +
                           ((detail::bits_of(h) - zero) << layout.weight_bits) + weight,
                       m);
        h -= rounder;
        min = where((times > 0.0) & (h < min), h, min);
        max = where((times > 0.0) & (h > max), h, max);
    });
    Ratios out;
    for (Size i = 0; i < kRegister; ++i) {
        if (!(max[i] > 0)) continue;  // no row of the lane counts
        out.add(min[i]);
        out.add(max[i]);
    }
    return out;
}

/// Quantize the rows of a chunk that count.
GradientQuantizer::Ratios GradientQuantizer::quantize_weighted(Size chunk) {
    const Size begin = chunk * kChunkRows, n_in = rows_.n_in[chunk];
    const LocalRow* ids = rows_.ids.data() + begin;
    Ratios out;
    for (Size i = 0; i < n_in; ++i) {
        const Size r = begin + ids[i];
        const double w = target_.weight(r), m = multiplier_.empty() ? 1.0 : multiplier_[r];
        const bool repeated = target_.integer_weights && m == 1.0;
        const double inside = repeated ? 1.0 : w * m;
        const Stat outside = repeated ? static_cast<Stat>(w) : 1;
        const Stat g = outside * std::llrint(inside * gradient_[r] * scale_.gradient);
        const Stat h = outside * std::max<Stat>(1, std::llrint(inside * hessian_[r] * scale_.hessian));
        const Stat steps = rows_.weights.empty() ? 1 : rows_.weights[r];
        rows_.packed[r] = pack(g, h, steps, rows_.layout);
        out.add(static_cast<double>(h) / static_cast<double>(steps));
    }
    return out;
}

/// List the rows of a chunk, first those that count. Without branches: which rows were drawn is
/// unpredictable.
void GradientQuantizer::list_rows(Size chunk) {
    const Size begin = chunk * kChunkRows, n = table_.chunk_size(chunk);
    std::array<LocalRow, kChunkRows> out;
    LocalRow* ids = rows_.ids.data() + begin;
    const double* weights = target_.weights_or_null();
    const double* multiplier = multiplier_.empty() ? nullptr : multiplier_.data();
    Size n_in = 0, n_out = 0;
    for (Size i = 0; i < n; ++i) {
        const double w = weights ? weights[begin + i] : 1.0, m = multiplier ? multiplier[begin + i] : 1.0;
        const bool counts = w * m > 0;
        ids[n_in] = out[n_out] = static_cast<LocalRow>(i);
        n_in += counts;
        n_out += !counts;
    }
    std::copy_n(out.begin(), n_out, ids + n_in);
    rows_.n_in[chunk] = static_cast<std::uint32_t>(n_in);
}

}  // namespace spinney
