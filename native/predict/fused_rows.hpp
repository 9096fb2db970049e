// Rows as fused trees read them: every code twice, exact for comparing many rows with one threshold, and in a
// byte for comparing one row with many.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "predict/code_features.hpp"
#include "core/types.hpp"

namespace spinney {

/// Codes as processors compare them, with signs: missing is the lowest, then ranks from 0 on.
template <class Code>
struct SignedCode {
    static constexpr Code missing = std::numeric_limits<Code>::min();

    static constexpr Code of(std::uint32_t rank) {
        return static_cast<Code>(missing + 1 + static_cast<int>(rank));  // missing_code is −1 here
    }
};

/// The ranks of one feature in few codes.
///
/// Some of the thresholds are cuts, and a code tells how many cuts are below a number. A test at a cut needs
/// no more. At another threshold a number with the threshold's own code may be on either side.
class CoarseRanks {
  public:
    /// tests: how many tests there are at each threshold, in order
    explicit CoarseRanks(const std::vector<std::uint32_t>& tests)
        : is_cut_(tests.size(), tests.size() <= most_cuts) {
        if (tests.size() > most_cuts) choose_cuts(tests);
        std::uint32_t below = 0;
        code_.push_back(SignedCode<std::int8_t>::missing);
        for (const bool cut : is_cut_) {
            code_.push_back(SignedCode<std::int8_t>::of(below));
            below += cut;
        }
        code_.push_back(SignedCode<std::int8_t>::of(below));
    }

    /// The code of a number with so many thresholds below it, or of missing_code, which comes before 0.
    std::int8_t code(std::uint32_t rank) const { return code_[rank + 1]; }
    bool is_cut(std::uint32_t threshold) const { return is_cut_[threshold]; }

  private:
    static constexpr Size most_cuts = 254;  // codes from −127 to 127

    // Equal shares of the tests have a cut each, where most of them are.
    void choose_cuts(const std::vector<std::uint32_t>& tests) {
        Size all = 0, before = 0, best = 0, share = 0;
        for (const std::uint32_t n : tests) all += n;
        for (Size i = 0; i < tests.size(); before += tests[i++]) {
            const Size own = before * most_cuts / all;
            if (own > share) {
                is_cut_[best] = true;
                best = i;
                share = own;
            } else if (tests[i] > tests[best]) {
                best = i;
            }
        }
        is_cut_[best] = true;
    }

    std::vector<bool> is_cut_;       // (n_thresholds,)
    std::vector<std::int8_t> code_;  // (n_thresholds + 2,): of missing, then by rank
};

/// A block of coded rows.
class FusedRows {
  public:
    static constexpr Size group = 32;  // rows whose exact codes of one feature are together

    /// Tell whether rows of these features can be coded.
    static bool suits(const EnsembleCodes& codes) {
        for (const FeatureCodes& f : codes.features)
            if (f.categorical || f.ranks.size() > most_ranks) return false;
        return !codes.features.empty() && codes.features.size() <= most_features;
    }

    /// Code n rows from `begin` on.  coarse (n_features,)
    void code(const EnsembleCodes& codes, const std::vector<CoarseRanks>& coarse,
              std::span<const InputColumn> columns, Size begin, Size n) {
        const Size n_features = codes.features.size();
        n_features_ = n_features;
        row_bytes_ = row_bytes(n_features);
        exact_.resize((n + group - 1) / group * n_features);
        lines_.resize((n * row_bytes_ + sizeof(Line) - 1) / sizeof(Line));
        constexpr Size at_once = 32 * group;
        std::uint32_t code[at_once], greatest = 0;
        for (Size first = 0; first < n; first += at_once) {
            const Size here = std::min(at_once, n - first);
            for (Size s = 0; s < n_features; ++s) {
                const FeatureCodes& f = codes.features[s];
                f.code(code, columns[f.feature], begin + first, here);
                for (Size i = 0; i < here; ++i) greatest = std::max(greatest, code[i]);
                write_exact(first, s, code, here);
                write_coarse(first, s, code, here, coarse[s]);
            }
        }
        any_missing_ = greatest == missing_code;
    }

    bool any_missing() const { return any_missing_; }
    /// Bytes of the coarse codes of a row: a register or several.
    static Size row_bytes(Size n_features) { return 16 * std::bit_ceil((n_features + 15) / 16); }
    const std::int8_t* coarse() const { return lines_.data()->code; }
    /// The exact codes of a group: (n_features, group)
    const std::int16_t* exact(Size g) const { return exact_[g * n_features_].code; }
    std::int16_t exact(Size row, Size feature) const {
        return exact_[row / group * n_features_ + feature].code[row % group];
    }

  private:
    static constexpr Size most_ranks = 65534, most_features = 128;

    struct alignas(64) Line {
        std::int8_t code[64];
    };
    struct alignas(64) Group {
        std::int16_t code[group] = {};
    };

    void write_exact(Size first, Size feature, const std::uint32_t* code, Size n) {
        Group* own = &exact_[first / group * n_features_ + feature];
        for (Size i = 0; i < n; i += group, own += n_features_) {
            const Size here = std::min(group, n - i);
            for (Size k = 0; k < here; ++k) own->code[k] = SignedCode<std::int16_t>::of(code[i + k]);
        }
    }

    void write_coarse(Size first, Size feature, const std::uint32_t* code, Size n,
                      const CoarseRanks& coarse) {
        std::int8_t* own = lines_.data()->code + first * row_bytes_ + feature;
        for (Size i = 0; i < n; ++i, own += row_bytes_) *own = coarse.code(code[i]);
    }

    Size n_features_ = 0, row_bytes_ = 0;
    bool any_missing_ = false;
    std::vector<Group> exact_;  // (n / group, n_features)
    std::vector<Line> lines_;   // (n, row_bytes)
};

}  // namespace spinney
