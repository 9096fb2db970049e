#include "boost/stump_booster.hpp"

#include <array>
#include <cfloat>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>

#include "grow/growth_rules.hpp"
#include "split/numeric_search.hpp"
#include "split/sorted_groups.hpp"

namespace spinney {

namespace {

/// A change of one row's weight.
struct Change {
    Stat weight;
    Row row;  // among the rows with weight
    std::uint16_t class_code;
};

/// Bin codes of up to eight features, those of a row in one 64-bit word. The histograms of the features have
/// 256 bins each, side by side: they fit in the L1 cache.
struct NarrowTile {
    static constexpr Size max_features = 8, bins_each = 256;
    std::vector<std::uint32_t> feature;  // (n,)
    Size first_bin = 0;                  // of the first feature
    std::vector<std::uint64_t> codes;    // (n_rows,): feature j has bits 8j to 8j + 7

    void resize(Size n_rows) { codes.assign(n_rows, 0); }
    Code code(Size row, Size j) const { return static_cast<Code>(codes[row] >> (8 * j) & 0xFF); }
    void set(Size row, Size j, Code code) { codes[row] |= std::uint64_t{code} << (8 * j); }
};

/// The codes of one feature with more than 256 of them.
struct WideTile {
    static constexpr Size max_features = 1;
    std::vector<std::uint32_t> feature;  // (1,)
    Size first_bin = 0;
    std::vector<Code> codes;  // (n_rows,)

    void resize(Size n_rows) { codes.assign(n_rows, 0); }
    Code code(Size row, Size) const { return codes[row]; }
    void set(Size row, Size, Code code) { codes[row] = code; }
};

}  // namespace

class StumpBooster::Impl {
  public:
    Impl(const CodeMatrix& x, const StumpTarget& target, const GrowOptions& options, Interrupt& interrupt)
        : x_(x),
          n_classes_(static_cast<Size>(target.n_classes)),
          n_threads_(options.n_threads),
          options_(options),
          bin_searches_(static_cast<Size>(options.n_threads), BinSearch(n_classes_)) {
        statistics_.layout = Layout::by_class;
        statistics_.n_channels = statistics_.width = target.n_classes;
        statistics_.n_classes = {target.n_classes};
        statistics_.unit_weights = false;
        read_rows(target);
        make_tiles(interrupt);
        count_rows(interrupt);
        refill(interrupt);
    }

    const Stump& learn(Interrupt& interrupt) {
        const Size d = x_.columns.size();
        stump_ = {};
        stump_.sums.assign(3 * n_classes_, 0);
        stump_.n_samples[0] = static_cast<std::int64_t>(rows_.size());
        sum_bins(stump_.sums.data(), smallest_feature(), [](Code) { return true; });
        if (!is_pure() && rows_.size() >= 2) {
            std::vector<Candidate> found(d);
            Pool::shared().parallel_for(
                n_threads_, d,
                [&](Size f, int thread) { found[f] = search(f, bin_searches_[static_cast<Size>(thread)]); },
                &interrupt);
            const int best = choose(found, options_, 0);
            if (best >= 0 && is_acceptable(options_, found[static_cast<Size>(best)]))
                stump_.best = std::move(found[static_cast<Size>(best)]);
        }
        describe();
        return stump_;
    }

    void reweight(double factor, double min_total, double max_total, int fresh, Interrupt& interrupt) {
        const double right = static_cast<double>(stump_.total - stump_.wrong);
        const double later = right + static_cast<double>(stump_.wrong) * factor;
        const bool fits = min_total <= later && later < max_total;
        predict_codes();
        if (fits) {
            for_blocks(interrupt, [&](Size block, Size begin, Size end) {
                n_changes_[block] = change(begin, end, factor);
            });
            add_changes(interrupt);
            return;
        }
        int exponent = fresh;
        std::frexp(later, &exponent);
        const double scale = std::ldexp(1.0, fresh - exponent);
        for_blocks(interrupt, [&](Size, Size begin, Size end) { rescale(begin, end, factor, scale); });
        refill(interrupt);
    }

    std::vector<std::int64_t> predictions() const {
        std::vector<std::int64_t> out(x_.n_rows, stump_.prediction[0]);
        if (!stump_.best.found()) return out;
        const CodeColumn& column = x_.columns[static_cast<Size>(stump_.best.feature)];
        for (Size r = 0; r < x_.n_rows; ++r) out[r] = stump_.prediction[goes_left_[column.at(r)] ? 0 : 1];
        return out;
    }

