// The search for the cut of greatest second-order gain, over packed sums of gradients and hessians.
//
// A packed sum holds the gradient in its upper half (signed) and the hessian in its lower (at least 1 for
// every row, so a line is empty exactly when it is 0). Everything here is in steps: gains and values of steps
// become real numbers by NewtonUnits, which are powers of two, so that nothing is rounded on the way.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "core/exponential.hpp"
#include "data/code_matrix.hpp"
#include "grow/options.hpp"
#include "data/bundles.hpp"

namespace spinney {

inline constexpr Stat pack(Stat gradient, Stat hessian) { return gradient * (Stat{1} << 32) + hessian; }
inline constexpr Stat gradient_of(Stat sum) { return sum >> 32; }
inline constexpr Stat hessian_of(Stat sum) { return sum & 0xFFFFFFFFll; }

/// What a step of each half is worth.
struct NewtonUnits {
    double gradient = 1, hessian = 1;
    double gain() const { return 0.5 * gradient * gradient / hessian; }
    double value() const { return gradient / hessian; }
};

/// Everything a search needs to know of a node.
struct NewtonNode {
    Stat total = 0;
    double l2 = 0;  // in steps of hessian, as the next two
    double category_l2 = 0, category_smoothing = 0;
    CategorySplit categories = CategorySplit::subset;
    Stat min_hessian = 1;   // a child below it is certainly too small
    Stat sure_hessian = 1;  // a child of at least this is certainly heavy enough
    Stat min_weight = 0;    // in steps of weight, where weights are counted
    Stat weight = 0;        // of the node, the same
    bool bounded = false;   // values are held within lower and upper
    double lower = kImpossible, upper = -kImpossible;
    int direction = 0;  // of the feature at hand: +1 the right child's value must not be less
};

/// A set of codes.
struct CodeSet {
    std::array<std::uint64_t, 4> bits{};
    bool holds(Code code) const { return bits[code / 64] >> (code % 64) & 1; }
    Size size() const {
        Size n = 0;
        for (const std::uint64_t word : bits) n += static_cast<Size>(std::popcount(word));
        return n;
    }
    void put(Code code) { bits[code / 64] |= std::uint64_t{1} << (code % 64); }
    /// The codes below n, ascending.
    std::vector<Code> below(Code n) const {
        std::vector<Code> out;
        for (Code code = 0; code < n; ++code)
            if (holds(code)) out.push_back(code);
        return out;
    }
};

/// The best test on one feature.
struct NewtonCut {
    double gain = kImpossible;  // in steps
    Stat left = 0;
    std::int32_t cut = -1;      // numeric: codes up to this go left
    bool last = false;          // numeric: known values go left, missing ones right
    std::int32_t missing = -1;  // child of missing values; −1: the node has none
    bool sure = true;           // no doubt that both children are heavy enough
    CodeSet set, seen;          // categories that go left; categories in the node

    bool found() const { return gain > kImpossible; }
};

namespace detail {

/// −2 × the loss that a node's best value takes away; with bounds, the best value within them.
template <bool Bounded, class V>
[[gnu::always_inline]] inline V newton_quality(V g, V h, const NewtonNode& node) {
    if constexpr (!Bounded) return g * g / h;
    const V v = hold(-g / h, node.lower, node.upper);
    return -(2.0 * g * v + h * v * v);
}

/// The best of the divisions tried so far, lane by lane.
struct BestLanes {
    Register gain = Register{} + kImpossible;
    StatRegister place{};

