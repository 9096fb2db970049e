// The exact grower.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "grow/growers.hpp"
#include "grow/growth_rules.hpp"
#include "split/absolute_error.hpp"
#include "split/oblique.hpp"
#include "split/sorted_groups.hpp"
#include "split/sweep.hpp"

namespace spinney {

namespace {

class ExactGrower {
  public:
    explicit ExactGrower(const GrowContext& context)
        : c_(context), scratch_(static_cast<Size>(std::max(1, context.options.n_threads))) {}

    /// Grow from these rows. Fragment 0 contains the root.
    std::vector<Fragment> grow(std::vector<Row> rows) {
        std::vector<Fragment> fragments(1);
        Work root;
        root.rows = std::move(rows);
        if (c_.options.fractional())
            for (Row r : root.rows) root.parts.push_back(c_.s.row_weight(r));
        root.state.address = mix(c_.options.seed, 0);
        fragments[0].add(1);
        root.state.id = 0;
        if (c_.options.best_first()) {
            Fragment& f = fragments[0];
            best_first(
                c_, std::move(root), [&](Work& node) { search(f, node, c_.options.n_threads, 0); },
                [&](Work& node) { return split(f, node); },
                [&](const Work& node) { record_node(c_, f, node.state, node.view(), true); });
            return fragments;
        }
        // Threads share the features of large nodes; small subtrees are grown by one thread each.
        const Size deferred_below = c_.options.n_threads > 1 ? std::max<Size>(512, root.rows.size() / 16) : 0;
        auto deferred = grow_subtree(fragments[0], std::move(root), c_.options.n_threads, deferred_below, 0);
        grow_deferred(c_, fragments, std::move(deferred), [&](Fragment& f, Work node, int thread) {
            grow_subtree(f, std::move(node), 1, 0, thread);
        });
        return fragments;
    }

  private:
    /// A node to be split.
    struct Work {
        NodeState state;
        std::vector<Row> rows;
        std::vector<Stat> parts;  // with fractional instances
        std::vector<Stat> total;
        Candidate best;

        NodeRows view() const { return {rows, parts}; }
        Size size() const { return rows.size(); }
    };

    /// A threshold of one feature in the full ledger.
    struct Tried {
        double threshold, gain, gain_ratio, score;
        std::int32_t missing;
    };

    /// Grow the subtree of `first`; returns the deferred nodes. `thread`: whose scratch memory is used.
    std::vector<Work> grow_subtree(Fragment& f, Work first, int n_threads, Size deferred_below, int thread) {
        return depth_first(c_, f, std::move(first), deferred_below,
                           [&](Work& node, std::vector<Work>& stack) {
                               search(f, node, n_threads, thread);
                               if (!node.best.found()) return;
                               auto children = split(f, node);
                               std::move(children.rbegin(), children.rend(), std::back_inserter(stack));
                           });
    }

    /// Find the best split of the node, or make it a leaf.
    void search(Fragment& f, Work& node, int n_threads, int thread) {
        const Size width = static_cast<Size>(c_.s.width);
        node.total.assign(width, 0);
        CopiedRowStats& copied = scratch_[static_cast<Size>(thread)].statistics;
        copied.gather(c_.s, node.view());
        const RowStats rows = copied.view();
        with_layout(c_.s.layout, [&]<Layout L>() {
            for (Size i = 0; i < node.rows.size(); ++i) rows.add<L>(node.total.data(), i, c_.s.row_width);
        });
        const bool stop = must_stop(c_, node.state, node.total.data(), node.rows.size()) || is_pure(node);
        if (!stop) choose_split(f, node, n_threads, thread);
        record_node(c_, f, node.state, node.view(), !node.best.found());
    }

    bool is_pure(const Work& node) const {
        if (c_.s.task == Task::classification) return pure_classes(c_, node.total.data());
        return pure_values(c_, node.rows.size(), [&](Size i) { return node.rows[i]; });
    }

    void choose_split(Fragment& f, Work& node, int n_threads, int own_thread) {
        const Limits limits = make_limits(c_, node.state);
        std::vector<std::vector<Tried>> tried;
        if (c_.options.ledger == LedgerLevel::thresholds) tried.resize(c_.x.columns.size());
        AbsoluteErrorNode absolute;
        if (c_.options.criterion == CriterionName::absolute_error)
            absolute.prepare(c_.target, c_.s, node.view(), limits.monotone);
        std::vector<Candidate> candidates = collect_candidates(
            c_, node.state, [&](std::span<const std::int32_t> features, std::span<Candidate> out) {
                const auto one = [&](Size i, int thread) {
                    c_.interrupt.poll();
                    out[i] =
                        search_feature(node, features[i], limits, scratch_[static_cast<Size>(thread)],
                                       absolute, scratch_[static_cast<Size>(own_thread)].statistics.view(),
                                       tried.empty() ? nullptr : &tried[static_cast<Size>(features[i])]);
                    out[i].feature = features[i];
                };
                if (n_threads > 1)
                    Pool::shared().parallel_for(n_threads, features.size(), one, &c_.interrupt);
                else
                    for (Size i = 0; i < features.size(); ++i) one(i, own_thread);
            });
        if (c_.options.oblique_directions > 0) {
            double axis_score = kImpossible;
            for (const Candidate& k : candidates)
                if (k.found()) axis_score = std::max(axis_score, k.score);
            Candidate oblique =
                best_oblique_split(c_, node.state, node.view(), node.total.data(), limits, axis_score);
            if (oblique.found()) candidates.push_back(std::move(oblique));
        }
        const int best = choose(candidates, c_.options, node.state.path);
        const bool accept = best >= 0 && is_acceptable(c_.options, candidates[static_cast<Size>(best)]);
        if (c_.options.ledger != LedgerLevel::off)
            write_ledger(f, node, candidates, tried, accept ? best : -1);
        if (accept) node.best = std::move(candidates[static_cast<Size>(best)]);
    }

