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
        std::unique_ptr<Stat[]> out;
        if (free_.empty()) {
            out.reset(new Stat[size_]);
        } else {
            out = std::move(free_.back());
            free_.pop_back();
        }
        std::fill_n(out.get(), size_, 0);
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
