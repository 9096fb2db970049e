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

/// Whole weights below this have squares, and sums of squares, that are exact as real numbers.
inline constexpr Stat kExactSquares = Stat{1} << 26;

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
          l_(static_cast<Size>(s.n_channels)),
          r_(static_cast<Size>(s.n_channels)),
          lane_l_(static_cast<Size>(s.n_channels)),
          lane_r_(static_cast<Size>(s.n_channels)) {}

    double operator()(const Stat* left) override {
        return score([&](int i) { return left[i]; }, l_.data(), r_.data());
    }

    /// The same for one split per lane of a register.  left_sums (width, kRegister)
    [[gnu::always_inline]] Register score_lanes(const Stat* left_sums) {
        const auto load = [&](int i) {
            StatRegister v;
            std::memcpy(&v, left_sums + i * static_cast<int>(kRegister), sizeof v);
            return v;
        };
        if constexpr (of_values)
            if (s_.width == 2 && !limits_.monotone) return score_values(load(0), load(1));
        return score(load, lane_l_.data(), lane_r_.data());
    }

    /// Whether the quality is that of squared errors.
    static constexpr bool of_values = std::is_same_v<Criterion, SquaredError>;

    /// The same as score_lanes from the weights and values of one output, of layout dense and width 2,
    /// without monotonic constraint.
    [[gnu::always_inline]] Register score_values(StatRegister weight, StatRegister value) const {
        static_assert(of_values);
        const Stat min_side = std::max(limits_.min_weight, limits_.min_count);
        const StatRegister rest = total_[0] - weight;
        const Register l = to_real(value) * s_.value_unit[0],
                       r = to_real(total_[1] - value) * s_.value_unit[0];
        return where((weight >= min_side) & (rest >= min_side),
                     l * l / (to_real(weight) * s_.weight_unit) + r * r / (to_real(rest) * s_.weight_unit),
                     Register{} + kImpossible);
    }

    /// Whether the quality follows from the sum of the squares of the class weights.
    static constexpr bool of_squares = std::is_same_v<Criterion, OfClasses<Gini, Layout::by_class>>;

    /// The same as score_lanes from sums of squares over the classes, weights in steps of 1, and the weight
    /// of the node; without monotonic constraint.
    [[gnu::always_inline]] Register score_squares(StatRegister left, StatRegister right, StatRegister weight,
                                                  Stat all) const {
        static_assert(of_squares);
        const Stat min_side = std::max(limits_.min_weight, limits_.min_count);
        const StatRegister rest = all - weight;
        return where((weight >= min_side) & (rest >= min_side),
                     to_real(left) / to_real(weight) + to_real(right) / to_real(rest),
                     Register{} + kImpossible);
    }

    /// Sum over the node.
    const Stat* total() const { return total_; }

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

    /// Quality of the node without a split. Sums of squares of whole numbers are exact in any order.
    double node_quality() {
        if constexpr (of_squares) {
            Stat weight = 0, squares = 0;
            for (int k = 0; k < s_.n_channels; ++k) weight += total_[k * s_.row_width];
            if (s_.weight_unit == 1.0 && weight > 0 && weight < kExactSquares) {
                for (int k = 0; k < s_.n_channels; ++k)
                    squares += total_[k * s_.row_width] * total_[k * s_.row_width];
                return to_real(squares) / to_real(weight);
            }
        }
        return quality(total_);
    }

  private:
    /// Score the left sums load(0), load(1), …: one split if V is double, one per lane if it is a register.
    /// l, r (n_channels,): receive the channels of both sides
    template <class V, class Load>
    [[gnu::always_inline]] V score(Load&& load, V* l, V* r) const {
        auto ok = decode(load, l, r);
        if (limits_.monotone) ok &= monotone(l, r);
        return where(ok, criterion_.quality(l) + criterion_.quality(r), V{} + kImpossible);
    }

    /// Decode both sides. Returns whether they satisfy the limits.
    template <class V, class Load>
    [[gnu::always_inline]] auto decode(Load&& load, V* l, V* r) const {
        using Sum = decltype(load(0));
        if constexpr (L == Layout::packed) {
            const Sum left = load(0), right = total_[0] - left;
            const Sum n = left & kLowHalf, second = upper_half(left), rest = right & kLowHalf,
                      rest_second = upper_half(right);
            l[0] = small_to_real(n - second);
            l[1] = small_to_real(second);
            r[0] = small_to_real(rest - rest_second);
            r[1] = small_to_real(rest_second);
            const Stat min_side = std::max(limits_.min_weight, limits_.min_count);
            return (n >= min_side) & (rest >= min_side);
        } else {
            const bool regression = s_.task == Task::regression;
            const int step = L == Layout::by_class ? s_.row_width : 1;
            const int classes = L == Layout::by_class ? s_.n_channels : regression ? 1 : s_.n_classes[0];
            Sum weight{}, rest{}, count{}, rest_count{};
            for (int k = 0; k < s_.n_channels; ++k) {
                const Sum left = load(k * step), right = total_[k * step] - left;
                const double unit =
                    regression && k > 0 ? s_.value_unit[static_cast<Size>(k - 1)] : s_.weight_unit;
                l[k] = to_real(left) * unit;
                r[k] = to_real(right) * unit;
                if (k < classes) {
                    weight += left;
                    rest += right;
                }
                if (L == Layout::by_class && s_.count_index >= 0) {
                    const Sum own = load(k * step + s_.count_index);
                    count += own;
                    rest_count += total_[k * step + s_.count_index] - own;
                }
            }
            const auto ok = (weight >= limits_.min_weight) & (rest >= limits_.min_weight);
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
    Buffer<double> l_, r_;
    Buffer<Register, 8> lane_l_, lane_r_;
};

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
