// The grower of boosted trees on rows in memory.
#pragma once

#include <algorithm>
#include <array>
#include <cfloat>
#include <memory>
#include <vector>

#include "boost/boosted_grower.hpp"
#include "boost/column_sampling.hpp"
#include "boost/node_histograms.hpp"
#include "boost/partition.hpp"
#include "core/random.hpp"
#include "grow/growth_rules.hpp"
#include "simd/register_loops.hpp"
#include "split/level_search.hpp"

namespace spinney {

class ChunkedGrower : public BoostedGrower {
  public:
    ChunkedGrower(const BoostTable& table, const BoostOptions& options, PhaseTimes& times)
        : table_(table),
          o_(options),
          times_(times),
          n_chunks_(table.n_chunks()),
          scratch_(static_cast<Size>(options.n_threads)),
          histograms_(table, options.n_threads),
          keeps_histograms_(histograms_.fit_in_memory(options.max_leaf_nodes)),
          columns_(options, table.x.columns.size()),
          partition_(options.n_threads) {
        const Size d = table.x.columns.size();
        found_[0].resize(d);
        found_[1].resize(d);
        level_scores_.resize(d);
        allowed_[0].resize(d);
        allowed_[1].resize(d);
    }

    BoostedTree grow(BoostRows& rows, std::uint64_t address, Interrupt& interrupt) override {
        rows_ = &rows;
        tree_ = {};
        tree_.fragment.add(1, 0);
        columns_.draw(address);
        add_root(address);
        if (o_.symmetric())
            grow_symmetric(interrupt);
        else
            grow_nodes(interrupt);
        for (LedgerRow& row : tree_.fragment.ledger)  // the candidates of a leaf were not chosen
            row.chosen = row.chosen && tree_.fragment.nodes[static_cast<Size>(row.node)].n_children > 0;
        return std::move(tree_);
    }

  protected:
    struct Scratch {
        NewtonSearch search;
        LevelSearch level;
    };

    static constexpr std::uint64_t kNoiseDraws = 1, kThresholdDraws = 2;
    static constexpr int kMaxDrawnLevels = 16;
    static constexpr Size kManyBundles = 64;  // so many are searched by all threads, with any number of rows

    BoostNode& node(Node id) { return tree_.nodes[static_cast<Size>(id)]; }
    ChunkRange* ranges(Node id) { return tree_.ranges.data() + static_cast<Size>(id) * n_chunks_; }
    int threads_for(Size rows) const { return rows < kFewRows ? 1 : o_.n_threads; }
    Scratch& scratch(int thread) { return scratch_[static_cast<Size>(thread)]; }

    // --- growth ---

    void grow_nodes(Interrupt& interrupt) {
        std::vector<Node> open;
        enqueue(open, 0);
        Size n_leaves = 1;
        while (!open.empty() && n_leaves < o_.max_leaf_nodes) {
            interrupt.poll();
            const Node id = pop_best(open);
            const Node first = split_node(id);
            ++n_leaves;
            if (n_leaves < o_.max_leaf_nodes) search_children(id, first);
            for (const Node child : {first, first + 1}) enqueue(open, child);
        }
        for (const Node id : open) finalize_leaf(id);
    }

    /// Symmetric (oblivious) trees, as in CatBoost: the nodes of a level share one split, the one with the
    /// largest sum of gains. A node that it does not divide stays whole. Without limits on leaves: a level
    /// has few nodes, and its splits are supported by all rows.
    void grow_symmetric(Interrupt& interrupt) {
        std::vector<Node> level{0};
        draw_levels();
        for (int depth = 0; within_depth(node(0)) && depth < o_.max_depth; ++depth) {
            if (2 * level.size() > o_.max_leaf_nodes) break;
            interrupt.poll();
            const std::int32_t f = times_.time(Phase::split, [&] { return search_level(level, depth); });
            if (f < 0) break;
            level = split_level(level, f, depth);
        }
        for (const Node id : level) finalize_leaf(id);
        histograms_.release(level_histogram_);
    }

    // --- nodes ---

