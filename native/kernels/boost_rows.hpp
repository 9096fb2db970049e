// The rows of a booster: targets, weights, scores, and from them the integers that one tree is grown on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "grow_boosted.hpp"
#include "losses.hpp"
#include "row_sampling.hpp"

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
    SlopeSums draw_rows(SlopeSums sums, std::uint64_t address) {
        const Size n = table_.x.n_rows, n_chunks = table_.n_chunks();
        multiplier_.assign(n, 0.0);
        // A row matters by what it may add to a gain: its gradient, and its hessian at the usual slope.
        const double slope = sums.hessian > 0 ? sums.gradient / sums.hessian : 0;
        const auto importance = [&](Size r) {
            const double g = gradient_[r], h = slope * hessian_[r];
            return target_.weight(r) *
                   (o_.sampling == Sampling::gradient ? std::abs(g) : std::sqrt(g * g + h * h));
        };
        const double n_rows = count_importances(importance);
        const SamplingRule rule = make_rule(o_, counts_, n_rows);
        std::vector<SlopeSums> parts(n_chunks);
        Pool::shared().parallel_for(o_.n_threads, n_chunks, [&](Size c, int) {
            for (Size r = c * kChunkRows; r < c * kChunkRows + table_.chunk_size(c); ++r) {
                const double w = target_.weight(r);
                if (!(w > 0)) continue;
                const double m = rule.multiplier(importance(r), mix(mix(address, 0x5A), r));
                multiplier_[r] = m;
                parts[c].gradient += w * m * std::abs(gradient_[r]);
                parts[c].hessian += w * m * hessian_[r];
            }
        });
        SlopeSums chosen;
        for (const SlopeSums& part : parts) {
            chosen.gradient += part.gradient;
            chosen.hessian += part.hessian;
        }
        return chosen;
    }

    template <class Importance>
    double count_importances(Importance&& importance) {
        std::vector<ImportanceCounts> counts(static_cast<Size>(o_.n_threads));
        std::vector<Size> n(table_.n_chunks(), 0);
        const bool needed = o_.sampling != Sampling::uniform;
        Pool::shared().parallel_for(needed ? o_.n_threads : 1, needed ? n.size() : 0, [&](Size c, int slot) {
            for (Size r = c * kChunkRows; r < c * kChunkRows + table_.chunk_size(c); ++r) {
                if (!(target_.weight(r) > 0)) continue;
                counts[static_cast<Size>(slot)].add(importance(r));
                ++n[c];
            }
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
        const Size begin = chunk * kChunkRows, n = table_.chunk_size(chunk);
        const auto scaled = [](double x) { return std::llrint(x); };
        Ratios out;
        Size in = 0;
        for (Size i = 0; i < n; ++i) {
            const Size r = begin + i;
            const double w = target_.weight(r), m = multiplier_.empty() ? 1.0 : multiplier_[r];
            if (!(w * m > 0)) continue;
            rows_.ids[begin + in++] = static_cast<LocalRow>(i);
            const bool repeated = target_.whole && m == 1.0;
            const double inside = repeated ? 1.0 : w * m;
            const Stat outside = repeated ? static_cast<Stat>(w) : 1;
            const Stat g = outside * scaled(inside * gradient_[r] * gradient_scale_);
            const Stat h = outside * std::max<Stat>(1, scaled(inside * hessian_[r] * hessian_scale_));
            rows_.words[r] = pack(g, h);
            out.add(static_cast<double>(h) /
                    (rows_.weights.empty() ? 1.0 : static_cast<double>(rows_.weights[r])));
        }
        rows_.n_in[chunk] = static_cast<std::uint32_t>(in);
        for (Size i = 0; i < n; ++i) {
            const double m = multiplier_.empty() ? 1.0 : multiplier_[begin + i];
            if (!(target_.weight(begin + i) * m > 0)) rows_.ids[begin + in++] = static_cast<LocalRow>(i);
        }
        return out;
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
