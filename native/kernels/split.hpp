// The sweep over a node's groups of equal code: which test divides the node best.
#pragma once

#include <algorithm>
#include <array>
#include <cfloat>
#include <cstring>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "criteria.hpp"
#include "matrix.hpp"
#include "options.hpp"
#include "random.hpp"

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

/// Groups of equal code held in arrays: code (g,) ascending, sums (g, width).
struct Groups {
    std::vector<Code> code;
    std::vector<Stat> sums;
    Size size() const { return code.size(); }
    void clear() {
        code.clear();
        sums.clear();
    }
};

/// An array on the stack, or on the heap when it is larger than expected.
template <class T, Size Expected = 16>
class Buffer {
  public:
    explicit Buffer(Size n)
        : heap_(n > Expected ? n : 0), data_(n > Expected ? heap_.data() : stack_.data()) {
        std::fill_n(data_, n, T{});
    }
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

    /// The same for eight divisions at once.  words (width, kLanes), out (kLanes,)
    [[gnu::always_inline]] void eight(double* out, const Stat* words) {
        const auto load = [&](int word) {
            StatLanes v;
            std::memcpy(&v, words + word * static_cast<int>(kLanes), sizeof v);
            return v;
        };
        StatLanes ok;
        if constexpr (L == Layout::packed) {
            const StatLanes left = load(0), right = total_[0] - left, low = StatLanes{} + 0xFFFFFFFFll;
            const StatLanes n = left & low, second = left >> 32, rest = right & low,
                            rest_second = right >> 32;
            const Stat least = std::max(limits_.min_weight, limits_.min_count);
            ok = (n >= least) & (rest >= least);
            lane_l_[0] = __builtin_convertvector(n - second, Lanes);
            lane_l_[1] = __builtin_convertvector(second, Lanes);
            lane_r_[0] = __builtin_convertvector(rest - rest_second, Lanes);
            lane_r_[1] = __builtin_convertvector(rest_second, Lanes);
        } else {
            ok = lanes_of_sums(load);
        }
        if (limits_.monotone) ok &= monotone(lane_l_.data(), lane_r_.data());
        const Lanes value = where(ok, criterion_.pair(lane_l_.data(), lane_r_.data()), Lanes{} + kImpossible);
        std::memcpy(out, &value, sizeof value);
    }

    double quality(const Stat* sum) {
        s_.decode(sum, l_.data());
        return criterion_.quality(l_.data());
    }

    double weight(const Stat* sum) const {
        return static_cast<double>(s_.weight_steps(sum)) * s_.weight_unit;
    }

