// Rows of a boosted node on their way into its histogram.
#pragma once

#include <algorithm>
#include <vector>

#include "data/bundle_rows.hpp"

namespace spinney {

/// Copies the scattered rows of a node one behind the other, and adds them to the histograms of a group of
/// bundles kBlockRows at a time. One per thread.
class RowBuffer {
  public:
    /// Add some rows of a chunk, or keep them until `flush`.  rows: of the chunk, all bytes; ids (n,): which
    /// of them
    void add(Stat* hist, const BundleRows& table, const BundleGroup& group, const CodedRows& rows,
             const LocalRow* ids, Size n) {
        while (n > 0) {
            const Size m = std::min(kBlockRows - n_, n);
            copy(table, group, rows, ids, m);
            ids += m;
            n -= m;
            if (n_ == kBlockRows) flush(hist, group);
        }
    }

    /// Copy some rows of a chunk behind those copied before.  n: as many as there is room for
    void copy(const BundleRows& table, const BundleGroup& group, const CodedRows& rows, const LocalRow* ids,
              Size n) {
        reserve(table.stride);
        copy_rows({codes_.data() + n_ * group.width, packed_.data() + n_},
                  {rows.codes + group.offset, rows.packed}, group.width, table.stride, ids, n);
        n_ += n;
    }

    /// Add the rows to the histograms of one tile of the group that they were copied for.
    void add_to(Stat* hist, const BundleGroup& group, const BundleTile& tile) {
        add_rows(hist, tile, {codes_.data() + tile.first - group.offset, packed_.data()}, group.width, n_);
    }

    void clear() { n_ = 0; }

    void flush(Stat* hist, const BundleGroup& group) {
        if (n_ > 0) add_rows(hist, group, {codes_.data(), packed_.data()}, group.width, n_);
        n_ = 0;
    }

  private:
    void reserve(Size stride) {
        if (!packed_.empty()) return;
        codes_ = Bytes(kBlockRows * stride);
        packed_.resize(kBlockRows);
    }

    Bytes codes_;
    std::vector<Stat> packed_;
    Size n_ = 0;
};

}  // namespace spinney