    std::vector<std::int64_t> weights() const {
        std::vector<std::int64_t> out(x_.n_rows, 0);
        for (Size i = 0; i < rows_.size(); ++i) out[rows_[i]] = weight_of(i);
        return out;
    }

  private:
    static constexpr Size rows_of_block = 8192;
    static constexpr Size rows_listed = 1024;  // at a time

    void read_rows(const StumpTarget& target) {
        for (Size r = 0; r < x_.n_rows; ++r) {
            if (target.copies[r] <= 0) continue;
            rows_.push_back(static_cast<Row>(r));
            class_.push_back(static_cast<std::uint16_t>(target.classes[r]));
            copies_.push_back(target.copies[r]);
            size_.push_back(target.sizes[r]);
        }
        n_changes_.assign((rows_.size() + rows_of_block - 1) / rows_of_block, 0);
        changes_.resize(rows_.size());
    }

    Stat weight_of(Size i) const { return copies_[i] * std::max<Stat>(1, std::llrint(size_[i])); }

    void make_tiles(Interrupt& interrupt) {
        first_bin_.resize(x_.columns.size());
        assign_features(narrow_, [](const CodeColumn& c) { return c.width == 1; });
        assign_features(wide_, [](const CodeColumn& c) { return c.width != 1; });
        for_tiles(interrupt, [&](auto& tile) {
            tile.resize(rows_.size());
            for (Size j = 0; j < tile.feature.size(); ++j) {
                const CodeColumn& column = x_.columns[tile.feature[j]];
                for (Size i = 0; i < rows_.size(); ++i) tile.set(i, j, column.at(rows_[i]));
            }
        });
    }

    /// Assign the features of one code width to tiles of about equal size, and each feature its bins.
    template <class Tile, class Takes>
    void assign_features(std::vector<Tile>& tiles, Takes&& takes) {
        std::vector<std::uint32_t> chosen;
        for (std::uint32_t f = 0; f < x_.columns.size(); ++f)
            if (takes(x_.columns[f])) chosen.push_back(f);
        tiles.resize((chosen.size() + Tile::max_features - 1) / Tile::max_features);
        for (Size t = 0; t < tiles.size(); ++t) {
            const Size begin = t * chosen.size() / tiles.size();
            const Size end = (t + 1) * chosen.size() / tiles.size();
            tiles[t].first_bin = n_bins_;
            tiles[t].feature.assign(chosen.begin() + static_cast<long>(begin),
                                    chosen.begin() + static_cast<long>(end));
            for (std::uint32_t f : tiles[t].feature) {
                first_bin_[f] = n_bins_;
                if constexpr (std::is_same_v<Tile, NarrowTile>)
                    n_bins_ += Tile::bins_each;
                else
                    n_bins_ += x_.columns[f].n_bins + 1;
            }
        }
    }

    /// Count the rows per bin, which do not change, and mark the bins in use.
    void count_rows(Interrupt& interrupt) {
        counts_.assign(n_bins_, 0);
        occupied_.resize(x_.columns.size());
        for_tiles(interrupt, [&](auto& tile) {
            for (Size j = 0; j < tile.feature.size(); ++j) {
                const std::uint32_t f = tile.feature[j];
                for (Size i = 0; i < rows_.size(); ++i) ++counts_[first_bin_[f] + tile.code(i, j)];
                const Size bins = x_.columns[f].n_bins;
                occupied_[f].assign(bins / 64 + 1, 0);
                for (Size b = 0; b < bins; ++b)
                    if (counts_[first_bin_[f] + b] > 0) occupied_[f][b / 64] |= std::uint64_t{1} << (b % 64);
            }
        });
    }

    template <class F>
    void for_blocks(Interrupt& interrupt, F&& f) {
        Pool::shared().parallel_for(
            n_threads_, n_changes_.size(),
            [&](Size block, int) {
                f(block, block * rows_of_block, std::min(rows_.size(), (block + 1) * rows_of_block));
            },
            &interrupt);
    }

    template <class F>
    void for_tiles(Interrupt& interrupt, F&& f) {
        Pool::shared().parallel_for(
            n_threads_, narrow_.size() + wide_.size(),
            [&](Size t, int) {
                if (t < narrow_.size())
                    f(narrow_[t]);
                else
                    f(wide_[t - narrow_.size()]);
            },
            &interrupt);
    }

