// Growth of symmetric trees, level by level: one split for all nodes of a level.
#include <algorithm>

#include "boost/chunked_grower.hpp"
#include "core/random.hpp"
#include "core/thread_pool.hpp"
#include "split/choose_feature.hpp"

namespace spinney {

void ChunkedGrower::grow_symmetric(Interrupt& interrupt) {
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

void ChunkedGrower::start_levels(BoostNode& root) {
    sum_root(root);
    histograms_.finish(root, nullptr);
    level_histogram_ = histograms_.copy(root.histogram.get());
}

std::uint64_t ChunkedGrower::draw_columns(std::vector<std::uint8_t>& out, int depth) const {
    BoostNode place;
    place.address = mix(tree_.nodes[0].address, static_cast<std::uint64_t>(depth) + 1);
    columns_.allow(out, place);
    return place.address;
}

void ChunkedGrower::draw_levels() {
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

std::int32_t ChunkedGrower::search_level(const std::vector<Node>& level, int depth) {
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

ScoreNoise ChunkedGrower::score_noise(const std::vector<Node>& level, double l2) {
    double parents = 0;
    for (const Node id : level) parents += LevelSearch::quality_of(node(id).total, l2);
    return {rows_->score_noise, 2 * rows_->units.gain(), parents};
}

bool ChunkedGrower::take_level_split(Node id, std::int32_t f) {
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

std::vector<Node> ChunkedGrower::split_level(const std::vector<Node>& level, std::int32_t f, int depth) {
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

void ChunkedGrower::build_children(Node id, Node first, const std::uint8_t* needed) {
    BoostNode &parent = node(id), &left = node(first), &right = node(first + 1);
    BoostNode& small = left.n_rows < right.n_rows ? left : right;
    BoostNode& large = left.n_rows < right.n_rows ? right : left;
    large.histogram = std::move(parent.histogram);
    build(small);
    times_.time(Phase::histogram, [&] { histograms_.finish(small, &large, needed); });
}

}  // namespace spinney