  private:
    /// Decode eight left and right sums; which of them keep the limits?
    template <class Load>
    [[gnu::always_inline]] StatLanes lanes_of_sums(Load&& load) {
        const bool regression = s_.task == Task::regression;
        const int step = L == Layout::slots ? s_.row_words : 1;
        const int classes = L == Layout::slots || regression ? s_.n_channels : s_.n_classes[0];
        StatLanes weight{}, rest{}, count{}, rest_count{};
        for (int k = 0; k < s_.n_channels; ++k) {
            const StatLanes left = load(k * step), right = total_[k * step] - left;
            const double unit =
                regression && k > 0 ? s_.value_unit[static_cast<Size>(k - 1)] : s_.weight_unit;
            lane_l_[static_cast<Size>(k)] = __builtin_convertvector(left, Lanes) * unit;
            lane_r_[static_cast<Size>(k)] = __builtin_convertvector(right, Lanes) * unit;
            if (regression ? k == 0 : k < classes) {
                weight += left;
                rest += right;
            }
            if (L == Layout::slots && s_.count_word >= 0) {
                count += load(k * step + s_.count_word);
                rest_count += total_[k * step + s_.count_word] - load(k * step + s_.count_word);
            }
        }
        StatLanes ok = (weight >= limits_.min_weight) & (rest >= limits_.min_weight);
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
    Buffer<Lanes, 8> lane_l_, lane_r_;
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
};

/// Turn the best division into a candidate. `left` is its left sum.
template <class J>
void finish(Candidate& out, J& judge, const Search& q, double pair, const Stat* left) {
    const double w = judge.weight(q.total), base = judge.quality(q.total);
    out.feature = q.feature;
    out.gain = q.known_share * (pair - base) / w;
    out.improvement = q.node_weight_share * out.gain;
    const double wl = judge.weight(left);
    const double information = detail::split_information(wl, w - wl);
    out.gain_ratio = information > 0 ? out.gain / information : 0.0;
    out.score = price(q.options, out.gain, q.feature);
}

/// Sweep the cuts of a numeric feature in ascending order.
/// Stream: bool next(Code&, Stat* sum) adds the next group to sum and tells its code; bool more() const.
/// each(threshold(), pair, missing, copy_left(sum)) is told of every cut tried (for the ledger).
template <class J, class Stream, class Each>
Candidate sweep_numeric(J& judge, const Search& q, Stream& stream, Each&& each) {
    const Size width = static_cast<Size>(q.s.width);
    Buffer<Stat, 24> sums(2 * width);
    Stat *left = sums.data(), *best_left = left + width;

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
    // Cuts are judged eight at a time.
    struct Cut {
        Code before, after;
        std::int32_t missing;
    };
    std::array<Cut, kLanes> waiting;
    Buffer<Stat, 24 * kLanes> words(width * kLanes);
    Size n_waiting = 0;
    const auto judge_waiting = [&] {
        std::array<double, kLanes> value;
        judge.eight(value.data(), words.data());
        for (Size i = 0; i < n_waiting; ++i) {
            const Cut& cut = waiting[i];
            each([&] { return threshold(cut.before, cut.after); }, value[i], cut.missing,
                 [&](Stat* sum) {
                     for (Size w = 0; w < width; ++w) sum[w] = words[w * kLanes + i];
                 });
            if (!(value[i] > pair)) continue;
            pair = value[i];
            out.cut = cut.before;
            after_best = cut.after;
            out.missing = cut.missing;
            for (Size w = 0; w < width; ++w) best_left[w] = words[w * kLanes + i];
        }
        n_waiting = 0;
    };
    const auto offer = [&](const Stat* extra, Code after, std::int32_t missing) {
        for (Size w = 0; w < width; ++w) words[w * kLanes + n_waiting] = left[w] + (extra ? extra[w] : 0);
        waiting[n_waiting++] = {before, after, missing};
        if (n_waiting == kLanes) judge_waiting();
    };
    const auto offer_both = [&](Code after) {
        offer(nullptr, after, q.missing ? 1 : -1);
        if (q.missing) offer(q.missing, after, 0);
    };
    // A random splitter tries one place only; it is drawn between the least and the greatest value.
    const bool random = q.options.random_splitter;
    double drawn = 0;
    if (random) {
        const double lo = c.least(before), hi = c.greatest(stream.last()), u = Draws(q.address).uniform();
        drawn = lo * (1 - u) + hi * u;  // hi − lo could be infinite
    }
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

namespace detail {

/// The orders of groups in which some prefix is (or is near) the best subset.
/// Two classes, or one mean: by that mean, which holds the optimum. Otherwise one order for each of the
/// heaviest channels.
inline std::vector<std::vector<Size>> subset_orders(const Statistics& s, const Groups& groups) {
    const Size g = groups.size(), width = static_cast<Size>(s.width),
               channels = static_cast<Size>(s.n_channels);
    std::vector<double> c(channels), rate(g * channels), mass(channels, 0.0);
    for (Size i = 0; i < g; ++i) {
        const Stat* sum = groups.sums.data() + i * width;
        s.decode(sum, c.data());
        const double w = static_cast<double>(s.weight_steps(sum)) * s.weight_unit;
        for (Size k = 0; k < channels; ++k) {
            rate[i * channels + k] = w > 0 ? c[k] / w : 0.0;
            mass[k] += c[k];
        }
    }
    std::vector<Size> keys;
    if (s.task == Task::regression)
        for (Size k = 1; k < channels; ++k) keys.push_back(k);
    else if (channels == 2)
        keys.push_back(1);
    else
        for (Size k = 0; k < channels; ++k)
            if (mass[k] > 0) keys.push_back(k);
    constexpr Size most = 16;
    if (keys.size() > most && s.task == Task::classification) {
        std::stable_sort(keys.begin(), keys.end(), [&](Size a, Size b) { return mass[a] > mass[b]; });
        keys.resize(most);
    }
    std::vector<std::vector<Size>> orders;
    for (Size k : keys) {
        auto& order = orders.emplace_back(g);
        std::iota(order.begin(), order.end(), Size{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](Size a, Size b) { return rate[a * channels + k] < rate[b * channels + k]; });
    }
    return orders;
}

}  // namespace detail

/// Search the divisions of categories into two sets.
template <class J>
class SubsetSearch {
  public:
    SubsetSearch(J& judge, const Search& q, const Groups& groups)
        : judge_(judge),
          q_(q),
          groups_(groups),
          width_(static_cast<Size>(q.s.width)),
          sum_(width_),
          trial_(width_) {}

    Candidate run() {
        const Size g = groups_.size();
        constexpr Size exhaustive = 8;
        // With one mean to order by, some prefix is best, unless the sizes of the children are limited.
        const bool one_mean = q_.s.task == Task::regression ? q_.s.n_outputs == 1 : q_.s.n_channels == 2;
        const bool ordered = one_mean && q_.limits.min_weight <= 1 && q_.limits.min_count <= 1;
        if (q_.options.random_splitter)
            random(g);
        else if (q_.options.categories == CategorySplit::one_vs_rest)
            for (Size i = 0; i < g && g > 1; ++i) offer(std::vector<Size>{i});
        else if (!ordered && g <= exhaustive)
            every_subset(g);
        else
            prefixes();
        if (q_.missing && g > 0) known_against_missing(g);
        return finished();
    }

  private:
    void add(Size i) { detail::add_sums(sum_.data(), groups_.sums.data() + i * width_, q_.s.width); }

    void offer(const std::vector<Size>& members) {
        std::fill(sum_.begin(), sum_.end(), 0);
        for (Size i : members) add(i);
        offer_sum([&] { return members; });
    }

    template <class Members>
    void offer_sum(Members&& members) {
        const auto keep = [&](const Stat* sum, std::int32_t missing) {
            const double value = judge_(sum);
            if (!(value > pair_)) return;
            pair_ = value;
            missing_ = missing;
            left_.assign(sum, sum + width_);
            members_ = members();
        };
        keep(sum_.data(), q_.missing ? 1 : -1);
        if (!q_.missing) return;
        for (Size i = 0; i < width_; ++i) trial_[i] = sum_[i] + q_.missing[i];
        keep(trial_.data(), 0);
    }

    void prefixes() {
        for (const auto& order : detail::subset_orders(q_.s, groups_)) {
            std::fill(sum_.begin(), sum_.end(), 0);
            for (Size i = 0; i + 1 < order.size(); ++i) {
                add(order[i]);
                offer_sum([&] {
                    return std::vector<Size>(order.begin(), order.begin() + static_cast<long>(i) + 1);
                });
            }
        }
    }

    void every_subset(Size g) {
        for (Size mask = 1; g > 1 && mask < (Size{1} << (g - 1)); ++mask) {
            std::vector<Size> members;
            for (Size i = 0; i + 1 < g; ++i)
                if (mask >> i & 1) members.push_back(i);
            offer(members);
        }
    }

    void random(Size g) {
        Draws draws(q_.address);
        for (int attempt = 0; attempt < 16 && g > 1; ++attempt) {
            std::vector<Size> members;
            for (Size i = 0; i < g; ++i)
                if (draws.word() >> 63) members.push_back(i);
            if (members.empty() || members.size() == g) continue;
            offer(members);
            return;
        }
    }

    void known_against_missing(Size g) {
        std::fill(sum_.begin(), sum_.end(), 0);
        for (Size i = 0; i < g; ++i) add(i);
        const double value = judge_(sum_.data());
        if (!(value > pair_)) return;
        pair_ = value;
        missing_ = 1;
        left_ = sum_;
        members_.resize(g);
        std::iota(members_.begin(), members_.end(), Size{0});
    }

    Candidate finished() {
        Candidate out;
        out.constant = groups_.size() + (q_.missing ? 1 : 0) < 2;
        if (pair_ == kImpossible) return out;
        out.test = Test::category_set;
        out.seen = groups_.code;
        out.missing = missing_;
        out.threshold = std::numeric_limits<double>::quiet_NaN();
        for (Size i : members_) out.bins.push_back(groups_.code[i]);
        std::sort(out.bins.begin(), out.bins.end());
        finish(out, judge_, q_, pair_, left_.data());
        return out;
    }

    J& judge_;
    const Search& q_;
    const Groups& groups_;
    Size width_;
    std::vector<Stat> sum_, trial_, left_;
    double pair_ = kImpossible;
    std::int32_t missing_ = -1;
    std::vector<Size> members_;
};

/// One child for each category in the node.
template <class J>
Candidate multiway(J& judge, const Search& q, const Groups& groups) {
    Candidate out;
    const Size width = static_cast<Size>(q.s.width);
    out.constant = groups.size() < 2;
    Size large_enough = 0;
    double qualities = 0, information = 0;
    for (Size i = 0; i < groups.size(); ++i) {
        const Stat* sum = groups.sums.data() + i * width;
        large_enough += q.s.weight_steps(sum) >= q.limits.min_weight;
        qualities += judge.quality(sum);
        information += xlog2x(judge.weight(sum));
    }
    if (groups.size() < 2 || large_enough < 2) return out;
    const double w = judge.weight(q.total);
    information = (xlog2x(w) - information) / w;
    out.test = Test::multiway;
    out.feature = q.feature;
    out.threshold = std::numeric_limits<double>::quiet_NaN();
    out.bins = groups.code;
    out.gain = q.known_share * (qualities - judge.quality(q.total)) / w;
    out.improvement = q.node_weight_share * out.gain;
    out.gain_ratio = information > 0 ? out.gain / information : 0.0;
    out.score = price(q.options, out.gain, q.feature);
    return out;
}

/// Is a later feature's score better? Equal in theory may differ in the last bits, so it must be by more than
/// that.
inline bool better(double score, double best) { return score > best + 1e-12 * std::abs(best); }

/// Choose among the features' candidates (in ascending order of feature): the index of the best, or −1.
/// By gain ratio, only features of at least the average gain count (C4.5); prices replace the ratio.
inline int choose(const std::vector<Candidate>& candidates, const GrowOptions& o) {
    double sum = 0;
    int n = 0, best = -1;
    for (const auto& c : candidates)
        if (c.found()) {
            sum += c.gain;
            ++n;
        }
    const bool by_ratio = o.gain_ratio && o.cost_rule == CostRule::none;
    const double average = n ? sum / n : 0.0, least = average - 1e-12 * std::max(1.0, std::abs(average));
    double best_score = 0;
    for (int i = 0; i < static_cast<int>(candidates.size()); ++i) {
        const auto& c = candidates[static_cast<Size>(i)];
        if (!c.found() || (by_ratio && c.gain < least)) continue;
        const double score = by_ratio ? c.gain_ratio : c.score;
        if (best < 0 || better(score, best_score)) {
            best_score = score;
            best = i;
        }
    }
    return best;
}

}  // namespace spinney
