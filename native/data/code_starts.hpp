// Where the values of a numeric column's codes begin, such that a value's code is found without a branch.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "data/code_matrix.hpp"
#include "simd/vectors.hpp"

namespace spinney {

/// The beginnings of up to 256 codes in two levels of sixteen. A place drawn at random cannot be foreseen, so
/// steps that halve a range would each wait for the one before; two counts of comparisons wait once.
class CodeStarts {
  public:
    explicit CodeStarts(const CodeColumn& column) {
        fine_.fill(std::numeric_limits<double>::infinity());
        std::copy_n(column.lo.begin(), std::min(column.lo.size(), fine_.size()), fine_.begin());
        for (Size i = 0; i < n; ++i) coarse_[i] = fine_[i * n + n - 1];
    }

    /// The last code whose values begin at or below a finite one, which is not below all of them.
    [[gnu::always_inline]] Code last_below(double value) const {
        const Size block = count(coarse_.data(), value);
        return static_cast<Code>(block * n + count(fine_.data() + block * n, value) - 1);
    }

  private:
    static constexpr Size n = 16;

    static Size count(const double* from, double value) {
        Size out = 0;
        for (Size i = 0; i < n; i += kRegister) {
            Register v;
            std::memcpy(&v, from + i, sizeof v);
            out += count_at_most(v, value);
        }
        return out;
    }

    alignas(64) std::array<double, n> coarse_;
    alignas(64) std::array<double, n * n> fine_;
};

/// Of every numeric column; the others' are not used.
inline std::vector<CodeStarts> starts_of(const CodeMatrix& x) { return {x.columns.begin(), x.columns.end()}; }

}  // namespace spinney
