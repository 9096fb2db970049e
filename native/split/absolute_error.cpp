// Splits by absolute error.
#include "split/absolute_error.hpp"

#include <array>
#include <cfloat>
#include <cmath>
#include <limits>

#include "split/sweep.hpp"

namespace spinney {

namespace {

/// Best split of a sorted sequence of rows so far.
struct Best {
    double loss = DBL_MAX;
    Size index = 0;  // the first sorted row on the right
    std::int32_t missing = -1;
    double left_weight = 0;
    std::array<double, 2> child_values{};  // medians of the two sides, with monotonic constraints
};

Code code_of(std::uint64_t key) { return static_cast<Code>(key >> 32); }

/// Fill in the scores of the best split.
template <class Sides>
void fill_scores(Candidate& out, const Sides& sides, const Best& best) {
    out.gain = sides.gain(best);
    out.missing = best.missing;
    out.child_values = best.child_values;
    const double information = detail::split_information(best.left_weight, sides.weight() - best.left_weight);
    out.gain_ratio = information > 0 ? out.gain / information : 0.0;
}

}  // namespace

/// Loss of a growing set of rows, and its medians with monotonic constraints.
struct AbsoluteErrorNode::Losses {
    std::vector<double> loss, median;
};

/// Losses of every prefix and suffix of the sorted rows, with and without the rows with a missing value.
class AbsoluteErrorNode::Sides {
  public:
    Sides(const AbsoluteErrorNode& node, const std::vector<std::uint64_t>& keys,
          const std::vector<Size>& missing, const Limits& limits, const GrowOptions& options)
        : limits_(limits), missing_count_(options.fractional() ? 0 : missing.size()) {
        for (const auto key : keys) order_.push_back(static_cast<std::uint32_t>(key));
        const std::vector<Size> none;
        const auto& placed = options.fractional() ? none : missing;
        prefix_ = node.losses(order_, none);
        suffix_with_ = node.losses({order_.rbegin(), order_.rend()}, placed);
        prefix_with_ = placed.empty() ? prefix_ : node.losses(order_, placed);
        suffix_ = placed.empty() ? suffix_with_ : node.losses({order_.rbegin(), order_.rend()}, none);
        cumulative_.assign(1, 0.0);
        for (const auto i : order_) cumulative_.push_back(cumulative_.back() + node.weight_[i]);
        double lost = 0;
        for (Size i : missing) lost += node.weight_[i];
        if (options.fractional())
            known_share_ = cumulative_.back() / (cumulative_.back() + lost);
        else
            missing_weight_ = lost;
        outputs_ = static_cast<double>(node.outputs_);
        min_weight_ = options.min_weight_leaf;
    }

    double weight() const { return cumulative_.back() + missing_weight_; }

    /// Offer the split before the i-th of the sorted rows, with the missing rows on either side.
    void offer(Best& best, Size i) const {
        const Size rest = order_.size() - i;
        offer_split(best, i, prefix_, suffix_with_, i, rest + missing_count_, missing_count_ ? 1 : -1);
        if (missing_count_) offer_split(best, i, prefix_with_, suffix_, i + missing_count_, rest, 0);
    }

    void offer_known_against_missing(Best& best) const {
        offer_split(best, order_.size(), prefix_, suffix_with_, order_.size(), missing_count_, 1);
    }

    double gain(const Best& best) const {
        // Twice, because the values were halved.
        return known_share_ * 2 * (prefix_with_.loss.back() - best.loss) / (weight() * outputs_);
    }

  private:
    void offer_split(Best& best, Size i, const Losses& left, const Losses& right, Size n_left, Size n_right,
                     std::int32_t missing) const {
        const Size rest = order_.size() - i;
        const double w_left = cumulative_[i] + (missing == 0 ? missing_weight_ : 0.0);
        const double w_right = weight() - w_left;
        const auto min_count = static_cast<Size>(limits_.min_count);
        if (n_left < min_count || n_right < min_count) return;
        if (!(w_left > 0) || !(w_right > 0) || w_left < min_weight_ || w_right < min_weight_) return;
        const double loss = left.loss[i] + right.loss[rest];
        if (!(loss < best.loss)) return;
        std::array<double, 2> child_values{};
        if (limits_.monotone) {
            child_values = {left.median[i], right.median[rest]};
            const auto [a, b] = child_values;
            if (a < limits_.lower || b < limits_.lower || a > limits_.upper || b > limits_.upper ||
                (a - b) * limits_.direction > 0)
                return;
        }
        best = {loss, i, missing, w_left, child_values};
    }