    void add_root(std::uint64_t address) {
        tree_.nodes.resize(1);
        tree_.ranges.resize(n_chunks_);
        BoostNode& root = node(0);
        root.address = address;
        root.path = 0;
        for (std::uint32_t g = 0; g < o_.interaction_cst.size(); ++g) root.groups.push_back(g);
        for (Size c = 0; c < n_chunks_; ++c) {
            const auto in = static_cast<LocalRow>(rows_->n_in[c]);
            ranges(0)[c] = {0, in, in, static_cast<LocalRow>(table_.chunk_size(c))};
            root.n_rows += in;
        }
        if (within_depth(root)) {
            build(root);
            if (o_.symmetric())
                start_levels(root);
            else
                times_.time(Phase::split, [&] { merge_and_search(nullptr, &root, nullptr); });
        }
    }

    bool within_depth(const BoostNode& n) const {
        return n.depth < o_.max_depth && n.n_rows >= 2 && o_.max_leaf_nodes > 1;
    }

    /// Whether both children could be large enough.
    bool splittable(const BoostNode& n) const {
        const double weight = static_cast<double>(n.weight) * rows_->weight_unit;
        return within_depth(n) && weight >= 2 * o_.min_samples_leaf &&
               static_cast<double>(hessian_of(n.total, rows_->layout)) * rows_->units.hessian >=
                   2 * o_.min_hessian;
    }

    void enqueue(std::vector<Node>& open, Node id) {
        BoostNode& n = node(id);
        if (n.feature < 0) return finalize_leaf(id);
        if (!keeps_histograms_) release(n);
        open.push_back(id);
    }

    void finalize_leaf(Node id) {
        release(node(id));
        tree_.leaves.push_back(id);
    }

    /// Leaf-wise: the largest gain, the first of ties; level-wise: in the order of creation.
    Node pop_best(std::vector<Node>& open) {
        Size best = 0;
        for (Size i = 1; i < open.size() && !o_.level_wise(); ++i)
            if (node(open[i]).gain > node(open[best]).gain) best = i;
        const Node id = open[best];
        open.erase(open.begin() + static_cast<long>(best));
        return id;
    }

    // --- histograms ---

    void release(BoostNode& n) { histograms_.release(n.histogram); }

    void build(BoostNode& n, const SparsePlan& sparse = {}) {
        times_.time(Phase::histogram, [&] { histograms_.build(n, ranges(n.id), *rows_, sparse); });
    }

    // --- search ---

    /// Build the histogram of a child, then as below. A small node is built and searched by groups of
    /// bundles, so that threads meet once.
    void build_and_search(BoostNode* parent, BoostNode& built, BoostNode* other) {
        const NodePlan plan = histograms_.plan(built.n_rows);
        const bool at_once = plan.n_threads > 1 && plan.n_parts == 1 && built.id != 0;
        const NewtonNode facts = describe(built);
        SparsePlan sparse{&facts, splittable(built)};
        if (parent && other) {
            sparse.other = parent->histogram.get();
            sparse.other_total = other->total;
        }
        if (at_once)
            histograms_.start(built, plan.n_parts, sparse);
        else
            build(built, sparse);
        times_.time(Phase::split,
                    [&] { merge_and_search(parent, &built, other, at_once ? &plan : nullptr); });
    }

    /// Merge the parts of `built`, obtain the other child's histogram by subtraction from the parent's, and
    /// search both. parent and other may be null.  plan: by which `built` is still to be built, or null
    void merge_and_search(BoostNode* parent, BoostNode* built, BoostNode* other,
                          const NodePlan* plan = nullptr) {
        if (parent && other) other->histogram = std::move(parent->histogram);
        const NodePair pair = describe_pair(built, other);
        const NodePlan used =
            plan ? *plan : histograms_.search_plan(Size{pair.searched[0]} + pair.searched[1]);
        Pool::shared().parallel_for(used.n_threads, used.n_tasks(), [&](Size task, int thread) {
            const BundleGroup& group = (*used.groups)[task];
            if (plan) histograms_.build_group(*built, group, 0, 1, ranges(built->id), *rows_, thread);
            for (Size s = group.bundles.first; s < group.bundles.first + group.bundles.n; ++s) {
                histograms_.finish(*built, other, s);
                for (Size i = 0; i < 2; ++i)
                    if (pair.searched[i])
                        search_bundle(i, pair, s, pair.nodes[i]->histogram.get() + s * kBundleBins, thread);
            }
        });
        histograms_.set_finished();
        choose_splits(pair);
    }

