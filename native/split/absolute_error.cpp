// Splits by absolute error.
#include "split/absolute_error.hpp"

#include <array>
#include <cfloat>
#include <cmath>
#include <limits>

#include "split/sweep.hpp"

namespace spinney {

void AbsoluteErrorNode::prepare(const Target& target, const Statistics& s, const NodeRows& node,
                                bool monotone) {
    monotone_ = monotone;
    outputs_ = static_cast<Size>(target.n_outputs);
    const Size n = node.rows.size();
    rank_.resize(n * outputs_);
    y_.resize(n * outputs_);
    value_.assign(outputs_, {});
    weight_.resize(n);
    for (Size i = 0; i < n; ++i)
        weight_[i] = node.parts.empty() ? target.weight(node.rows[i])
                                        : static_cast<double>(node.parts[i]) * s.weight_unit;
    for (Size o = 0; o < outputs_; ++o) {
        auto& values = value_[o];
        // Halved and shifted: sums of deviations must neither overflow nor cancel.
        const double shift = shift_ = target.values[node.rows[0] * outputs_ + o] / 2;
        for (Size i = 0; i < n; ++i) {
            y_[i * outputs_ + o] = target.values[node.rows[i] * outputs_ + o] / 2 - shift;
            values.push_back(y_[i * outputs_ + o]);
        }
        std::sort(values.begin(), values.end());
        values.erase(std::unique(values.begin(), values.end()), values.end());
        for (Size i = 0; i < n; ++i)
            rank_[i * outputs_ + o] = static_cast<std::uint32_t>(
                std::lower_bound(values.begin(), values.end(), y_[i * outputs_ + o]) - values.begin());
    }
}

/// Search on one feature of a node.
class AbsoluteErrorSearch {
  public:
    AbsoluteErrorSearch(const AbsoluteErrorNode& node, const CodeColumn& column, const NodeRows& rows,
                        const Limits& limits, const GrowOptions& options, std::uint64_t address)
        : node_(node), column_(column), limits_(limits), options_(options), address_(address) {
        for (Size i = 0; i < rows.rows.size(); ++i) {
            const Code code = column.at(rows.rows[i]);
            if (code == column.n_bins)
                missing_.push_back(i);
            else
                keys_.push_back(static_cast<std::uint64_t>(code) << 32 | i);
        }
        std::sort(keys_.begin(), keys_.end());
    }

    Candidate run() {
        out_.constant =
            keys_.empty() || (code_of(keys_.front()) == code_of(keys_.back()) && missing_.empty());
        if (out_.constant) return out_;
        if (column_.kind == ColumnKind::numeric)
            search_numeric();
        else
            search_categories();
        return out_;
    }

  private:
    static Code code_of(std::uint64_t key) { return static_cast<Code>(key >> 32); }

    /// Loss of a growing set of rows, and its medians with monotonic constraints.
    struct Losses {
        std::vector<double> loss, median;
    };

    /// Best split of a sorted sequence of rows so far.
    struct Best {
        double loss = DBL_MAX;
        Size index = 0;  // the first sorted row on the right
        std::int32_t missing = -1;
        double left_weight = 0;
        std::array<double, 2> child_values{};  // medians of the two sides, with monotonic constraints
    };

    /// Losses of every prefix and suffix of the sorted rows, with and without the rows with a missing value.
    class Sides {
      public:
        Sides(const AbsoluteErrorSearch& q, const std::vector<std::uint64_t>& keys)
            : q_(q), missing_count_(q.options_.fractional() ? 0 : q.missing_.size()) {
            for (const auto key : keys) order_.push_back(static_cast<std::uint32_t>(key));
            const std::vector<Size> none;
            const auto& placed = missing_count_ ? q.missing_ : none;
            prefix_ = q.losses(order_, none);
            suffix_with_ = q.losses({order_.rbegin(), order_.rend()}, placed);
            prefix_with_ = placed.empty() ? prefix_ : q.losses(order_, placed);
            suffix_ = placed.empty() ? suffix_with_ : q.losses({order_.rbegin(), order_.rend()}, none);
            for (const auto i : order_) cumulative_.push_back(cumulative_.back() + q.node_.weight_[i]);
            double lost = 0;
            for (Size i : q.missing_) lost += q.node_.weight_[i];
            if (q.options_.fractional())
                known_share_ = cumulative_.back() / (cumulative_.back() + lost);
            else
                missing_weight_ = lost;
        }

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
            return known_share_ * 2 * (prefix_with_.loss.back() - best.loss) /
                   (weight() * static_cast<double>(q_.node_.outputs_));
        }

