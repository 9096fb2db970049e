// Bootstrap samples of the rows, drawn as a function of a seed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/random.hpp"
#include "data/code_matrix.hpp"
#include "split/statistics.hpp"

namespace spinney {

/// Hash keys of the codes of each column, missing last: of the smallest value of a bin, or of a category. The
/// codes themselves depend on which other values there are.  (n_columns) of (n_bins + 1)
using CodeKeys = std::vector<std::vector<std::uint64_t>>;

/// Order of the rows by a hash of their codes and targets: equal rows are neighbours, and shuffled rows have
/// the same order.  -> (n_rows,)
RowVector<std::int64_t> row_order(const CodeMatrix& x, const Target& target, const CodeKeys& code_keys,
                                  int n_threads);

/// Draws bootstrap samples.
///
/// With repeats, each row is present that many times, and each repeat is drawn like a row. With
/// probabilities, rows are drawn in proportion, with replacement. Otherwise each row is present once.
class BootstrapSampler {
  public:
    BootstrapSampler(Size n_rows, Size n_draw, bool replace, std::span<const std::int64_t> order)
        : n_rows_(n_rows), n_draw_(n_draw), replace_(replace), order_(order.begin(), order.end()) {}

    void set_repeats(std::span<const std::int64_t> repeats);
    void set_probabilities(std::span<const double> weights);

    Size n_rows() const { return n_rows_; }

    /// Count how often each row is drawn.  counts (n_rows,)
    void draw(RowVector<std::uint32_t>& counts, std::uint64_t seed) const;

  private:
    Size row_at(Size i) const { return order_.empty() ? i : static_cast<Size>(order_[i]); }

    RowVector<std::uint32_t> draw_uniform(Draws& draws, Size n) const;
    RowVector<std::uint32_t> sum_repeats(const RowVector<std::uint32_t>& drawn) const;
    RowVector<std::uint32_t> draw_weighted(Draws& draws) const;

    Size n_rows_, n_draw_;
    bool replace_;
    RowVector<std::int64_t> order_;  // empty: as stored
    RowVector<std::int64_t> ends_;   // cumulative repeats, in this order
    RowVector<double> bounds_;       // cumulative probabilities, in this order
};

}  // namespace spinney