    Candidate search_feature(const Work& node, std::int32_t feature, const Limits& common,
                             SearchScratch& scratch, const AbsoluteErrorNode& absolute,
                             const RowStats& statistics, std::vector<Tried>* tried) {
        const CodeColumn& column = c_.x.columns[static_cast<Size>(feature)];
        Limits limits = common;
        limits.set_direction(c_.options.monotonic_cst, feature);
        if (c_.options.criterion == CriterionName::absolute_error)
            return absolute.search(column, feature, node.view(), limits, c_.options,
                                   weight_of(c_, node.total.data()) / c_.all_weight,
                                   mix(node.state.address, feature_salt(feature)));
        Candidate out;
        with_layout(c_.s.layout, [&]<Layout L>() {
            with_groups<L>(scratch, column, node.rows, statistics, c_.s, [&](auto& groups) {
                FeatureSearch q{c_.s, c_.options, column, feature, node.total.data(), nullptr, limits};
                const Stat missing = c_.s.weight_steps(scratch.missing.data());
                q.address = mix(node.state.address, feature_salt(feature));
                q.node_weight_fraction = weight_of(c_, node.total.data()) / c_.all_weight;
                if (missing > 0 && c_.options.fractional()) {
                    scratch.known.resize(node.total.size());
                    for (Size i = 0; i < node.total.size(); ++i)
                        scratch.known[i] = node.total[i] - scratch.missing[i];
                    q.total = scratch.known.data();
                    if (c_.s.weight_steps(q.total) <= 0) return;
                    q.known_fraction = weight_of(c_, q.total) / weight_of(c_, node.total.data());
                } else if (missing > 0) {
                    q.missing = scratch.missing.data();
                }
                with_split_scorer(c_.options.criterion, c_.s, q.total, limits, [&](ScorerBase& scorer) {
                    out = search_groups(scorer, q, groups, scratch, tried);
                });
            });
        });
        return out;
    }

    template <class Groups>
    Candidate search_groups(ScorerBase& scorer, const FeatureSearch& q, Groups& groups,
                            SearchScratch& scratch, std::vector<Tried>* tried) {
        if (q.column.kind == ColumnKind::numeric) {
            Candidate best =
                sweep_numeric(scorer, q, groups,
                              [&](auto&& threshold, double quality, std::int32_t missing, auto&& copy_left) {
                                  if (!tried || quality == kImpossible) return;
                                  Candidate c;
                                  std::vector<Stat> left(static_cast<Size>(c_.s.width));
                                  copy_left(left.data());
                                  finish(c, scorer, q, quality, left.data());
                                  tried->push_back({threshold(), c.gain, c.gain_ratio, c.score, missing});
                              });
            if (tried && best.charge > 0) charge(*tried, best.charge, q);
            return best;
        }
        collect(scratch.categories, groups, c_.s.width);
        if (c_.options.categorical_split == CategorySplit::multiway)
            return multiway_split(scorer, q, scratch.categories);
        return best_category_set(scorer, q, scratch.categories);
    }

    /// Take the charge, which is known after the sweep, off the gains in the ledger.
    static void charge(std::vector<Tried>& tried, double amount, const FeatureSearch& q) {
        for (Tried& t : tried) {
            t.gain_ratio *= t.gain > 0 ? (t.gain - amount) / t.gain : 0.0;
            t.gain -= amount;
            t.score = cost_adjusted(q.options, t.gain, q.feature);
        }
    }

    static std::uint64_t feature_salt(std::int32_t feature) {
        return 0x10000u + static_cast<std::uint64_t>(feature);
    }

