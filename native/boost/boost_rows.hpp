// The rows of a booster: targets, weights, scores, and from them the integers that one tree is grown on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "boost/grow_boosted.hpp"
#include "boost/losses.hpp"
#include "boost/row_sampling.hpp"

namespace spinney {

/// Hessians below this count as this: every row has some.
inline constexpr double kLeastHessian = 1e-16;

/// Sums over the rows that count, of absolute gradients and of hessians, each times the row's weight.
struct SlopeSums {
    double gradient = 0, hessian = 0;
};

/// Numbers that are summed in eight parts, row i in part i % 8, whatever the width of registers.
struct LaneSums {
    static constexpr Size n_parts = kLanes / kRegister;
    std::array<Register, n_parts> parts{};

    double total() const {
        double sum = 0;
        for (const Register& part : parts)
            for (Size i = 0; i < kRegister; ++i) sum += part[i];
        return sum;
    }
};

/// Call f(first_row, n, part) for a register of rows after the other; n is less than a register holds for the
/// last rows only, and `part` tells their place among eight.
template <class F>
[[gnu::always_inline]] inline void for_registers(Size begin, Size end, F&& f) {
    Size r = begin;
    for (; r + kLanes <= end; r += kLanes) {
#pragma GCC unroll 4
        for (Size part = 0; part < LaneSums::n_parts; ++part) f(r + part * kRegister, kRegister, part);
    }
    for (Size part = 0; r < end; ++part, r += kRegister) f(r, std::min(kRegister, end - r), part);
}

/// Numbers from memory, or the n there are and zeros.
[[gnu::always_inline]] inline Register load_register(const double* from, Size n) {
    Register out{};
    if (n == kRegister)
        std::memcpy(&out, from, sizeof out);
    else
        for (Size i = 0; i < n; ++i) out[i] = from[i];
    return out;
}
template <class V, class T>
[[gnu::always_inline]] inline void store_register(T* to, const V& lanes, Size n) {
    if (n == kRegister)
        std::memcpy(to, &lanes, sizeof lanes);
    else
        for (Size i = 0; i < n; ++i) to[i] = lanes[i];
}

/// What is known of the rows for all rounds: y and weights.
struct BoostTarget {
    std::vector<double> y;
    std::vector<double> weights;  // empty: all ones
    bool whole = true;            // weights are whole numbers: a row of weight 2 is then the row twice
    double total = 0;             // of the weights

    const double* weights_or_null() const { return weights.empty() ? nullptr : weights.data(); }
    double weight(Size row) const { return weights.empty() ? 1.0 : weights[row]; }

    void set(const double* values, const double* row_weights, Size n) {
        y.assign(values, values + n);
        weights.clear();
        total = static_cast<double>(n);
        whole = true;
        if (!row_weights || std::all_of(row_weights, row_weights + n, [](double w) { return w == 1.0; }))
            return;
        weights.assign(row_weights, row_weights + n);
        total = 0;
        for (const double w : weights) {
            total += w;
            whole = whole && w == std::floor(w);
        }
        whole = whole && total < 0x1.0p28;
    }
};

/// Turns gradients and hessians into the words that a tree is grown on.
class Quantiser {
  public:
    Quantiser(const BoostTable& table, const BoostOptions& options, const BoostTarget& target)
        : table_(table), o_(options), target_(target) {
        rows_.ids.resize(table.x.n_rows);
        rows_.words.resize(table.x.n_rows);
        rows_.n_in.resize(table.n_chunks());
    }

    /// Scale the rows' weights, once for all trees.
    void set_weights() {
        rows_.weights.clear();
        rows_.weight_unit = 1;
        if (target_.weights.empty()) return;
        if (!target_.whole) rows_.weight_unit = 1 / detail::power_of_two_scale(target_.total);
        rows_.weights.reserve(target_.weights.size());
        for (const double w : target_.weights)
            rows_.weights.push_back(w > 0 ? std::max<Stat>(1, std::llround(w / rows_.weight_unit)) : Stat{0});
    }

