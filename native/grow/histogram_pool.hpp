// Histograms that both fast growers use again.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/types.hpp"

namespace spinney::detail {

/// Histograms that are used again instead of being allocated for every node.
class HistogramPool {
  public:
    explicit HistogramPool(Size words) : words_(words) {}
    std::unique_ptr<Stat[]> take() {
        std::unique_ptr<Stat[]> out;
        if (free_.empty()) {
            out.reset(new Stat[words_]);
        } else {
            out = std::move(free_.back());
            free_.pop_back();
        }
        std::fill_n(out.get(), words_, 0);
        return out;
    }
    void give(std::unique_ptr<Stat[]> histogram) {
        if (histogram) free_.push_back(std::move(histogram));
    }

  private:
    Size words_;
    std::vector<std::unique_ptr<Stat[]>> free_;
};

}  // namespace spinney::detail
