// Tests on categories: two sets of them, or a branch for each.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "split/sweep.hpp"

namespace spinney {

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
        if (q_.options.random_splitter())
            random(g);
        else if (q_.options.categorical_split == CategorySplit::one_vs_rest)
            for (Size i = 0; i < g && g > 1; ++i) offer(std::vector<Size>{i});
        else if (!ordered && g <= exhaustive)
            every_subset(g);
        else
            prefixes();
        const bool drawn = q_.options.random_splitter() && pair_ > kImpossible;
        if (q_.missing && g > 0 && !drawn) known_against_missing(g);
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

}  // namespace spinney
