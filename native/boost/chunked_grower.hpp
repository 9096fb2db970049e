// The grower of boosted trees on rows in memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "boost/boosted_grower.hpp"
#include "boost/column_sampling.hpp"
#include "boost/node_histograms.hpp"
#include "boost/partition.hpp"
#include "split/level_search.hpp"

namespace spinney {

class ChunkedGrower : public BoostedGrower {
  public:
    ChunkedGrower(const BoostTable& table, const BoostOptions& options, PhaseTimes& times);

    BoostedTree grow(BoostRows& rows, std::uint64_t address, Interrupt& interrupt) override;

  protected:
    struct Scratch {
        NewtonSearch search;
        LevelSearch level;
    };

    /// One node or two that are searched together.
    struct NodePair {
        std::array<BoostNode*, 2> nodes;
        std::array<NewtonNode, 2> facts;
        std::array<bool, 2> searched{};
    };

    static constexpr std::uint64_t kNoiseDraws = 1, kThresholdDraws = 2;
    static constexpr int kMaxDrawnLevels = 16;
    static constexpr Size kManyBundles = 64;  // so many are searched by all threads, with any number of rows

    BoostNode& node(Node id) { return tree_.nodes[static_cast<Size>(id)]; }
    ChunkRange* ranges(Node id) { return tree_.ranges.data() + static_cast<Size>(id) * n_chunks_; }
    int threads_for(Size rows) const { return rows < kFewRows ? 1 : o_.n_threads; }
    Scratch& scratch(int thread) { return scratch_[static_cast<Size>(thread)]; }

    // --- leaf-wise and level-wise growth; nodes ---

    void grow_nodes(Interrupt& interrupt);
    void add_root(std::uint64_t address);
    bool within_depth(const BoostNode& n) const;

    /// Whether both children could be large enough.
    bool splittable(const BoostNode& n) const;

    void enqueue(std::vector<Node>& open, Node id);
    void finalize_leaf(Node id);

    /// Leaf-wise: the largest gain, the first of ties; level-wise: in the order of creation.
    Node pop_best(std::vector<Node>& open);

    void release(BoostNode& n) { histograms_.release(n.histogram); }
    void build(BoostNode& n, const SparsePlan& sparse = {});

    // --- symmetric growth: symmetric_growth.cpp ---

    /// Symmetric (oblivious) trees, as in CatBoost: the nodes of a level share one split, the one with the
    /// largest sum of gains. A node that it does not divide stays whole. Without limits on leaves: a level
    /// has few nodes, and its splits are supported by all rows.
    void grow_symmetric(Interrupt& interrupt);

    /// Sum the root and keep a copy of its histogram, which is that of all nodes of a level together.
    void start_levels(BoostNode& root);

    /// Draw the columns of a level; return the address of its draws.
    std::uint64_t draw_columns(std::vector<std::uint8_t>& out, int depth) const;

    /// Mark the bundles that are read at each level or below it: the others need no sums there.
    void draw_levels();

    /// Find the split of a level: sum each feature's gains over the nodes. Return its feature, −1: none.
    std::int32_t search_level(const std::vector<Node>& level, int depth);

    ScoreNoise score_noise(const std::vector<Node>& level, double l2);

    /// Give a node the split that was found for its level; return false if it does not divide the node.
    bool take_level_split(Node id, std::int32_t f);

    /// Split all nodes of a level; return the nodes of the next one.
    std::vector<Node> split_level(const std::vector<Node>& level, std::int32_t f, int depth);

    /// needed (n_bundles,): those whose bins are read, or null
    void build_children(Node id, Node first, const std::uint8_t* needed);

    // --- search: split_search.cpp ---

    void search_children(Node id, Node first);

    /// Build the histogram of a child, then as below. A small node is built and searched by groups of
    /// bundles, so that threads meet once.
    void build_and_search(BoostNode* parent, BoostNode& built, BoostNode* other);

    /// Merge the parts of `built`, obtain the other child's histogram by subtraction from the parent's, and
    /// search both. parent and other may be null.  plan: by which `built` is still to be built, or null
    void merge_and_search(BoostNode* parent, BoostNode* built, BoostNode* other,
                          const NodePlan* plan = nullptr);

    /// Search two nodes of few rows, whose histograms are built on the way and not kept.
    void search_few_rows(BoostNode& left, BoostNode& right);

    /// second: may be null
    NodePair describe_pair(BoostNode* first, BoostNode* second);

    void choose_splits(const NodePair& pair);

    /// Sum the root; all other totals follow by subtraction.
    void sum_root(BoostNode& root);

    virtual void weigh_root(BoostNode& root);
    NewtonNode describe(const BoostNode& n) const;

    /// bins: of the bundle
    void search_bundle(Size child, const NodePair& pair, Size s, const Stat* bins, int thread);

    void search_feature(NewtonSplit& out, std::uint32_t f, const Stat* bins, const Stat* weights,
                        const NewtonNode& facts, int thread);

    /// Choose among the features. Row weights are summed only for a split that would win and whose hessians
    /// do not tell whether both children are heavy enough.
    void choose_split(Size child, BoostNode& n, const NewtonNode& facts);

    /// The candidate of largest gain, ties by a hash of the node's path; past the last: none is left.
    Size best_candidate(std::uint64_t path) const;

    /// Whether the gain exceeds min_gain (γ) and rounding noise.
    bool worth(const NewtonSplit& cut, const NewtonNode& facts) const;

    void search_with_weights(NewtonSplit& out, const BoostNode& n, std::uint32_t f, const NewtonNode& facts);

    /// Whether row weights per bin are at hand; if not, the node is left without a split for now.
    virtual bool knows_weights(const BoostNode&) { return true; }

    /// out (n_bins + 1,)
    virtual void sum_weights(Stat* out, const BoostNode& n, std::uint32_t f);

    void write_ledger(Size child, const BoostNode& n, double unit);

    // --- splits ---

    /// Split a node and partition its rows; return the first of the two children.
    Node split_node(Node id);

    Node add_children(Node id);
    Candidate make_candidate(const BoostNode& n) const;
    double threshold(std::uint32_t f, const NewtonSplit& cut) const;
    double value_of(const BoostNode& n, Stat sum) const;
    void bound(BoostNode& child, std::uint32_t f, int side, const std::array<double, 2>& values) const;
    void partition(Node id, Node first);
    Stat weight_of(const BoostNode& n);

    const BoostTable& table_;
    const BoostOptions& o_;
    PhaseTimes& times_;
    Size n_chunks_;
    std::vector<Scratch> scratch_;
    NodeHistograms histograms_;
    bool keeps_histograms_;
    std::vector<double> level_scores_;         // (n_features,), symmetric growth
    std::unique_ptr<Stat[]> level_histogram_;  // symmetric growth: of all rows
    // Symmetric growth: (n_levels,) of (n_bundles,), or empty.
    std::vector<std::vector<std::uint8_t>> needed_;
    ColumnSampler columns_;
    ChunkPartition partition_;
    std::array<std::vector<NewtonSplit>, 2> found_;
    std::vector<double> gains_;              // of the candidates
    std::vector<std::uint32_t> candidates_;  // features
    std::array<std::vector<std::uint8_t>, 2> allowed_;
    BoostRows* rows_ = nullptr;
    BoostedTree tree_;
};

}  // namespace spinney