    /// Build the histogram from all weights.
    void refill(Interrupt& interrupt) {
        histogram_.assign(n_bins_ * n_classes_, 0);
        for_blocks(interrupt, [&](Size block, Size begin, Size end) {
            for (Size i = begin; i < end; ++i) changes_[i] = {weight_of(i), static_cast<Row>(i), class_[i]};
            n_changes_[block] = end - begin;
        });
        add_changes(interrupt);
    }

    void add_changes(Interrupt& interrupt) {
        for_tiles(interrupt, [&](auto& tile) {
            for (Size block = 0; block < n_changes_.size(); ++block)
                add(tile, std::span(changes_).subspan(block * rows_of_block, n_changes_[block]));
        });
    }

    void add(const WideTile& tile, std::span<const Change> changes) {
        Stat* histogram = histogram_.data() + tile.first_bin * n_classes_;
        for (const Change& c : changes) histogram[tile.codes[c.row] * n_classes_ + c.class_code] += c.weight;
    }

    void add(const NarrowTile& tile, std::span<const Change> changes) {
        if (n_classes_ == 2)
            add_features<2>(tile, changes, std::make_index_sequence<NarrowTile::max_features>());
        else
            add_features<0>(tile, changes, std::make_index_sequence<NarrowTile::max_features>());
    }

    /// Make the number of features of the tile a constant, so that the loop over them is unrolled.
    template <Size Classes, Size... N>
    void add_features(const NarrowTile& tile, std::span<const Change> changes, std::index_sequence<N...>) {
        const auto n = tile.feature.size();
        ((n == N + 1 ? add_changes_of<Classes, N + 1>(tile, changes) : void()), ...);
    }

    template <Size Classes, Size N>
    void add_changes_of(const NarrowTile& tile, std::span<const Change> changes) {
        const Size classes = Classes ? Classes : n_classes_;
        Stat* first = histogram_.data() + tile.first_bin * classes;
        for (const Change& c : changes) {
            const std::uint64_t codes = tile.codes[c.row];
            Stat* histogram = first + c.class_code;
#pragma GCC unroll 8
            for (Size j = 0; j < N; ++j)
                histogram[(j * NarrowTile::bins_each + (codes >> (8 * j) & 0xFF)) * classes] += c.weight;
        }
    }

    /// Set the class that the last stump predicts for each code of its feature.
    void predict_codes() {
        // Not by an index into prediction: with AVX-512 GCC 12.2 makes wrong code of that loop.
        const auto left = static_cast<std::uint16_t>(stump_.prediction[0]);
        const auto right = static_cast<std::uint16_t>(stump_.prediction[1]);
        predicted_.resize(goes_left_.size());
        for (Size code = 0; code < goes_left_.size(); ++code)
            predicted_[code] = goes_left_[code] ? left : right;
    }

    /// List the rows of a range that the last stump misclassified; return how many there are.
    Size list_wrong(std::uint32_t* out, Size begin, Size end) const {
        Size n = 0;
        const auto list = [&](auto&& predicted) {
            for (Size i = begin; i < end; ++i) {
                out[n] = static_cast<std::uint32_t>(i);
                n += predicted(i) != class_[i];
            }
        };
        if (!stump_.best.found()) {
            list([own = stump_.prediction[0]](Size) { return own; });
            return n;
        }
        visit_codes(x_.columns[static_cast<Size>(stump_.best.feature)], [&](const auto* codes) {
            list([&, codes](Size i) { return predicted_[codes[rows_[i]]]; });
        });
        return n;
    }

    /// Call f(row) for the rows of a range that the last stump misclassified.
    template <class F>
    void for_each_wrong(Size begin, Size end, F&& f) const {
        std::array<std::uint32_t, rows_listed> wrong;
        for (; begin < end; begin += rows_listed) {
            const Size n = list_wrong(wrong.data(), begin, std::min(end, begin + rows_listed));
            for (Size k = 0; k < n; ++k) f(Size{wrong[k]});
        }
    }

