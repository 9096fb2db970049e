// Row statistics: what a row adds to the sums of a node, scaled once to integers so that sums are exact in
// any order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/spill.hpp"
#include "core/types.hpp"

namespace spinney {

enum class Task : std::uint8_t { classification, regression };

/// Target of a fit, borrowed and unscaled.
struct Target {
    Task task = Task::classification;
    Size n_rows = 0;
    int n_outputs = 1;
    std::vector<int> n_classes;             // classification: number of classes per output
    const std::int32_t* classes = nullptr;  // (n_rows, n_outputs)
    const double* values = nullptr;         // (n_rows, n_outputs)
    const double* weights = nullptr;        // (n_rows,) or null for unit weights

    double weight(Size row) const { return weights ? weights[row] : 1.0; }
    int max_classes() const {
        return n_classes.empty() ? 1 : *std::max_element(n_classes.begin(), n_classes.end());
    }
};

/// Layout of the sum of a set of rows in `width` integers.
///
///   packed    two classes, integer weights: one integer, the total weight in its low half and the weight of
///             the second class in its high half
///   by_class  one output: a row adds its `row_width` statistics at the position of its class
///   dense     a row adds to every position: [w, w·y1, …], or the class weights of all outputs in turn
enum class Layout : std::uint8_t { packed, by_class, dense };

/// Call f.template operator()<Layout>() for the layout in use.
template <class F>
decltype(auto) with_layout(Layout layout, F&& f) {
    if (layout == Layout::packed) return f.template operator()<Layout::packed>();
    if (layout == Layout::by_class) return f.template operator()<Layout::by_class>();
    return f.template operator()<Layout::dense>();
}

/// Mask of the low half of a packed sum.
inline constexpr Stat kLowHalf = 0xFFFFFFFFll;

struct Statistics {
    Layout layout = Layout::dense;
    Task task = Task::classification;
    int n_channels = 0;  // inputs of a criterion: class weights, or weight and sums of y
    int n_outputs = 1;
    std::vector<int> n_classes;
    int row_width = 1;     // statistics that one row adds
    int width = 1;         // statistics of a sum
    int count_index = -1;  // position of the row count among a row's statistics, −1 when it is not kept
    bool unit_weights = true;
    double total_weight = 0.0;            // of all rows
    double max_weight = 1.0;              // largest weight of a row
    double weight_unit = 1.0;             // weight of one integer step
    std::vector<double> value_unit;       // (n_outputs,) y of one integer step
    std::vector<double> value_shift;      // (n_outputs,) subtracted from y before scaling
    RowVector<std::uint16_t> class_code;  // (n_rows,) of layout by_class
    RowVector<Stat> stats;                // (n_rows, row_width)

    const Stat* row(Size r) const { return stats.data() + r * static_cast<Size>(row_width); }

    /// Add row r to a sum.
    void add(Stat* sum, Size r) const {
        const Stat* own = row(r);
        Stat* to = layout == Layout::by_class ? sum + class_code[r] * static_cast<Size>(row_width) : sum;
        for (int i = 0; i < row_width; ++i) to[i] += own[i];
    }

    /// Add row r with `weight` steps instead of its own weight (fractional instances).
    void add_fraction(Stat* sum, Size r, Stat weight) const {
        if (layout == Layout::by_class) {
            sum[class_code[r]] += weight;
            return;
        }
        const Stat* own = row(r);
        const Stat full = row_weight(r);
        if (weight == full) {
            for (int i = 0; i < row_width; ++i) sum[i] += own[i];
            return;
        }
        const double fraction = static_cast<double>(weight) / static_cast<double>(full);
        for (int i = 0; i < row_width; ++i) sum[i] += std::llround(static_cast<double>(own[i]) * fraction);
    }

    /// Weight of row r in steps.
    Stat row_weight(Size r) const {
        if (layout == Layout::packed) return stats[r] & kLowHalf;
        const Stat* own = row(r);
        return layout == Layout::by_class || task == Task::regression
                   ? own[0]
                   : *std::max_element(own, own + row_width);
    }

    /// Convert a sum to real numbers, one per channel.
    void decode(const Stat* sum, double* channel) const {
        if (layout == Layout::packed) {
            const Stat n = sum[0] & kLowHalf, second = sum[0] >> 32;
            channel[0] = static_cast<double>(n - second);
            channel[1] = static_cast<double>(second);
        } else if (layout == Layout::by_class) {
            for (int k = 0; k < n_channels; ++k)
                channel[k] = static_cast<double>(sum[k * row_width]) * weight_unit;
        } else if (task == Task::classification) {
            for (int k = 0; k < n_channels; ++k) channel[k] = static_cast<double>(sum[k]) * weight_unit;
        } else {
            channel[0] = static_cast<double>(sum[0]) * weight_unit;
            for (int o = 0; o < n_outputs; ++o)
                channel[o + 1] = static_cast<double>(sum[o + 1]) * value_unit[static_cast<Size>(o)];
        }
    }

    /// Weight of a sum in steps of weight_unit.
    Stat weight_steps(const Stat* sum) const {
        if (layout == Layout::packed) return sum[0] & kLowHalf;
        if (task == Task::regression) return sum[0];
        Stat total = 0;
        const int classes = layout == Layout::by_class ? n_channels : n_classes[0];
        for (int k = 0; k < classes; ++k) total += sum[k * (layout == Layout::by_class ? row_width : 1)];
        return total;
    }
};

namespace detail {

/// Whether a number of at least 0 is whole, without a call of the C library.
inline bool is_whole(double x) { return x >= 0x1.0p52 || (x + 0x1.0p52) - 0x1.0p52 == x; }

/// Largest power of two by which numbers with this total can be scaled while their sum stays below 2^61.
double power_of_two_scale(double total);

}  // namespace detail

/// Scale a target to integers.
/// counts: row counts are needed for every candidate; fractional: rows will be split into fractions;
/// centred: the criterion is invariant under a shift of y.
Statistics make_statistics(const Target& target, bool counts, bool fractional, bool centred);

}  // namespace spinney
