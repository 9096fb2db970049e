// Splits by absolute error: medians of both sides at every cut, kept in a tree of partial sums over the ranks
// of y.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <vector>

#include "grow/options.hpp"
#include "split/sweep.hpp"
#include "split/streams.hpp"

namespace spinney {

/// Σ w·|y − median| of a growing set of rows, in O(log n) a row (a Fenwick tree over the ranks of y).
class MedianLoss {
  public:
    explicit MedianLoss(Size n_ranks)
        : top_(std::bit_floor(std::max<Size>(n_ranks, 1))), weight_(n_ranks + 1), moment_(n_ranks + 1) {}

    void clear() {
        std::fill(weight_.begin(), weight_.end(), 0.0);
        std::fill(moment_.begin(), moment_.end(), 0.0);
        all_weight_ = all_moment_ = 0;
    }

    void add(Size rank, double w, double y) {
        all_weight_ += w;
        all_moment_ += w * y;
        for (Size i = rank + 1; i < weight_.size(); i += i & (~i + 1)) {
            weight_[i] += w;
            moment_[i] += w * y;
        }
    }

    /// value[r] is the y of rank r.
    double loss(const std::vector<double>& value) const {
        const Place p = find([this](double below) { return below < all_weight_ / 2; });
        const double median = value[std::min(p.rank, value.size() - 1)];
        return std::max(0.0, median * (2 * p.below - all_weight_) + all_moment_ - 2 * p.moment);
    }

    /// The middle of the two candidates where the weight splits evenly.
    double median(const std::vector<double>& value) const {
        const Place low = find([this](double below) { return below < all_weight_ / 2; });
        const Place high = find([this](double below) { return below <= all_weight_ / 2; });
        const auto at = [&](const Place& p) { return value[std::min(p.rank, value.size() - 1)]; };
        return at(low) / 2 + at(high) / 2;
    }

  private:
    struct Place {
        Size rank = 0;
        double below = 0, moment = 0;  // sums over the ranks before it
    };

    /// The first rank at which the weight up to and with it no longer satisfies `before`.
    template <class Before>
    Place find(Before&& before) const {
        Place p;
        for (Size step = top_; step > 0; step /= 2) {
            const Size next = p.rank + step;
            if (next < weight_.size() && before(p.below + weight_[next])) {
                p.rank = next;
                p.below += weight_[next];
                p.moment += moment_[next];
            }
        }
        return p;
    }

