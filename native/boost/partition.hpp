// Stable partition of a list of rows by the bin codes of one column.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "boost/boosted_tree.hpp"
#include "split/candidate.hpp"

namespace spinney {

/// Entries of the spare list.
inline constexpr Size kSpareRows = kChunkRows;

/// Move the rows that go left to the front; both sides keep their order. Return the number of rows on the
/// left. ids (n,); spare (kSpareRows,); codes: of the chunk's rows; goes_left (256,): 0 or 1 per bin code
Size partition_rows(LocalRow* ids, Size n, LocalRow* spare, const std::uint8_t* codes,
                    const std::uint8_t* goes_left);

/// Partitions the rows of a node, chunk by chunk.
class ChunkPartition {
  public:
    explicit ChunkPartition(int n_threads) : spare_(static_cast<Size>(n_threads)) {}

    /// Set which bin codes of the split's column go left.
    void set_sides(const Candidate& split, const CodeColumn& column);

    /// Split the rows of a node.  left, right, from (n_chunks,); ids: of all chunks; codes: of the split's
    /// column
    void split(ChunkRange* left, ChunkRange* right, const ChunkRange* from, Size n_chunks, LocalRow* ids,
               const std::uint8_t* codes, int n_threads);

    /// Per bin code, 1: it goes left.
    const std::array<std::uint8_t, kBundleBins>& sides() const { return goes_left_; }

  private:
    LocalRow split_list(LocalRow* ids, Size begin, Size end, const std::uint8_t* codes, int thread);

    std::array<std::uint8_t, kBundleBins> goes_left_{};
    std::vector<std::vector<LocalRow>> spare_;  // per thread
};

}  // namespace spinney
