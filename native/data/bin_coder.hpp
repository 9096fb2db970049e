// BinCoder: codes blocks of rows by bins that are known, for tables that are not in memory as a whole.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/thread_pool.hpp"
#include "core/types.hpp"
#include "data/bin_edges.hpp"
#include "data/input_column.hpp"

namespace spinney {

/// Widen bins to the values of coded rows: a sample knows the edges, not the least and greatest value of each
/// bin. Rows of weight 0 do not count.  codes, values (n,); weights (n,) or null
void widen_bins(Bins& bins, const std::uint8_t* codes, const double* values, const double* weights, Size n);

/// Widen bins to other extents of the same bins.
void merge_bins(Bins& bins, const Bins& other);

/// Codes numeric columns, any number of rows at a time, as `build_codes` does with the same bins.
class BinCoder {
  public:
    /// The bins of each column; `sampled`: they come from a sample, and are widened by the rows that are
    /// coded.
    BinCoder(std::vector<Bins> bins, bool sampled);
    ~BinCoder();

    /// Write the codes of some rows; a column without data is left alone.  columns (d,) of n rows;
    /// weights (n,) or null; codes (d, stride), from `at` on
    void code(std::uint8_t* codes, Size stride, Size at, std::span<const InputColumn> columns,
              const double* weights, Size n, int n_threads, Interrupt& interrupt);

    Size n_columns() const { return extents_.size(); }
    /// The bins of a column with the extents of the rows so far.
    const Bins& extents(Size j) const { return extents_[j]; }
    bool has_missing(Size j) const { return missing_[j] != 0; }
    /// Go on from what another coder of the same bins has seen.
    void merge(Size j, const Bins& extents, bool has_missing);

  private:
    struct Tables;  // the edges

    bool sampled_;
    std::unique_ptr<Tables> tables_;
    std::vector<Bins> extents_;
    std::vector<std::uint8_t> missing_;
};

/// Bins of rows that are given in full, as `build_codes` learns them from the rows of its sample.
/// columns (d,) of n rows, none of them of weight 0; weights (n,) or null
std::vector<Bins> learn_bins(std::span<const InputColumn> columns, Size n, const double* weights,
                             std::uint32_t max_bins, int n_threads, Interrupt& interrupt);

/// Bins of all values of a column by their masses.  values (n,) ascending and distinct, masses (n,) integers
Bins bins_of_masses(std::span<const double> values, std::span<const double> masses, std::uint32_t max_bins);

/// Counts the distinct values of columns, as long as there are not too many.
class ValueCounter {
  public:
    /// `limit`: the most values of a column that are counted.
    ValueCounter(Size n_columns, Size limit) : limit_(limit), columns_(n_columns) {}

    /// columns (d,) of n rows, or without data; masses (n,) or null: each row counts once. A row of mass −1
    /// is left out.
    void add(std::span<const InputColumn> columns, const double* masses, Size n, int n_threads,
             Interrupt& interrupt);
    /// Stop counting the values of a column.
    void drop(Size j);
    /// Whether all values of a column have been counted.
    bool complete(Size j) const { return !columns_[j].dropped; }
    /// The distinct values in ascending order, and the mass of each.
    void read(Size j, std::vector<double>& values, std::vector<double>& masses) const;

  private:
    struct Column {
        bool dropped = false;
        Size n = 0;
        std::vector<double> values, masses;  // open addressing; an empty place is NaN
    };

    void count(Column& column, double value, double mass) const;
    static Size place_of(const Column& column, double value);

    Size limit_;
    std::vector<Column> columns_;
};

}  // namespace spinney
