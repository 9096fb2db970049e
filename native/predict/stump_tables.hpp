// Additive stumps: all stumps of one feature summed into one table, so that a row needs one lookup per
// feature.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/thread_pool.hpp"
#include "predict/input_table.hpp"

namespace spinney {

/// The table of one feature: rows of `width` sums.
///
///   numeric      thresholds t_1 < … < t_m; row i is the sum where i of them are below x; row m + 1 that of a
///                missing value
///   categorical  no thresholds; row c is the sum of category c, the last that of a missing value
struct FeatureTable {
    std::uint32_t feature = 0;
    bool categorical = false;
    std::span<const double> thresholds;  // (m,)
    std::span<const double> sums;        // (n_table_rows, width)
};

class StumpTables {
  public:
    /// Borrow the tables; `base` (width,) is added to every row.
    StumpTables(std::span<const double> base, std::vector<FeatureTable> tables, Size n_features);

    /// Sum the tables of all features.  out (n_rows, width)
    void sum(double* out, const InputTable& input, int n_threads, Interrupt* interrupt) const;

    Size width() const { return base_.size(); }
    Size n_features() const { return n_features_; }
    std::span<const FeatureTable> tables() const { return tables_; }

  private:
    void sum_block(double* out, const InputTable& input, Size begin, Size n) const;
    void find(std::uint32_t* out, const FeatureTable& table, const InputColumn& column, Size begin,
              Size n) const;

    std::span<const double> base_;
    std::vector<FeatureTable> tables_;
    Size n_features_;
};

}  // namespace spinney
