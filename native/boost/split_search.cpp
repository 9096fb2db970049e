// The search for the splits of a node, or of the two children of one.
#include <algorithm>
#include <cmath>

#include "boost/chunked_grower.hpp"
#include "core/random.hpp"
#include "core/thread_pool.hpp"
#include "simd/register_loops.hpp"
#include "split/choose_feature.hpp"

namespace spinney {

void ChunkedGrower::search_children(Node id, Node first) {
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

void ChunkedGrower::build_and_search(BoostNode* parent, BoostNode& built, BoostNode* other) {
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
    times_.time(Phase::split, [&] { merge_and_search(parent, &built, other, at_once ? &plan : nullptr); });
}

void ChunkedGrower::merge_and_search(BoostNode* parent, BoostNode* built, BoostNode* other,
                                     const NodePlan* plan) {
    if (parent && other) other->histogram = std::move(parent->histogram);
    const NodePair pair = describe_pair(built, other);
    const NodePlan used = plan ? *plan : histograms_.search_plan(Size{pair.searched[0]} + pair.searched[1]);
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

void ChunkedGrower::search_few_rows(BoostNode& left, BoostNode& right) {
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

ChunkedGrower::NodePair ChunkedGrower::describe_pair(BoostNode* first, BoostNode* second) {
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

void ChunkedGrower::choose_splits(const NodePair& pair) {
    for (Size i = 0; i < 2; ++i)
        if (pair.searched[i]) choose_split(i, *pair.nodes[i], pair.facts[i]);
}

void ChunkedGrower::sum_root(BoostNode& root) {
    root.total = histograms_.total(root, *rows_);
    weigh_root(root);
}

void ChunkedGrower::weigh_root(BoostNode& root) {
    root.weight = static_cast<Stat>(root.n_rows);
    if (rows_->weights.empty()) return;
    root.weight = 0;
    for (Size c = 0; c < n_chunks_; ++c)
        for (Size i = 0; i < rows_->n_in[c]; ++i)
            root.weight += rows_->weights[c * kChunkRows + rows_->ids[c * kChunkRows + i]];
}

NewtonNode ChunkedGrower::describe(const BoostNode& n) const {
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

void ChunkedGrower::search_bundle(Size child, const NodePair& pair, Size s, const Stat* bins, int thread) {
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

void ChunkedGrower::search_feature(NewtonSplit& out, std::uint32_t f, const Stat* bins, const Stat* weights,
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

void ChunkedGrower::choose_split(Size child, BoostNode& n, const NewtonNode& facts) {
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

Size ChunkedGrower::best_candidate(std::uint64_t path) const {
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

bool ChunkedGrower::worth(const NewtonSplit& cut, const NewtonNode& facts) const {
    const double g = static_cast<double>(gradient_of(facts.total, facts.layout)),
                 h = static_cast<double>(hessian_of(facts.total, facts.layout)) + facts.l2;
    return cut.gain > 1e-12 * (g * g / h) && cut.gain * rows_->units.gain() > o_.min_gain && cut.gain > 0;
}

void ChunkedGrower::search_with_weights(NewtonSplit& out, const BoostNode& n, std::uint32_t f,
                                        const NewtonNode& facts) {
    std::array<Stat, kBundleBins> sums, weights;
    const Stat* bins = sums.data();
    if (n.histogram)
        bins = histograms_.column_bins(histograms_.bundle_bins(n.histogram.get(), f), n.total, f, 0);
    else
        histograms_.sum_column(sums.data(), ranges(n.id), *rows_, f);
    sum_weights(weights.data(), n, f);
    search_feature(out, f, bins, weights.data(), facts, 0);
}

void ChunkedGrower::sum_weights(Stat* out, const BoostNode& n, std::uint32_t f) {
    histograms_.sum_weights(out, n, ranges(n.id), *rows_, f);
}

void ChunkedGrower::write_ledger(Size child, const BoostNode& n, double unit) {
    for (const std::uint32_t f : columns_.drawn()) {
        if (!allowed_[child][f] || !found_[child][f].found()) continue;
        const NewtonSplit& cut = found_[child][f];
        const double gain = cut.gain * unit;
        const bool chosen = n.feature == static_cast<std::int32_t>(f);
        tree_.fragment.ledger.push_back(
            {n.id, static_cast<std::int32_t>(f), threshold(f, cut), gain, 0.0, gain, chosen});
    }
}

}  // namespace spinney
