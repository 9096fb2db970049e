// Row statistics: what a row adds to the sums of a node, scaled once to integers so that sums are exact in
// any order.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "core/types.hpp"

namespace spinney {

enum class Task : std::uint8_t { classification, regression };

/// What is to be learned, borrowed and unscaled.
struct Target {
    Task task = Task::classification;
    Size n_rows = 0;
    int n_outputs = 1;
    std::vector<int> n_classes;             // classification: classes of each output
    const std::int32_t* classes = nullptr;  // (n_rows, n_outputs)
    const double* values = nullptr;         // (n_rows, n_outputs)
    const double* weights = nullptr;        // (n_rows,) or null for all ones

    double weight(Size row) const { return weights ? weights[row] : 1.0; }
    int max_classes() const {
        return n_classes.empty() ? 1 : *std::max_element(n_classes.begin(), n_classes.end());
    }
};

/// How the sums of a set of rows are laid out in `width` words.
///
///   packed   two classes, whole weights: one word, the weight in the low half, the second class's in the
///   high slots    one output: each row adds `row_words` words at the place of its class dense    each row
///   adds every word: [w, w·y1, …] or the classes of all outputs one after the other
enum class Layout : std::uint8_t { packed, slots, dense };

struct Statistics {
    Layout layout = Layout::dense;
    Task task = Task::classification;
    int n_channels = 0;  // what a criterion sees: class weights, or weight and sums of y
    int n_outputs = 1;
    std::vector<int> n_classes;
    int row_words = 1;    // words that one row adds
    int width = 1;        // words of a sum
    int count_word = -1;  // place of the row count within the row's words, −1 when not kept
    bool unit_weights = true;
    double max_weight = 1.0;          // of a row
    double weight_unit = 1.0;         // what one step of a weight word is worth
    std::vector<double> value_unit;   // the same for each output's sums
    std::vector<double> value_shift;  // subtracted from y before scaling
    std::vector<std::uint16_t> slot;  // (n_rows,) for slots
    std::vector<Stat> words;          // (n_rows, row_words)

    const Stat* row(Size r) const { return words.data() + r * static_cast<Size>(row_words); }

    /// Add row r to a sum.
    void add(Stat* sum, Size r) const {
        const Stat* w = row(r);
        Stat* at = layout == Layout::slots ? sum + slot[r] * static_cast<Size>(row_words) : sum;
        for (int i = 0; i < row_words; ++i) at[i] += w[i];
    }

    /// Add a part of row r: the row counts with `weight` steps instead of its own.
    void add_part(Stat* sum, Size r, Stat weight) const {
        if (layout == Layout::slots) {
            sum[slot[r]] += weight;
            return;
        }
        const Stat* w = row(r);
        const Stat whole = task == Task::regression ? w[0] : *std::max_element(w, w + row_words);
        if (weight == whole) {
            for (int i = 0; i < row_words; ++i) sum[i] += w[i];
            return;
        }
        const double share = static_cast<double>(weight) / static_cast<double>(whole);
        for (int i = 0; i < row_words; ++i) sum[i] += std::llround(static_cast<double>(w[i]) * share);
    }

    /// The whole weight of row r in steps.
    Stat row_weight(Size r) const {
        if (layout == Layout::packed) return words[r] & 0xFFFFFFFFll;
        const Stat* w = row(r);
        return layout == Layout::slots || task == Task::regression ? w[0]
                                                                   : *std::max_element(w, w + row_words);
    }

