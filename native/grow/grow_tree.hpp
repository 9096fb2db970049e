// From codes and a target to a fitted tree: the entry point of tree growth.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "core/thread_pool.hpp"
#include "data/code_matrix.hpp"
#include "data/code_starts.hpp"
#include "data/tiles.hpp"
#include "grow/grown_tree.hpp"
#include "split/options.hpp"
#include "split/statistics.hpp"

namespace spinney {

/// Grows trees on the codes of one table; what they share is built once. Thread-safe.
class TreeGrower {
  public:
    explicit TreeGrower(const CodeMatrix& x) : x_(x) {}

    /// Grow one tree. exact: use the exact grower even if the histogram grower supports the tree.
    FlatTree grow(const Target& target, GrowOptions options, bool exact, Interrupt& interrupt) const;

    bool has_byte_codes() const;

    /// Tiles of the histogram grower; requires byte codes. The first caller builds them; others wait.
    const CodeTiles& tiles(const GrowOptions& options) const;

  private:
    std::span<const CodeStarts> starts() const;

    struct SharedTiles {
        std::once_flag built;
        CodeTiles tiles;
    };

    const CodeMatrix& x_;
    mutable SharedTiles narrow_, wide_;
    mutable std::once_flag started_;
    mutable std::vector<CodeStarts> starts_;
};

/// Grow one tree.
FlatTree grow_tree(const CodeMatrix& x, const Target& target, const GrowOptions& options, bool exact,
                   Interrupt& interrupt);

}  // namespace spinney
