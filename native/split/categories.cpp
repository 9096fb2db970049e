// Searches of category sets and multiway splits.
#include "split/categories.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace spinney {

namespace {

/// Orders of the categories whose prefixes contain the best subset, or one near it. With two classes or one
/// output the order by mean contains the optimum (Breiman et al. 1984); otherwise one order per channel, for
/// the channels of largest weight.
std::vector<std::vector<Size>> subset_orders(const Statistics& s, const CategorySums& groups) {
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
    constexpr Size max_orders = 16;
    if (keys.size() > max_orders && s.task == Task::classification) {
        std::stable_sort(keys.begin(), keys.end(), [&](Size a, Size b) { return mass[a] > mass[b]; });
        keys.resize(max_orders);
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

/// Search of the divisions of the categories into two sets.
class SubsetSearch {
  public:
    SubsetSearch(ScorerBase& scorer, const FeatureSearch& q, const CategorySums& groups)
        : scorer_(scorer),
          q_(q),
          groups_(groups),
          width_(static_cast<Size>(q.s.width)),
          sum_(width_),
          trial_(width_) {}

    Candidate run() {
        const Size g = groups_.size();
        constexpr Size exhaustive = 8;
        // Ordered by one mean, some prefix is optimal, unless the sizes of the children are limited.
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
        const bool drawn = q_.options.random_splitter() && quality_ > kImpossible;
        if (q_.missing && g > 0 && !drawn) known_against_missing(g);
        return finished();
    }

  private:
    void add(Size i) {
        for (Size k = 0; k < width_; ++k) sum_[k] += groups_.sums[i * width_ + k];
    }

    void offer(const std::vector<Size>& members) {
        std::fill(sum_.begin(), sum_.end(), 0);
        for (Size i : members) add(i);
        offer_sum([&] { return members; });
    }

    template <class Members>
    void offer_sum(Members&& members) {
        const auto keep = [&](const Stat* sum, std::int32_t missing) {
            const double value = scorer_(sum);
            if (!(value > quality_)) return;
            quality_ = value;
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
        for (const auto& order : subset_orders(q_.s, groups_)) {
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
                if (draws.next_u64() >> 63) members.push_back(i);
            if (members.empty() || members.size() == g) continue;
            offer(members);
            return;
        }
        if (g > 1) offer({static_cast<Size>(draws.next_u64() % g)});  // all draws were trivial sets
    }

    void known_against_missing(Size g) {
        std::fill(sum_.begin(), sum_.end(), 0);
        for (Size i = 0; i < g; ++i) add(i);
        const double value = scorer_(sum_.data());
        if (!(value > quality_)) return;
        quality_ = value;
        missing_ = 1;
        left_ = sum_;
        members_.resize(g);
        std::iota(members_.begin(), members_.end(), Size{0});
    }

    Candidate finished() {
        Candidate out;
        out.constant = groups_.size() + (q_.missing ? 1 : 0) < 2;
        if (quality_ == kImpossible) return out;
        out.kind = SplitKind::category_set;
        out.seen = groups_.code;
        out.missing = missing_;
        out.threshold = std::numeric_limits<double>::quiet_NaN();
        for (Size i : members_) out.bins.push_back(groups_.code[i]);
        std::sort(out.bins.begin(), out.bins.end());
        finish(out, scorer_, q_, quality_, left_.data());
        return out;
    }

    ScorerBase& scorer_;
    const FeatureSearch& q_;
    const CategorySums& groups_;
    Size width_;
    std::vector<Stat> sum_, trial_, left_;
    double quality_ = kImpossible;
    std::int32_t missing_ = -1;
    std::vector<Size> members_;
};

}  // namespace

Candidate best_category_set(ScorerBase& scorer, const FeatureSearch& q, const CategorySums& groups) {
    return SubsetSearch(scorer, q, groups).run();
}

Candidate multiway_split(ScorerBase& scorer, const FeatureSearch& q, const CategorySums& groups) {
    Candidate out;
    const Size width = static_cast<Size>(q.s.width);
    out.constant = groups.size() < 2;
    Size large_enough = 0;
    double qualities = 0, information = 0;
    for (Size i = 0; i < groups.size(); ++i) {
        const Stat* sum = groups.sums.data() + i * width;
        large_enough += q.s.weight_steps(sum) >= q.limits.min_weight;
        qualities += scorer.quality(sum);
        information += xlog2x(scorer.weight(sum));
    }
    if (groups.size() < 2 || large_enough < 2) return out;
    const double w = scorer.weight(q.total);
    information = (xlog2x(w) - information) / w;
    out.kind = SplitKind::multiway;
    out.feature = q.feature;
    out.threshold = std::numeric_limits<double>::quiet_NaN();
    out.bins = groups.code;
    out.gain = q.known_fraction * (qualities - scorer.quality(q.total)) / w;
    out.improvement = q.node_weight_fraction * out.gain;
    out.gain_ratio = information > 0 ? out.gain / information : 0.0;
    out.score = cost_adjusted(q.options, out.gain, q.feature);
    return out;
}

}  // namespace spinney