    const Limits& limits_;
    std::vector<std::uint32_t> order_;
    Losses prefix_, prefix_with_, suffix_, suffix_with_;
    std::vector<double> cumulative_;  // weight of the first i sorted rows
    Size missing_count_;
    double missing_weight_ = 0, outputs_ = 1, known_share_ = 1, min_weight_ = 0;
};

void AbsoluteErrorNode::prepare(const Target& target, const Statistics& s, const NodeRows& node,
                                bool monotone) {
    monotone_ = monotone;
    outputs_ = static_cast<Size>(target.n_outputs);
    n_ = node.rows.size();
    rank_.resize(n_ * outputs_);
    y_.resize(n_ * outputs_);
    value_.assign(outputs_, {});
    weight_.resize(n_);
    for (Size i = 0; i < n_; ++i)
        weight_[i] = node.parts.empty() ? target.weight(node.rows[i])
                                        : static_cast<double>(node.parts[i]) * s.weight_unit;
    for (Size o = 0; o < outputs_; ++o) {
        auto& values = value_[o];
        // Halved and shifted: sums of deviations must neither overflow nor cancel.
        const double shift = shift_ = target.values[node.rows[0] * outputs_ + o] / 2;
        for (Size i = 0; i < n_; ++i) {
            y_[i * outputs_ + o] = target.values[node.rows[i] * outputs_ + o] / 2 - shift;
            values.push_back(y_[i * outputs_ + o]);
        }
        std::sort(values.begin(), values.end());
        values.erase(std::unique(values.begin(), values.end()), values.end());
        for (Size i = 0; i < n_; ++i)
            rank_[i * outputs_ + o] = static_cast<std::uint32_t>(
                std::lower_bound(values.begin(), values.end(), y_[i * outputs_ + o]) - values.begin());
    }
}

Candidate AbsoluteErrorNode::search(const CodeColumn& column, std::int32_t feature, const NodeRows& node,
                                    const Limits& limits, const GrowOptions& options,
                                    double node_weight_fraction, std::uint64_t address) const {
    Candidate out;
    std::vector<std::uint64_t> keys;
    std::vector<Size> missing;
    read(keys, missing, column, node);
    out.constant = keys.empty() || (keys.front() >> 32 == keys.back() >> 32 && missing.empty());
    if (out.constant) return out;
    if (column.kind == ColumnKind::numeric)
        search_numeric(out, column, keys, missing, limits, options, address);
    else
        search_categories(out, keys, missing, limits, options, address);
    if (!out.found()) return out;
    out.feature = feature;
    out.improvement = node_weight_fraction * out.gain;
    out.score = cost_adjusted(options, out.gain, feature);
    return out;
}

/// Losses after each of the rows in order; the rows `first` are there from the start.  -> (n + 1,)
AbsoluteErrorNode::Losses AbsoluteErrorNode::losses(const std::vector<std::uint32_t>& order,
                                                    const std::vector<Size>& first) const {
    Losses out{std::vector<double>(order.size() + 1, 0.0), {}};
    if (monotone_) out.median.resize(order.size() + 1);
    for (Size o = 0; o < outputs_; ++o) {
        MedianLoss tree(value_[o].size());
        const auto add = [&](Size i) { tree.add(rank_[i * outputs_ + o], weight_[i], y_[i * outputs_ + o]); };
        const auto note = [&](Size i) {
            out.loss[i] += tree.loss(value_[o]);
            if (monotone_) out.median[i] = (tree.median(value_[o]) + shift_) * 2;
        };
        for (Size i : first) add(i);
        note(0);
        for (Size i = 0; i < order.size(); ++i) {
            add(order[i]);
            note(i + 1);
        }
    }
    return out;
}

/// Keys of the known rows as code << 32 | position, in order, and the positions of the missing ones.
void AbsoluteErrorNode::read(std::vector<std::uint64_t>& keys, std::vector<Size>& missing,
                             const CodeColumn& column, const NodeRows& node) const {
    for (Size i = 0; i < n_; ++i) {
        const Code code = column.at(node.rows[i]);
        if (code == column.n_bins)
            missing.push_back(i);
        else
            keys.push_back(static_cast<std::uint64_t>(code) << 32 | i);
    }
    std::sort(keys.begin(), keys.end());
}

void AbsoluteErrorNode::search_numeric(Candidate& out, const CodeColumn& column,
                                       const std::vector<std::uint64_t>& keys,
                                       const std::vector<Size>& missing, const Limits& limits,
                                       const GrowOptions& options, std::uint64_t address) const {
    const Sides sides(*this, keys, missing, limits, options);
    const bool random = options.random_splitter();
    const double first = column.max_of(code_of(keys.front())), last = column.min_of(code_of(keys.back()));
    const double u = random ? Draws(address).uniform() : 0.0;
    const double drawn = std::min(first * (1 - u) + last * u, std::nextafter(last, first));
    Best best;
    for (Size i = 1; i < keys.size(); ++i) {
        if (code_of(keys[i]) == code_of(keys[i - 1])) continue;
        if (random && drawn >= column.min_of(code_of(keys[i]))) continue;
        sides.offer(best, i);
        if (random) break;
    }
    if (!missing.empty() && !options.fractional()) sides.offer_known_against_missing(best);
    if (best.loss == DBL_MAX) return;
    out.kind = SplitKind::numeric;
    out.threshold_bin = code_of(keys[best.index - 1]);
    const bool inside = best.index < keys.size();
    out.threshold =
        inside ? midpoint(column.max_of(out.threshold_bin), column.min_of(code_of(keys[best.index])))
               : DBL_MAX;
    if (random && inside && drawn >= column.max_of(out.threshold_bin)) out.threshold = drawn;
    fill_scores(out, sides, best);
}

/// Search category sets. No order of categories is sure to contain the best set, so few levels are searched
/// exhaustively, and many in the order of their medians.
void AbsoluteErrorNode::search_categories(Candidate& out, const std::vector<std::uint64_t>& keys,
                                          const std::vector<Size>& missing, const Limits& limits,
                                          const GrowOptions& options, std::uint64_t address) const {
    constexpr Size exhaustive = 6;
    const std::vector<Code> levels = by_median(keys);
    const Size g = levels.size();
    const auto offer = [&](const std::vector<Code>& members) {
        std::vector<Code> order = members;
        for (Code level : levels)
            if (std::find(members.begin(), members.end(), level) == members.end()) order.push_back(level);
        try_order(out, order, members.size(), members.size(), keys, missing, limits, options);
    };
    if (options.random_splitter()) {
        Draws draws(address);
        std::vector<Code> members;
        for (Code level : levels)
            if (draws.next_u64() >> 63) members.push_back(level);
        if (members.empty() || members.size() == g)
            members.assign(1, levels[draws.below(static_cast<std::uint32_t>(g))]);
        offer(members);
    } else if (options.categorical_split == CategorySplit::one_vs_rest) {
        for (Size i = 0; i < g && g > 1; ++i) offer({levels[i]});
    } else if (g <= exhaustive) {
        for (Size mask = 1; g > 1 && mask < (Size{1} << (g - 1)); ++mask) {
            std::vector<Code> members;
            for (Size i = 0; i + 1 < g; ++i)
                if (mask >> i & 1) members.push_back(levels[i]);
            offer(members);
        }
    } else {
        try_order(out, levels, 1, g - 1, keys, missing, limits, options);
    }
    if (!missing.empty() && !options.fractional()) offer(levels);
    out.seen = levels;
    std::sort(out.seen.begin(), out.seen.end());
}

/// Offer the sets of the first k categories in an order, k from `first` to `last`, to `out`.
void AbsoluteErrorNode::try_order(Candidate& out, const std::vector<Code>& levels, Size first, Size last,
                                  const std::vector<std::uint64_t>& keys, const std::vector<Size>& missing,
                                  const Limits& limits, const GrowOptions& options) const {
    std::vector<std::uint64_t> order;
    std::vector<Size> begin;
    for (Code level : levels) {
        begin.push_back(order.size());
        auto at = std::lower_bound(keys.begin(), keys.end(), static_cast<std::uint64_t>(level) << 32);
        for (; at != keys.end() && code_of(*at) == level; ++at) order.push_back(*at);
    }
    const Sides sides(*this, order, missing, limits, options);
    Best best;
    for (Size k = first; k <= last; ++k) {
        if (k == levels.size())
            sides.offer_known_against_missing(best);
        else
            sides.offer(best, begin[k]);
    }
    if (best.loss == DBL_MAX || (out.found() && !(sides.gain(best) > out.gain))) return;
    out.kind = SplitKind::category_set;
    out.threshold = std::numeric_limits<double>::quiet_NaN();
    const auto n = std::lower_bound(begin.begin(), begin.end(), best.index) - begin.begin();
    out.bins.assign(levels.begin(), levels.begin() + n);
    std::sort(out.bins.begin(), out.bins.end());
    fill_scores(out, sides, best);
}

/// Categories in order of their median y (of the first output).
std::vector<Code> AbsoluteErrorNode::by_median(const std::vector<std::uint64_t>& keys) const {
    std::vector<std::pair<double, Code>> medians;
    for (Size i = 0; i < keys.size();) {
        std::vector<std::pair<double, double>> pairs;
        const Code code = code_of(keys[i]);
        for (; i < keys.size() && code_of(keys[i]) == code; ++i) {
            const auto row = static_cast<std::uint32_t>(keys[i]);
            pairs.emplace_back(y_[row * outputs_], weight_[row]);
        }
        medians.emplace_back(weighted_median(pairs), code);
    }
    std::sort(medians.begin(), medians.end());
    std::vector<Code> out;
    for (const auto& [median, code] : medians) out.push_back(code);
    return out;
}

}  // namespace spinney
