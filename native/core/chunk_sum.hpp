// Sums of real numbers that do not depend on how rows are divided into blocks.
#pragma once

#include "core/types.hpp"

namespace spinney {

/// Rows of a chunk. Every sum of real numbers that reaches a model is computed chunk by chunk of the table's
/// rows and added in the order of the chunks, so it is the same for any number of threads, and for rows that
/// are read in blocks of any number of whole chunks.
inline constexpr Size kChunkRows = 16384;

/// A sum over rows in ascending order.
class ChunkSum {
  public:
    void add(Size row, double value) {
        if (const Size chunk = row / kChunkRows; chunk != chunk_) {
            total_ += part_;
            part_ = 0;
            chunk_ = chunk;
        }
        part_ += value;
    }

    double total() const { return total_ + part_; }

  private:
    double total_ = 0, part_ = 0;
    Size chunk_ = 0;
};

}  // namespace spinney