        /// Fill in the scores of the best split.
        void fill_scores(Candidate& out, const Best& best) const {
            out.gain = gain(best);
            out.missing = best.missing;
            out.child_values = best.child_values;
            const double information =
                detail::split_information(best.left_weight, weight() - best.left_weight);
            out.gain_ratio = information > 0 ? out.gain / information : 0.0;
        }

      private:
        double weight() const { return cumulative_.back() + missing_weight_; }

        void offer_split(Best& best, Size i, const Losses& left, const Losses& right, Size n_left,
                         Size n_right, std::int32_t missing) const {
            const Limits& limits = q_.limits_;
            const Size rest = order_.size() - i;
            const double w_left = cumulative_[i] + (missing == 0 ? missing_weight_ : 0.0);
            const double w_right = weight() - w_left, min_weight = q_.options_.min_weight_leaf;
            const auto min_count = static_cast<Size>(limits.min_count);
            if (n_left < min_count || n_right < min_count) return;
            if (!(w_left > 0) || !(w_right > 0) || w_left < min_weight || w_right < min_weight) return;
            const double loss = left.loss[i] + right.loss[rest];
            if (!(loss < best.loss)) return;
            std::array<double, 2> child_values{};
            if (limits.monotone) {
                child_values = {left.median[i], right.median[rest]};
                const auto [a, b] = child_values;
                if (a < limits.lower || b < limits.lower || a > limits.upper || b > limits.upper ||
                    (a - b) * limits.direction > 0)
                    return;
            }
            best = {loss, i, missing, w_left, child_values};
        }

        const AbsoluteErrorSearch& q_;
        std::vector<std::uint32_t> order_;
        Losses prefix_, prefix_with_, suffix_, suffix_with_;
        std::vector<double> cumulative_{0.0};  // weight of the first i sorted rows
        Size missing_count_;
        double missing_weight_ = 0, known_share_ = 1;
    };