    /// Change the weights of the misclassified rows, and list the changes; return how many there are.
    Size change(Size begin, Size end, double factor) {
        Size n = begin;
        for_each_wrong(begin, end, [&](Size i) {
            const Stat before = weight_of(i);
            size_[i] *= factor;
            changes_[n++] = {weight_of(i) - before, static_cast<Row>(i), class_[i]};
        });
        return n - begin;
    }

    /// Change the weights of the misclassified rows, and then the unit of all.
    void rescale(Size begin, Size end, double factor, double scale) {
        constexpr double smallest = 1e-300;  // a size rounded to 0 could not grow again
        for_each_wrong(begin, end, [&](Size i) { size_[i] *= factor; });
        for (Size i = begin; i < end && scale != 1.0; ++i) size_[i] = std::max(size_[i] * scale, smallest);
    }

    Size smallest_feature() const {
        Size best = 0;
        for (Size f = 1; f < x_.columns.size(); ++f)
            if (x_.columns[f].n_bins < x_.columns[best].n_bins) best = f;
        return best;
    }

    /// Sum the bins of one feature for which takes(code), and return their number of rows.
    template <class Takes>
    std::int64_t sum_bins(Stat* sums, Size feature, Takes&& takes) const {
        std::int64_t rows = 0;
        for (Size code = 0; code <= x_.columns[feature].n_bins; ++code) {
            if (!takes(static_cast<Code>(code))) continue;
            const Size bin = first_bin_[feature] + code;
            rows += counts_[bin];
            for (Size k = 0; k < n_classes_; ++k) sums[k] += histogram_[bin * n_classes_ + k];
        }
        return rows;
    }

    bool is_pure() const {
        Size present = 0;
        for (Size k = 0; k < n_classes_; ++k) present += stump_.sums[k] > 0;
        return present < 2;
    }

    Candidate search(Size f, BinSearch& bin_search) const {
        const CodeColumn& column = x_.columns[f];
        const Stat* bins = histogram_.data() + first_bin_[f] * n_classes_;
        const Limits limits;
        FeatureSearch q{statistics_,        options_, column, static_cast<std::int32_t>(f),
                        stump_.sums.data(), nullptr,  limits};
        if (counts_[first_bin_[f] + column.n_bins] > 0) q.missing = bins + column.n_bins * n_classes_;
        if (column.kind == ColumnKind::numeric && column.width == 1 &&
            options_.criterion == CriterionName::gini)
            return search_bins(q, bins, bin_search);
        BinnedGroups binned(bins, occupied_[f], statistics_.width);
        Candidate out;
        with_split_scorer(options_.criterion, statistics_, q.total, limits, [&](ScorerBase& scorer) {
            if (column.kind == ColumnKind::numeric) {
                out = sweep_numeric(scorer, q, binned, [](auto&&...) {});
            } else {
                CategorySums groups;
                collect(groups, binned, statistics_.width);
                out = best_category_set(scorer, q, groups);
            }
        });
        return out;
    }

    /// The same by prefix sums, for a numeric feature of byte codes and the Gini impurity.
    Candidate search_bins(const FeatureSearch& q, const Stat* bins, BinSearch& bin_search) const {
        SplitScorer<Layout::by_class, OfClasses<Gini, Layout::by_class>> scorer(statistics_, q.total,
                                                                                q.limits);
        Buffer<Stat, 24> left(n_classes_);
        const BinSplit split =
            bin_search.search(scorer, bins, q.column.n_bins, nullptr, q.missing, left.data());
        Candidate out;
        out.constant = split.constant;
        if (!split.found()) return out;
        out.kind = SplitKind::numeric;
        out.threshold_bin = split.last_left;
        out.missing = split.missing;
        finish(out, scorer, q, split.quality, left.data());
        return out;
    }

    /// The threshold of the best split: halfway to the next bin with rows, or known against missing values.
    double threshold_of(const Candidate& best) const {
        const auto feature = static_cast<Size>(best.feature);
        const CodeColumn& column = x_.columns[feature];
        const std::int64_t* counts = counts_.data() + first_bin_[feature];
        Code after = best.threshold_bin + 1;
        while (after < column.n_bins && counts[after] == 0) ++after;
        return after == column.n_bins ? DBL_MAX
                                      : midpoint(column.max_of(best.threshold_bin), column.min_of(after));
    }

