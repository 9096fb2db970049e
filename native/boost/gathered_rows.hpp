// Contiguous copies of the rows of small nodes.
//
// The rows of a node that has few of all rows lie in one cache line each. They are copied together when the
// histogram of the node is built, and its descendants read the copy.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "data/bundle_rows.hpp"

namespace spinney {

/// Up to kBlockRows rows on their way into a histogram; one per thread.
struct RowBuffer {
    Bytes codes;
    std::vector<Stat> packed;
    std::array<LocalRow, kBlockRows> positions;
    Size n = 0;
};

class GatheredRows {
  public:
    static constexpr int kTable = -1;  // not a copy: the rows of the table

    GatheredRows(const BundleRows& table, Size n_rows) : table_(table), n_rows_(n_rows) {}

    /// Drop all copies; a new tree begins.
    void clear();

    /// Reserve a copy for a node of n rows if it pays; return the copy that the node reads, `from` if none
    /// was reserved.  chunk_sizes (n_chunks,): rows of the node per chunk
    int reserve(int from, Size n, const std::vector<Size>& chunk_sizes);

    /// The rows of a chunk in a copy.  packed (n_rows,): the packed gradients and hessians of the table
    CodedRows rows(int copy, Size chunk, const Stat* packed) const;

    /// Copy the rows of a node in one chunk, and add them to the histogram.
    void copy(Stat* hist, int from, int to, Size chunk, const LocalRow* ids, Size n, const Stat* packed);

    /// Add the rows of a node in one chunk to the histogram, through a buffer; `flush` adds what is left in
    /// it.
    void collect(Stat* hist, RowBuffer& buffer, int from, Size chunk, const LocalRow* ids, Size n,
                 const Stat* packed) const;
    void flush(Stat* hist, RowBuffer& buffer) const;

  private:
    /// Rows that all copies of a tree may hold together; more did not make trees faster.
    Size capacity() const { return n_rows_ / 4; }

    struct Copy {
        Size n_rows;
        std::vector<Size> first;  // (n_chunks,)
    };

    const BundleRows& table_;
    Size n_rows_, n_used_ = 0;
    std::vector<Copy> copies_;
    std::vector<LocalRow> position_;  // (n_rows,): of a row among those of its chunk and copy
    Bytes codes_, packed_;            // (capacity(),) of all copies
};

}  // namespace spinney