    /// Losses after each of the rows in order; the rows `first` are there from the start.  -> (n + 1,)
    Losses losses(const std::vector<std::uint32_t>& order, const std::vector<Size>& first) const {
        const Size outputs = node_.outputs_;
        Losses out{std::vector<double>(order.size() + 1, 0.0), {}};
        if (node_.monotone_) out.median.resize(order.size() + 1);
        for (Size o = 0; o < outputs; ++o) {
            const std::vector<double>& value = node_.value_[o];
            MedianLoss tree(value.size());
            const auto add = [&](Size i) {
                tree.add(node_.rank_[i * outputs + o], node_.weight_[i], node_.y_[i * outputs + o]);
            };
            const auto note = [&](Size i) {
                out.loss[i] += tree.loss(value);
                if (node_.monotone_) out.median[i] = (tree.median(value) + node_.shift_) * 2;
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

    void search_numeric() {
        const Sides sides(*this, keys_);
        const bool random = options_.random_splitter();
        const double drawn =
            random ? draw_threshold(column_, code_of(keys_.front()), code_of(keys_.back()), address_) : 0.0;
        Best best;
        for (Size i = 1; i < keys_.size(); ++i) {
            if (code_of(keys_[i]) == code_of(keys_[i - 1])) continue;
            if (random && drawn >= column_.min_of(code_of(keys_[i]))) continue;
            sides.offer(best, i);
            if (random) break;
        }
        if (!missing_.empty() && !options_.fractional()) sides.offer_known_against_missing(best);
        if (best.loss == DBL_MAX) return;
        out_.kind = SplitKind::numeric;
        out_.threshold_bin = code_of(keys_[best.index - 1]);
        const bool inside = best.index < keys_.size();
        const double below = column_.max_of(out_.threshold_bin);
        out_.threshold = inside ? midpoint(below, column_.min_of(code_of(keys_[best.index]))) : DBL_MAX;
        if (random && inside && drawn >= below) out_.threshold = drawn;
        sides.fill_scores(out_, best);
    }

    /// Search category sets. No order of categories is sure to contain the best set, so few levels are
    /// searched exhaustively, and many in the order of their medians.
    void search_categories() {
        constexpr Size exhaustive = 6;
        const std::vector<Code> levels = by_median();
        const Size g = levels.size();
        const auto offer = [&](const std::vector<Code>& members) {
            std::vector<Code> order = members;
            for (Code level : levels)
                if (std::find(members.begin(), members.end(), level) == members.end()) order.push_back(level);
            try_order(order, members.size(), members.size());
        };
        if (options_.random_splitter()) {
            Draws draws(address_);
            std::vector<Code> members;
            for (Code level : levels)
                if (draws.next_u64() >> 63) members.push_back(level);
            if (members.empty() || members.size() == g)
                members.assign(1, levels[draws.below(static_cast<std::uint32_t>(g))]);
            offer(members);
        } else if (options_.categorical_split == CategorySplit::one_vs_rest) {
            for (Size i = 0; i < g && g > 1; ++i) offer({levels[i]});
        } else if (g <= exhaustive) {
            for (Size mask = 1; g > 1 && mask < (Size{1} << (g - 1)); ++mask) {
                std::vector<Code> members;
                for (Size i = 0; i + 1 < g; ++i)
                    if (mask >> i & 1) members.push_back(levels[i]);
                offer(members);
            }
        } else {
            try_order(levels, 1, g - 1);
        }
        if (!missing_.empty() && !options_.fractional()) offer(levels);
        out_.seen = levels;
        std::sort(out_.seen.begin(), out_.seen.end());
    }

    /// Offer the sets of the first k categories in an order, k from `first` to `last`.
    void try_order(const std::vector<Code>& levels, Size first, Size last) {
        std::vector<std::uint64_t> order;
        std::vector<Size> begin;
        for (Code level : levels) {
            begin.push_back(order.size());
            auto at = std::lower_bound(keys_.begin(), keys_.end(), static_cast<std::uint64_t>(level) << 32);
            for (; at != keys_.end() && code_of(*at) == level; ++at) order.push_back(*at);
        }
        const Sides sides(*this, order);
        Best best;
        for (Size k = first; k <= last; ++k) {
            if (k == levels.size())
                sides.offer_known_against_missing(best);
            else
                sides.offer(best, begin[k]);
        }
        if (best.loss == DBL_MAX || (out_.found() && !(sides.gain(best) > out_.gain))) return;
        out_.kind = SplitKind::category_set;
        out_.threshold = std::numeric_limits<double>::quiet_NaN();
        const auto n = std::lower_bound(begin.begin(), begin.end(), best.index) - begin.begin();
        out_.bins.assign(levels.begin(), levels.begin() + n);
        std::sort(out_.bins.begin(), out_.bins.end());
        sides.fill_scores(out_, best);
    }

    /// Categories in order of their median y (of the first output).
    std::vector<Code> by_median() const {
        std::vector<std::pair<double, Code>> medians;
        for (Size i = 0; i < keys_.size();) {
            std::vector<std::pair<double, double>> pairs;
            const Code code = code_of(keys_[i]);
            for (; i < keys_.size() && code_of(keys_[i]) == code; ++i) {
                const auto row = static_cast<std::uint32_t>(keys_[i]);
                pairs.emplace_back(node_.y_[row * node_.outputs_], node_.weight_[row]);
            }
            medians.emplace_back(weighted_median(pairs), code);
        }
        std::sort(medians.begin(), medians.end());
        std::vector<Code> out;
        for (const auto& [median, code] : medians) out.push_back(code);
        return out;
    }

    const AbsoluteErrorNode& node_;
    const CodeColumn& column_;
    const Limits& limits_;
    const GrowOptions& options_;
    std::uint64_t address_;            // of the random draws
    std::vector<std::uint64_t> keys_;  // of the known rows: code << 32 | position, ascending
    std::vector<Size> missing_;        // positions of the rows with a missing value
    Candidate out_;
};

Candidate AbsoluteErrorNode::search(const CodeColumn& column, std::int32_t feature, const NodeRows& node,
                                    const Limits& limits, const GrowOptions& options,
                                    double node_weight_fraction, std::uint64_t address) const {
    Candidate out = AbsoluteErrorSearch(*this, column, node, limits, options, address).run();
    if (!out.found()) return out;
    out.feature = feature;
    out.improvement = node_weight_fraction * out.gain;
    out.score = cost_adjusted(options, out.gain, feature);
    return out;
}

}  // namespace spinney
