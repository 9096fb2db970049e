// The sweep over a node's cuts: which threshold of a feature divides the node best.
#pragma once

#include <algorithm>
#include <array>
#include <cfloat>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "split/criteria.hpp"
#include "data/code_matrix.hpp"
#include "grow/options.hpp"
#include "core/random.hpp"

namespace spinney {

enum class Test : std::uint8_t { leaf, numeric, category_set, multiway, linear };

/// The best test found on one feature.
struct Candidate {
    double score = kImpossible;  // by which features are compared
    double gain = 0;             // impurity decrease within the node
    double improvement = 0;      // what min_impurity_decrease is compared with
    double gain_ratio = 0;
    std::int32_t feature = -1;
    Test test = Test::leaf;
    Code cut = 0;  // numeric: codes up to this go to child 0
    double threshold = 0;
    std::int32_t missing = -1;  // child of missing values; −1 while the node has none
    bool unseen_left = false;   // category set: categories that the node never saw go to child 0
    bool constant = true;       // the node has one value only: such a feature does not count as looked at
    std::array<double, 2> answers{};  // absolute error in a monotone tree: the children's medians
    std::vector<Code> bins;           // category set: bins of child 0; multiway: the bin of each child
    std::vector<Code> seen;           // category set: all bins of the node

    bool found() const { return test != Test::leaf; }
};

/// What a child must have.
struct Limits {
    Stat min_weight = 1;  // in steps of weight
    Stat min_count = 0;   // rows; 0 when it need not be looked at
    bool monotone = false;
    int direction = 0;  // +1 increasing, −1 decreasing in the feature at hand
    double lower = kImpossible, upper = -kImpossible;

    /// Look at one feature. As in scikit-learn, bounds are asked only of features that have a direction; the
    /// answers of the others are held between the bounds at the end.
    void set_direction(const std::vector<std::int8_t>& directions, std::int32_t feature) {
        direction = directions.empty() ? 0 : directions[static_cast<Size>(feature)];
        monotone = direction != 0;
    }
};

/// An array on the stack, or on the heap when it is larger than expected. Its first content is anything.
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

/// Judges divisions of one node: the layout of the sums and the criterion are fixed by type.
template <Layout L, class Criterion>
class Judge {
  public:
    Judge(const Statistics& s, const Stat* total, const Limits& limits)
        : s_(s),
          criterion_(s),
          limits_(limits),
          total_(total),
          right_(static_cast<Size>(s.width)),
          l_(static_cast<Size>(s.n_channels)),
          r_(static_cast<Size>(s.n_channels)),
          lane_l_(static_cast<Size>(s.n_channels)),
          lane_r_(static_cast<Size>(s.n_channels)) {}

    /// quality(left) + quality(right), or kImpossible when a child would break a limit.
    double operator()(const Stat* left) {
        if constexpr (L == Layout::packed) {
            const Stat n = left[0] & 0xFFFFFFFFll, second = left[0] >> 32;
            const Stat rest = total_[0] - left[0], rest_n = rest & 0xFFFFFFFFll, rest_second = rest >> 32;
            const Stat least = std::max(limits_.min_weight, limits_.min_count);
            if (n < least || rest_n < least) return kImpossible;
            const std::array<double, 2> l{static_cast<double>(n - second), static_cast<double>(second)};
            const std::array<double, 2> r{static_cast<double>(rest_n - rest_second),
                                          static_cast<double>(rest_second)};
            if (limits_.monotone && !monotone(l.data(), r.data())) return kImpossible;
            return criterion_.pair(l.data(), r.data());
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
            return criterion_.pair(l_.data(), r_.data());
        }
    }

    /// The same for as many divisions at once as a register holds.  words (width, kRegister)
    [[gnu::always_inline]] Register several(const Stat* words) {
        const auto load = [&](int word) {
            StatRegister v;
            std::memcpy(&v, words + word * static_cast<int>(kRegister), sizeof v);
            return v;
        };
        StatRegister ok;
        if constexpr (L == Layout::packed) {
            const StatRegister left = load(0), right = total_[0] - left, low = StatRegister{} + 0xFFFFFFFFll;
            const StatRegister n = left & low, second = upper_half(left), rest = right & low,
                               rest_second = upper_half(right);
            const Stat least = std::max(limits_.min_weight, limits_.min_count);
            ok = (n >= least) & (rest >= least);
            lane_l_[0] = small_to_real(n - second);
            lane_l_[1] = small_to_real(second);
            lane_r_[0] = small_to_real(rest - rest_second);
            lane_r_[1] = small_to_real(rest_second);
        } else {
            ok = lanes_of_sums(load);
        }
        if (limits_.monotone) ok &= monotone(lane_l_.data(), lane_r_.data());
        return where(ok, criterion_.pair(lane_l_.data(), lane_r_.data()), Register{} + kImpossible);
    }