    /// A sum as real numbers, one a channel.
    void decode(const Stat* sum, double* channel) const {
        if (layout == Layout::packed) {
            const Stat n = sum[0] & 0xFFFFFFFFll, second = sum[0] >> 32;
            channel[0] = static_cast<double>(n - second);
            channel[1] = static_cast<double>(second);
        } else if (layout == Layout::slots) {
            for (int k = 0; k < n_channels; ++k)
                channel[k] = static_cast<double>(sum[k * row_words]) * weight_unit;
        } else if (task == Task::classification) {
            for (int k = 0; k < n_channels; ++k) channel[k] = static_cast<double>(sum[k]) * weight_unit;
        } else {
            channel[0] = static_cast<double>(sum[0]) * weight_unit;
            for (int o = 0; o < n_outputs; ++o)
                channel[o + 1] = static_cast<double>(sum[o + 1]) * value_unit[static_cast<Size>(o)];
        }
    }

    /// The weight in a sum, in steps of weight_unit.
    Stat weight_steps(const Stat* sum) const {
        if (layout == Layout::packed) return sum[0] & 0xFFFFFFFFll;
        if (task == Task::regression) return sum[0];
        Stat total = 0;
        const int first = layout == Layout::slots ? n_channels : n_classes[0];
        for (int k = 0; k < first; ++k) total += sum[k * (layout == Layout::slots ? row_words : 1)];
        return total;
    }