    /// Search two nodes of few rows, whose histograms are built on the way and not kept.
    void search_few_rows(BoostNode& left, BoostNode& right) {
        const NodePair pair = describe_pair(&left, &right);
        const NodePlan plan = histograms_.plan(std::max(left.n_rows, right.n_rows));
        Pool::shared().parallel_for(plan.n_threads, plan.n_tasks(), [&](Size task, int thread) {
            for (Size i = 0; i < 2; ++i)
                if (pair.searched[i])
                    histograms_.for_each_bundle(
                        (*plan.groups)[task], ranges(pair.nodes[i]->id), *rows_, thread,
                        [&](Size s, const Stat* bins) { search_bundle(i, pair, s, bins, thread); });
        });
        choose_splits(pair);
    }

    /// One node or two that are searched together.
    struct NodePair {
        std::array<BoostNode*, 2> nodes;
        std::array<NewtonNode, 2> facts;
        std::array<bool, 2> searched{};
    };

    /// second: may be null
    NodePair describe_pair(BoostNode* first, BoostNode* second) {
        NodePair out{{first, second}, {}, {}};
        for (Size i = 0; i < 2; ++i) {
            BoostNode* own = out.nodes[i];
            if (!own) continue;
            if (own->id == 0) sum_root(*own);
            out.searched[i] = splittable(*own);
            out.facts[i] = describe(*own);
            if (out.searched[i]) columns_.allow(allowed_[i], *own);
        }
        return out;
    }

    void choose_splits(const NodePair& pair) {
        for (Size i = 0; i < 2; ++i)
            if (pair.searched[i]) choose_split(i, *pair.nodes[i], pair.facts[i]);
    }

    /// Sum the root and keep a copy of its histogram, which is that of all nodes of a level together.
    void start_levels(BoostNode& root) {
        sum_root(root);
        histograms_.finish(root, nullptr);
        level_histogram_ = histograms_.copy(root.histogram.get());
    }

    /// Draw the columns of a level; return the address of its draws.
    std::uint64_t draw_columns(std::vector<std::uint8_t>& out, int depth) const {
        BoostNode place;
        place.address = mix(tree_.nodes[0].address, static_cast<std::uint64_t>(depth) + 1);
        columns_.allow(out, place);
        return place.address;
    }

    /// Mark the bundles that are read at each level or below it: the others need no sums there.
    void draw_levels() {
        needed_.clear();
        if (o_.max_depth > kMaxDrawnLevels || o_.max_features >= table_.x.columns.size()) return;
        needed_.resize(static_cast<Size>(o_.max_depth));
        std::vector<std::uint8_t> needed(table_.bundles.bundles.size(), 0);
        for (Size depth = needed_.size(); depth-- > 0;) {
            draw_columns(allowed_[0], static_cast<int>(depth));
            for (const std::uint32_t f : columns_.drawn())
                if (allowed_[0][f]) needed[table_.bundles.place_of[f].first] = 1;
            needed_[depth] = needed;
        }
    }

