// Splits by absolute error: medians of both sides at every threshold, from a Fenwick tree over the ranks of
// y.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "data/code_matrix.hpp"
#include "split/candidate.hpp"
#include "split/node_values.hpp"
#include "split/options.hpp"

namespace spinney {

/// Σ w·|y − median| of a growing set of rows in O(log n) per row: a Fenwick tree over the ranks of y.
class MedianLoss {
  public:
    explicit MedianLoss(Size n_ranks)
        : top_(std::bit_floor(std::max<Size>(n_ranks, 1))), weight_(n_ranks + 1), moment_(n_ranks + 1) {}

    void add(Size rank, double w, double y) {
        all_weight_ += w;
        all_moment_ += w * y;
        for (Size i = rank + 1; i < weight_.size(); i += i & (~i + 1)) {
            weight_[i] += w;
            moment_[i] += w * y;
        }
    }

    /// Loss of the current set.  value (n_ranks,): y by rank
    double loss(const std::vector<double>& value) const {
        const Position p = find([this](double below) { return below < all_weight_ / 2; });
        const double median = value[std::min(p.rank, value.size() - 1)];
        return std::max(0.0, median * (2 * p.below - all_weight_) + all_moment_ - 2 * p.moment);
    }

    /// Median; if the weight splits evenly, the midpoint of the two candidates.
    double median(const std::vector<double>& value) const {
        const Position low = find([this](double below) { return below < all_weight_ / 2; });
        const Position high = find([this](double below) { return below <= all_weight_ / 2; });
        const auto at = [&](const Position& p) { return value[std::min(p.rank, value.size() - 1)]; };
        return at(low) / 2 + at(high) / 2;
    }

  private:
    struct Position {
        Size rank = 0;
        double below = 0, moment = 0;  // sums over the ranks below
    };

    /// First rank whose cumulative weight no longer satisfies `before`.
    template <class Before>
    Position find(Before&& before) const {
        Position p;
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

/// Ranks of y in one node, shared by the searches on all its features.
class AbsoluteErrorNode {
  public:
    /// monotone: medians are needed as well (one output).
    void prepare(const Target& target, const Statistics& s, const NodeRows& node, bool monotone);

    /// Best split on one feature.
    Candidate search(const CodeColumn& column, std::int32_t feature, const NodeRows& node,
                     const Limits& limits, const GrowOptions& options, double node_weight_fraction,
                     std::uint64_t address) const;

  private:
    friend class AbsoluteErrorSearch;

    Size outputs_ = 1;
    bool monotone_ = false;
    double shift_ = 0;
    std::vector<std::uint32_t> rank_;         // (n, outputs)
    std::vector<double> y_, weight_;          // (n, outputs), (n,)
    std::vector<std::vector<double>> value_;  // per output: distinct y, ascending
};

}  // namespace spinney
