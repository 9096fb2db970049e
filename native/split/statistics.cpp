// Scaling of targets to integer row statistics.
#include "split/statistics.hpp"

#include "core/chunk_sum.hpp"

namespace spinney {

double detail::power_of_two_scale(double total) {
    if (!(total > 0)) return 1.0;
    return std::ldexp(1.0, std::clamp(60 - std::ilogb(total), -1000, 1000));
}

namespace {

double total_weight(const Target& target) {
    ChunkSum sum;
    for (Size r = 0; r < target.n_rows; ++r) sum.add(r, target.weight(r));
    return sum.total();
}

void scale_weights(Statistics& out, const Target& target) {
    const double total = out.total_weight = total_weight(target);
    bool integer = true, unit = true;
    for (Size r = 0; r < target.n_rows; ++r) {
        const double w = target.weight(r);
        out.max_weight = std::max(out.max_weight, w);
        integer &= detail::is_whole(w);
        unit &= w == 1.0;
    }
    out.unit_weights = unit;
    // Integer weights are kept: a row of weight 2 then equals the row twice, to the last bit.
    out.weight_unit = integer && total < 0x1.0p52 ? 1.0 : 1.0 / detail::power_of_two_scale(total);
}

/// As std::llround, for numbers below 2^62, without a call of the C library.
Stat rounded(double x) {
    const auto whole = static_cast<Stat>(x);
    const double rest = x - static_cast<double>(whole);
    return whole + Stat{rest >= 0.5} - Stat{rest <= -0.5};
}

/// Weight in steps; a positive weight is at least one step.
Stat weight_in_steps(const Statistics& s, double w) {
    if (s.weight_unit == 1.0) return static_cast<Stat>(w);
    return w > 0 ? std::max<Stat>(1, rounded(w / s.weight_unit)) : 0;
}

/// Whether two classes with integer weights fit into the halves of a 64-bit integer.
bool packable(const Statistics& s, const Target& target) {
    if (target.n_outputs != 1 || target.n_classes[0] != 2 || s.count_index >= 0) return false;
    if (s.unit_weights) return true;
    return s.weight_unit == 1.0 && s.total_weight < 0x1.0p31;
}

void fill_classes(Statistics& out, const Target& target, bool fractional) {
    const Size n = target.n_rows;
    if (packable(out, target) && !fractional) {
        out.layout = Layout::packed;
        out.stats.resize(n);
        for (Size r = 0; r < n; ++r) {
            const auto w = static_cast<Stat>(target.weight(r));
            out.stats[r] = w + ((target.classes[r] ? w : 0) << 32);
        }
        return;
    }
    if (target.n_outputs == 1) {
        out.layout = Layout::by_class;
        out.row_width = out.count_index >= 0 ? 2 : 1;
        out.count_index = out.count_index >= 0 ? 1 : -1;
        out.width = out.n_channels * out.row_width;
        out.class_code.resize(n);
        out.stats.resize(n * static_cast<Size>(out.row_width));
        for (Size r = 0; r < n; ++r) {
            out.class_code[r] = static_cast<std::uint16_t>(target.classes[r]);
            Stat* w = out.stats.data() + r * static_cast<Size>(out.row_width);
            w[0] = weight_in_steps(out, target.weight(r));
            if (out.count_index >= 0) w[1] = 1;
        }
        return;
    }
    out.row_width = out.width = out.n_channels + (out.count_index >= 0 ? 1 : 0);
    if (out.count_index >= 0) out.count_index = out.n_channels;
    out.stats.assign(n * static_cast<Size>(out.row_width), 0);
    for (Size r = 0; r < n; ++r) {
        Stat* w = out.stats.data() + r * static_cast<Size>(out.row_width);
        int first = 0;
        for (int o = 0; o < target.n_outputs; ++o) {
            w[first + target.classes[r * static_cast<Size>(target.n_outputs) + static_cast<Size>(o)]] =
                weight_in_steps(out, target.weight(r));
            first += target.n_classes[static_cast<Size>(o)];
        }
        if (out.count_index >= 0) w[out.count_index] = 1;
    }
}

void fill_values(Statistics& out, const Target& target, bool centred) {
    const Size n = target.n_rows, m = static_cast<Size>(target.n_outputs);
    out.row_width = out.width = out.n_channels + (out.count_index >= 0 ? 1 : 0);
    if (out.count_index >= 0) out.count_index = out.n_channels;
    const Size stride = static_cast<Size>(out.row_width);
    out.stats.assign(n * stride, 0);
    out.value_unit.assign(m, 1.0);
    out.value_shift.assign(m, 0.0);
    const double weight = out.total_weight;
    for (Size o = 0; o < m; ++o) {
        ChunkSum sum, spread;
        for (Size r = 0; r < n; ++r)  // halved: 1e308 + 1e308 must not overflow
            sum.add(r, target.weight(r) * (target.values[r * m + o] * 0.5));
        const double mean = sum.total() / weight * 2.0;  // not a number where two chunks overflowed
        const double shift =
            centred && weight > 0 && !std::isnan(mean) ? std::clamp(mean, -1e308, 1e308) : 0.0;
        const auto term = [&](Size r) {
            return target.weight(r) * (target.values[r * m + o] * 0.5 - shift * 0.5);
        };
        for (Size r = 0; r < n; ++r) spread.add(r, std::abs(term(r)) * 0x1.0p-40);
        const double scale = detail::power_of_two_scale(spread.total()) * 0x1.0p-40;
        out.value_shift[o] = shift;
        out.value_unit[o] = 2.0 / scale;
        for (Size r = 0; r < n; ++r) out.stats[r * stride + 1 + o] = rounded(term(r) * scale);
    }
    for (Size r = 0; r < n; ++r) {
        out.stats[r * stride] = weight_in_steps(out, target.weight(r));
        if (out.count_index >= 0) out.stats[r * stride + static_cast<Size>(out.count_index)] = 1;
    }
}

}  // namespace

Statistics make_statistics(const Target& target, bool counts, bool fractional, bool centred) {
    Statistics out;
    out.task = target.task;
    out.n_outputs = target.n_outputs;
    out.n_classes = target.n_classes;
    scale_weights(out, target);
    if (fractional && out.weight_unit == 1.0) {
        // Keep the resolution that fractions of a row need.
        out.weight_unit = 1.0 / detail::power_of_two_scale(out.total_weight);
        out.unit_weights = false;
    }
    out.count_index = counts && !out.unit_weights && !fractional ? 0 : -1;
    if (target.task == Task::classification) {
        out.n_channels = 0;
        for (int k : target.n_classes) out.n_channels += k;
        fill_classes(out, target, fractional);
    } else {
        out.n_channels = 1 + target.n_outputs;
        fill_values(out, target, centred);
    }
    return out;
}

}  // namespace spinney
