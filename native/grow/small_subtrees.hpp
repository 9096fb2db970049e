// SmallSubtrees: whole subtrees of few rows, on sets of rows of one bit each.
#pragma once

#include <array>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "grow/growth_rules.hpp"
#include "grow/histogram.hpp"
#include "simd/row_sets.hpp"
#include "simd/vectors.hpp"

namespace spinney {

/// Most nodes of a deep tree have few rows, and what a node costs besides its rows is then most of the time.
/// Here a node is a set of rows in one integer, the codes of a column are in one or two registers, weights
/// are counts of bits, and sums of values are masked. The draws, the scores and the ties are those of
/// HistogramSearch: the tree is the same, whichever of the two grows it.
class SmallSubtrees {
  public:
    /// Whether subtrees may be grown here: the Gini impurity, or the squared error with random thresholds, of
    /// one output, small whole weights, numeric columns, no monotonic constraints.
    static bool supports(const GrowContext& c);

    /// The arguments must outlive the object.
    SmallSubtrees(const GrowContext& c, const HistogramData& data);

    /// Rows up to which a node is faster here.
    Size max_rows() const { return max_rows_; }

    /// Grow the subtree of a node which is not a leaf whatever its features are.
    /// rows, table_rows: the rows of the node, ascending, by their numbers in the data and in the table
    void grow(Fragment& f, const NodeState& root, std::span<const Row> rows, std::span<const Row> table_rows);

  private:
    struct Small {
        RowSet rows;
        Node id;
        int depth;
        std::uint64_t address, path;
    };

    struct Split {
        std::int32_t missing;  // child of missing values, −1 if there are none
        Code last_left;
        double drawn;
        RowSet left;
    };

    /// The best split of the current node so far.
    struct Best : Split {
        bool found = false;
        std::int32_t feature;
        double score, gain;
    };

    /// A random threshold.
    struct Drawn {
        std::uint32_t feature;
        Code smallest, largest;  // in the node; once drawn, the largest but for that of missing values
        RowSet missing;
        Split split;
    };

    static constexpr Size kTogether = kLanes;  // features whose thresholds are drawn and scored together

    /// What the qualities of splits are computed from, one per lane: the left weight, and the squares of both
    /// sides (classification) or the sum of the left values (regression). Zeros are no split.
    struct Sides {
        std::array<Stat, kTogether> weight{}, left{}, right{};
    };

    /// The best of the thresholds that are offered, the smallest of equal ones.
    struct Thresholds {
        Lanes quality = Lanes{} + kImpossible;
        StatLanes code{};

        void keep(Lanes offered, StatLanes of) {
            const StatLanes better = (offered > quality) | ((offered == quality) & (of < code));
            quality = where(better, offered, quality);
            code = better ? of : code;
        }
        std::pair<double, Code> best() const {
            const double largest = across_lanes(quality, [](auto a, auto b) { return b > a ? b : a; });
            const StatLanes among =
                quality == largest ? code : StatLanes{} + std::numeric_limits<Stat>::max();
            return {largest,
                    static_cast<Code>(across_lanes(among, [](auto a, auto b) { return b < a ? b : a; }))};
        }
    };

    /// The rows and the weight of every class of the current node.
    struct Classes {
        Size n;
        std::array<RowSet, kSetRows> rows;
        std::array<Stat, kSetRows> weight;
    };

    struct alignas(64) Block {
        std::array<std::uint8_t, kSetRows> codes;
    };

    void load(std::span<const Row> rows);
    void load_classes();
    void load_values();
    const std::uint8_t* codes_of(Size feature);
    template <bool Unit>
    Stat weight_of_set(RowSet rows) const;
    template <Task T, bool Unit>
    void sum_sides(Sides& sides, Size lane, RowSet left) const;
    template <Task T>
    Lanes qualities(const Sides& sides) const;
    template <Task T, bool Unit>
    void grow_all(Fragment& f, Size n_stacked);
    template <Task T, bool Unit>
    void begin();
    template <Task T, bool Unit>
    void search();
    template <Task T, bool Unit>
    bool search_some(std::span<const std::uint32_t> features);
    std::span<const std::uint32_t> first_of_two_rows(std::span<const std::uint32_t> features);
    template <Task T, bool Unit>
    bool search_random(std::span<const std::uint32_t> features);
    void draw(Drawn& own) const;
    template <Task T, bool Unit>
    bool search_best(std::uint32_t feature);
    bool offer(std::uint32_t feature, double quality);
    Size choose(const std::array<Drawn, kTogether>& drawn, Size n, Lanes qualities);
    double threshold() const;
    template <Task T>
    bool is_pure(RowSet rows) const;
    template <Task T, bool Unit>
    bool must_be_leaf(RowSet rows, int depth) const;
    template <Task T, bool Unit>
    void write_leaf(Fragment& f, Node id, RowSet rows) const;

    const GrowContext& c_;
    const HistogramData data_;
    Size max_rows_;
    Stat min_side_;
    bool interchangeable_;                        // features differ in nothing but their codes
    std::vector<std::uint32_t> features_;         // all, ascending except while some are drawn
    std::vector<std::uint32_t> swaps_, drawn_;    // of the current node
    std::vector<CodeTiles::FeatureCodes> table_;  // (n_features,)
    std::vector<Block> columns_;                  // (n_features,) codes of the subtree's rows, read when used
    std::vector<std::uint64_t> loaded_;           // (n_features,) the subtree whose codes a column holds
    std::uint64_t subtree_ = 0;
    Size visited_ = 0;                           // rows since the last poll of the interrupt
    std::span<const Row> rows_, table_rows_;     // of the subtree
    std::array<std::uint16_t, kSetRows> class_;  // of its rows
    std::array<RowSet, kSetRows> same_;          // the rows of a row's class
    std::array<RowSet, 8> bits_;                 // the rows whose weight has a bit
    Size n_bits_ = 0;
    alignas(64) std::array<Stat, kSetRows> value_;  // regression: of its rows, scaled
    std::array<double, kSetRows> y_;                // the same, unscaled
    double value_unit_ = 1.0;
    Size n_eights_ = 0;  // of rows
    std::array<Small, kSetRows + 2> stack_;
    Small node_;  // the current node, its classes and its best split so far
    Classes classes_;
    Stat weight_ = 0, sum_ = 0;  // sum_: of the values
    double base_ = 0;
    Best best_;
};

}  // namespace spinney
