// The values and categories that the splits of an ensemble distinguish, as integer codes.
#pragma once

#include <cstdint>
#include <vector>

#include "predict/ensemble_view.hpp"
#include "predict/input_table.hpp"

namespace spinney {

/// The code of a missing value.
inline constexpr std::uint32_t missing_code = 0xffffffff;

/// The rank of a number among the thresholds of a feature: how many of them lie below it.
///
/// The range from the first threshold to the last is divided into intervals of equal length; a table has the
/// number of thresholds below each interval, and those within it are counted. Where too many are in one
/// interval, a 16-ary search tree is descended: its lowest level has all thresholds in order, each other
/// level the last of every sixteen of the level below.
class RankTable {
  public:
    RankTable() = default;
    explicit RankTable(const std::vector<double>& sorted);

    Size size() const { return n_; }

    std::uint32_t rank(double x) const;

    /// Write the rank of each number, `missing_code` for NaN.  codes, x (n,), n ≤ 256
    void rank(std::uint32_t* codes, const double* x, Size n) const;

  private:
    void find_intervals(std::int32_t* intervals, const double* x, Size n) const;
    void make_intervals(const std::vector<double>& sorted);
    void rank_by_interval(std::uint32_t* codes, const double* x, Size n) const;
    std::uint32_t descend(std::uint32_t at, int level, double x) const;

    Size n_ = 0;
    int n_levels_ = 0;
    std::uint32_t begin_[8] = {};
    std::vector<double> thresholds_;  // all levels
    double first_ = 0, intervals_per_unit_ = 0;
    std::vector<std::uint16_t> below_interval_;  // the last interval is beyond the last threshold
};

/// What the splits of an ensemble need of one feature.
struct FeatureCodes {
    std::uint32_t feature = 0;
    bool categorical = false;
    bool missing_left = false, missing_right = false;  // the missing directions that occur
    RankTable ranks;                                   // numeric
    std::uint32_t n_codes = 0;                         // categorical: every set has only codes below this
    Size n_splits = 0;

    /// Write codes: the rank of a number; the category, or n_codes for one that is in no set; missing_code.
    void code(std::uint32_t* codes, const InputColumn& column, Size begin, Size n) const;

  private:
    void code_categories(std::uint32_t* codes, const double* x, Size n) const;
};

/// The codes of every feature that some tree splits on.
struct EnsembleCodes {
    std::vector<FeatureCodes> features;
    std::vector<std::uint32_t> index_of_feature;  // (n_features,), into `features` where it is used

    EnsembleCodes(const EnsembleView& trees, const EnsembleTraits& traits, int n_threads);

    Size index(std::int32_t feature) const { return index_of_feature[static_cast<Size>(feature)]; }
    const FeatureCodes& of(std::int32_t feature) const { return features[index(feature)]; }

  private:
    void read_splits(const EnsembleView& trees);
    void sort_thresholds(const EnsembleView& trees, int n_threads);
};

}  // namespace spinney
