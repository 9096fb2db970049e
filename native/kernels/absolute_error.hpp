// Splits by absolute error: medians of both sides at every cut, kept in a tree of partial sums over the ranks
// of y.
#pragma once

#include <algorithm>
#include <bit>
#include <cfloat>
#include <vector>

#include "options.hpp"
#include "split.hpp"
#include "streams.hpp"

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
        Size at = 0;
        double below = 0, moment = 0;
        for (Size step = top_; step > 0; step /= 2) {
            const Size next = at + step;
            if (next < weight_.size() && below + weight_[next] < all_weight_ / 2) {
                at = next;
                below += weight_[next];
                moment += moment_[next];
            }
        }
        const double median = value[std::min(at, value.size() - 1)];
        return std::max(0.0, median * (2 * below - all_weight_) + all_moment_ - 2 * moment);
    }

  private:
    Size top_;
    std::vector<double> weight_, moment_;
    double all_weight_ = 0, all_moment_ = 0;
};

/// The ranks of y in one node, shared by the searches on all its features.
class AbsoluteErrorNode {
  public:
    void prepare(const Target& target, const Statistics& s, const NodeRows& node) {
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
            const double shift = target.values[node.rows[0] * outputs_ + o] / 2;
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
        std::vector<Code> bins;  // categories in order of their median
        if (column.kind == ColumnKind::categorical) bins = order_categories(keys);
        std::sort(keys.begin(), keys.end());
        out.constant = keys.empty() || (keys.front() >> 32 == keys.back() >> 32 && missing.empty());
        if (out.constant) return out;
        const Sides sides(*this, keys, missing, options.fractional);
        Best best;
        double drawn = 0;
        const auto code_at = [&](Size i) { return static_cast<Code>(keys[i] >> 32); };
        if (options.random_splitter)
            drawn = column.kind == ColumnKind::numeric
                        ? column.lo[code_at(0)] +
                              Draws(address).uniform() *
                                  (column.hi[code_at(keys.size() - 1)] - column.lo[code_at(0)])
                        : Draws(address).uniform() * static_cast<double>(keys.size());
        for (Size i = 1; i < keys.size(); ++i) {
            if (code_at(i) == code_at(i - 1)) continue;
            if (options.random_splitter) {
                const bool passed = column.kind == ColumnKind::numeric ? drawn < column.lo[code_at(i)]
                                                                       : drawn < static_cast<double>(i);
                if (!passed) continue;
                sides.offer(best, i, limits, options);
                break;
            }
            sides.offer(best, i, limits, options);
        }
        if (!missing.empty() && !options.fractional) sides.offer_known_against_missing(best, limits);
        if (best.loss == DBL_MAX) return out;
        describe(out, best, column, keys, bins);
        out.feature = feature;
        out.gain = sides.gain(best);
        out.improvement = node_weight_share * out.gain;
        out.score = price(options, out.gain, feature);
        const double information =
            detail::split_information(best.left_weight, sides.weight() - best.left_weight);
        out.gain_ratio = information > 0 ? out.gain / information : 0.0;
        return out;
    }

  private:
    struct Best {
        double loss = DBL_MAX;
        Size place = 0;  // the first sorted row on the right
        std::int32_t missing = -1;
        double left_weight = 0;
    };

    /// The losses of every prefix and suffix of the sorted rows, with and without the missing rows.
    class Sides {
      public:
        Sides(const AbsoluteErrorNode& node, const std::vector<std::uint64_t>& keys,
              const std::vector<Size>& missing, bool fractional)
            : missing_count_(fractional ? 0 : missing.size()) {
            const Size k = keys.size();
            for (const auto key : keys) order_.push_back(static_cast<std::uint32_t>(key));
            const std::vector<Size> none;
            const auto& placed = fractional ? none : missing;
            prefix_ = node.losses(order_, none);
            suffix_with_ = node.losses({order_.rbegin(), order_.rend()}, placed);
            if (placed.empty()) {
                prefix_with_ = prefix_;
                suffix_ = suffix_with_;
            } else {
                prefix_with_ = node.losses(order_, placed);
                suffix_ = node.losses({order_.rbegin(), order_.rend()}, none);
            }
            cumulative_.assign(k + 1, 0.0);
            for (Size i = 0; i < k; ++i) cumulative_[i + 1] = cumulative_[i] + node.weight_[order_[i]];
            for (Size i : placed) missing_weight_ += node.weight_[i];
            outputs_ = static_cast<double>(node.outputs_);
            double lost = 0;
            for (Size i : missing) lost += node.weight_[i];
            known_share_ = fractional ? cumulative_[k] / (cumulative_[k] + lost) : 1.0;
        }

        double weight() const { return cumulative_.back() + missing_weight_; }

        void offer(Best& best, Size i, const Limits& limits, const GrowOptions& options) const {
            const Size k = order_.size();
            try_side(best, i, prefix_[i], suffix_with_[k - i], i, k - i + missing_count_, cumulative_[i],
                     limits, missing_count_ ? 1 : -1, options);
            if (missing_count_)
                try_side(best, i, prefix_with_[i], suffix_[k - i], i + missing_count_, k - i,
                         cumulative_[i] + missing_weight_, limits, 0, options);
        }

