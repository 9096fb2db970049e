// From codes and a target to a fitted tree: the entry point of tree growth.
#pragma once

#include <memory>

#include "core/thread_pool.hpp"
#include "data/code_matrix.hpp"
#include "data/tiles.hpp"
#include "grow/flat_tree.hpp"
#include "split/options.hpp"
#include "split/statistics.hpp"

namespace spinney {

struct GrowMemory;

/// Grows trees on the codes of one table; what they share is built once. Thread-safe.
class TreeGrower {
  public:
    explicit TreeGrower(const CodeMatrix& x);
    ~TreeGrower();

    /// Grow one tree. exact: use the exact grower even if the histogram grower supports the tree.
    FlatTree grow(const Target& target, GrowOptions options, bool exact, Interrupt& interrupt) const;
    /// The same, to memory.tree; memory: of the tree before
    void grow(GrowMemory& memory, const Target& target, GrowOptions options, bool exact,
              Interrupt& interrupt) const;

    bool has_byte_codes() const;

    /// Tiles of the histogram grower; requires byte codes. The first caller builds them; others wait.
    const CodeTiles& tiles(const GrowOptions& options) const;

  private:
    struct Shared;

    const CodeMatrix& x_;
    std::unique_ptr<Shared> shared_;
};

}  // namespace spinney
