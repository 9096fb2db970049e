// Chooses the bins of a numeric column from its sorted keys.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/radix_sort.hpp"
#include "core/types.hpp"

namespace spinney {

/// The bins of a numeric column: the least and greatest value of each, in order.
struct Bins {
    std::vector<double> lo, hi;

    Size size() const { return lo.size(); }
    void reserve(Size n) {
        lo.reserve(n);
        hi.reserve(n);
    }
    void add(double low, double high) {
        lo.push_back(low);
        hi.push_back(high);
    }
};

namespace detail {

/// Call visit(key, mass) for each distinct key of a sorted column.  keys (n,); mass_of(i) is the weight at
/// place i
template <class Key, class Mass, class Visit>
void for_each_run(std::span<const Key> keys, Mass&& mass_of, Visit&& visit) {
    for (Size i = 0; i < keys.size();) {
        const Key key = keys[i];
        double mass = 0;
        do mass += mass_of(i);
        while (++i < keys.size() && keys[i] == key);
        visit(key, mass);
    }
}

/// Fills bins with whole runs, so that no value straddles an edge.
///
/// A run of at least a bin's fair share is heavy and closes a bin of its own; what is left over is shared
/// evenly by the rest. Everything is a ratio of sums: weight 2 acts as two rows, and a common factor cancels.
class BinFiller {
  public:
    BinFiller(Bins& bins, double total, std::uint32_t max_bins, double heavy_mass, Size n_heavy)
        : bins_(bins),
          heavy_from_(total / max_bins),
          light_left_(total - heavy_mass),
          bins_left_(n_heavy < max_bins ? static_cast<double>(max_bins - n_heavy) : 0) {}

    void operator()(double value, double mass) { mass >= heavy_from_ ? heavy(value) : light(value, mass); }

    /// Add all light runs up to the next heavy one, of keys of mass 1: whole bins at a time.
    template <class Key>
    void lights(std::span<const Key> sorted) {
        double enough = bins_left_ > 0 ? std::ceil(light_left_ / bins_left_) : 0;
        for (Size begin = 0, end; begin < sorted.size(); begin = end) {
            end = sorted.size();
            // The keys that fill a bin: the same quotient, which changes little from bin to bin.
            while (enough * bins_left_ < light_left_ && bins_left_ > 0) ++enough;
            while ((enough - 1) * bins_left_ >= light_left_ && enough > 1) --enough;
            if (bins_left_ > 0 && enough < static_cast<double>(end - begin)) {
                end = begin + static_cast<Size>(enough);
                while (end < sorted.size() && sorted[end] == sorted[end - 1]) ++end;
            }
            first_ = number_of(sorted[begin]);
            open_ = true;
            light(number_of(sorted[end - 1]), static_cast<double>(end - begin));
        }
    }

    void heavy(double value) {
        // Half a share or more before a heavy value is worth a bin; less joins the heavy value.
        if (open_ && bins_left_ > 0 && 2 * mass_ * bins_left_ >= light_left_) close_light();
        if (!open_) first_ = value;
        light_left_ -= mass_;
        close(value);
    }

    void finish() {
        if (!open_) return;
        if (bins_left_ > 0 || bins_.size() == 0) return close(last_);
        bins_.hi.back() = last_;
    }

  private:
    void light(double value, double mass) {
        if (!open_) first_ = value;
        open_ = true;
        last_ = value;
        mass_ += mass;
        if (bins_left_ > 0 && mass_ * bins_left_ >= light_left_) close_light();
    }

    void close_light() {
        light_left_ -= mass_;
        bins_left_ -= 1;
        close(last_);
    }

    void close(double last) {
        bins_.add(first_, last);
        open_ = false;
        mass_ = 0;
    }

    Bins& bins_;
    double heavy_from_, light_left_, bins_left_;
    double first_ = 0, last_ = 0, mass_ = 0;
    bool open_ = false;
};

}  // namespace detail

/// Put each distinct key into a bin of its own if there are at most max_bins; gives whether there are.
template <class Key>
bool bins_of_distinct(Bins& bins, std::span<const Key> sorted, std::uint32_t max_bins) {
    Size n = 0;
    for (Size i = 0; i < sorted.size() && n <= max_bins; ++i) n += i == 0 || sorted[i] != sorted[i - 1];
    if (n > max_bins) return false;
    bins = {};
    bins.reserve(n);
    for (Size i = 0; i < sorted.size(); ++i)
        if (i == 0 || sorted[i] != sorted[i - 1]) bins.add(number_of(sorted[i]), number_of(sorted[i]));
    return true;
}

/// Share sorted keys out to at most max_bins bins of about equal weight.  mass_of(i): weight of the key at
/// place i
template <class Key, class Mass>
void bins_of_quantiles(Bins& bins, std::span<const Key> sorted, double total, std::uint32_t max_bins,
                       Mass&& mass_of) {
    bins = {};
    bins.reserve(max_bins);
    const double heavy_from = total / max_bins;
    double heavy_mass = 0;
    Size n_heavy = 0;
    detail::for_each_run(sorted, mass_of, [&](Key, double mass) {
        heavy_mass += mass >= heavy_from ? mass : 0;
        n_heavy += mass >= heavy_from;
    });
    detail::BinFiller filler(bins, total, max_bins, heavy_mass, n_heavy);
    detail::for_each_run(sorted, mass_of, [&](Key key, double mass) { filler(number_of(key), mass); });
    filler.finish();
}

/// The same of keys of weight 1. Where bins have many keys, only those at their ends are looked at.
template <class Key>
void bins_of_quantiles(Bins& bins, std::span<const Key> sorted, std::uint32_t max_bins) {
    const Size n = sorted.size(), share = (n + max_bins - 1) / max_bins;
    if (share < 4)
        return bins_of_quantiles(bins, sorted, static_cast<double>(n), max_bins, [](Size) { return 1.0; });
    bins = {};
    bins.reserve(max_bins);
    std::vector<std::pair<Size, Size>> heavy;  // begin and end of runs of at least a share
    Size n_heavy_keys = 0;
    for (Size at = 0; at < n;) {  // each of them has a key at a multiple of the share
        Size begin = at, end = at + 1;
        while (end < n && sorted[end] == sorted[at]) ++end;
        while (begin > 0 && sorted[begin - 1] == sorted[at]) --begin;
        if (end - begin >= share) {
            heavy.emplace_back(begin, end);
            n_heavy_keys += end - begin;
        }
        at = (end + share - 1) / share * share;
    }
    detail::BinFiller filler(bins, static_cast<double>(n), max_bins, static_cast<double>(n_heavy_keys),
                             heavy.size());
    Size done = 0;
    for (const auto& [begin, end] : heavy) {
        filler.lights(sorted.subspan(done, begin - done));
        filler.heavy(number_of(sorted[begin]));
        done = end;
    }
    filler.lights(sorted.subspan(done));
    filler.finish();
}

}  // namespace spinney