    /// The greatest, and of equal ones the first; −1 when there is none.
    int first(double& greatest) const {
        int best = -1;
        for (Size i = 0; i < kRegister; ++i) {
            if (gain[i] == kImpossible) continue;
            const bool better = best < 0 || gain[i] > greatest ||
                                (gain[i] == greatest && place[i] < place[static_cast<Size>(best)]);
            if (!better) continue;
            best = static_cast<int>(i);
            greatest = gain[i];
        }
        return best < 0 ? -1 : static_cast<int>(place[static_cast<Size>(best)]);
    }
};

inline constexpr Size kPadded = kSlotLines + kLanes;

/// Halves of packed sums as real numbers. A whole number below 2^52 in the low bits of 2^52 is that sum of
/// both, so nothing is rounded; processors without a conversion for 64 bits need one step a lane otherwise.
[[gnu::always_inline]] inline Register hessians_of(StatRegister sum) {
    const StatRegister whole = (sum & 0xFFFFFFFFll) | bits_of(every<Register>(0x1.0p52));
    return from_bits(whole) - 0x1.0p52;
}
[[gnu::always_inline]] inline Register gradients_of(StatRegister sum) {
    using Unsigned = std::uint64_t __attribute__((vector_size(sizeof(StatRegister))));
    const Unsigned upper = std::bit_cast<Unsigned>(sum) >> 32 ^ 0x80000000ull;  // as if 2^31 more
    const StatRegister whole = std::bit_cast<StatRegister>(upper) | bits_of(every<Register>(0x1.0p52));
    return from_bits(whole) - (0x1.0p52 + 0x1.0p31);
}

}  // namespace detail

/// Searches the lines of one feature; holds the memory that a thread uses again.
class NewtonSearch {
  public:
    /// lines (n_bins + 1,) of 256: the last is missing; weights: the same lines of row weights, or null
    NewtonCut numeric(const Stat* lines, Size n_bins, const Stat* weights, const NewtonNode& node) {
        NewtonCut out;
        const Stat missing = lines[n_bins];
        const Size n = accumulate(lines, n_bins, weights);
        const Stat missing_weight = weights ? weights[n_bins] : 0;
        try_all(out, n, 0, 0, missing ? 1 : -1, node.l2, weights != nullptr, node);
        if (missing) try_all(out, n, missing, missing_weight, 0, node.l2, weights != nullptr, node);
        if (!out.found()) return out;
        // The cut is in the middle of the bins that are empty in this node.
        const Size at = static_cast<Size>(out.cut);
        out.last = at + 1 == n;
        out.cut = out.last ? static_cast<std::int32_t>(n_bins) - 1 : (places_[at] + places_[at + 1] - 1) / 2;
        return out;
    }

    /// Missing values are one category more.
    NewtonCut categorical(const Stat* lines, Size n_bins, const Stat* weights, const NewtonNode& node) {
        Size n = 0;
        for (Size code = 0; code <= n_bins; ++code) {
            if (lines[code] == 0) continue;
            order_[n++] = {static_cast<double>(gradient_of(lines[code])) /
                               (static_cast<double>(hessian_of(lines[code])) + node.category_smoothing),
                           static_cast<std::int32_t>(code)};
        }
        NewtonCut out;
        if (n < 2) return out;
        const bool subset = node.categories == CategorySplit::subset && n > 2;
        const double l2 = node.l2 + (subset ? node.category_l2 : 0.0);
        if (subset) std::sort(order_.begin(), order_.begin() + static_cast<long>(n));
        gather(sums_, lines, n, subset);
        if (weights) gather(weights_, weights, n, subset);
        try_all(out, n, 0, 0, -1, l2, weights != nullptr, node);
        if (!out.found()) return out;
        const Size at = static_cast<Size>(out.cut);
        for (Size i = subset ? 0 : at; i <= at; ++i) out.set.put(static_cast<Code>(order_[i].second));
        for (Size i = 0; i < n; ++i) out.seen.put(static_cast<Code>(order_[i].second));
        const auto missing = static_cast<Code>(n_bins);
        if (out.seen.holds(missing)) out.missing = out.set.holds(missing) ? 0 : 1;
        // A set has to name some category: missing values alone go right.
        if (out.left == lines[n_bins] && out.missing == 0) {
            out.set = out.seen;
            out.left = node.total - out.left;
            out.missing = 1;
        }
        return out;
    }

  private:
    /// Sums up to each bin that is not empty: in small nodes few are. Gives how many there are.
    Size accumulate(const Stat* lines, Size n_bins, const Stat* weights) {
        Stat sum = 0, weight = 0;
        Size n = 0;
        const auto put = [&](Size bin) {
            sums_[n] = sum += lines[bin];
            places_[n] = static_cast<std::int32_t>(bin);
            if (weights) weights_[n] = weight += weights[bin];
        };
        CodeSet filled = filled_bins(lines, n_bins);
        if (2 * filled.size() > n_bins) {
            for (Size bin = 0; bin < n_bins; ++bin) {
                put(bin);
                n += lines[bin] != 0;
            }
            return n;
        }
        for (Size word = 0; word < filled.bits.size(); ++word)
            for (std::uint64_t bits = filled.bits[word]; bits != 0; bits &= bits - 1, ++n)
                put(64 * word + static_cast<Size>(std::countr_zero(bits)));
        return n;
    }