        void offer_known_against_missing(Best& best, const Limits& limits) const {
            const Size k = order_.size();
            try_side(best, k, prefix_[k], suffix_with_[0], k, missing_count_, cumulative_[k], limits, 1, {});
        }

        double gain(const Best& best) const {
            // Twice, because the values were halved.
            return known_share_ * 2 * (prefix_with_.back() - best.loss) / (weight() * outputs_);
        }

      private:
        void try_side(Best& best, Size place, double left, double right, Size n_left, Size n_right,
                      double w_left, const Limits& limits, std::int32_t missing,
                      const GrowOptions& options) const {
            const double least =
                options.fractional ? static_cast<double>(options.min_samples_leaf) * (1 - 1e-12) : 0.0;
            const double w_right = weight() - w_left, floor = std::max(options.min_weight_leaf, least);
            if (limits.min_count > 0 && (n_left < static_cast<Size>(limits.min_count) ||
                                         n_right < static_cast<Size>(limits.min_count)))
                return;
            if (!(w_left > 0) || !(w_right > 0) || w_left < floor || w_right < floor) return;
            if (!(left + right < best.loss)) return;
            best = {left + right, place, missing, w_left};
        }

        std::vector<std::uint32_t> order_;
        std::vector<double> prefix_, prefix_with_, suffix_, suffix_with_, cumulative_;
        Size missing_count_;
        double missing_weight_ = 0, outputs_ = 1, known_share_ = 1;
    };

    /// Loss after each of the rows in order; `first` are there from the start. (n + 1,)
    std::vector<double> losses(const std::vector<std::uint32_t>& order,
                               const std::vector<Size>& first) const {
        std::vector<double> out(order.size() + 1, 0.0);
        for (Size o = 0; o < outputs_; ++o) {
            MedianLoss tree(value_[o].size());
            const auto add = [&](Size i) {
                tree.add(rank_[i * outputs_ + o], weight_[i], y_[i * outputs_ + o]);
            };
            for (Size i : first) add(i);
            out[0] += tree.loss(value_[o]);
            for (Size i = 0; i < order.size(); ++i) {
                add(order[i]);
                out[i + 1] += tree.loss(value_[o]);
            }
        }
        return out;
    }

    void read(std::vector<std::uint64_t>& keys, std::vector<Size>& missing, const CodeColumn& column,
              const NodeRows& node) const {
        for (Size i = 0; i < n_; ++i) {
            const Code code = column.at(node.rows[i]);
            if (code == column.n_bins)
                missing.push_back(i);
            else
                keys.push_back(static_cast<std::uint64_t>(code) << 32 | i);
        }
    }

    /// Replace category codes by their place in the order of medians (first output); gives the code at each
    /// place.
    std::vector<Code> order_categories(std::vector<std::uint64_t>& keys) const {
        std::sort(keys.begin(), keys.end());
        std::vector<std::pair<double, Code>> medians;
        for (Size i = 0; i < keys.size();) {
            std::vector<std::pair<double, double>> pairs;
            const auto code = static_cast<Code>(keys[i] >> 32);
            for (; i < keys.size() && static_cast<Code>(keys[i] >> 32) == code; ++i) {
                const auto row = static_cast<std::uint32_t>(keys[i]);
                pairs.emplace_back(y_[row * outputs_], weight_[row]);
            }
            medians.emplace_back(weighted_median(pairs), code);
        }
        std::sort(medians.begin(), medians.end());
        std::vector<Code> bins;
        std::vector<std::uint64_t> place(1);
        for (Size i = 0; i < medians.size(); ++i) {
            bins.push_back(medians[i].second);
            if (place.size() <= medians[i].second) place.resize(medians[i].second + 1);
            place[medians[i].second] = i;
        }
        for (auto& key : keys) key = place[key >> 32] << 32 | (key & 0xFFFFFFFFu);
        return bins;
    }

    void describe(Candidate& out, const Best& best, const CodeColumn& column,
                  const std::vector<std::uint64_t>& keys, const std::vector<Code>& bins) const {
        out.missing = best.missing;
        const auto last = static_cast<Code>(keys[best.place - 1] >> 32);
        if (column.kind == ColumnKind::categorical) {
            out.test = Test::category_set;
            out.threshold = std::numeric_limits<double>::quiet_NaN();
            out.bins.assign(bins.begin(), bins.begin() + last + 1);
            out.seen = bins;
            std::sort(out.bins.begin(), out.bins.end());
            std::sort(out.seen.begin(), out.seen.end());
            return;
        }
        out.test = Test::numeric;
        out.cut = last;
        out.threshold = best.place == keys.size()
                            ? DBL_MAX
                            : midpoint(column.hi[last], column.lo[static_cast<Code>(keys[best.place] >> 32)]);
    }

    Size outputs_ = 1, n_ = 0;
    std::vector<std::uint32_t> rank_;
    std::vector<double> y_, weight_;
    std::vector<std::vector<double>> value_;
};

}  // namespace spinney
