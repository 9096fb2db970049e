// SplitScorer: the quality of splits of a node from the sums of their left sides.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <type_traits>
#include <vector>

#include "split/candidate.hpp"
#include "split/criteria.hpp"

namespace spinney {

/// Uninitialised array, on the heap only when it is larger than expected.
template <class T, Size Expected = 16>
class Buffer {
  public:
    explicit Buffer(Size n)
        : heap_(n > Expected ? n : 0), data_(n > Expected ? heap_.data() : stack_.data()) {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    T* data() { return data_; }
    const T* data() const { return data_; }
    T& operator[](Size i) { return data_[i]; }

  private:
    std::array<T, Expected> stack_;
    std::vector<T> heap_;
    T* data_;
};

/// Interface of SplitScorer for searches that are compiled once for all criteria.
class ScorerBase {
  public:
    explicit ScorerBase(const Statistics& s) : s_(s) {}

    /// quality(left) + quality(right), or kImpossible when a child violates a limit.
    virtual double operator()(const Stat* left) = 0;
    virtual double quality(const Stat* sum) = 0;

    /// Score one split per lane of a register.  left_sums (width, kRegister), qualities (kRegister,)
    virtual void score_all(const Stat* left_sums, double* qualities) = 0;

    double weight(const Stat* sum) const {
        return static_cast<double>(s_.weight_steps(sum)) * s_.weight_unit;
    }

  protected:
    ~ScorerBase() = default;
    const Statistics& s_;
};

/// Scores the splits of one node. The layout of the sums and the criterion are template parameters.
template <Layout L, class Criterion>
class SplitScorer final : public ScorerBase {
  public:
    SplitScorer(const Statistics& s, const Stat* total, const Limits& limits)
        : ScorerBase(s),
          criterion_(s),
          limits_(limits),
          total_(total),
          right_(static_cast<Size>(s.width)),
          l_(static_cast<Size>(s.n_channels)),
          r_(static_cast<Size>(s.n_channels)),
          lane_l_(static_cast<Size>(s.n_channels)),
          lane_r_(static_cast<Size>(s.n_channels)) {}

    double operator()(const Stat* left) override {
        if constexpr (L == Layout::packed) {
            const Stat n = left[0] & kLowHalf, second = left[0] >> 32;
            const Stat rest = total_[0] - left[0], rest_n = rest & kLowHalf, rest_second = rest >> 32;
            const Stat min_side = std::max(limits_.min_weight, limits_.min_count);
            if (n < min_side || rest_n < min_side) return kImpossible;
            const std::array<double, 2> l{static_cast<double>(n - second), static_cast<double>(second)};
            const std::array<double, 2> r{static_cast<double>(rest_n - rest_second),
                                          static_cast<double>(rest_second)};
            if (limits_.monotone && !monotone(l.data(), r.data())) return kImpossible;
            return criterion_.split_quality(l.data(), r.data());
        } else {
            for (int i = 0; i < s_.width; ++i) right_[static_cast<Size>(i)] = total_[i] - left[i];
            if (s_.weight_steps(left) < limits_.min_weight ||
                s_.weight_steps(right_.data()) < limits_.min_weight)
                return kImpossible;
            if (limits_.min_count > 0 &&
                (s_.count(left) < limits_.min_count || s_.count(right_.data()) < limits_.min_count))
                return kImpossible;
            s_.decode(left, l_.data());
            s_.decode(right_.data(), r_.data());
            if (limits_.monotone && !monotone(l_.data(), r_.data())) return kImpossible;
            return criterion_.split_quality(l_.data(), r_.data());
        }
    }

    /// The same for one split per lane of a register.  left_sums (width, kRegister)
    [[gnu::always_inline]] Register score_lanes(const Stat* left_sums) {
        const auto load = [&](int i) {
            StatRegister v;
            std::memcpy(&v, left_sums + i * static_cast<int>(kRegister), sizeof v);
            return v;
        };
        StatRegister ok;
        if constexpr (L == Layout::packed) {
            const StatRegister left = load(0), right = total_[0] - left, low = StatRegister{} + kLowHalf;
            const StatRegister n = left & low, second = upper_half(left), rest = right & low,
                               rest_second = upper_half(right);
            const Stat min_side = std::max(limits_.min_weight, limits_.min_count);
            ok = (n >= min_side) & (rest >= min_side);
            lane_l_[0] = small_to_real(n - second);
            lane_l_[1] = small_to_real(second);
            lane_r_[0] = small_to_real(rest - rest_second);
            lane_r_[1] = small_to_real(rest_second);
        } else {
            ok = decode_lanes(load);
        }
        if (limits_.monotone) ok &= monotone(lane_l_.data(), lane_r_.data());
        return where(ok, criterion_.split_quality(lane_l_.data(), lane_r_.data()), Register{} + kImpossible);
    }