    /// Find the split of a level: sum each feature's gains over the nodes. Return its feature, −1: none.
    std::int32_t search_level(const std::vector<Node>& level, int depth) {
        const std::uint64_t address = draw_columns(allowed_[0], depth);
        const NewtonNode facts = describe(node(0));
        const ScoreNoise noise = score_noise(level, facts.l2);
        const Size n_bundles = table_.bundles.bundles.size();
        const int n_threads = level.size() * n_bundles < kManyBundles ? 1 : o_.n_threads;
        Pool::shared().parallel_for(n_threads, n_bundles, [&](Size s, int thread) {
            const Bundle& bundle = table_.bundles.bundles[s];
            LevelSearch& search = scratch(thread).level;
            for (const std::uint32_t f : bundle.features) {
                if (!allowed_[0][f]) continue;
                const auto bins = [&](const Stat* histogram, Stat total) {
                    return histograms_.column_bins(histograms_.bundle_bins(histogram, f), total, f, thread);
                };
                const CodeColumn& column = table_.x.columns[f];
                NewtonNode own = facts;
                own.address = mix(mix(address, kThresholdDraws), f);
                search.start(bins(level_histogram_.get(), node(0).total), column.n_bins,
                             column.kind == ColumnKind::categorical, own);
                for (const Node id : level)
                    search.add(bins(node(id).histogram.get(), node(id).total), node(id).total);
                const LevelSplit best = search.best(noise, mix(mix(address, kNoiseDraws), f));
                found_[0][f] = best.split;
                level_scores_[f] = best.score;
            }
        });
        std::int32_t best = -1;
        for (const std::uint32_t f : columns_.drawn()) {
            if (!allowed_[0][f] || !found_[0][f].found() || !worth(found_[0][f], facts)) continue;
            const auto better = [&](std::int32_t b) {
                return replaces(level_scores_[f], level_scores_[static_cast<Size>(b)], [&] {
                    const auto path = static_cast<std::uint64_t>(depth);
                    return mix(path, f) < mix(path, static_cast<std::uint64_t>(b));
                });
            };
            if (best < 0 || better(best)) best = static_cast<std::int32_t>(f);
        }
        if (o_.ledger)
            for (const Node id : level) {
                node(id).feature = best;
                write_ledger(0, node(id), rows_->units.gain());
                node(id).feature = -1;
            }
        return best;
    }

    ScoreNoise score_noise(const std::vector<Node>& level, double l2) {
        double parents = 0;
        for (const Node id : level) parents += LevelSearch::quality_of(node(id).total, l2);
        return {rows_->score_noise, 2 * rows_->units.gain(), parents};
    }

    /// Give a node the split that was found for its level; return false if it does not divide the node.
    bool take_level_split(Node id, std::int32_t f) {
        const NewtonSplit& cut = found_[0][static_cast<Size>(f)];
        const CodeColumn& column = table_.x.columns[static_cast<Size>(f)];
        const auto feature = static_cast<std::uint32_t>(f);
        const Stat* bins = histograms_.column_bins(histograms_.bundle_bins(node(id).histogram.get(), feature),
                                                   node(id).total, feature, 0);
        const bool categorical = column.kind == ColumnKind::categorical;
        const Stat left = LevelSearch::left_sum(cut, bins, column.n_bins, categorical);
        if (left == 0 || left == node(id).total) return false;
        node(id).best = cut;
        node(id).best.left = left;
        node(id).feature = f;
        const double gain = LevelSearch::gain_of(left, node(id).total, describe(node(0)).l2);
        node(id).gain = std::max(0.0, gain * rows_->units.gain());
        return true;
    }

    /// Split all nodes of a level; return the nodes of the next one.
    std::vector<Node> split_level(const std::vector<Node>& level, std::int32_t f, int depth) {
        std::vector<Node> next;
        const bool more = depth + 1 < o_.max_depth;
        const auto below = static_cast<Size>(depth) + 1;
        const std::uint8_t* needed = below < needed_.size() ? needed_[below].data() : nullptr;
        for (const Node id : level) {
            if (!take_level_split(id, f)) {
                next.push_back(id);
                continue;
            }
            const Node first = split_node(id);
            if (more) build_children(id, first, needed);
            release(node(id));
            next.insert(next.end(), {first, first + 1});
        }
        return next;
    }

    /// needed (n_bundles,): those whose bins are read, or null
    void build_children(Node id, Node first, const std::uint8_t* needed) {
        BoostNode &parent = node(id), &left = node(first), &right = node(first + 1);
        BoostNode& small = left.n_rows < right.n_rows ? left : right;
        BoostNode& large = left.n_rows < right.n_rows ? right : left;
        large.histogram = std::move(parent.histogram);
        build(small);
        times_.time(Phase::histogram, [&] { histograms_.finish(small, &large, needed); });
    }

    /// Sum the root; all other totals follow by subtraction.
    void sum_root(BoostNode& root) {
        root.total = histograms_.total(root, *rows_);
        weigh_root(root);
    }

    virtual void weigh_root(BoostNode& root) {
        root.weight = static_cast<Stat>(root.n_rows);
        if (rows_->weights.empty()) return;
        root.weight = 0;
        for (Size c = 0; c < n_chunks_; ++c)
            for (Size i = 0; i < rows_->n_in[c]; ++i)
                root.weight += rows_->weights[c * kChunkRows + rows_->ids[c * kChunkRows + i]];
    }

