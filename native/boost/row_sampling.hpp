// The rows that a boosted tree is grown on: uniform subsampling, GOSS or MVS.
//
// GOSS: gradient-based one-side sampling, Ke et al. 2017. MVS: minimal variance sampling, Ibragimov and Gusev
// 2019.
#pragma once

#include <cstdint>
#include <vector>

#include "boost/boost_options.hpp"
#include "boost/boosted_tree.hpp"
#include "boost/losses.hpp"

namespace spinney {

/// Counts of importances by the upper bits of their float: integers, so threads may count in any order. A bin
/// spans a sixteenth of a power of two.
class ImportanceCounts {
  public:
    ImportanceCounts();

    void add(double importance) { ++counts_[bin_of(importance)]; }
    void merge(const ImportanceCounts& other);

    /// The importance that about `wanted` rows reach.
    double threshold_of_top(double wanted) const;

    /// The μ for which the probabilities min(1, s / μ) add up to about `wanted`.
    double threshold_of_sum(double wanted) const;

  private:
    static Size bin_of(double importance);
    double mass_of(Size bin) const;
    std::vector<std::int64_t> counts_;
};

/// Draws the rows of each tree.
class RowSampler {
  public:
    RowSampler(const BoostTable& table, const BoostOptions& options, const BoostTarget& target)
        : table_(table), o_(options), target_(target) {}

    /// Write how many rows each row stands for, 0 if it was not drawn; return the sums of the drawn rows.
    /// multiplier, gradient, hessian (n_rows,); sums: those of all rows
    GradientSums draw(std::vector<double>& multiplier, const double* gradient, const double* hessian,
                      const GradientSums& sums, std::uint64_t address);

  private:
    double find_importances(double* importance, const double* gradient, const double* hessian,
                            const GradientSums& sums);

    const BoostTable& table_;
    const BoostOptions& o_;
    const BoostTarget& target_;
    ImportanceCounts counts_;
};

}  // namespace spinney