    /// gradient, hessian (n_rows,), sums those of all rows; `address` is that of the tree's draws
    BoostRows& make(const double* gradient, const double* hessian, SlopeSums sums, std::uint64_t address) {
        gradient_ = gradient;
        hessian_ = hessian;
        multiplier_.clear();
        if (o_.sampling != Sampling::none) sums = draw_rows(sums, address);
        set_units(sums);
        const Size n_chunks = table_.n_chunks();
        std::vector<Ratios> ratios(n_chunks);
        Pool::shared().parallel_for(o_.n_threads, n_chunks, [&](Size c, int) {
            ratios[c] = simple() ? quantise_all(c) : quantise_some(c);
        });
        Ratios all;
        rows_.any_out = false;
        for (Size c = 0; c < n_chunks; ++c) {
            all.add(ratios[c]);
            rows_.any_out = rows_.any_out || rows_.n_in[c] < table_.chunk_size(c);
        }
        rows_.least_ratio = all.least;
        rows_.greatest_ratio = all.greatest;
        return rows_;
    }

  private:
    struct Ratios {
        double least = std::numeric_limits<double>::infinity(), greatest = 0;
        void add(double ratio) {
            least = std::min(least, ratio);
            greatest = std::max(greatest, ratio);
        }
        void add(const Ratios& other) {
            least = std::min(least, other.least);
            greatest = std::max(greatest, other.greatest);
        }
    };

    bool simple() const { return target_.weights.empty() && multiplier_.empty(); }

    /// Choose the rows of the tree; gives the sums of those chosen.
    SlopeSums draw_rows(const SlopeSums& sums, std::uint64_t address) {
        const Size n_chunks = table_.n_chunks();
        multiplier_.resize(table_.x.n_rows);
        const double n_rows = o_.sampling == Sampling::uniform ? 0 : find_importances(sums);
        const SamplingRule rule = make_rule(o_, counts_, n_rows);
        std::vector<SlopeSums> parts(n_chunks);
        Pool::shared().parallel_for(o_.n_threads, n_chunks, [&](Size c, int) {
            const Size begin = c * kChunkRows, end = begin + table_.chunk_size(c);
            const std::uint64_t stream = mix(address, 0x5A);
            const double *g = gradient_, *h = hessian_, *weights = target_.weights_or_null();
            double* multiplier = multiplier_.data();
            SlopeSums sum;
            for (Size r = begin; r < end; ++r) {
                const double w = weights ? weights[r] : 1.0;
                const double m = w > 0 ? rule.multiplier(multiplier[r], mix(stream, r)) : 0.0;
                multiplier[r] = m;
                sum.gradient += w * m * std::abs(g[r]);
                sum.hessian += w * m * h[r];
            }
            parts[c] = sum;
        });
        SlopeSums chosen;
        for (const SlopeSums& part : parts) {
            chosen.gradient += part.gradient;
            chosen.hessian += part.hessian;
        }
        return chosen;
    }

    /// Write each row's importance where its multiplier will be, and count them; gives the number of rows.
    double find_importances(const SlopeSums& sums) {
        // A row matters by what it may add to a gain: its gradient, and its hessian at the usual slope.
        const double slope =
            o_.sampling == Sampling::gradient || !(sums.hessian > 0) ? 0.0 : sums.gradient / sums.hessian;
        std::vector<ImportanceCounts> counts(static_cast<Size>(o_.n_threads));
        std::vector<Size> n(table_.n_chunks(), 0);
        Pool::shared().parallel_for(o_.n_threads, n.size(), [&](Size c, int slot) {
            const Size begin = c * kChunkRows, end = begin + table_.chunk_size(c);
            const double* weights = target_.weights_or_null();
            ImportanceCounts& own = counts[static_cast<Size>(slot)];
            for_registers(begin, end, [&](Size r, Size m, Size) {
                const Register g = load_register(gradient_ + r, m),
                               h = slope * load_register(hessian_ + r, m);
                const Register w = weights ? load_register(weights + r, m) : every<Register>(1.0);
                const Register importance = w * root(g * g + h * h);
                store_register(multiplier_.data() + r, importance, m);
                for (Size i = 0; i < m; ++i) {
                    if (!(w[i] > 0)) continue;
                    own.add(importance[i]);
                    ++n[c];
                }
            });
        });
        counts_ = {};
        for (const auto& part : counts) counts_.merge(part);
        double total = 0;
        for (const Size part : n) total += static_cast<double>(part);
        return total;
    }