    NewtonNode describe(const BoostNode& n) const {
        const NewtonUnits& u = rows_->units;
        NewtonNode out;
        out.total = n.total;
        out.layout = rows_->layout;
        out.weight = n.weight;
        out.l2 = o_.l2_regularization / u.hessian;
        out.category_l2 = o_.categorical_l2 / u.hessian;
        out.category_smoothing = o_.categorical_smoothing / u.hessian;
        out.categories = o_.categorical_split;
        const double units = o_.min_samples_leaf / rows_->weight_unit;
        out.min_weight = static_cast<Stat>(std::ceil(units * (1 - 1e-12)));
        out.sure_hessian = static_cast<Stat>(std::ceil(units * rows_->max_hessian_ratio));
        const double min_hessian =
            std::max(o_.min_hessian / u.hessian, std::floor(units * rows_->min_hessian_ratio));
        out.min_hessian = std::max<Stat>(1, static_cast<Stat>(std::ceil(min_hessian)));
        out.bounded = !o_.monotonic_cst.empty();
        out.random = o_.splitter == Splitter::random;
        out.address = mix(n.address, kThresholdDraws);
        out.lower = n.lower / u.value();
        out.upper = n.upper / u.value();
        out.base = NewtonSearch::base_quality(out, out.l2);
        return out;
    }

    /// bins: of the bundle
    void search_bundle(Size child, const NodePair& pair, Size s, const Stat* bins, int thread) {
        const Bundle& bundle = table_.bundles.bundles[s];
        const NewtonNode& facts = pair.facts[child];
        if (!bundle.shared() && facts.too_light(facts.total - bins[bundle.common])) {
            NewtonSplit& out = found_[child][bundle.features[0]];
            out.gain = kImpossible;
            out.sure = true;
            return;
        }
        for (const std::uint32_t f : bundle.features)
            if (allowed_[child][f])
                search_feature(found_[child][f], f, histograms_.column_bins(bins, facts.total, f, thread),
                               nullptr, facts, thread);
    }

    void search_feature(NewtonSplit& out, std::uint32_t f, const Stat* bins, const Stat* weights,
                        const NewtonNode& facts, int thread) {
        const CodeColumn& column = table_.x.columns[f];
        NewtonSearch& search = scratch(thread).search;
        const auto with = [&](const NewtonNode& own) {
            if (column.kind == ColumnKind::numeric)
                search.numeric(out, bins, column.n_bins, weights, own);
            else
                search.categorical(out, bins, column.n_bins, weights, own);
        };
        if (o_.monotonic_cst.empty() && !facts.random) return with(facts);
        NewtonNode own = facts;
        own.address = mix(facts.address, f);
        if (!o_.monotonic_cst.empty()) own.direction = o_.monotonic_cst[f];
        with(own);
    }

    /// Choose among the features. Row weights are summed only for a split that would win and whose hessians
    /// do not tell whether both children are heavy enough.
    void choose_split(Size child, BoostNode& n, const NewtonNode& facts) {
        auto& found = found_[child];
        gains_.clear();
        candidates_.clear();
        for (const std::uint32_t f : columns_.drawn()) {
            if (!allowed_[child][f]) continue;
            if (o_.ledger && !found[f].sure) {
                if (!knows_weights(n)) return;
                search_with_weights(found[f], n, f, facts);
            }
            if (!found[f].found()) continue;
            gains_.push_back(found[f].gain);
            candidates_.push_back(f);
        }
        for (Size best; (best = best_candidate(n.path)) < gains_.size();) {
            NewtonSplit& cut = found[candidates_[best]];
            if (!cut.sure && !knows_weights(n)) return;
            if (!cut.sure) {
                search_with_weights(cut, n, candidates_[best], facts);
                gains_[best] = cut.gain;
                continue;
            }
            if (!worth(cut, facts)) break;
            n.best = cut;
            n.feature = static_cast<std::int32_t>(candidates_[best]);
            n.gain = cut.gain * rows_->units.gain();
            break;
        }
        if (o_.ledger) write_ledger(child, n, rows_->units.gain());
    }