    /// The number of rows in a sum; only where it is kept (count_word ≥ 0, or unit weights).
    Stat count(const Stat* sum) const {
        if (unit_weights) return weight_steps(sum);
        if (layout == Layout::dense) return sum[count_word];
        Stat total = 0;
        for (int k = 0; k < n_channels; ++k) total += sum[k * row_words + count_word];
        return total;
    }
};

namespace detail {

/// The largest power of two by which numbers of this total may be multiplied with their sum below 2^61.
inline double power_of_two_scale(double total) {
    if (!(total > 0)) return 1.0;
    return std::ldexp(1.0, std::clamp(60 - std::ilogb(total), -1000, 1000));
}

inline void scale_weights(Statistics& out, const Target& target) {
    double total = 0;
    bool whole = true, unit = true;
    for (Size r = 0; r < target.n_rows; ++r) {
        const double w = target.weight(r);
        total += w;
        out.max_weight = std::max(out.max_weight, w);
        whole = whole && w == std::floor(w);
        unit = unit && w == 1.0;
    }
    out.unit_weights = unit;
    // Whole weights stay as they are: a row of weight 2 is then the row twice, to the last bit.
    out.weight_unit = whole && total < 0x1.0p52 ? 1.0 : 1.0 / power_of_two_scale(total);
}

/// A weight in steps; a positive one never vanishes.
inline Stat weight_in_steps(const Statistics& s, double w) {
    return w > 0 ? std::max<Stat>(1, std::llround(w / s.weight_unit)) : 0;
}

/// Do two classes of whole weights fit into the halves of a word?
inline bool packable(const Statistics& s, const Target& target) {
    if (target.n_outputs != 1 || target.n_classes[0] != 2 || s.count_word >= 0) return false;
    if (s.unit_weights) return true;
    double total = 0;
    for (Size r = 0; r < target.n_rows; ++r) total += target.weight(r);
    return s.weight_unit == 1.0 && total < 0x1.0p31;
}

inline void fill_classes(Statistics& out, const Target& target, bool fractional) {
    const Size n = target.n_rows;
    if (packable(out, target) && !fractional) {
        out.layout = Layout::packed;
        out.words.resize(n);
        for (Size r = 0; r < n; ++r) {
            const auto w = static_cast<Stat>(target.weight(r));
            out.words[r] = w + ((target.classes[r] ? w : 0) << 32);
        }
        return;
    }
    if (target.n_outputs == 1) {
        out.layout = Layout::slots;
        out.row_words = out.count_word >= 0 ? 2 : 1;
        out.count_word = out.count_word >= 0 ? 1 : -1;
        out.width = out.n_channels * out.row_words;
        out.slot.resize(n);
        out.words.resize(n * static_cast<Size>(out.row_words));
        for (Size r = 0; r < n; ++r) {
            out.slot[r] = static_cast<std::uint16_t>(target.classes[r]);
            Stat* w = out.words.data() + r * static_cast<Size>(out.row_words);
            w[0] = weight_in_steps(out, target.weight(r));
            if (out.count_word >= 0) w[1] = 1;
        }
        return;
    }
    out.row_words = out.width = out.n_channels + (out.count_word >= 0 ? 1 : 0);
    if (out.count_word >= 0) out.count_word = out.n_channels;
    out.words.assign(n * static_cast<Size>(out.row_words), 0);
    for (Size r = 0; r < n; ++r) {
        Stat* w = out.words.data() + r * static_cast<Size>(out.row_words);
        int first = 0;
        for (int o = 0; o < target.n_outputs; ++o) {
            w[first + target.classes[r * static_cast<Size>(target.n_outputs) + static_cast<Size>(o)]] =
                weight_in_steps(out, target.weight(r));
            first += target.n_classes[static_cast<Size>(o)];
        }
        if (out.count_word >= 0) w[out.count_word] = 1;
    }
}

inline void fill_values(Statistics& out, const Target& target, bool centred) {
    const Size n = target.n_rows, m = static_cast<Size>(target.n_outputs);
    out.row_words = out.width = out.n_channels + (out.count_word >= 0 ? 1 : 0);
    if (out.count_word >= 0) out.count_word = out.n_channels;
    const Size stride = static_cast<Size>(out.row_words);
    out.words.assign(n * stride, 0);
    out.value_unit.assign(m, 1.0);
    out.value_shift.assign(m, 0.0);
    for (Size o = 0; o < m; ++o) {
        double weight = 0, sum = 0, spread = 0;
        for (Size r = 0; r < n; ++r) {
            weight += target.weight(r);
            sum +=
                target.weight(r) * (target.values[r * m + o] * 0.5);  // halved: 1e308 + 1e308 is not infinite
        }
        const double shift = centred && weight > 0 ? std::clamp(sum / weight * 2.0, -1e308, 1e308) : 0.0;
        const auto term = [&](Size r) {
            return target.weight(r) * (target.values[r * m + o] * 0.5 - shift * 0.5);
        };
        for (Size r = 0; r < n; ++r) spread += std::abs(term(r)) * 0x1.0p-40;
        const double scale = power_of_two_scale(spread) * 0x1.0p-40;
        out.value_shift[o] = shift;
        out.value_unit[o] = 2.0 / scale;
        for (Size r = 0; r < n; ++r) out.words[r * stride + 1 + o] = std::llround(term(r) * scale);
    }
    for (Size r = 0; r < n; ++r) {
        out.words[r * stride] = weight_in_steps(out, target.weight(r));
        if (out.count_word >= 0) out.words[r * stride + static_cast<Size>(out.count_word)] = 1;
    }
}

}  // namespace detail

/// Scale a target to integers.
/// counts: row counts must be known at every candidate; fractional: rows will be given other weights;
/// centred: the criterion does not change when y is shifted.
inline Statistics make_statistics(const Target& target, bool counts, bool fractional, bool centred) {
    Statistics out;
    out.task = target.task;
    out.n_outputs = target.n_outputs;
    out.n_classes = target.n_classes;
    detail::scale_weights(out, target);
    if (fractional && out.weight_unit == 1.0) {
        // Fractions of a row must not be rounded away.
        double total = 0;
        for (Size r = 0; r < target.n_rows; ++r) total += target.weight(r);
        out.weight_unit = 1.0 / detail::power_of_two_scale(total);
        out.unit_weights = false;
    }
    out.count_word = counts && !out.unit_weights && !fractional ? 0 : -1;
    if (target.task == Task::classification) {
        out.n_channels = 0;
        for (int k : target.n_classes) out.n_channels += k;
        if (target.n_outputs == 1 && target.n_classes[0] == 1) out.n_channels = 1;
        detail::fill_classes(out, target, fractional);
    } else {
        out.n_channels = 1 + target.n_outputs;
        detail::fill_values(out, target, centred);
    }
    return out;
}

}  // namespace spinney