    /// Turn to another node.
    void set_total(const Stat* total) { total_ = total; }

    double quality(const Stat* sum) {
        s_.decode(sum, l_.data());
        return criterion_.quality(l_.data());
    }

    double weight(const Stat* sum) const {
        return static_cast<double>(s_.weight_steps(sum)) * s_.weight_unit;
    }

  private:
    /// Decode a register of left and right sums; which of them keep the limits?
    template <class Load>
    [[gnu::always_inline]] StatRegister lanes_of_sums(Load&& load) {
        const bool regression = s_.task == Task::regression;
        const int step = L == Layout::slots ? s_.row_words : 1;
        const int classes = L == Layout::slots || regression ? s_.n_channels : s_.n_classes[0];
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
            if (L == Layout::slots && s_.count_word >= 0) {
                count += load(k * step + s_.count_word);
                rest_count += total_[k * step + s_.count_word] - load(k * step + s_.count_word);
            }
        }
        StatRegister ok = (weight >= limits_.min_weight) & (rest >= limits_.min_weight);
        if (limits_.min_count <= 0) return ok;
        if (s_.unit_weights) {
            count = weight;
            rest_count = rest;
        } else if (L == Layout::dense) {
            count = load(s_.count_word);
            rest_count = total_[s_.count_word] - count;
        }
        return ok & (count >= limits_.min_count) & (rest_count >= limits_.min_count);
    }

    /// The answer of a child: mean of y, or probability of the second class.
    template <class V>
    V answer(const V* c) const {
        return s_.task == Task::regression ? c[1] / c[0] + s_.value_shift[0] : c[1] / (c[0] + c[1]);
    }
    template <class V>
    auto monotone(const V* l, const V* r) const {
        const V a = answer(l), b = answer(r);
        return (a >= limits_.lower) & (b >= limits_.lower) & (a <= limits_.upper) & (b <= limits_.upper) &
               ((a - b) * static_cast<double>(limits_.direction) <= 0.0);
    }

    const Statistics& s_;
    Criterion criterion_;
    const Limits& limits_;
    const Stat* total_;
    Buffer<Stat> right_;
    Buffer<double> l_, r_;
    Buffer<Register, 8> lane_l_, lane_r_;
};

/// Call f.template operator()<Layout, Criterion>() for the pair in use.
template <class F>
decltype(auto) with_judge(CriterionName name, const Statistics& s, F&& f) {
    return with_criterion(name, s, [&](auto criterion) -> decltype(auto) {
        using C = decltype(criterion);
        if constexpr (std::is_same_v<C, Gini<2>> || std::is_same_v<C, Entropy<2>>) {
            if (s.layout == Layout::packed) return f.template operator()<Layout::packed, C>();
            return f.template operator()<Layout::slots, C>();
        } else if constexpr (std::is_same_v<C, Gini<0>> || std::is_same_v<C, Entropy<0>>) {
            return f.template operator()<Layout::slots, C>();
        } else {
            return f.template operator()<Layout::dense, C>();
        }
    });
}

/// The middle of two neighbouring values, at least a and below b.
inline double midpoint(double a, double b) {
    const double t = a / 2 + b / 2;
    return t >= b || t < a ? a : t;
}

namespace detail {

inline void add_sums(Stat* out, const Stat* in, int width) {
    for (int i = 0; i < width; ++i) out[i] += in[i];
}

inline double split_information(double left, double right) {
    const double w = left + right;
    return (xlog2x(w) - xlog2x(left) - xlog2x(right)) / w;
}

}  // namespace detail

/// Draw the place of a random cut between the values of two codes.
inline double draw_cut(const CodeColumn& c, Code least, Code greatest, std::uint64_t address) {
    const double lo = c.greatest(least), hi = c.least(greatest), u = Draws(address).uniform();
    // Not lo + u·(hi − lo), which could be infinite; and rounding must not reach hi.
    const double drawn = lo * (1 - u) + hi * u;
    return drawn < hi ? drawn : std::nextafter(hi, lo);
}

/// Everything a search on one feature of one node needs.
struct Search {
    const Statistics& s;
    const GrowOptions& options;
    const CodeColumn& column;
    std::int32_t feature;
    const Stat* total;    // of all rows the search is about (known rows only when missing rows are split up)
    const Stat* missing;  // sum of the missing rows, null when there are none to place
    const Limits& limits;
    double known_share = 1.0;  // ρ, with fractional rows
    double node_weight_share = 1.0;
    std::uint64_t address = 0;  // of the random draws
    Stat* keep_left = nullptr;  // (width,) gets the left sum of the best division, where it is asked for
};