    /// Compute the statistics of the children.
    void describe() {
        Stat *all = stump_.sums.data(), *left = all + n_classes_, *right = left + n_classes_;
        Candidate& best = stump_.best;
        if (!best.found()) {
            std::copy_n(all, n_classes_, left);
            set_values();
            stump_.prediction[1] = stump_.prediction[0];
            return;
        }
        const auto feature = static_cast<Size>(best.feature);
        const CodeColumn& column = x_.columns[feature];
        if (best.kind == SplitKind::numeric) best.threshold = threshold_of(best);
        goes_left_.assign(column.n_bins + 1, 0);
        if (best.kind == SplitKind::numeric)
            std::fill_n(goes_left_.begin(), best.threshold_bin + 1, std::uint8_t{1});
        else
            for (Code bin : best.bins) goes_left_[bin] = 1;
        goes_left_[column.n_bins] = best.missing == 0;
        stump_.n_samples[1] = sum_bins(left, feature, [&](Code code) { return goes_left_[code] != 0; });
        stump_.n_samples[2] = stump_.n_samples[0] - stump_.n_samples[1];
        for (Size k = 0; k < n_classes_; ++k) right[k] = all[k] - left[k];
        set_values();
        assign_unseen(best, static_cast<Size>(stump_.n_samples[1]), static_cast<Size>(stump_.n_samples[2]),
                      false);
        Fragment fragment;
        fragment.add(1);
        fragment.set_split(0, best, x_);
        if (!fragment.sets.empty()) stump_.set_bits = fragment.sets[0];
    }

    /// Set class proportions, misclassified weight and predictions: the largest, the first of ties.
    /// Proportions equal as doubles are tied, as at predict time.
    void set_values() {
        stump_.value.assign(3 * n_classes_, 0.0);
        for (Size node = 0; node < 3; ++node) {
            const Stat* sums = stump_.sums.data() + node * n_classes_;
            double* value = stump_.value.data() + node * n_classes_;
            const Stat weight = std::accumulate(sums, sums + n_classes_, Stat{0});
            for (Size k = 0; k < n_classes_ && weight > 0; ++k)
                value[k] = static_cast<double>(sums[k]) / static_cast<double>(weight);
            if (node == 0) {
                stump_.total = stump_.wrong = weight;
                continue;
            }
            const auto best = std::max_element(value, value + n_classes_) - value;
            stump_.prediction[node - 1] = static_cast<int>(best);
            stump_.wrong -= sums[best];
        }
    }

    const CodeMatrix& x_;
    Size n_classes_;
    int n_threads_;
    GrowOptions options_;
    Statistics statistics_;
    Stump stump_;
    std::vector<std::uint8_t> goes_left_;   // (n_bins + 1,) of the last stump's feature
    std::vector<std::uint16_t> predicted_;  // (n_bins + 1,) the class that it predicts
    std::vector<BinSearch> bin_searches_;   // of each thread

    // Of the rows with weight.
    std::vector<Row> rows_;  // their indices in the table
    std::vector<std::uint16_t> class_;
    std::vector<std::int64_t> copies_;
    std::vector<double> size_;     // a row's weight is its copies times its size, rounded
    std::vector<Change> changes_;  // each block's at the front of its part
    std::vector<Size> n_changes_;  // of each block

    std::vector<NarrowTile> narrow_;
    std::vector<WideTile> wide_;
    Size n_bins_ = 0;
    std::vector<Size> first_bin_;                       // (n_features,): where the bins of a feature begin
    std::vector<Stat> histogram_;                       // (n_bins, n_classes)
    std::vector<std::int64_t> counts_;                  // (n_bins,)
    std::vector<std::vector<std::uint64_t>> occupied_;  // bits of the bins in use, without the missing bin
};

StumpBooster::StumpBooster(const CodeMatrix& x, const StumpTarget& target, const GrowOptions& options,
                           Interrupt& interrupt)
    : impl_(std::make_unique<Impl>(x, target, options, interrupt)) {}
StumpBooster::~StumpBooster() = default;

const Stump& StumpBooster::learn(Interrupt& interrupt) { return impl_->learn(interrupt); }
void StumpBooster::reweight(double factor, double min_total, double max_total, int fresh,
                            Interrupt& interrupt) {
    impl_->reweight(factor, min_total, max_total, fresh, interrupt);
}
std::vector<std::int64_t> StumpBooster::predictions() const { return impl_->predictions(); }
std::vector<std::int64_t> StumpBooster::weights() const { return impl_->weights(); }

}  // namespace spinney
