// The columns that a boosted tree, and each of its nodes, may be split on.
#pragma once

#include <cstdint>
#include <vector>

#include "boost/boost_options.hpp"
#include "boost/boosted_tree.hpp"

namespace spinney {

class ColumnSampler {
  public:
    ColumnSampler(const BoostOptions& options, Size n_columns) : o_(options), n_columns_(n_columns) {}

    /// Draw the columns of a tree.
    void draw(std::uint64_t address);

    /// The columns of the tree, ascending.
    const std::vector<std::uint32_t>& drawn() const { return drawn_; }

    /// Mark the columns of a node: allowed by the interaction constraints of its path, then drawn again.
    /// out (n_columns,)
    void allow(std::vector<std::uint8_t>& out, const BoostNode& node) const;

  private:
    const BoostOptions& o_;
    Size n_columns_;
    std::vector<std::uint32_t> drawn_;
};

}  // namespace spinney
