// Growth of small subtrees on sets of rows.
#include "grow/small_subtrees.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <numeric>

#include "split/sweep.hpp"

namespace spinney {

namespace {

/// Rows up to which every threshold of a column is scored by counting bits; with more, sorting is faster.
constexpr Size kEveryThreshold = 8;

}  // namespace

bool SmallSubtrees::supports(const GrowContext& c) {
    const GrowOptions& o = c.options;
    // The thresholds of all features, or of two classes, are searched faster side by side in lanes.
    const bool few_thresholds =
        o.random_splitter() ||
        (c.s.layout == Layout::by_class && static_cast<Size>(o.max_features) < c.x.columns.size());
    return kFastRowSets && few_thresholds && c.s.task == Task::classification &&
           c.s.layout != Layout::dense && c.s.row_width == 1 && c.s.weight_unit == 1.0 &&
           c.s.max_weight < 256 && o.criterion == CriterionName::gini && o.monotonic_cst.empty() &&
           o.mdl_row_weight <= 0 &&
           std::all_of(
               c.x.columns.begin(), c.x.columns.end(),
               [](const CodeColumn& column) { return column.kind == ColumnKind::numeric; });
}

SmallSubtrees::SmallSubtrees(const GrowContext& c, const HistogramData& data)
    : c_(c),
      data_(data),
      max_rows_(c.options.random_splitter() ? kSetRows : kEveryThreshold),
      features_(c.x.columns.size()),
      columns_(features_.size()),
      loaded_(features_.size(), 0) {
    const Limits limits = make_limits(c, {});
    min_side_ = std::max(limits.min_weight, limits.min_count);
    std::iota(features_.begin(), features_.end(), 0u);
    for (const std::uint32_t f : features_) table_.push_back(data.codes.feature_codes(f));
}

/// Read the classes and weights of the subtree's rows.
void SmallSubtrees::load(std::span<const Row> rows) {
    ++subtree_;
    rows_ = rows;
    bits_.fill(0);
    RowSet all_bits = 0;
    const bool packed = c_.s.layout == Layout::packed;
    for (Size i = 0; i < rows.size(); ++i) {
        const Stat own = data_.rows.stats[rows[i]];
        const auto weight = static_cast<std::uint64_t>(packed ? own & kLowHalf : own);
        class_[i] = packed ? static_cast<std::uint16_t>(own >> 32 != 0) : data_.rows.class_code[rows[i]];
        for (Size b = 0; b < bits_.size(); ++b) bits_[b] |= (weight >> b & 1) << i;
        all_bits |= weight;
    }
    n_bits_ = static_cast<Size>(std::bit_width(all_bits));
    for (Size i = 0; i < rows.size(); ++i) {
        same_[i] = 0;
        for (Size j = 0; j < rows.size(); ++j) same_[i] |= RowSet{class_[i] == class_[j]} << j;
    }
}

/// The codes of a column, which is copied together at its first use in the subtree.
[[gnu::always_inline]] inline const std::uint8_t* SmallSubtrees::codes_of(Size feature) {
    std::uint8_t* codes = columns_[feature].codes.data();
    if (loaded_[feature] != subtree_) {
        loaded_[feature] = subtree_;
        const CodeTiles::FeatureCodes from = table_[feature];
        for (Size i = 0; i < rows_.size(); ++i) codes[i] = from.at(rows_[i]);
    }
    return codes;
}

/// Unit: every row of the subtree has the weight 1.
template <bool Unit>
[[gnu::always_inline]] inline Stat SmallSubtrees::weight_of_set(RowSet rows) const {
    if constexpr (Unit) return std::popcount(rows);
    Stat out = 0;
    for (Size b = 0; b < n_bits_; ++b) out += Stat{std::popcount(rows & bits_[b])} << b;
    return out;
}

/// Quality of a split of the current node: the squares of whole numbers are exact, as in SplitScorer.
template <bool Unit>
[[gnu::always_inline]] inline double SmallSubtrees::quality(RowSet left) const {
    Stat left_squares = 0, right_squares = 0, left_weight = 0;
    for (Size k = 0; k < classes_.n; ++k) {
        const Stat own = weight_of_set<Unit>(left & classes_.rows[k]), rest = classes_.weight[k] - own;
        left_weight += own;
        left_squares += own * own;
        right_squares += rest * rest;
    }
    const Stat right_weight = weight_ - left_weight;
    if (left_weight < min_side_ || right_weight < min_side_) return kImpossible;
    return static_cast<double>(left_squares) / static_cast<double>(left_weight) +
           static_cast<double>(right_squares) / static_cast<double>(right_weight);
}

/// Make a split the best of the node if it is better.
inline void SmallSubtrees::offer(std::uint32_t feature, double quality, const Split& split) {
    if (!(quality > kImpossible)) return;
    const auto f = static_cast<std::int32_t>(feature);
    const double gain = (quality - base_) / static_cast<double>(weight_),
                 score = cost_adjusted(c_.options, gain, f);
    const auto order = [&](std::int32_t of) { return tie_order(c_.options, node_.path, of); };
    if (best_.found && !replaces(score, best_.score, [&] { return order(f) < order(best_.feature); })) return;
    best_ = split;
    best_.found = true;
    best_.feature = f;
    best_.score = score;
    best_.gain = gain;
}

/// Try the random threshold of each feature (ascending), with missing values on either side. Several features
/// take each step together: one after the other, each would wait for its own chain of lookups. True: some
/// feature was not constant.
template <bool Unit>
bool SmallSubtrees::search_random(std::span<const std::uint32_t> features) {
    std::array<Drawn, kTogether> drawn;
    Size n = 0;
    for (const std::uint32_t f : features) {
        const std::uint8_t* codes = codes_of(f);
        Drawn& own = drawn[n];
        own.feature = f;
        own.smallest = smallest_code(codes, node_.rows);
        own.largest = largest_code(codes, node_.rows);
        n += own.smallest != own.largest;
    }
    for (Size i = 0; i < n; ++i) draw(drawn[i]);
    for (Size i = 0; i < n; ++i) {
        Drawn& own = drawn[i];
        own.quality = quality<Unit>(own.split.left);
        if (own.split.missing < 0 || own.split.drawn == kImpossible) continue;
        const double other = quality<Unit>(own.split.left | own.missing);
        if (!(other > own.quality)) continue;
        own.quality = other;
        own.split.missing = 0;
        own.split.left |= own.missing;
    }
    for (Size i = 0; i < n; ++i) offer(drawn[i].feature, drawn[i].quality, drawn[i].split);
    return n > 0;
}

/// Draw the threshold of a feature that is not constant; known against missing values if the known ones are
/// all the same.
inline void SmallSubtrees::draw(Drawn& own) const {
    const CodeColumn& column = c_.x.columns[own.feature];
    const std::uint8_t* codes = columns_[own.feature].codes.data();
    Split& split = own.split;
    own.missing = 0;
    split.missing = -1;
    if (own.largest == column.n_bins) {
        split.missing = 1;
        own.missing = equal_to(codes, static_cast<std::uint8_t>(own.largest)) & node_.rows;
        own.largest = largest_code(codes, node_.rows & ~own.missing);
    }
    if (own.smallest == own.largest) {
        split.drawn = kImpossible;
        split.last_left = own.largest;
    } else {
        const std::uint64_t address = mix(node_.address, 0x10000u + own.feature);
        split.drawn = draw_threshold(column, own.smallest, own.largest, address);
        split.last_left = c_.starts[own.feature].last_below(split.drawn);
    }
    split.left = at_most(codes, static_cast<std::uint8_t>(split.last_left)) & node_.rows;
}

/// Try all thresholds of a feature, with missing values on either side. False: it is constant.
template <bool Unit>
bool SmallSubtrees::search_best(std::uint32_t feature) {
    const std::uint8_t* codes = codes_of(feature);
    const std::uint8_t any = codes[first_of(node_.rows)];
    if ((node_.rows & ~equal_to(codes, any)) == 0) return false;
    const auto n_bins = static_cast<std::uint8_t>(c_.x.columns[feature].n_bins);
    const RowSet missing = equal_to(codes, n_bins) & node_.rows, known = node_.rows & ~missing;
    struct Best {
        double quality = kImpossible;
        std::uint8_t code = 255;
        RowSet left = 0;
        // The smallest of equal thresholds.
        void keep(double offered, std::uint8_t own, RowSet rows) {
            if (offered > quality || (offered == quality && own < code)) *this = {offered, own, rows};
        }
    };
    Best right, left;  // with missing values on that side
    for (RowSet rest = known; rest != 0;) {
        const std::uint8_t code = codes[first_of(rest)];
        rest &= ~equal_to(codes, code);
        const RowSet below = at_most(codes, code) & known;
        right.keep(quality<Unit>(below), code, below);
        if (missing) left.keep(quality<Unit>(below | missing), code, below | missing);
    }
    const bool is_left =
        left.quality > right.quality || (missing && left.quality == right.quality && left.code < right.code);
    const Best& best = is_left ? left : right;
    Split split;
    split.missing = missing ? (is_left ? 0 : 1) : -1;
    split.drawn = kImpossible;
    split.last_left = best.code;
    split.left = best.left;
    offer(feature, best.quality, split);
    return true;
}

/// Search features (ascending). True: some feature was not constant.
template <bool Unit>
bool SmallSubtrees::search_some(std::span<const std::uint32_t> features) {
    bool varied = false;
    if (c_.options.random_splitter())
        for (Size i = 0; i < features.size(); i += kTogether)
            varied |= search_random<Unit>(features.subspan(i, std::min(kTogether, features.size() - i)));
    else
        for (const std::uint32_t f : features) varied |= search_best<Unit>(f);
    return varied;
}

/// Find the best split of the current node.
template <bool Unit>
void SmallSubtrees::search() {
    classes_.n = 0;
    Stat squares = 0;
    weight_ = 0;
    for (RowSet rest = node_.rows; rest != 0;) {
        const RowSet own = same_[first_of(rest)] & node_.rows;
        const Stat weight = weight_of_set<Unit>(own);
        classes_.rows[classes_.n] = own;
        classes_.weight[classes_.n++] = weight;
        weight_ += weight;
        squares += weight * weight;
        rest &= ~own;
    }
    base_ = static_cast<double>(squares) / static_cast<double>(weight_);
    best_.found = false;
    const Size d = features_.size(), n_first = static_cast<Size>(std::max(1, c_.options.max_features));
    if (static_cast<Size>(c_.options.max_features) >= d) {
        search_some<Unit>(features_);
        return;
    }
    Draws draws(mix(node_.address, kFeatureDraws));
    swaps_.clear();
    const auto draw = [&] {
        const Size i = swaps_.size(), j = i + draws.below(static_cast<std::uint32_t>(d - i));
        std::swap(features_[i], features_[j]);
        swaps_.push_back(static_cast<std::uint32_t>(j));
    };
    while (swaps_.size() < n_first) draw();
    drawn_.assign(features_.begin(), features_.begin() + static_cast<long>(n_first));
    std::sort(drawn_.begin(), drawn_.end());
    bool varied = search_some<Unit>(drawn_);
    while (!varied && swaps_.size() < d) {
        draw();
        varied = search_some<Unit>({&features_[swaps_.size() - 1], 1});
    }
    // Restore ascending order for the next node.
    for (Size i = swaps_.size(); i-- > 0;) std::swap(features_[i], features_[swaps_[i]]);
}

/// The threshold of the best split, as HistogramRun sets it.
double SmallSubtrees::threshold() const {
    const auto feature = static_cast<Size>(best_.feature);
    const CodeColumn& column = c_.x.columns[feature];
    const std::uint8_t* codes = columns_[feature].codes.data();
    const double below = column.max_of(best_.last_left);
    const bool drawn = best_.drawn != kImpossible;
    if (drawn && (best_.drawn >= below ||
                  (equal_to(codes, static_cast<std::uint8_t>(best_.last_left)) & node_.rows) == 0))
        return best_.drawn;
    const Code after = smallest_code(codes, node_.rows & ~best_.left);
    return after == column.n_bins ? DBL_MAX : midpoint(below, column.min_of(after));
}

/// Whether a node is a leaf whatever its features are.
template <bool Unit>
bool SmallSubtrees::must_be_leaf(RowSet rows, int depth) const {
    const GrowOptions& o = c_.options;
    const auto n = static_cast<Limit>(std::popcount(rows));
    return (rows & ~same_[first_of(rows)]) == 0 || depth >= o.max_depth || n < o.min_samples_split ||
           n < 2 * o.min_samples_leaf ||
           (o.min_weight_leaf > 0 && static_cast<double>(weight_of_set<Unit>(rows)) < 2 * o.min_weight_leaf);
}

/// Record a leaf.
template <bool Unit>
void SmallSubtrees::write_leaf(Fragment& f, Node id, RowSet rows) const {
    const auto at = static_cast<Size>(id);
    f.nodes[at].n_samples = static_cast<std::uint32_t>(std::popcount(rows));
    f.nodes[at].values = static_cast<std::int32_t>(f.class_weights.size());
    const Size first = f.class_weights.size();
    for (RowSet rest = rows; rest != 0;) {
        const Size i = first_of(rest);
        f.class_weights.push_back({static_cast<double>(weight_of_set<Unit>(same_[i] & rows)), class_[i], 0});
        rest &= ~same_[i];
    }
    for (Size i = first; i + 1 < f.class_weights.size(); ++i)
        f.class_weights[i].n_more = static_cast<std::uint32_t>(f.class_weights.size() - 1 - i);
}

template <bool Unit>
void SmallSubtrees::grow_all(Fragment& f, Size n_stacked) {
    const double all_weight = c_.all_weight;
    while (n_stacked > 0) {
        node_ = stack_[--n_stacked];
        visited_ += static_cast<Size>(std::popcount(node_.rows)) + 16;  // as in depth_first
        if (visited_ >= kRowsPerPoll) {
            c_.interrupt.poll();
            visited_ = 0;
        }
        search<Unit>();
        if (!best_.found ||
            !is_acceptable(c_.options, best_.gain, static_cast<double>(weight_) / all_weight * best_.gain)) {
            write_leaf<Unit>(f, node_.id, node_.rows);
            continue;
        }
        const RowSet sides[2] = {best_.left, node_.rows & ~best_.left};
        const int larger = std::popcount(sides[0]) > std::popcount(sides[1]) ? 0 : 1;
        const Node first = f.add(2);
        GrownNode& own = f.nodes[static_cast<Size>(node_.id)];
        own.kind = SplitKind::numeric;
        own.feature = best_.feature;
        own.threshold = threshold();
        own.missing = best_.missing < 0 ? larger : best_.missing;
        own.n_children = 2;
        own.first_child = first;
        own.n_samples = static_cast<std::uint32_t>(std::popcount(node_.rows));
        for (int side = 0; side < 2; ++side) {
            const int depth = node_.depth + 1;
            if (must_be_leaf<Unit>(sides[side], depth)) {
                write_leaf<Unit>(f, first + side, sides[side]);
                continue;
            }
            const auto number = static_cast<std::uint64_t>(side) + 1;
            stack_[n_stacked++] = {sides[side], first + side, depth, mix(node_.address, number),
                                   mix(node_.path, number)};
        }
    }
}

void SmallSubtrees::grow(Fragment& f, const NodeState& root, std::span<const Row> rows) {
    load(rows);
    const RowSet all = ~RowSet{0} >> (kSetRows - rows.size());
    stack_[0] = {all, root.id, root.depth, root.address, root.path};
    if (n_bits_ == 1)
        grow_all<true>(f, 1);
    else
        grow_all<false>(f, 1);
}

}  // namespace spinney
