// Pool of histograms, used by the histogram grower and by gradient boosting.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/types.hpp"

namespace spinney::detail {

/// Histograms that are reused instead of being allocated for every node.
class HistogramPool {
  public:
    explicit HistogramPool(Size size) : size_(size) {}
    /// A histogram of zeros.
    std::unique_ptr<Stat[]> acquire() {
        std::unique_ptr<Stat[]> out = acquire_as_left();
        std::fill_n(out.get(), size_, 0);
        return out;
    }
    /// A histogram with the sums that its last owner left; a new one has zeros.
    std::unique_ptr<Stat[]> acquire_as_left() {
        if (free_.empty()) return std::unique_ptr<Stat[]>(new Stat[size_]());
        std::unique_ptr<Stat[]> out = std::move(free_.back());
        free_.pop_back();
        return out;
    }
    void release(std::unique_ptr<Stat[]> histogram) {
        if (histogram) free_.push_back(std::move(histogram));
    }

  private:
    Size size_;
    std::vector<std::unique_ptr<Stat[]>> free_;
};

}  // namespace spinney::detail
