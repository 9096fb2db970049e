// Sums over the rows of each class: means, variances, category counts, and the scatter matrix within classes.
//
// Rows are summed in chunks whose number depends on the shape of the data only, and chunks are added in
// order, so that results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/thread_pool.hpp"
#include "core/types.hpp"

namespace spinney {

/// Rows with a class each.  x (n_rows, n_features) row-major, NaN: missing; codes (n_rows,); weights
/// (n_rows,) or null, which stands for weights of 1
struct LabeledRows {
    const double* x;
    Size n_rows, n_features;
    const std::int32_t* codes;
    Size n_classes;
    const double* weights;
};

/// Known weight, mean, and sum of squared deviations from the mean, each (n_classes, n_features).
struct ClassMoments {
    std::vector<double> weight, mean, squares;
};

ClassMoments class_moments(const LabeledRows& rows, int n_threads, Interrupt& interrupt);

/// Weighted sums of known values, or of the indicator x > above; each (n_classes, n_features).
struct ClassSums {
    std::vector<double> weight, sum;
};

constexpr double kNoThreshold = std::numeric_limits<double>::quiet_NaN();

ClassSums class_sums(const LabeledRows& rows, double above, int n_threads, Interrupt& interrupt);

/// Σ_r scale[class(r)] · w_r · (x_r − mean)(x_r − mean)ᵀ.  out (n_features, n_features); mean (n_classes,
/// n_features); scale (n_classes,)
void within_scatter(std::span<double> out, const LabeledRows& rows, const double* mean, const double* scale,
                    int n_threads, Interrupt& interrupt);

/// Σ_j −½ log(2π var_kj) − (x_j − mean_kj)² / (2 var_kj) over the known features.  out (n_rows, n_classes);
/// mean, log_scale, precision (n_classes, n_features): the two parts of the formula that rows share
void gaussian_log_likelihood(std::span<double> out, const LabeledRows& rows, const double* mean,
                             const double* log_scale, const double* precision, int n_threads,
                             Interrupt& interrupt);

/// Rows of category codes, −1: missing.  codes (n_rows, n_features); offset (n_features + 1,): where the
/// categories of each feature begin in tables (n_categories, n_classes)
struct CategoryRows {
    const std::int32_t* codes;
    Size n_rows, n_features;
    const std::int64_t* offset;
    Size n_classes;

    /// Whether a code is one of the feature's categories; others count as missing.
    bool has(Size feature, std::int32_t code) const {
        return static_cast<std::uint64_t>(code) <
               static_cast<std::uint64_t>(offset[feature + 1] - offset[feature]);
    }
};

/// Copy integers as category codes, with the highest of each column and the lowest of all.
/// codes, x (n_rows, n_features); highest (n_features,)
template <class Integer>
void integer_codes(std::int32_t* codes, Integer* highest, Integer* lowest, const Integer* x, Size n_rows,
                   Size n_features, int n_threads, Interrupt& interrupt);

/// Weight of each category and class.  out (n_categories, n_classes)
void category_counts(std::span<double> out, const CategoryRows& rows, const std::int32_t* classes,
                     const double* weights, int n_threads, Interrupt& interrupt);

/// Sum of the table entries of a row's categories; codes beyond those of a feature count as missing.  out
/// (n_rows, n_classes); table (n_categories, n_classes)
void sum_categories(std::span<double> out, const CategoryRows& rows, const double* table, int n_threads,
                    Interrupt& interrupt);

}  // namespace spinney