    /// lines (n_bins,), and readable up to a multiple of 64
    static CodeSet filled_bins(const Stat* lines, Size n_bins) {
        CodeSet out;
        for (Size first = 0; first < n_bins; first += 64) {
            std::uint64_t word = 0;
            for (Size i = 0; i < 64; i += kRegister) {
                StatRegister some;
                std::memcpy(&some, lines + first + i, sizeof some);
                word |= nonzero_lanes(some) << i;
            }
            out.bits[first / 64] = word;
        }
        // Behind the bins there is the line of missing values.
        if (n_bins % 64 != 0) out.bits[n_bins / 64] &= (std::uint64_t{1} << (n_bins % 64)) - 1;
        return out;
    }

    void gather(std::array<Stat, detail::kPadded>& out, const Stat* lines, Size n, bool sums) const {
        Stat sum = 0;
        for (Size i = 0; i < n; ++i) {
            const Stat line = lines[order_[i].second];
            out[i] = sums ? sum += line : line;
        }
    }

    /// Try sums_[0..n) + extra as left sides.
    void try_all(NewtonCut& out, Size n, Stat extra, Stat extra_weight, std::int32_t missing, double l2,
                 bool weighed, const NewtonNode& node) {
        // Lanes beyond the last hold nothing on their left and are impossible.
        std::fill_n(sums_.begin() + static_cast<long>(n), kLanes, -extra);
        const auto with = [&]<bool Bounded>() {
            return weighed ? best_of<Bounded, true>(n, extra, extra_weight, l2, node)
                           : best_of<Bounded, false>(n, extra, extra_weight, l2, node);
        };
        const detail::BestLanes best =
            node.bounded ? with.template operator()<true>() : with.template operator()<false>();
        double pair = 0;
        const int place = best.first(pair);
        if (place < 0) return;
        const double g = static_cast<double>(gradient_of(node.total)),
                     h = static_cast<double>(hessian_of(node.total)) + l2;
        const double gain = pair - (node.bounded ? detail::newton_quality<true>(g, h, node)
                                                 : detail::newton_quality<false>(g, h, node));
        if (!(gain > out.gain)) return;
        out.gain = gain;
        out.cut = place;
        out.missing = missing;
        out.left = sums_[static_cast<Size>(place)] + extra;
        const Stat smaller = std::min(hessian_of(out.left), hessian_of(node.total - out.left));
        out.sure = weighed || smaller >= node.sure_hessian;
    }

    template <bool Bounded, bool Weighed>
    detail::BestLanes best_of(Size n, Stat extra, Stat extra_weight, double l2,
                              const NewtonNode& node) const {
        detail::BestLanes best;
        StatRegister place;
        for (Size i = 0; i < kRegister; ++i) place[i] = static_cast<Stat>(i);
        // Sums of a node are below 2^32, so the right side is the exact difference.
        const double g = static_cast<double>(gradient_of(node.total)),
                     h = static_cast<double>(hessian_of(node.total)),
                     least = static_cast<double>(node.min_hessian);
        for (Size i = 0; i < n; i += kRegister, place += static_cast<Stat>(kRegister)) {
            StatRegister left;
            std::memcpy(&left, sums_.data() + i, sizeof left);
            left += extra;
            const Register gl = detail::gradients_of(left), gr = g - gl;
            const Register hl = detail::hessians_of(left), hr = h - hl;
            StatRegister ok = (hl >= least) & (hr >= least);
            if constexpr (Weighed) {
                StatRegister weight;
                std::memcpy(&weight, weights_.data() + i, sizeof weight);
                weight += extra_weight;
                ok &= (weight >= node.min_weight) & (node.weight - weight >= node.min_weight);
            }
            const Register dl = hl + l2, dr = hr + l2;
            Register pair;
            if constexpr (Bounded) {
                pair =
                    detail::newton_quality<true>(gl, dl, node) + detail::newton_quality<true>(gr, dr, node);
                if (node.direction != 0) {
                    const Register vl = hold(-gl / dl, node.lower, node.upper),
                                   vr = hold(-gr / dr, node.lower, node.upper);
                    ok &= (vl - vr) * static_cast<double>(node.direction) <= 0.0;
                }
            } else {
                // One division for both sides.
                pair = (gl * gl * dr + gr * gr * dl) / (dl * dr);
            }
            const StatRegister better = ok & (pair > best.gain);
            best.gain = better ? pair : best.gain;
            best.place = better ? place : best.place;
        }
        return best;
    }

    std::array<Stat, detail::kPadded> sums_{}, weights_{};
    std::array<std::int32_t, detail::kPadded> places_{};  // of the sums: bins
    std::array<std::pair<double, std::int32_t>, kSlotLines> order_;
};

}  // namespace spinney