    /// The finest powers of two for which no sum can overflow its half of a word.
    void set_units(const SlopeSums& sums) {
        const auto fit = [](double sum, double most) {
            if (!(sum > 0)) return 1.0;
            int exponent = std::clamp(std::ilogb(most / sum), -1000, 1000);
            return std::ldexp(1.0, exponent);
        };
        // Rounding may add half a step a row to gradients, a whole one to hessians, which are never 0.
        const double rows = std::max(target_.total, static_cast<double>(table_.x.n_rows));
        const double slack = target_.whole ? rows : static_cast<double>(table_.x.n_rows);
        gradient_scale_ = fit(sums.gradient, 0x1.0p31 - 2 - slack);
        hessian_scale_ = fit(sums.hessian, 0x1.0p32 - 2 - slack);
        rows_.units = {1 / gradient_scale_, 1 / hessian_scale_};
    }

    /// Every row counts once.
    Ratios quantise_all(Size chunk) {
        const Size begin = chunk * kChunkRows, n = table_.chunk_size(chunk);
        rows_.n_in[chunk] = static_cast<std::uint32_t>(n);
        for (Size i = 0; i < n; ++i) rows_.ids[begin + i] = static_cast<LocalRow>(i);
        Register least = every<Register>(0x1.0p40), greatest{};
        for_registers(begin, begin + n, [&](Size r, Size m, Size) {
            // Added to this number, a whole one stands in the low bits, and anything else is rounded to one.
            constexpr double rounder = 0x1.8p52;
            const Register g = load_register(gradient_ + r, m) * gradient_scale_ + rounder;
            Register h = load_register(hessian_ + r, m) * hessian_scale_ + rounder;
            h = where(h < rounder + 1, every<Register>(rounder + 1), h);
            const StatRegister zero = detail::bits_of(every<Register>(rounder));
            store_register(rows_.words.data() + r,
                           ((detail::bits_of(g) - zero) << 32) + (detail::bits_of(h) - zero), m);
            h -= rounder;
            for (Size i = m; i < kRegister; ++i) h[i] = h[0];
            least = where(h < least, h, least);
            greatest = where(h > greatest, h, greatest);
        });
        Ratios out;
        for (Size i = 0; i < kRegister; ++i) {
            out.add(least[i]);
            if (greatest[i] > 0) out.add(greatest[i]);
        }
        return out;
    }

    /// Rows have weights, or were drawn; those that do not count go to the end of the list.
    Ratios quantise_some(Size chunk) {
        const Size begin = chunk * kChunkRows, n_in = list_rows(chunk);
        const LocalRow* ids = rows_.ids.data() + begin;
        Ratios out;
        for (Size i = 0; i < n_in; ++i) {
            const Size r = begin + ids[i];
            const double w = target_.weight(r), m = multiplier_.empty() ? 1.0 : multiplier_[r];
            const bool repeated = target_.whole && m == 1.0;
            const double inside = repeated ? 1.0 : w * m;
            const Stat outside = repeated ? static_cast<Stat>(w) : 1;
            const Stat g = outside * std::llrint(inside * gradient_[r] * gradient_scale_);
            const Stat h = outside * std::max<Stat>(1, std::llrint(inside * hessian_[r] * hessian_scale_));
            rows_.words[r] = pack(g, h);
            out.add(static_cast<double>(h) /
                    (rows_.weights.empty() ? 1.0 : static_cast<double>(rows_.weights[r])));
        }
        return out;
    }

    /// List the rows of a chunk, first those that count; gives how many do. Without branches, for which way a
    /// drawn row goes cannot be foreseen.
    Size list_rows(Size chunk) {
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
        return n_in;
    }

    const BoostTable& table_;
    const BoostOptions& o_;
    const BoostTarget& target_;
    const double *gradient_ = nullptr, *hessian_ = nullptr;
    double gradient_scale_ = 1, hessian_scale_ = 1;
    std::vector<double> multiplier_;  // (n_rows,) when rows are drawn: 0 out, else what a row counts
    ImportanceCounts counts_;
    BoostRows rows_;
};

}  // namespace spinney