    /// The candidate of largest gain, ties by a hash of the node's path; past the last: none is left.
    Size best_candidate(std::uint64_t path) const {
        const double max = max_of(gains_.data(), gains_.size());
        Size best = gains_.size();
        if (!(max > kImpossible)) return best;
        // Others do not tie with the largest, nor with one that does.
        const double near = max - 1e-6 * std::abs(max);
        for (Size i = 0; i < gains_.size(); ++i) {
            if (gains_[i] < near) continue;
            const auto first = [&] { return mix(path, candidates_[i]) < mix(path, candidates_[best]); };
            if (best == gains_.size() || replaces(gains_[i], gains_[best], first)) best = i;
        }
        return best;
    }

    /// Whether the gain exceeds min_gain (γ) and rounding noise.
    bool worth(const NewtonSplit& cut, const NewtonNode& facts) const {
        const double g = static_cast<double>(gradient_of(facts.total, facts.layout)),
                     h = static_cast<double>(hessian_of(facts.total, facts.layout)) + facts.l2;
        return cut.gain > 1e-12 * (g * g / h) && cut.gain * rows_->units.gain() > o_.min_gain && cut.gain > 0;
    }

    void search_with_weights(NewtonSplit& out, const BoostNode& n, std::uint32_t f, const NewtonNode& facts) {
        std::array<Stat, kBundleBins> sums, weights;
        const Stat* bins = sums.data();
        if (n.histogram)
            bins = histograms_.column_bins(histograms_.bundle_bins(n.histogram.get(), f), n.total, f, 0);
        else
            histograms_.sum_column(sums.data(), ranges(n.id), *rows_, f);
        sum_weights(weights.data(), n, f);
        search_feature(out, f, bins, weights.data(), facts, 0);
    }

    /// Whether row weights per bin are at hand; if not, the node is left without a split for now.
    virtual bool knows_weights(const BoostNode&) { return true; }

    /// out (n_bins + 1,)
    virtual void sum_weights(Stat* out, const BoostNode& n, std::uint32_t f) {
        histograms_.sum_weights(out, n, ranges(n.id), *rows_, f);
    }

    void write_ledger(Size child, const BoostNode& n, double unit) {
        for (const std::uint32_t f : columns_.drawn()) {
            if (!allowed_[child][f] || !found_[child][f].found()) continue;
            const NewtonSplit& cut = found_[child][f];
            const double gain = cut.gain * unit;
            const bool chosen = n.feature == static_cast<std::int32_t>(f);
            tree_.fragment.ledger.push_back(
                {n.id, static_cast<std::int32_t>(f), threshold(f, cut), gain, 0.0, gain, chosen});
        }
    }

    double threshold(std::uint32_t f, const NewtonSplit& cut) const {
        const CodeColumn& column = table_.x.columns[f];
        if (column.kind == ColumnKind::categorical) return std::numeric_limits<double>::quiet_NaN();
        if (cut.last) return DBL_MAX;
        const auto bin = static_cast<Code>(cut.threshold_bin);
        return midpoint(column.max_of(bin), column.min_of(bin + 1));
    }

    // --- splits ---

    /// Split a node and partition its rows; return the first of the two children.
    Node split_node(Node id) {
        const Node first = add_children(id);
        times_.time(Phase::partition, [&] { partition(id, first); });
        return first;
    }

    Node add_children(Node id) {
        const Stat left = node(id).best.left, right = node(id).total - left;
        const auto f = static_cast<std::uint32_t>(node(id).feature);
        const CodeColumn& column = table_.x.columns[f];
        const Candidate c = make_candidate(node(id));
        tree_.fragment.set_split(id, c, table_.x, 0);
        partition_.set_sides(c, column);
        const Node first = tree_.fragment.nodes[static_cast<Size>(id)].first_child;
        tree_.nodes.resize(static_cast<Size>(first) + 2);
        tree_.ranges.resize((static_cast<Size>(first) + 2) * n_chunks_);
        const std::array<double, 2> values{value_of(node(id), left), value_of(node(id), right)};
        for (int side = 0; side < 2; ++side) {
            BoostNode& child = node(first + side);
            const BoostNode& parent = node(id);
            child.id = first + side;
            child.depth = parent.depth + 1;
            child.address = mix(parent.address, static_cast<std::uint64_t>(side) + 1);
            child.path = mix(parent.path, static_cast<std::uint64_t>(side) + 1);
            child.total = side == 0 ? left : right;
            child.lower = parent.lower;
            child.upper = parent.upper;
            bound(child, f, side, values);
            for (const std::uint32_t g : parent.groups) {
                const auto& set = o_.interaction_cst[g];
                if (std::find(set.begin(), set.end(), f) != set.end()) child.groups.push_back(g);
            }
        }
        return first;
    }