    void write_ledger(Fragment& f, const Work& node, const std::vector<Candidate>& candidates,
                      const std::vector<std::vector<Tried>>& tried, int best) {
        const bool by_ratio = c_.options.gain_ratio() && c_.options.cost_rule == CostRule::none;
        for (Size i = 0; i < candidates.size(); ++i) {
            const Candidate& k = candidates[i];
            const bool chosen = static_cast<int>(i) == best;
            const auto* all =
                k.feature >= 0 && !tried.empty() ? &tried[static_cast<Size>(k.feature)] : nullptr;
            if (all && !all->empty()) {
                for (const Tried& t : *all)
                    f.ledger.push_back({node.state.id, k.feature, t.threshold, t.gain, t.gain_ratio,
                                        by_ratio ? t.gain_ratio : t.score,
                                        chosen && t.threshold == k.threshold && t.missing == k.missing});
            } else if (k.found()) {
                f.ledger.push_back({node.state.id, k.feature, k.threshold, k.gain, k.gain_ratio,
                                    by_ratio ? k.gain_ratio : k.score, chosen});
            }
        }
    }

    /// Child of each row; n_children for a missing value that goes to all of them.
    std::vector<std::int32_t> children_of_rows(const Work& node) const {
        const Candidate& b = node.best;
        std::vector<std::int32_t> child(node.rows.size());
        if (b.kind == SplitKind::linear) {
            for (Size i = 0; i < child.size(); ++i)
                child[i] = project(b.terms, c_.x, node.rows[i]) <= b.threshold ? 0 : 1;
            return child;
        }
        const CodeColumn& column = c_.x.columns[static_cast<Size>(b.feature)];
        const auto n_children = static_cast<std::int32_t>(b.kind == SplitKind::multiway ? b.bins.size() : 2);
        const std::int32_t of_missing = c_.options.fractional() || b.missing < 0 ? n_children : b.missing;
        // By binary search: a column may have many more codes than a small node has rows.
        const auto of_code = [&](Code code) -> std::int32_t {
            if (code == column.n_bins) return of_missing;
            if (b.kind == SplitKind::numeric) return code > b.threshold_bin;
            const auto at = std::lower_bound(b.bins.begin(), b.bins.end(), code);
            if (b.kind == SplitKind::multiway) return static_cast<std::int32_t>(at - b.bins.begin());
            return at == b.bins.end() || *at != code;
        };
        for (Size i = 0; i < child.size(); ++i) child[i] = of_code(column.at(node.rows[i]));
        return child;
    }

    /// Apply the split of the node: its children with their rows.
    std::vector<Work> split(Fragment& f, Work& node) {
        const auto child = children_of_rows(node);
        const Size n = node.best.kind == SplitKind::multiway ? node.best.bins.size() : 2;
        std::vector<Work> out(n);
        std::vector<Stat> known(n, 0);
        for (Size i = 0; i < child.size(); ++i) {
            const auto k = static_cast<Size>(child[i]);
            if (k >= n) continue;
            out[k].rows.push_back(node.rows[i]);
            if (!node.parts.empty()) {
                out[k].parts.push_back(node.parts[i]);
                known[k] += node.parts[i];
            }
        }
        if (!node.parts.empty()) distribute_missing(out, node, child, known);
        if (node.best.kind != SplitKind::linear)
            assign_unseen(node.best, out[0].rows.size(), out[1].rows.size(), c_.options.fractional());
        link_children(f, node, out);
        return out;
    }

    /// Fractional instances: give every child its part of the rows with a missing value, in ascending order.
    void distribute_missing(std::vector<Work>& out, const Work& node, const std::vector<std::int32_t>& child,
                            const std::vector<Stat>& known) const {
        const auto n = static_cast<std::int32_t>(out.size());
        if (std::find(child.begin(), child.end(), n) == child.end()) return;
        double all = 0;
        for (Stat k : known) all += static_cast<double>(k);
        for (auto& o : out) {
            o.rows.clear();
            o.parts.clear();
        }
        for (Size i = 0; i < child.size(); ++i)
            for (Size k = 0; k < out.size(); ++k) {
                Stat part = node.parts[i];
                if (child[i] == n)
                    part = std::llround(static_cast<double>(part) * (static_cast<double>(known[k]) / all));
                else if (child[i] != static_cast<std::int32_t>(k))
                    continue;
                if (part <= 0) continue;
                out[k].rows.push_back(node.rows[i]);
                out[k].parts.push_back(part);
            }
    }

    void link_children(Fragment& f, Work& node, std::vector<Work>& out) {
        f.set_split(node.state.id, node.best, c_.x);
        std::vector<Stat> sums[2];
        if (!c_.options.monotonic_cst.empty())
            for (int side = 0; side < 2; ++side) {
                sums[side].assign(node.total.size(), 0);
                for (Row r : out[static_cast<Size>(side)].rows) c_.s.add(sums[side].data(), r);
            }
        const auto values = child_values(c_, node.best, sums[0].data(), sums[1].data());
        const GrownNode& record = f.nodes[static_cast<Size>(node.state.id)];
        for (Size k = 0; k < out.size(); ++k)
            out[k].state = child_state(c_, node.state, record, static_cast<int>(k), values);
    }

    const GrowContext& c_;
    std::vector<SearchScratch> scratch_;
};

}  // namespace

std::vector<Fragment> grow_exact(const GrowContext& c, std::vector<Row> rows) {
    return ExactGrower(c).grow(std::move(rows));
}

}  // namespace spinney
