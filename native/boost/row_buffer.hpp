// Rows of a boosted node on their way into its histogram.
#pragma once

#include <algorithm>
#include <vector>

#include "data/bundle_rows.hpp"

namespace spinney {

/// Copies the scattered rows of a node one behind the other, and adds them to its histogram kBlockRows at a
/// time. One per thread.
class RowBuffer {
  public:
    /// Add some rows of a chunk, or keep them until `flush`.  ids (n,): which of `rows`
    void add(Stat* hist, const BundleRows& table, const CodedRows& rows, const LocalRow* ids, Size n) {
        if (packed_.empty()) {
            codes_ = Bytes(kBlockRows * table.stride);
            packed_.resize(kBlockRows);
        }
        while (n > 0) {
            const Size m = std::min(kBlockRows - n_, n);
            copy_rows({codes_.data() + n_ * table.stride, packed_.data() + n_}, rows, table.stride, ids, m);
            n_ += m;
            ids += m;
            n -= m;
            if (n_ == kBlockRows) flush(hist, table);
        }
    }

    void flush(Stat* hist, const BundleRows& table) {
        if (n_ > 0) add_rows(hist, table, {codes_.data(), packed_.data()}, n_);
        n_ = 0;
    }

  private:
    Bytes codes_;
    std::vector<Stat> packed_;
    Size n_ = 0;
};

}  // namespace spinney
