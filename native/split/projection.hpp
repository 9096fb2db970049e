// Rows of a node given one number each: the best place to cut that line, and the best way to tilt it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "grow/grow_common.hpp"
#include "core/radix_sort.hpp"
#include "split/streams.hpp"

namespace spinney {

/// A cut of a line, or with `gain` at kImpossible, none.
struct Cut {
    double gain = kImpossible;
    double pair = kImpossible;  // what the criterion says of the two sides
    double threshold = 0;       // rows up to this go left
    double left_weight = 0;

    bool found() const { return gain > kImpossible; }
};

/// Cuts the line on which a set of rows lies. It hides the types of the criterion and the sums, because a
/// call is a whole sweep and the search for directions need not be compiled for each of them.
class LineCutter {
  public:
    virtual ~LineCutter() = default;

    /// The best cut of values (n,), told apart to the precision of a float: quick, for comparing directions.
    virtual Cut cut(std::span<const double> values) = 0;

    /// The best cut of values (n,), each of which counts to its last bit.
    virtual Cut cut_exactly(std::span<const double> values) = 0;

    /// The best a when rows go left where base + a·tilt ≤ 0; it stands in `threshold`.  base, tilt (n,)
    virtual Cut turn(std::span<const double> base, std::span<const double> tilt) = 0;
};

namespace detail {

template <Layout L, class Criterion>
class SweepingCutter final : public LineCutter {
  public:
    SweepingCutter(const Statistics& s, const NodeRows& node, const Stat* total, const Limits& limits)
        : s_(s), limits_(limits), judge_(s, total, limits_), left_(static_cast<Size>(s.width)) {
        node_.gather(s, node);
        base_ = judge_.quality(total);
        weight_ = judge_.weight(total);
    }

    Cut cut(std::span<const double> values) override {
        return sweep(narrow_, values.size(), [&](Size i) { return static_cast<float>(values[i]); });
    }

    Cut cut_exactly(std::span<const double> values) override {
        return sweep(wide_, values.size(), [&](Size i) { return values[i]; });
    }

    /// Each row changes sides at one a: base + a·tilt = 0. Those of positive tilt leave the left side there
    /// as a grows, those of negative tilt enter it.
    Cut turn(std::span<const double> base, std::span<const double> tilt) override {
        constexpr double flat = 1e-6;  // such a row would change sides far out only
        auto& [keys, order, spare_keys, spare_order] = narrow_;
        narrow_.resize(base.size());
        std::fill(left_.begin(), left_.end(), 0);
        Size n = 0;
        for (Size i = 0; i < base.size(); ++i) {
            if (std::abs(tilt[i]) > flat) {
                keys[n] = key_of(static_cast<float>(-base[i] / tilt[i]));
                order[n++] = static_cast<std::uint32_t>(i);
                if (tilt[i] > 0) move(i, +1);
            } else if (base[i] <= 0) {
                move(i, +1);
            }
        }
        radix_sort_pairs(keys.data(), order.data(), spare_keys.data(), spare_order.data(), n);
        return best_boundary(narrow_, n, [&](Size i) { move(i, tilt[i] > 0 ? -1 : +1); });
    }

  private:
    template <class Key>
    struct Line {
        std::vector<Key> keys;
        std::vector<std::uint32_t> order;
        std::vector<Key> spare_keys;
        std::vector<std::uint32_t> spare_order;

        void resize(Size n) {
            keys.resize(n);
            order.resize(n);
            spare_keys.resize(n);
            spare_order.resize(n);
        }
    };

    template <class Key, class Value>
    Cut sweep(Line<Key>& line, Size n, Value&& value) {
        line.resize(n);
        for (Size i = 0; i < n; ++i) {
            line.keys[i] = key_of(value(i));
            line.order[i] = static_cast<std::uint32_t>(i);
        }
        radix_sort_pairs(line.keys.data(), line.order.data(), line.spare_keys.data(), line.spare_order.data(),
                         n);
        std::fill(left_.begin(), left_.end(), 0);
        return best_boundary(line, n, [&](Size i) { add_entry<L>(left_.data(), s_, node_, i); });
    }

    /// Let the rows pass in order of their keys and judge wherever the key changes.
    template <class Key, class Pass>
    Cut best_boundary(const Line<Key>& line, Size n, Pass&& pass) {
        Cut best;
        for (Size i = 0; i + 1 < n; ++i) {
            pass(static_cast<Size>(line.order[i]));
            if (line.keys[i] == line.keys[i + 1]) continue;
            const double pair = judge_(left_.data());
            if (!(pair > best.pair)) continue;
            best.pair = pair;
            best.threshold = midpoint(number_of(line.keys[i]), number_of(line.keys[i + 1]));
            best.left_weight = judge_.weight(left_.data());
        }
        if (best.pair > kImpossible) best.gain = (best.pair - base_) / weight_;
        return best;
    }

    void move(Size i, Stat sign) {
        const auto n = static_cast<Size>(s_.row_words);
        const Stat* words = node_.words.data() + i * n;
        Stat* at = left_.data() + (L == Layout::slots ? node_.slot[i] * n : 0);
        for (Size k = 0; k < n; ++k) at[k] += sign * words[k];
    }

    const Statistics& s_;
    NodeStatistics node_;
    Limits limits_;
    Judge<L, Criterion> judge_;
    std::vector<Stat> left_;
    double base_ = 0, weight_ = 0;
    Line<std::uint32_t> narrow_;
    Line<std::uint64_t> wide_;
};

}  // namespace detail

/// A cutter of these rows. Absolute error, which has no sums, is stood in for by squared error.
/// What the arguments refer to must outlive it.
inline std::unique_ptr<LineCutter> make_cutter(CriterionName criterion, const Statistics& s,
                                               const NodeRows& node, const Stat* total,
                                               const Limits& limits) {
    return with_judge(criterion, s, [&]<Layout L, class Criterion>() -> std::unique_ptr<LineCutter> {
        return std::make_unique<detail::SweepingCutter<L, Criterion>>(s, node, total, limits);
    });
}

}  // namespace spinney
