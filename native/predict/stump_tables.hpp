// Additive stumps: all stumps of one feature summed into one table, so that a row needs one lookup per
// feature.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/thread_pool.hpp"
#include "predict/threshold_ranks.hpp"

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
    StumpTables(std::span<const double> base, std::span<const FeatureTable> tables, Size n_features);

    /// Sum the tables of all features.  out (n_rows, width)
    void sum(double* out, const InputTable& input, int n_threads, Interrupt* interrupt) const;

    Size width() const { return base_.size(); }
    Size n_features() const { return n_features_; }
    const std::vector<std::uint32_t>& used_features() const { return used_features_; }

  private:
    /// A feature's table, and the codes that are its rows.
    struct Lookup {
        FeatureCodes codes;
        std::uint32_t missing_row;
        const double* sums;
    };
    void sum_block(double* out, const InputTable& input, Size begin, Size n) const;

    std::span<const double> base_;
    Size n_features_;
    std::vector<Lookup> lookups_;
    std::vector<std::uint32_t> used_features_;
};

}  // namespace spinney