    Candidate make_candidate(const BoostNode& n) const {
        const auto f = static_cast<std::uint32_t>(n.feature);
        const CodeColumn& column = table_.x.columns[f];
        Candidate c;
        c.feature = n.feature;
        c.threshold = threshold(f, n.best);
        c.missing = n.best.missing;
        if (column.kind == ColumnKind::numeric) {
            c.kind = SplitKind::numeric;
            c.threshold_bin = static_cast<Code>(n.best.threshold_bin);
        } else {
            c.kind = SplitKind::category_set;
            c.bins = n.best.set.below(column.n_bins);
            c.seen = n.best.seen.below(column.n_bins);
        }
        assign_unseen(c, static_cast<Size>(hessian_of(n.best.left, rows_->layout)),
                      static_cast<Size>(hessian_of(n.total - n.best.left, rows_->layout)), false);
        return c;
    }

    double value_of(const BoostNode& n, Stat sum) const {
        const NewtonUnits& u = rows_->units;
        const double g = static_cast<double>(gradient_of(sum, rows_->layout)),
                     h = static_cast<double>(hessian_of(sum, rows_->layout)) +
                         o_.l2_regularization / u.hessian;
        return std::clamp(-g / h * u.value(), n.lower, n.upper);
    }

    void bound(BoostNode& child, std::uint32_t f, int side, const std::array<double, 2>& values) const {
        if (o_.monotonic_cst.empty() || o_.monotonic_cst[f] == 0) return;
        const double middle = values[0] / 2 + values[1] / 2;
        if ((o_.monotonic_cst[f] > 0) == (side == 0))
            child.upper = std::min(child.upper, middle);
        else
            child.lower = std::max(child.lower, middle);
    }

    void partition(Node id, Node first) {
        const std::uint8_t* codes = table_.x.columns[static_cast<Size>(node(id).feature)].as<std::uint8_t>();
        const ChunkRange* from = ranges(id);
        ChunkRange *left = ranges(first), *right = ranges(first + 1);
        const int n_threads = threads_for(node(id).n_rows + (rows_->any_out ? kFewRows : 0));
        partition_.split(left, right, from, n_chunks_, rows_->ids.data(), codes, n_threads);
        BoostNode &l = node(first), &r = node(first + 1);
        for (Size c = 0; c < n_chunks_; ++c) {
            l.n_rows += left[c].size();
            r.n_rows += right[c].size();
        }
        l.weight = weight_of(l);
        r.weight = node(id).weight - l.weight;
    }

    Stat weight_of(const BoostNode& n) {
        if (rows_->weights.empty()) return static_cast<Stat>(n.n_rows);
        const ChunkRange* range = ranges(n.id);
        Stat sum = 0;
        for (Size c = 0; c < n_chunks_; ++c)
            for (Size i = range[c].begin; i < range[c].end; ++i)
                sum += rows_->weights[c * kChunkRows + rows_->ids[c * kChunkRows + i]];
        return sum;
    }

    void search_children(Node id, Node first) {
        BoostNode &parent = node(id), &left = node(first), &right = node(first + 1);
        BoostNode& small = left.n_rows < right.n_rows ? left : right;
        BoostNode& large = left.n_rows < right.n_rows ? right : left;
        const bool has_small = splittable(small), has_large = splittable(large);
        if (has_large && histograms_.are_few(large.n_rows)) {
            times_.time(Phase::split, [&] { search_few_rows(small, large); });
        } else if (parent.histogram && (has_large || has_small)) {
            build_and_search(&parent, small, has_large ? &large : nullptr);
        } else {
            if (has_small) build_and_search(&parent, small, nullptr);
            if (has_large) build_and_search(&parent, large, nullptr);
        }
        release(parent);
    }

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