    void score_all(const Stat* left_sums, double* qualities) override {
        const Register scores = score_lanes(left_sums);
        std::memcpy(qualities, &scores, sizeof scores);
    }

    /// Switch to another node.
    void set_total(const Stat* total) { total_ = total; }

    double quality(const Stat* sum) override {
        s_.decode(sum, l_.data());
        return criterion_.quality(l_.data());
    }

  private:
    /// Decode a register of left and right sums. Returns a mask of the lanes that satisfy the limits.
    template <class Load>
    [[gnu::always_inline]] StatRegister decode_lanes(Load&& load) {
        const bool regression = s_.task == Task::regression;
        const int step = L == Layout::by_class ? s_.row_width : 1;
        const int classes = L == Layout::by_class || regression ? s_.n_channels : s_.n_classes[0];
        StatRegister weight{}, rest{}, count{}, rest_count{};
        for (int k = 0; k < s_.n_channels; ++k) {
            const StatRegister left = load(k * step), right = total_[k * step] - left;
            const double unit =
                regression && k > 0 ? s_.value_unit[static_cast<Size>(k - 1)] : s_.weight_unit;
            lane_l_[static_cast<Size>(k)] = to_real(left) * unit;
            lane_r_[static_cast<Size>(k)] = to_real(right) * unit;
            if (regression ? k == 0 : k < classes) {
                weight += left;
                rest += right;
            }
            if (L == Layout::by_class && s_.count_index >= 0) {
                count += load(k * step + s_.count_index);
                rest_count += total_[k * step + s_.count_index] - load(k * step + s_.count_index);
            }
        }
        StatRegister ok = (weight >= limits_.min_weight) & (rest >= limits_.min_weight);
        if (limits_.min_count <= 0) return ok;
        if (s_.unit_weights) {
            count = weight;
            rest_count = rest;
        } else if (L == Layout::dense) {
            count = load(s_.count_index);
            rest_count = total_[s_.count_index] - count;
        }
        return ok & (count >= limits_.min_count) & (rest_count >= limits_.min_count);
    }

    /// Value of a child: mean of y, or probability of the second class.
    template <class V>
    V child_value(const V* c) const {
        return s_.task == Task::regression ? c[1] / c[0] + s_.value_shift[0] : c[1] / (c[0] + c[1]);
    }
    template <class V>
    auto monotone(const V* l, const V* r) const {
        const V a = child_value(l), b = child_value(r);
        return (a >= limits_.lower) & (b >= limits_.lower) & (a <= limits_.upper) & (b <= limits_.upper) &
               ((a - b) * static_cast<double>(limits_.direction) <= 0.0);
    }

    Criterion criterion_;
    const Limits& limits_;
    const Stat* total_;
    Buffer<Stat> right_;
    Buffer<double> l_, r_;
    Buffer<Register, 8> lane_l_, lane_r_;
};

/// Call f.template operator()<Layout>() for the layout in use.
template <class F>
decltype(auto) with_layout(Layout layout, F&& f) {
    if (layout == Layout::packed) return f.template operator()<Layout::packed>();
    if (layout == Layout::by_class) return f.template operator()<Layout::by_class>();
    return f.template operator()<Layout::dense>();
}

/// Call f.template operator()<Layout, Criterion>() for the layout and criterion in use.
template <class F>
decltype(auto) with_scorer(CriterionName name, const Statistics& s, F&& f) {
    return with_criterion(name, s, [&](auto criterion) -> decltype(auto) {
        using C = decltype(criterion);
        if constexpr (std::is_same_v<C, Gini<2>> || std::is_same_v<C, Entropy<2>>) {
            if (s.layout == Layout::packed) return f.template operator()<Layout::packed, C>();
            return f.template operator()<Layout::by_class, C>();
        } else if constexpr (std::is_same_v<C, Gini<0>> || std::is_same_v<C, Entropy<0>>) {
            return f.template operator()<Layout::by_class, C>();
        } else {
            return f.template operator()<Layout::dense, C>();
        }
    });
}

namespace detail {

void with_split_scorer(CriterionName criterion, const Statistics& s, const Stat* total, const Limits& limits,
                       const std::function<void(ScorerBase&)>& f);

}  // namespace detail

/// Call f with the scorer of a node as a ScorerBase&, so that f is compiled once.
template <class F>
void with_split_scorer(CriterionName criterion, const Statistics& s, const Stat* total, const Limits& limits,
                       F&& f) {
    detail::with_split_scorer(criterion, s, total, limits, std::ref(f));  // by reference: no allocation
}

}  // namespace spinney
