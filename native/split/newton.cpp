// Splits of largest second-order gain.
#include "split/newton.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "split/packed_registers.hpp"

namespace spinney {

namespace {

/// −2 × the loss reduction of a node's best value; with bounds, of the best value within them.
template <bool Bounded, class V>
[[gnu::always_inline]] inline V newton_quality(V g, V h, const NewtonNode& node) {
    if constexpr (!Bounded) return g * g / h;
    const V v = hold(-g / h, node.lower, node.upper);
    return -(2.0 * g * v + h * v * v);
}

/// Codes that fit into the registers of some processors, missing values included.
constexpr Size kFewCategories = 8;

using RatioOf = std::pair<double, std::int32_t>;

/// Sort categories by their ratio. Few are put in the places that their ranks say, without branches, which
/// would be mispredicted.  values (n,): ascending codes
void sort_categories(RatioOf* values, Size n) {
    constexpr Size few = 8;
    if (n > few) return std::sort(values, values + n);
    std::array<RatioOf, few> unsorted;
    std::array<Size, few> rank{};
    std::copy_n(values, n, unsorted.begin());
    for (Size i = 1; i < n; ++i)
        for (Size j = 0; j < i; ++j) {
            const bool before = unsorted[i].first < unsorted[j].first;
            rank[i] += !before;
            rank[j] += before;
        }
    for (Size i = 0; i < n; ++i) values[rank[i]] = unsorted[i];
}

/// Bins that are not empty.  bins (n_bins,), readable up to a multiple of 64
CodeSet filled_bins(const Stat* bins, Size n_bins) {
    CodeSet out;
    for (Size first = 0; first < n_bins; first += 64) {
        std::uint64_t word = 0;
        for (Size i = 0; i < std::min<Size>(64, n_bins - first); i += kRegister) {
            StatRegister some;
            std::memcpy(&some, bins + first + i, sizeof some);
            word |= nonzero_lanes(some) << i;
        }
        out.bits[first / 64] = word;
    }
    // The missing bin follows the bins.
    if (n_bins % 64 != 0) out.bits[n_bins / 64] &= (std::uint64_t{1} << (n_bins % 64)) - 1;
    return out;
}

}  // namespace

double NewtonSearch::base_quality(const NewtonNode& node, double l2) {
    const double g = static_cast<double>(gradient_of(node.total, node.layout)),
                 h = static_cast<double>(hessian_of(node.total, node.layout)) + l2;
    return node.bounded ? newton_quality<true>(g, h, node) : newton_quality<false>(g, h, node);
}

void NewtonSearch::numeric(NewtonSplit& out, const Stat* bins, Size n_bins, const Stat* weights,
                           const NewtonNode& node) {
    out.gain = kImpossible;
    const Stat missing = bins[n_bins];
    if (n_bins <= 2 && missing == 0 && !node.bounded) {
        if (n_bins == 2) try_one(out, bins[0], weights, node);
        return;
    }
    const Size n = accumulate(bins, n_bins, weights);
    const Stat missing_weight = weights ? weights[n_bins] : 0;
    // All known values on one side are a split only where missing ones are on the other.
    const Candidates tried = node.candidates(n, missing != 0);
    try_all(out, tried, 0, 0, missing ? 1 : -1, node.l2, node.base, weights != nullptr, node);
    if (missing)
        try_all(out, tried, missing, missing_weight, 0, node.l2, node.base, weights != nullptr, node);
    if (!out.found()) return;
    // The threshold is in the middle of the bins that are empty in this node.
    const Size at = static_cast<Size>(out.threshold_bin);
    out.last = at + 1 == n;
    out.threshold_bin = static_cast<std::int32_t>(out.last ? static_cast<Stat>(n_bins) - 1
                                                           : (bins_[at] + bins_[at + 1] - 1) / 2);
}

/// The only split of a column with two codes, as try_all would find it.  weight: of the left rows, or null
void NewtonSearch::try_one(NewtonSplit& out, Stat left, const Stat* weight, const NewtonNode& node) {
    const Stat hessian = hessian_of(left, node.layout),
               smaller = std::min(hessian, hessian_of(node.total, node.layout) - hessian);
    if (smaller < node.min_hessian) return;
    const Stat packed = weight_of(left, node.layout);
    if (!weight && node.layout.has_weight()) weight = &packed;
    if (weight && std::min(*weight, node.weight - *weight) < node.min_weight) return;
    const double gl = static_cast<double>(gradient_of(left, node.layout)),
                 gr = static_cast<double>(gradient_of(node.total, node.layout)) - gl,
                 hl = static_cast<double>(hessian),
                 hr = static_cast<double>(hessian_of(node.total, node.layout)) - hl;
    const double dl = hl + node.l2, dr = hr + node.l2;
    const double gain = (gl * gl * dr + gr * gr * dl) / (dl * dr) - node.base;
    if (!(gain > kImpossible)) return;
    out.gain = gain;
    out.threshold_bin = 0;
    out.last = false;
    out.missing = -1;
    out.left = left;
    out.sure = weight || smaller >= node.sure_hessian;
}

/// Keep those of a register of candidates that are better.  weight: of the left sides, if listed
template <bool Bounded, NewtonSearch::Weights Given>
[[gnu::always_inline]] inline void NewtonSearch::offer(BestLanes& best, StatRegister left,
                                                       StatRegister weight, StatRegister index, double l2,
                                                       const NewtonNode& node) {
    // The layout of sums without weights is known when this is compiled.
    const PackedLayout layout = Given == Weights::packed ? node.layout : PackedLayout{};
    // Sums of a node are below 2^32, so the differences are exact.
    const double g = static_cast<double>(gradient_of(node.total, layout)),
                 h = static_cast<double>(hessian_of(node.total, layout)),
                 min_hessian = static_cast<double>(node.min_hessian);
    const Register gl = gradients_of(left, layout), gr = g - gl;
    const Register hl = hessians_of(left, layout), hr = h - hl;
    StatRegister ok = (hl >= min_hessian) & (hr >= min_hessian);
    if constexpr (Given != Weights::none) {
        if constexpr (Given == Weights::packed) weight = left & layout.weight_mask();
        ok &= (weight >= node.min_weight) & (node.weight - weight >= node.min_weight);
    }
    // The first and the last candidates have a child that is too small.
    if (nonzero_lanes(ok) == 0) return;
    const Register dl = hl + l2, dr = hr + l2;
    Register quality;
    if constexpr (Bounded) {
        quality = newton_quality<true>(gl, dl, node) + newton_quality<true>(gr, dr, node);
        if (node.direction != 0) {
            const Register vl = hold(-gl / dl, node.lower, node.upper),
                           vr = hold(-gr / dr, node.lower, node.upper);
            ok &= (vl - vr) * static_cast<double>(node.direction) <= 0.0;
        }
    } else {
        // One division for both sides.
        quality = (gl * gl * dr + gr * gr * dl) / (dl * dr);
    }
    best.keep(ok & (quality > best.value), quality, index);
}

void NewtonSearch::categorical(NewtonSplit& out, const Stat* bins, Size n_bins, const Stat* weights,
                               const NewtonNode& node) {
    out.gain = kImpossible;
    if (n_bins < kRegister && kRegister >= kFewCategories && !weights && !node.bounded && !node.random &&
        node.categories == CategorySplit::subset && few_categories(out, bins, n_bins, node))
        return;
    Size n = 0;
    for (Size code = 0; code <= n_bins; ++code) {
        if (bins[code] == 0) continue;
        order_[n++] = {
            static_cast<double>(gradient_of(bins[code], node.layout)) /
                (static_cast<double>(hessian_of(bins[code], node.layout)) + node.category_smoothing),
            static_cast<std::int32_t>(code)};
    }
    if (n < 2) return;
    const bool subset = node.categories == CategorySplit::subset && n > 2;
    const double l2 = node.l2 + (subset ? node.category_l2 : 0.0);
    if (subset) sort_categories(order_.data(), n);
    gather(sums_, bins, n, subset);
    if (weights) gather(weights_, weights, n, subset);
    const double base = subset && node.category_l2 != 0 ? base_quality(node, l2) : node.base;
    try_all(out, node.candidates(n, !subset), 0, 0, -1, l2, base, weights != nullptr, node);
    if (!out.found()) return;
    out.last = false;
    out.set = out.seen = {};
    const Size at = static_cast<Size>(out.threshold_bin);
    for (Size i = subset ? 0 : at; i <= at; ++i) out.set.put(static_cast<Code>(order_[i].second));
    for (Size i = 0; i < n; ++i) out.seen.put(static_cast<Code>(order_[i].second));
    set_missing(out, bins[n_bins], static_cast<Code>(n_bins), node);
}

/// Set the side of missing values, one more code, of a split into categories.  sum: of their rows
void NewtonSearch::set_missing(NewtonSplit& out, Stat sum, Code missing, const NewtonNode& node) {
    if (out.seen.holds(missing)) out.missing = out.set.holds(missing) ? 0 : 1;
    // A set must contain a category: missing values alone go right.
    if (out.left == sum && out.missing == 0) {
        out.set = out.seen;
        out.left = node.total - out.left;
        out.missing = 1;
    }
}

/// The same for codes that fit into one register, without sorting them: each is compared with every other,
/// and the codes before it are on its left. Returns false if two codes or fewer have rows.
bool NewtonSearch::few_categories(NewtonSplit& out, const Stat* bins, Size n_bins, const NewtonNode& node) {
    StatRegister sums;
    std::memcpy(&sums, bins, sizeof sums);
    const StatRegister code = lane_numbers();
    sums = code <= static_cast<Stat>(n_bins) ? sums : StatRegister{};
    const std::uint64_t seen = nonzero_lanes(sums);
    if (std::popcount(seen) <= 2) return false;
    // Codes without rows come last: all rows are on their left, which is not allowed.
    const Register ratio =
        where(sums != 0,
              gradients_of(sums, node.layout) / (hessians_of(sums, node.layout) + node.category_smoothing),
              every<Register>(HUGE_VAL));
    std::array<double, kRegister> ratios;
    std::memcpy(ratios.data(), &ratio, sizeof ratio);
    StatRegister left = sums, rank{};
    for (Size i = 0; i <= n_bins; ++i) {
        const StatRegister after =
            (ratio > ratios[i]) | ((ratio == ratios[i]) & (code > static_cast<Stat>(i)));
        left += after & bins[i];
        rank -= after;
    }
    const double l2 = node.l2 + node.category_l2;
    BestLanes best;
    if (node.layout.has_weight())
        offer<false, Weights::packed>(best, left, StatRegister{}, rank, l2, node);
    else
        offer<false, Weights::none>(best, left, StatRegister{}, rank, l2, node);
    const auto [quality, at] = best.first();
    if (quality == kImpossible) return true;
    std::array<Stat, kRegister> lefts;
    std::memcpy(lefts.data(), &left, sizeof left);
    const std::uint64_t last = nonzero_lanes(rank == static_cast<Stat>(at)) & seen;
    accept(out, quality - (node.category_l2 != 0 ? base_quality(node, l2) : node.base), at, -1,
           lefts[static_cast<Size>(std::countr_zero(last))], false, node);
    if (!out.found()) return true;
    out.last = false;
    out.set = out.seen = {};
    out.set.bits[0] = nonzero_lanes(rank <= static_cast<Stat>(at)) & seen;
    out.seen.bits[0] = seen;
    set_missing(out, bins[n_bins], static_cast<Code>(n_bins), node);
    return true;
}

/// Prefix sums at each bin that is not empty; small nodes have few. Returns their number.
Size NewtonSearch::accumulate(const Stat* bins, Size n_bins, const Stat* weights) {
    Stat sum = 0, weight = 0;
    Size n = 0;
    const auto put = [&](Size bin) {
        sums_[n] = sum += bins[bin];
        bins_[n] = static_cast<Stat>(bin);
        if (weights) weights_[n] = weight += weights[bin];
    };
#ifdef SPINNEY_LANE_PACKING
    if (!weights) return accumulate_registers(bins, n_bins);
#endif
    const CodeSet filled = filled_bins(bins, n_bins);
    if (2 * filled.size() > n_bins) {
        for (Size bin = 0; bin < n_bins; ++bin) {
            put(bin);
            n += bins[bin] != 0;
        }
        return n;
    }
    filled.for_each([&](Size bin) {
        put(bin);
        ++n;
    });
    return n;
}

#ifdef SPINNEY_LANE_PACKING
Size NewtonSearch::accumulate_registers(const Stat* bins, Size n_bins) {
    StatRegister before{}, bin = lane_numbers();
    Size n = 0;
    for (Size first = 0; first < n_bins; first += kRegister, bin += static_cast<Stat>(kRegister)) {
        StatRegister some;
        std::memcpy(&some, bins + first, sizeof some);
        std::uint64_t filled = nonzero_lanes(some);
        if (first + kRegister > n_bins) filled &= (std::uint64_t{1} << (n_bins - first)) - 1;
        const StatRegister sums = prefix_sums(some);
        store_packed(sums_.data() + n, before + sums, filled);
        store_packed(bins_.data() + n, bin, filled);
        before += every_last(sums);
        n += static_cast<Size>(std::popcount(filled));
    }
    return n;
}
#endif

void NewtonSearch::gather(std::array<Stat, padded>& out, const Stat* bins, Size n, bool prefix) const {
    Stat sum = 0;
    for (Size i = 0; i < n; ++i) {
        const Stat bin = bins[order_[i].second];
        out[i] = prefix ? sum += bin : bin;
    }
}

/// Try the sums of some candidates + extra as left sides.
void NewtonSearch::try_all(NewtonSplit& out, Candidates tried, Stat extra, Stat extra_weight,
                           std::int32_t missing, double l2, double base, bool weighted,
                           const NewtonNode& node) {
    // Unused lanes have an empty left side, which is not allowed.
    std::fill_n(sums_.begin() + static_cast<long>(tried.end), kRegister, -extra);
    const auto with = [&]<bool Bounded>() {
        if (node.layout.has_weight()) return best_of<Bounded, Weights::packed>(tried, extra, 0, l2, node);
        return weighted ? best_of<Bounded, Weights::listed>(tried, extra, extra_weight, l2, node)
                        : best_of<Bounded, Weights::none>(tried, extra, 0, l2, node);
    };
    const BestLanes best =
        node.bounded ? with.template operator()<true>() : with.template operator()<false>();
    const auto [quality, index] = best.first();
    if (quality == kImpossible) return;
    accept(out, quality - base, index, missing, sums_[index] + extra, weighted, node);
}

/// Keep a candidate if it gains more than what is found.
void NewtonSearch::accept(NewtonSplit& out, double gain, Size index, std::int32_t missing, Stat left,
                          bool weighted, const NewtonNode& node) {
    if (!(gain > out.gain)) return;
    out.gain = gain;
    out.threshold_bin = static_cast<std::int32_t>(index);
    out.missing = missing;
    out.left = left;
    const Stat hessian = hessian_of(out.left, node.layout),
               smaller = std::min(hessian, hessian_of(node.total, node.layout) - hessian);
    out.sure = weighted || node.layout.has_weight() || smaller >= node.sure_hessian;
}

template <bool Bounded, NewtonSearch::Weights Given>
BestLanes NewtonSearch::best_of(Candidates tried, Stat extra, Stat extra_weight, double l2,
                                const NewtonNode& node) const {
    BestLanes best;
    StatRegister index = lane_numbers() + static_cast<Stat>(tried.begin);
    for (Size i = tried.begin; i < tried.end; i += kRegister, index += static_cast<Stat>(kRegister)) {
        StatRegister left, weight{};
        std::memcpy(&left, sums_.data() + i, sizeof left);
        if constexpr (Given == Weights::listed) std::memcpy(&weight, weights_.data() + i, sizeof weight);
        offer<Bounded, Given>(best, left + extra, weight + extra_weight, index, l2, node);
    }
    return best;
}

}  // namespace spinney