    Size top_;
    std::vector<double> weight_, moment_;
    double all_weight_ = 0, all_moment_ = 0;
};

/// The ranks of y in one node, shared by the searches on all its features.
class AbsoluteErrorNode {
  public:
    /// monotone: medians are needed as well (one output).
    void prepare(const Target& target, const Statistics& s, const NodeRows& node, bool monotone) {
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
            // Halved and shifted, so that sums of deviations neither overflow nor cancel.
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

    Candidate search(const CodeColumn& column, std::int32_t feature, const NodeRows& node,
                     const Limits& limits, const GrowOptions& options, double node_weight_share,
                     std::uint64_t address) const {
        Candidate out;
        std::vector<std::uint64_t> keys;
        std::vector<Size> missing;
        read(keys, missing, column, node);
        out.constant = keys.empty() || (keys.front() >> 32 == keys.back() >> 32 && missing.empty());
        if (out.constant) return out;
        if (column.kind == ColumnKind::numeric)
            search_numbers(out, column, keys, missing, limits, options, address);
        else
            search_categories(out, keys, missing, limits, options, address);
        if (!out.found()) return out;
        out.feature = feature;
        out.improvement = node_weight_share * out.gain;
        out.score = price(options, out.gain, feature);
        return out;
    }

  private:
    struct Best {
        double loss = DBL_MAX;
        Size place = 0;  // the first sorted row on the right
        std::int32_t missing = -1;
        double left_weight = 0;
        std::array<double, 2> answers{};  // medians of the two sides, when monotone
    };

    /// What a growing set of rows loses, and its medians when they are wanted.
    struct Run {
        std::vector<double> loss, median;
    };

    /// The losses of every prefix and suffix of the sorted rows, with and without the missing rows.
    class Sides {
      public:
        Sides(const AbsoluteErrorNode& node, const std::vector<std::uint64_t>& keys,
              const std::vector<Size>& missing, const Limits& limits, const GrowOptions& options)
            : limits_(limits), missing_count_(options.fractional() ? 0 : missing.size()) {
            for (const auto key : keys) order_.push_back(static_cast<std::uint32_t>(key));
            const std::vector<Size> none;
            const auto& placed = options.fractional() ? none : missing;
            prefix_ = node.run(order_, none);
            suffix_with_ = node.run({order_.rbegin(), order_.rend()}, placed);
            prefix_with_ = placed.empty() ? prefix_ : node.run(order_, placed);
            suffix_ = placed.empty() ? suffix_with_ : node.run({order_.rbegin(), order_.rend()}, none);
            cumulative_.assign(1, 0.0);
            for (const auto i : order_) cumulative_.push_back(cumulative_.back() + node.weight_[i]);
            double lost = 0;
            for (Size i : missing) lost += node.weight_[i];
            if (options.fractional())
                known_share_ = cumulative_.back() / (cumulative_.back() + lost);
            else
                missing_weight_ = lost;
            outputs_ = static_cast<double>(node.outputs_);
            least_weight_ = options.min_weight_leaf;
        }

        double weight() const { return cumulative_.back() + missing_weight_; }

        /// Offer the cut before the i-th of the sorted rows, the missing rows on either side.
        void offer(Best& best, Size i) const {
            const Size rest = order_.size() - i;
            try_cut(best, i, prefix_, suffix_with_, i, rest + missing_count_, missing_count_ ? 1 : -1);
            if (missing_count_) try_cut(best, i, prefix_with_, suffix_, i + missing_count_, rest, 0);
        }

        void offer_known_against_missing(Best& best) const {
            try_cut(best, order_.size(), prefix_, suffix_with_, order_.size(), missing_count_, 1);
        }

        double gain(const Best& best) const {
            // Twice, because the values were halved.
            return known_share_ * 2 * (prefix_with_.loss.back() - best.loss) / (weight() * outputs_);
        }

      private:
        void try_cut(Best& best, Size i, const Run& left, const Run& right, Size n_left, Size n_right,
                     std::int32_t missing) const {
            const Size rest = order_.size() - i;
            const double w_left = cumulative_[i] + (missing == 0 ? missing_weight_ : 0.0);
            const double w_right = weight() - w_left;
            const auto least = static_cast<Size>(limits_.min_count);
            if (n_left < least || n_right < least) return;
            if (!(w_left > 0) || !(w_right > 0) || w_left < least_weight_ || w_right < least_weight_) return;
            const double loss = left.loss[i] + right.loss[rest];
            if (!(loss < best.loss)) return;
            std::array<double, 2> answers{};
            if (limits_.monotone) {
                answers = {left.median[i], right.median[rest]};
                const auto [a, b] = answers;
                if (a < limits_.lower || b < limits_.lower || a > limits_.upper || b > limits_.upper ||
                    (a - b) * limits_.direction > 0)
                    return;
            }
            best = {loss, i, missing, w_left, answers};
        }

        const Limits& limits_;
        std::vector<std::uint32_t> order_;
        Run prefix_, prefix_with_, suffix_, suffix_with_;
        std::vector<double> cumulative_;  // weight of the first i sorted rows
        Size missing_count_;
        double missing_weight_ = 0, outputs_ = 1, known_share_ = 1, least_weight_ = 0;
    };

    /// Loss after each of the rows in order; `first` are there from the start. (n + 1,)
    Run run(const std::vector<std::uint32_t>& order, const std::vector<Size>& first) const {
        Run out{std::vector<double>(order.size() + 1, 0.0), {}};
        if (monotone_) out.median.resize(order.size() + 1);
        for (Size o = 0; o < outputs_; ++o) {
            MedianLoss tree(value_[o].size());
            const auto add = [&](Size i) {
                tree.add(rank_[i * outputs_ + o], weight_[i], y_[i * outputs_ + o]);
            };
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

    /// The known rows as code << 32 | place, in order; and the places of the others.
    void read(std::vector<std::uint64_t>& keys, std::vector<Size>& missing, const CodeColumn& column,
              const NodeRows& node) const {
        for (Size i = 0; i < n_; ++i) {
            const Code code = column.at(node.rows[i]);
            if (code == column.n_bins)
                missing.push_back(i);
            else
                keys.push_back(static_cast<std::uint64_t>(code) << 32 | i);
        }
        std::sort(keys.begin(), keys.end());
    }

    static Code code_of(std::uint64_t key) { return static_cast<Code>(key >> 32); }

    void search_numbers(Candidate& out, const CodeColumn& column, const std::vector<std::uint64_t>& keys,
                        const std::vector<Size>& missing, const Limits& limits, const GrowOptions& options,
                        std::uint64_t address) const {
        const Sides sides(*this, keys, missing, limits, options);
        const bool random = options.random_splitter();
        const double least = column.greatest(code_of(keys.front())),
                     most = column.least(code_of(keys.back()));
        const double u = random ? Draws(address).uniform() : 0.0;
        const double drawn = std::min(least * (1 - u) + most * u, std::nextafter(most, least));
        Best best;
        for (Size i = 1; i < keys.size(); ++i) {
            if (code_of(keys[i]) == code_of(keys[i - 1])) continue;
            if (random && drawn >= column.least(code_of(keys[i]))) continue;
            sides.offer(best, i);
            if (random) break;
        }
        if (!missing.empty() && !options.fractional()) sides.offer_known_against_missing(best);
        if (best.loss == DBL_MAX) return;
        out.test = Test::numeric;
        out.cut = code_of(keys[best.place - 1]);
        const bool inside = best.place < keys.size();
        out.threshold =
            inside ? midpoint(column.greatest(out.cut), column.least(code_of(keys[best.place]))) : DBL_MAX;
        if (random && inside && drawn >= column.greatest(out.cut)) out.threshold = drawn;
        take(out, sides, best);
    }

    static void take(Candidate& out, const Sides& sides, const Best& best) {
        out.gain = sides.gain(best);
        out.missing = best.missing;
        out.answers = best.answers;
        const double information =
            detail::split_information(best.left_weight, sides.weight() - best.left_weight);
        out.gain_ratio = information > 0 ? out.gain / information : 0.0;
    }

    /// Try sets of categories. No order of categories is sure to hold the best set, so few levels are tried
    /// in every way, and many in the order of their medians.
    void search_categories(Candidate& out, const std::vector<std::uint64_t>& keys,
                           const std::vector<Size>& missing, const Limits& limits, const GrowOptions& options,
                           std::uint64_t address) const {
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
                if (draws.word() >> 63) members.push_back(level);
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
    void try_order(Candidate& out, const std::vector<Code>& levels, Size first, Size last,
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
        out.test = Test::category_set;
        out.threshold = std::numeric_limits<double>::quiet_NaN();
        const auto n = std::lower_bound(begin.begin(), begin.end(), best.place) - begin.begin();
        out.bins.assign(levels.begin(), levels.begin() + n);
        std::sort(out.bins.begin(), out.bins.end());
        take(out, sides, best);
    }

    /// The categories in order of their median y (of the first output).
    std::vector<Code> by_median(const std::vector<std::uint64_t>& keys) const {
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

    Size outputs_ = 1, n_ = 0;
    bool monotone_ = false;
    double shift_ = 0;
    std::vector<std::uint32_t> rank_;
    std::vector<double> y_, weight_;
    std::vector<std::vector<double>> value_;
};

}  // namespace spinney