/// Turn the best division into a candidate. `left` is its left sum.
template <class J>
void finish(Candidate& out, J& judge, const Search& q, double pair, const Stat* left) {
    const double w = judge.weight(q.total), base = judge.quality(q.total);
    out.feature = q.feature;
    out.gain = q.known_share * (pair - base) / w;
    out.improvement = q.node_weight_share * out.gain;
    if (q.options.wants_ratio()) {
        const double wl = judge.weight(left);
        const double information = detail::split_information(wl, w - wl);
        out.gain_ratio = information > 0 ? out.gain / information : 0.0;
    }
    out.score = price(q.options, out.gain, q.feature);
    if (q.keep_left) std::copy_n(left, q.s.width, q.keep_left);
}

/// Sweep the cuts of a numeric feature in ascending order.
/// Stream: bool next(Code&, Stat* sum) adds the next group to sum and tells its code; bool more() const.
/// each(threshold(), pair, missing, copy_left(sum)) is told of every cut tried (for the ledger).
template <class J, class Stream, class Each>
Candidate sweep_numeric(J& judge, const Search& q, Stream& stream, Each&& each) {
    const Size width = static_cast<Size>(q.s.width);
    Buffer<Stat, 24> sums(2 * width);
    Stat *left = sums.data(), *best_left = left + width;
    std::fill_n(left, width, 0);

    Candidate out;
    Code before = 0;
    if (!stream.next(before, left)) return out;
    out.constant = !stream.more() && !q.missing;
    const CodeColumn& c = q.column;
    constexpr Code none = ~Code{0};
    double pair = kImpossible;
    Code after_best = none;
    // Thresholds are worked out late: the values of a column's codes are spread over memory.
    const auto threshold = [&](Code cut, Code after) {
        return after == none ? DBL_MAX : midpoint(c.greatest(cut), c.least(after));
    };
    // Cuts are judged several at a time.
    struct Cut {
        Code before, after;
        std::int32_t missing;
    };
    std::array<Cut, kRegister> waiting;
    Buffer<Stat, 24 * kRegister> words(width * kRegister);
    std::fill_n(words.data(), width * kRegister, 0);  // lanes that no cut takes are judged as well
    Size n_waiting = 0;
    const auto judge_waiting = [&] {
        const Register value = judge.several(words.data());
        for (Size i = 0; i < n_waiting; ++i) {
            const Cut& cut = waiting[i];
            each([&] { return threshold(cut.before, cut.after); }, value[i], cut.missing,
                 [&](Stat* sum) {
                     for (Size w = 0; w < width; ++w) sum[w] = words[w * kRegister + i];
                 });
            if (!(value[i] > pair)) continue;
            pair = value[i];
            out.cut = cut.before;
            after_best = cut.after;
            out.missing = cut.missing;
            for (Size w = 0; w < width; ++w) best_left[w] = words[w * kRegister + i];
        }
        n_waiting = 0;
    };
    const auto offer = [&](const Stat* extra, Code after, std::int32_t missing) {
        for (Size w = 0; w < width; ++w) words[w * kRegister + n_waiting] = left[w] + (extra ? extra[w] : 0);
        waiting[n_waiting++] = {before, after, missing};
        if (n_waiting == kRegister) judge_waiting();
    };
    const auto offer_both = [&](Code after) {
        offer(nullptr, after, q.missing ? 1 : -1);
        if (q.missing) offer(q.missing, after, 0);
    };
    // A random splitter tries one place only; it is drawn between the first bin and the last.
    const bool random = q.options.random_splitter();
    const double drawn = random ? draw_cut(c, before, stream.last(), q.address) : 0.0;
    for (; stream.more(); stream.next(before, left)) {
        const Code after = stream.peek();
        if (random && drawn >= c.least(after)) continue;
        offer_both(after);
        if (random) break;
    }
    // Known against missing: every known value is below the greatest number there is.
    if (q.missing && !stream.more()) offer(nullptr, none, 1);
    if (n_waiting > 0) judge_waiting();
    if (pair == kImpossible) return out;
    out.test = Test::numeric;
    out.threshold = threshold(out.cut, after_best);
    if (random && after_best != none && drawn >= c.greatest(out.cut)) out.threshold = drawn;
    finish(out, judge, q, pair, best_left);
    return out;
}

}  // namespace spinney
