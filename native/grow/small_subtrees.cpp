// Growth of small subtrees on sets of rows.
#include "grow/small_subtrees.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cstring>
#include <numeric>

#include "split/sweep.hpp"

namespace spinney {

namespace {

/// Rows up to which a node is faster here. Every threshold of a column is scored by counting bits; with many
/// thresholds, sorting is faster, and for two classes comparing all rows.
Size most_rows(const GrowContext& c) {
    if (c.options.random_splitter()) return kSetRows;
    Size n_bins = 0;
    for (const CodeColumn& column : c.x.columns) n_bins += column.n_bins;
    if (n_bins <= 16 * c.x.columns.size()) return kSetRows;
    return c.s.layout == Layout::packed ? 16 : 32;
}

}  // namespace

bool SmallSubtrees::supports(const GrowContext& c) {
    const GrowOptions& o = c.options;
    // The thresholds of all features are searched faster side by side in lanes.
    const bool few_thresholds =
        o.random_splitter() ||
        (c.s.layout != Layout::dense && static_cast<Size>(o.max_features) < c.x.columns.size());
    const bool classes =
        o.criterion == CriterionName::gini && c.s.layout != Layout::dense && c.s.row_width == 1;
    const bool values = o.criterion == CriterionName::squared_error && c.s.width == 2;
    return kFastRowSets && few_thresholds && (classes || values) && c.s.weight_unit == 1.0 &&
           c.s.max_weight < 256 && o.monotonic_cst.empty() && o.mdl_row_weight <= 0 &&
           std::all_of(
               c.x.columns.begin(), c.x.columns.end(),
               [](const CodeColumn& column) { return column.kind == ColumnKind::numeric; });
}

SmallSubtrees::SmallSubtrees(const GrowContext& c, const HistogramData& data)
    : c_(c),
      data_(data),
      max_rows_(most_rows(c)),
      interchangeable_(c.options.feature_costs.empty()),
      features_(c.x.columns.size()),
      columns_(features_.size()),
      loaded_(features_.size(), 0) {
    const Limits limits = make_limits(c, {});
    min_side_ = std::max(limits.min_weight, limits.min_count);
    if (c.s.task == Task::regression) value_unit_ = c.s.value_unit[0];
    std::iota(features_.begin(), features_.end(), 0u);
    for (const std::uint32_t f : features_) table_.push_back(data.codes.feature_codes(f));
}

/// Read the targets and weights of the subtree's rows.
void SmallSubtrees::load(std::span<const Row> rows) {
    ++subtree_;
    rows_ = rows;
    bits_.fill(0);
    RowSet all_bits = 0;
    const bool packed = c_.s.layout == Layout::packed;
    const auto width = static_cast<Size>(c_.s.row_width);
    for (Size i = 0; i < rows.size(); ++i) {
        const Stat own = data_.rows.stats[rows[i] * width];
        const auto weight = static_cast<std::uint64_t>(packed ? own & kLowHalf : own);
        for (Size b = 0; b < bits_.size(); ++b) bits_[b] |= (weight >> b & 1) << i;
        all_bits |= weight;
    }
    n_bits_ = static_cast<Size>(std::bit_width(all_bits));
    if (c_.s.task == Task::regression)
        load_values();
    else
        load_classes();
}

void SmallSubtrees::load_classes() {
    const bool packed = c_.s.layout == Layout::packed;
    for (Size i = 0; i < rows_.size(); ++i)
        class_[i] = packed ? static_cast<std::uint16_t>(data_.rows.stats[rows_[i]] >> 32 != 0)
                           : data_.rows.class_code[rows_[i]];
    for (Size i = 0; i < rows_.size(); ++i) {
        same_[i] = 0;
        for (Size j = 0; j < rows_.size(); ++j) same_[i] |= RowSet{class_[i] == class_[j]} << j;
    }
}

void SmallSubtrees::load_values() {
    for (Size i = 0; i < rows_.size(); ++i) {
        value_[i] = data_.rows.stats[rows_[i] * 2 + 1];
        y_[i] = c_.target.values[table_rows_[i]];
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

/// Sum the sides of a split of the current node.
template <Task T, bool Unit>
[[gnu::always_inline]] inline void SmallSubtrees::sum_sides(Sides& sides, Size lane, RowSet left) const {
    if constexpr (T == Task::regression) {
        sides.weight[lane] = weight_of_set<Unit>(left);
        sides.left[lane] = sum_over(value_.data(), left, n_eights_);
        return;
    }
    Stat weight = 0, left_squares = 0, right_squares = 0;
    for (Size k = 0; k < classes_.n; ++k) {
        const Stat own = weight_of_set<Unit>(left & classes_.rows[k]), rest = classes_.weight[k] - own;
        weight += own;
        left_squares += own * own;
        right_squares += rest * rest;
    }
    sides.weight[lane] = weight;
    sides.left[lane] = left_squares;
    sides.right[lane] = right_squares;
}

/// Qualities of splits of the current node, as SplitScorer computes them: the squares of whole numbers are
/// exact.
template <Task T>
[[gnu::always_inline]] inline Lanes SmallSubtrees::qualities(const Sides& sides) const {
    StatLanes weight, left, right;
    std::memcpy(&weight, sides.weight.data(), sizeof weight);
    std::memcpy(&left, sides.left.data(), sizeof left);
    std::memcpy(&right, sides.right.data(), sizeof right);
    const auto real = [](StatLanes x) { return __builtin_convertvector(x, Lanes); };
    const StatLanes rest = weight_ - weight;
    Lanes left_squares, right_squares;
    if constexpr (T == Task::regression) {
        const Lanes l = real(left) * value_unit_, r = real(sum_ - left) * value_unit_;
        left_squares = l * l;
        right_squares = r * r;
    } else {
        left_squares = real(left);
        right_squares = real(right);
    }
    return where((weight >= min_side_) & (rest >= min_side_),
                 left_squares / real(weight) + right_squares / real(rest), Lanes{} + kImpossible);
}

/// Make a feature that of the best split if its split is better; the caller keeps the split.
inline bool SmallSubtrees::offer(std::uint32_t feature, double quality) {
    if (!(quality > kImpossible)) return false;
    const auto f = static_cast<std::int32_t>(feature);
    const double gain = (quality - base_) / static_cast<double>(weight_),
                 score = cost_adjusted(c_.options, gain, f);
    const auto order = [&](std::int32_t of) { return tie_order(c_.options, node_.path, of); };
    if (best_.found && !replaces(score, best_.score, [&] { return order(f) < order(best_.feature); }))
        return false;
    best_.found = true;
    best_.feature = f;
    best_.score = score;
    best_.gain = gain;
    return true;
}

/// Offer the splits of some features in turn. Returns that which has become the best of the node, or n.
inline Size SmallSubtrees::choose(const std::array<Drawn, kTogether>& drawn, Size n, Lanes qualities) {
    // Scores follow from qualities, and rarely differ as little as a tie.
    const double best = across_lanes(qualities, [](auto a, auto b) { return b > a ? b : a; });
    if (interchangeable_ && !best_.found && best > kImpossible) {
        const std::uint64_t near =
            nonzero_lanes(qualities >= best - 1e-9 * (std::abs(best) + std::abs(base_)));
        if (std::has_single_bit(near)) {
            const auto chosen = static_cast<Size>(std::countr_zero(near));
            offer(drawn[chosen].feature, best);
            return chosen;
        }
    }
    Size chosen = n;
    for (Size i = 0; i < n; ++i)
        if (offer(drawn[i].feature, qualities[i])) chosen = i;
    return chosen;
}

/// Try the random threshold of each feature (ascending), with missing values on either side. Several features
/// take each step together: one after the other, each would wait for its own chain of lookups. True: some
/// feature was not constant.
template <Task T, bool Unit>
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
    bool any_missing = false;
    for (Size i = 0; i < n; ++i) {
        draw(drawn[i]);
        any_missing |= drawn[i].split.missing >= 0;
    }
    Sides sides;
    for (Size i = 0; i < n; ++i) sum_sides<T, Unit>(sides, i, drawn[i].split.left);
    Lanes scores = qualities<T>(sides);
    if (any_missing) {
        Sides others;
        for (Size i = 0; i < n; ++i)
            if (drawn[i].split.missing >= 0 && drawn[i].split.drawn != kImpossible)
                sum_sides<T, Unit>(others, i, drawn[i].split.left | drawn[i].missing);
        const Lanes other = qualities<T>(others);
        for (Size i = 0; i < n; ++i) {
            if (!(other[i] > scores[i])) continue;
            scores[i] = other[i];
            drawn[i].split.missing = 0;
            drawn[i].split.left |= drawn[i].missing;
        }
    }
    if (const Size chosen = choose(drawn, n, scores); chosen < n)
        static_cast<Split&>(best_) = drawn[chosen].split;
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
template <Task T, bool Unit>
bool SmallSubtrees::search_best(std::uint32_t feature) {
    const std::uint8_t* codes = codes_of(feature);
    const std::uint8_t any = codes[first_of(node_.rows)];
    if ((node_.rows & ~equal_to(codes, any)) == 0) return false;
    const auto n_bins = static_cast<std::uint8_t>(c_.x.columns[feature].n_bins);
    const RowSet missing = equal_to(codes, n_bins) & node_.rows, known = node_.rows & ~missing;
    Thresholds right, left;  // with missing values on that side
    for (RowSet rest = known; rest != 0;) {
        Sides missing_right, missing_left;
        StatLanes tried{};
        for (Size lane = 0; lane < kTogether && rest != 0; ++lane) {
            const std::uint8_t code = codes[first_of(rest)];
            rest &= ~equal_to(codes, code);
            const RowSet below = at_most(codes, code) & known;
            tried[lane] = code;
            sum_sides<T, Unit>(missing_right, lane, below);
            if (missing) sum_sides<T, Unit>(missing_left, lane, below | missing);
        }
        right.keep(qualities<T>(missing_right), tried);
        if (missing) left.keep(qualities<T>(missing_left), tried);
    }
    const auto [right_quality, right_code] = right.best();
    const auto [left_quality, left_code] = left.best();
    const bool is_left =
        left_quality > right_quality || (missing && left_quality == right_quality && left_code < right_code);
    const Code code = is_left ? left_code : right_code;
    Split split;
    split.missing = missing ? (is_left ? 0 : 1) : -1;
    split.drawn = kImpossible;
    split.last_left = code;
    split.left = (at_most(codes, static_cast<std::uint8_t>(code)) & known) | (is_left ? missing : 0);
    if (offer(feature, is_left ? left_quality : right_quality)) static_cast<Split&>(best_) = split;
    return true;
}

/// Every split of two rows makes the same two leaves: return the feature that wins the tie, or none.
inline std::span<const std::uint32_t> SmallSubtrees::first_of_two_rows(
    std::span<const std::uint32_t> features) {
    const Size a = first_of(node_.rows), b = first_of(node_.rows & (node_.rows - 1));
    const std::uint32_t* first = features.data();
    std::uint64_t smallest = ~std::uint64_t{0};
    for (const std::uint32_t& f : features) {
        const std::uint8_t* codes = codes_of(f);
        // Without branches: a hash takes less time than a mispredicted one. It is below the largest number.
        const std::uint64_t hash = tie_order(c_.options, node_.path, static_cast<std::int32_t>(f)),
                            order = codes[a] != codes[b] ? hash : ~std::uint64_t{0};
        first = order < smallest ? &f : first;
        smallest = std::min(smallest, order);
    }
    return {first, smallest != ~std::uint64_t{0} ? Size{1} : Size{0}};
}

/// Search features (ascending). True: some feature was not constant.
template <Task T, bool Unit>
bool SmallSubtrees::search_some(std::span<const std::uint32_t> features) {
    bool varied = false;
    if (interchangeable_ && std::popcount(node_.rows) == 2) features = first_of_two_rows(features);
    if (c_.options.random_splitter())
        for (Size i = 0; i < features.size(); i += kTogether)
            varied |= search_random<T, Unit>(features.subspan(i, std::min(kTogether, features.size() - i)));
    else
        for (const std::uint32_t f : features)
            if constexpr (T == Task::classification) varied |= search_best<T, Unit>(f);
    return varied;
}

/// Sum over the current node, and compute its quality without a split.
template <Task T, bool Unit>
inline void SmallSubtrees::begin() {
    if constexpr (T == Task::regression) {
        weight_ = weight_of_set<Unit>(node_.rows);
        sum_ = sum_over(value_.data(), node_.rows, n_eights_);
        const double sum = static_cast<double>(sum_) * value_unit_;
        base_ = sum * sum / static_cast<double>(weight_);
        return;
    }
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
}

/// Find the best split of the current node.
template <Task T, bool Unit>
void SmallSubtrees::search() {
    begin<T, Unit>();
    best_.found = false;
    const Size d = features_.size(), n_first = static_cast<Size>(std::max(1, c_.options.max_features));
    if (static_cast<Size>(c_.options.max_features) >= d) {
        search_some<T, Unit>(features_);
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
    bool varied = search_some<T, Unit>(drawn_);
    while (!varied && swaps_.size() < d) {
        draw();
        varied = search_some<T, Unit>({&features_[swaps_.size() - 1], 1});
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

/// Whether all rows have the same target.
template <Task T>
inline bool SmallSubtrees::is_pure(RowSet rows) const {
    const Size first = first_of(rows);
    if constexpr (T == Task::classification) return (rows & ~same_[first]) == 0;
    for (rows &= rows - 1; rows != 0; rows &= rows - 1)
        if (y_[first_of(rows)] != y_[first]) return false;
    return true;
}

/// Whether a node is a leaf whatever its features are.
template <Task T, bool Unit>
bool SmallSubtrees::must_be_leaf(RowSet rows, int depth) const {
    const GrowOptions& o = c_.options;
    const auto n = static_cast<Limit>(std::popcount(rows));
    return is_pure<T>(rows) || depth >= o.max_depth || n < o.min_samples_split ||
           n < 2 * o.min_samples_leaf ||
           (o.min_weight_leaf > 0 && static_cast<double>(weight_of_set<Unit>(rows)) < 2 * o.min_weight_leaf);
}

/// Record a leaf.
template <Task T, bool Unit>
void SmallSubtrees::write_leaf(Fragment& f, Node id, RowSet rows) const {
    const auto at = static_cast<Size>(id);
    f.nodes[at].n_samples = static_cast<std::uint32_t>(std::popcount(rows));
    if constexpr (T == Task::regression) {
        std::array<Row, kSetRows> listed;
        Size n = 0;
        for (RowSet rest = rows; rest != 0; rest &= rest - 1) listed[n++] = table_rows_[first_of(rest)];
        c_.node_values.from_rows(f.add_values(id, c_.node_values.size()), {{listed.data(), n}, {}});
        return;
    }
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

template <Task T, bool Unit>
void SmallSubtrees::grow_all(Fragment& f, Size n_stacked) {
    const double all_weight = c_.all_weight;
    while (n_stacked > 0) {
        node_ = stack_[--n_stacked];
        visited_ += static_cast<Size>(std::popcount(node_.rows)) + 16;  // as in depth_first
        if (visited_ >= kRowsPerPoll) {
            c_.interrupt.poll();
            visited_ = 0;
        }
        search<T, Unit>();
        if (!best_.found ||
            !is_acceptable(c_.options, best_.gain, static_cast<double>(weight_) / all_weight * best_.gain)) {
            write_leaf<T, Unit>(f, node_.id, node_.rows);
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
            if (must_be_leaf<T, Unit>(sides[side], depth)) {
                write_leaf<T, Unit>(f, first + side, sides[side]);
                continue;
            }
            const auto number = static_cast<std::uint64_t>(side) + 1;
            stack_[n_stacked++] = {sides[side], first + side, depth, mix(node_.address, number),
                                   mix(node_.path, number)};
        }
    }
}

void SmallSubtrees::grow(Fragment& f, const NodeState& root, std::span<const Row> rows,
                         std::span<const Row> table_rows) {
    table_rows_ = table_rows;
    load(rows);
    const RowSet all = ~RowSet{0} >> (kSetRows - rows.size());
    stack_[0] = {all, root.id, root.depth, root.address, root.path};
    n_eights_ = (rows.size() + 7) / 8;
    const bool unit = n_bits_ == 1;
    if (c_.s.task == Task::regression)
        unit ? grow_all<Task::regression, true>(f, 1) : grow_all<Task::regression, false>(f, 1);
    else
        unit ? grow_all<Task::classification, true>(f, 1) : grow_all<Task::classification, false>(f, 1);
}

}  // namespace spinney
