// Boosted stumps: the best test of one node under row weights that shift from round to round.
//
// A round changes the weights of the rows that the last stump got wrong, and no others. The histogram of all
// rows is therefore kept, and follows by the changes alone. Weights are whole numbers of steps, so it is the
// histogram that would be built anew, to the last bit, whatever the number of threads.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "grow/grow_common.hpp"
#include "split/streams.hpp"
#include "core/thread_pool.hpp"

namespace spinney {

/// What is to be learned, borrowed: class codes, and how many copies of each row there are, of which size.
/// All (n_rows,); sizes are in steps, a row of no copies does not count.
struct StumpTarget {
    std::span<const std::int32_t> classes;
    int n_classes = 2;
    std::span<const std::int64_t> copies;
    std::span<const double> sizes;
};

/// A stump and what it rests on: of all rows, of child 0 and of child 1.
struct Stump {
    Candidate best;                           // test leaf: none was found
    std::vector<std::uint64_t> set_bits;      // category set: the categories of child 0
    std::vector<Stat> sums;                   // (3, n_classes)
    std::vector<double> value;                // the same as shares
    std::array<std::int64_t, 3> n_samples{};  // rows
    std::array<int, 2> answer{};              // the class that each child answers
};

namespace detail {

/// A change of one row's weight.
struct Change {
    Stat steps;
    Row row;  // among the rows that count
    std::uint16_t slot;
};

/// Byte codes of up to eight features, those of a row in one word. Each feature has 256 lines of the
/// histogram side by side, which stay in the first-level cache and need no table of where they begin.
struct NarrowTile {
    static constexpr Size most_features = 8, lines_each = 256;
    std::vector<std::uint32_t> feature;  // (n,)
    Size line = 0;                       // the first feature's first line
    std::vector<std::uint64_t> codes;    // (n_rows,): feature j has bits 8j to 8j + 7

    void resize(Size n_rows) { codes.assign(n_rows, 0); }
    Code code(Size row, Size j) const { return static_cast<Code>(codes[row] >> (8 * j) & 0xFF); }
    void set(Size row, Size j, Code code) { codes[row] |= std::uint64_t{code} << (8 * j); }
};

/// The codes of one feature with more values than a byte can tell apart.
struct WideTile {
    static constexpr Size most_features = 1;
    std::vector<std::uint32_t> feature;  // (1,)
    Size line = 0;
    std::vector<Code> codes;  // (n_rows,)

    void resize(Size n_rows) { codes.assign(n_rows, 0); }
    Code code(Size row, Size) const { return codes[row]; }
    void set(Size row, Size, Code code) { codes[row] = code; }
};

}  // namespace detail

class StumpBooster {
  public:
    StumpBooster(const CodeMatrix& x, const StumpTarget& target, CategorySplit categories, int n_threads,
                 Interrupt& interrupt)
        : x_(x), n_classes_(static_cast<Size>(target.n_classes)), n_threads_(n_threads) {
        options_.categories = categories;
        statistics_.layout = Layout::slots;
        statistics_.n_channels = statistics_.width = target.n_classes;
        statistics_.n_classes = {target.n_classes};
        statistics_.unit_weights = false;
        take_rows(target);
        make_tiles(interrupt);
        count_rows(interrupt);
        refill(interrupt);
    }

    /// Find the best stump under the present weights.
    const Stump& learn(Interrupt& interrupt) {
        const Size d = x_.columns.size();
        stump_ = {};
        stump_.sums.assign(3 * n_classes_, 0);
        stump_.n_samples[0] = static_cast<std::int64_t>(rows_.size());
        add_lines(stump_.sums.data(), smallest_feature(), [](Code) { return true; });
        if (!is_pure() && rows_.size() >= 2) {
            std::vector<Candidate> found(d);
            with_judge(CriterionName::gini, statistics_, [&]<Layout L, class Criterion>() {
                Pool::shared().parallel_for(
                    n_threads_, d, [&](Size f, int) { found[f] = search<L, Criterion>(f); }, &interrupt);
            });
            const int best = choose(found, options_, 0);
            if (best >= 0 && acceptable(options_, found[static_cast<Size>(best)]))
                stump_.best = std::move(found[static_cast<Size>(best)]);
        }
        describe();
        return stump_;
    }

    /// Multiply the weights of the rows that the last stump gets wrong. If the total would then be outside of
    /// [least, most), all weights are brought to a total of about 2^fresh, by a power of two.
    void reweight(double factor, double least, double most, int fresh, Interrupt& interrupt) {
        const Stat all = total(), wrong = wrong_steps();
        const double later = static_cast<double>(all - wrong) + static_cast<double>(wrong) * factor;
        const bool fits = least <= later && later < most;
        int exponent = fresh;
        if (!fits) std::frexp(later, &exponent);
        const double scale = std::ldexp(1.0, fresh - exponent);
        for_blocks(interrupt, [&](Size block, Size begin, Size end) {
            mark_wrong(begin, end);
            n_changes_[block] = change(begin, end, factor, scale);
        });
        if (fits)
            add_changes(interrupt);
        else
            refill(interrupt);
    }

    /// The class that the last stump answers for each row of the table, without weight or not.  out (n_rows,)
    void answers(std::int64_t* out) const {
        if (!stump_.best.found()) {
            std::fill_n(out, x_.n_rows, stump_.answer[0]);
            return;
        }
        const CodeColumn& column = x_.columns[static_cast<Size>(stump_.best.feature)];
        for (Size r = 0; r < x_.n_rows; ++r) out[r] = stump_.answer[goes_left_[column.at(r)] ? 0 : 1];
    }

    Stat total() const {
        Stat sum = 0;
        for (Size k = 0; k < n_classes_; ++k) sum += stump_.sums[k];
        return sum;
    }

    /// The weight of the rows that the last stump gets wrong.
    Stat wrong_steps() const {
        Stat right = 0;
        for (Size side = 0; side < 2; ++side)
            right += stump_.sums[(side + 1) * n_classes_ + static_cast<Size>(stump_.answer[side])];
        return total() - right;
    }

    /// The weights.  out (n_rows,)
    void steps(std::int64_t* out) const {
        std::fill_n(out, x_.n_rows, 0);
        for (Size i = 0; i < rows_.size(); ++i) out[rows_[i]] = steps_[i];
    }

    Size n_rows() const { return x_.n_rows; }
    int n_classes() const { return statistics_.n_channels; }

  private:
    static constexpr Size rows_of_block = 8192;

    void take_rows(const StumpTarget& target) {
        for (Size r = 0; r < x_.n_rows; ++r) {
            if (target.copies[r] <= 0) continue;
            rows_.push_back(static_cast<Row>(r));
            slot_.push_back(static_cast<std::uint16_t>(target.classes[r]));
            copies_.push_back(target.copies[r]);
            size_.push_back(target.sizes[r]);
            steps_.push_back(steps_of(target.copies[r], target.sizes[r]));
        }
        n_changes_.assign((rows_.size() + rows_of_block - 1) / rows_of_block, 0);
        changes_.resize(rows_.size());
        wrong_.resize(rows_.size());
    }

    static Stat steps_of(std::int64_t copies, double size) {
        return copies * std::max<Stat>(1, std::llrint(size));
    }

    void make_tiles(Interrupt& interrupt) {
        line_.resize(x_.columns.size());
        deal_features(narrow_, [](const CodeColumn& c) { return c.width == 1; });
        deal_features(wide_, [](const CodeColumn& c) { return c.width != 1; });
        for_tiles(interrupt, [&](auto& tile) {
            tile.resize(rows_.size());
            for (Size j = 0; j < tile.feature.size(); ++j) {
                const CodeColumn& column = x_.columns[tile.feature[j]];
                for (Size i = 0; i < rows_.size(); ++i) tile.set(i, j, column.at(rows_[i]));
            }
        });
    }

    /// Deal the features of one width out to tiles of about equal size, and give each its lines.
    template <class Tile, class Takes>
    void deal_features(std::vector<Tile>& tiles, Takes&& takes) {
        std::vector<std::uint32_t> chosen;
        for (std::uint32_t f = 0; f < x_.columns.size(); ++f)
            if (takes(x_.columns[f])) chosen.push_back(f);
        tiles.resize((chosen.size() + Tile::most_features - 1) / Tile::most_features);
        for (Size t = 0; t < tiles.size(); ++t) {
            const Size begin = t * chosen.size() / tiles.size();
            const Size end = (t + 1) * chosen.size() / tiles.size();
            tiles[t].line = n_lines_;
            tiles[t].feature.assign(chosen.begin() + static_cast<long>(begin),
                                    chosen.begin() + static_cast<long>(end));
            for (std::uint32_t f : tiles[t].feature) {
                line_[f] = n_lines_;
                if constexpr (std::is_same_v<Tile, detail::NarrowTile>)
                    n_lines_ += Tile::lines_each;
                else
                    n_lines_ += x_.columns[f].n_bins + 1;
            }
        }
    }

    /// Count the rows of each line, which stay the same, and mark the lines in use.
    void count_rows(Interrupt& interrupt) {
        counts_.assign(n_lines_, 0);
        occupied_.resize(x_.columns.size());
        for_tiles(interrupt, [&](auto& tile) {
            for (Size j = 0; j < tile.feature.size(); ++j) {
                const std::uint32_t f = tile.feature[j];
                for (Size i = 0; i < rows_.size(); ++i) ++counts_[line_[f] + tile.code(i, j)];
                const Size bins = x_.columns[f].n_bins;
                occupied_[f].assign(bins / 64 + 1, 0);
                for (Size b = 0; b < bins; ++b)
                    if (counts_[line_[f] + b] > 0) occupied_[f][b / 64] |= std::uint64_t{1} << (b % 64);
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

    /// Build the histogram anew from all weights.
    void refill(Interrupt& interrupt) {
        histogram_.assign(n_lines_ * n_classes_, 0);
        for_blocks(interrupt, [&](Size block, Size begin, Size end) {
            for (Size i = begin; i < end; ++i) changes_[i] = {steps_[i], static_cast<Row>(i), slot_[i]};
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

    void add(const detail::WideTile& tile, std::span<const detail::Change> changes) {
        Stat* histogram = histogram_.data() + tile.line * n_classes_;
        for (const detail::Change& c : changes) histogram[tile.codes[c.row] * n_classes_ + c.slot] += c.steps;
    }

    void add(const detail::NarrowTile& tile, std::span<const detail::Change> changes) {
        if (n_classes_ == 2)
            add_features<2>(tile, changes, std::make_index_sequence<detail::NarrowTile::most_features>());
        else
            add_features<0>(tile, changes, std::make_index_sequence<detail::NarrowTile::most_features>());
    }

    /// Take the number of the tile's features for a constant, so that the loop over them is none.
    template <Size Classes, Size... N>
    void add_features(const detail::NarrowTile& tile, std::span<const detail::Change> changes,
                      std::index_sequence<N...>) {
        const auto n = tile.feature.size();
        ((n == N + 1 ? add_changes_of<Classes, N + 1>(tile, changes) : void()), ...);
    }

    template <Size Classes, Size N>
    void add_changes_of(const detail::NarrowTile& tile, std::span<const detail::Change> changes) {
        const Size classes = Classes ? Classes : n_classes_;
        Stat* first = histogram_.data() + tile.line * classes;
        for (const detail::Change& c : changes) {
            const std::uint64_t codes = tile.codes[c.row];
            Stat* histogram = first + c.slot;
#pragma GCC unroll 8
            for (Size j = 0; j < N; ++j)
                histogram[(j * detail::NarrowTile::lines_each + (codes >> (8 * j) & 0xFF)) * classes] +=
                    c.steps;
        }
    }

    /// Mark the rows that the last stump gets wrong.
    void mark_wrong(Size begin, Size end) {
        if (!stump_.best.found()) {
            for (Size i = begin; i < end; ++i) wrong_[i] = stump_.answer[0] != slot_[i];
            return;
        }
        const CodeColumn& column = x_.columns[static_cast<Size>(stump_.best.feature)];
        const auto mark = [&](const auto* codes) {
            for (Size i = begin; i < end; ++i)
                wrong_[i] = stump_.answer[goes_left_[codes[rows_[i]]] ? 0 : 1] != slot_[i];
        };
        if (column.width == 1)
            mark(column.as<std::uint8_t>());
        else if (column.width == 2)
            mark(column.as<std::uint16_t>());
        else
            mark(column.as<std::uint32_t>());
    }

    /// Change the weights of the marked rows, and list the changes. Gives how many there are.
    Size change(Size begin, Size end, double factor, double scale) {
        constexpr double smallest = 1e-300;  // a size that has been rounded to 0 could not grow again
        Size n = 0;
        for (Size i = begin; i < end; ++i) {
            size_[i] = size_[i] * (wrong_[i] ? factor : 1.0);
            if (scale != 1.0) size_[i] = std::max(size_[i] * scale, smallest);
            const Stat now = steps_of(copies_[i], size_[i]);
            changes_[begin + n] = {now - steps_[i], static_cast<Row>(i), slot_[i]};
            steps_[i] = now;
            n += wrong_[i];
        }
        return n;
    }

    Size smallest_feature() const {
        Size best = 0;
        for (Size f = 1; f < x_.columns.size(); ++f)
            if (x_.columns[f].n_bins < x_.columns[best].n_bins) best = f;
        return best;
    }

    /// Add up the lines of one feature that `takes(code)`, and count their rows.
    template <class Takes>
    std::int64_t add_lines(Stat* sums, Size feature, Takes&& takes) const {
        std::int64_t rows = 0;
        for (Size code = 0; code <= x_.columns[feature].n_bins; ++code) {
            if (!takes(static_cast<Code>(code))) continue;
            const Size line = line_[feature] + code;
            rows += counts_[line];
            for (Size k = 0; k < n_classes_; ++k) sums[k] += histogram_[line * n_classes_ + k];
        }
        return rows;
    }

    bool is_pure() const {
        Size present = 0;
        for (Size k = 0; k < n_classes_; ++k) present += stump_.sums[k] > 0;
        return present < 2;
    }

    template <Layout L, class Criterion>
    Candidate search(Size f) const {
        const CodeColumn& column = x_.columns[f];
        const Stat* lines = histogram_.data() + line_[f] * n_classes_;
        const Limits limits;
        Search q{statistics_,        options_, column, static_cast<std::int32_t>(f),
                 stump_.sums.data(), nullptr,  limits};
        if (counts_[line_[f] + column.n_bins] > 0) q.missing = lines + column.n_bins * n_classes_;
        Judge<L, Criterion> judge(statistics_, q.total, limits);
        DenseStream stream(lines, occupied_[f], statistics_.width);
        if (column.kind == ColumnKind::numeric) return sweep_numeric(judge, q, stream, [](auto&&...) {});
        Groups groups;
        collect(groups, stream, statistics_.width);
        return SubsetSearch<Judge<L, Criterion>>(judge, q, groups).run();
    }

    /// Work out what the children of the chosen test have and answer.
    void describe() {
        Stat *all = stump_.sums.data(), *left = all + n_classes_, *right = left + n_classes_;
        Candidate& best = stump_.best;
        if (!best.found()) {
            std::copy_n(all, n_classes_, left);
            answer();
            stump_.answer[1] = stump_.answer[0];
            return;
        }
        const auto feature = static_cast<Size>(best.feature);
        const CodeColumn& column = x_.columns[feature];
        goes_left_.assign(column.n_bins + 1, 0);
        if (best.test == Test::numeric)
            std::fill_n(goes_left_.begin(), best.cut + 1, std::uint8_t{1});
        else
            for (Code bin : best.bins) goes_left_[bin] = 1;
        goes_left_[column.n_bins] = best.missing == 0;
        stump_.n_samples[1] = add_lines(left, feature, [&](Code code) { return goes_left_[code] != 0; });
        stump_.n_samples[2] = stump_.n_samples[0] - stump_.n_samples[1];
        for (Size k = 0; k < n_classes_; ++k) right[k] = all[k] - left[k];
        answer();
        place_unmet(best, static_cast<Size>(stump_.n_samples[1]), static_cast<Size>(stump_.n_samples[2]),
                    false);
        Fragment fragment;
        fragment.add(1, 0);
        fragment.set_test(0, best, column, 0);
        if (!fragment.sets.empty()) stump_.set_bits = fragment.sets[0];
    }

    /// Fill in the shares of the classes, and each child's answer: the largest, if tied the first. Shares
    /// that differ by less than a double can tell are tied, as they will be at prediction.
    void answer() {
        stump_.value.assign(3 * n_classes_, 0.0);
        for (Size node = 0; node < 3; ++node) {
            const Stat* sums = stump_.sums.data() + node * n_classes_;
            double* value = stump_.value.data() + node * n_classes_;
            const Stat weight = std::accumulate(sums, sums + n_classes_, Stat{0});
            for (Size k = 0; k < n_classes_ && weight > 0; ++k)
                value[k] = static_cast<double>(sums[k]) / static_cast<double>(weight);
            if (node > 0)
                stump_.answer[node - 1] =
                    static_cast<int>(std::max_element(value, value + n_classes_) - value);
        }
    }

    const CodeMatrix& x_;
    Size n_classes_;
    int n_threads_;
    GrowOptions options_;
    Statistics statistics_;
    Stump stump_;
    std::vector<std::uint8_t> goes_left_;  // (n_bins + 1,) of the last stump's feature

    // Of the rows that count.
    std::vector<Row> rows_;  // their numbers in the table
    std::vector<std::uint16_t> slot_;
    std::vector<std::int64_t> copies_;
    std::vector<double> size_;
    std::vector<Stat> steps_;
    std::vector<std::uint8_t> wrong_;
    std::vector<detail::Change> changes_;  // each block's at the front of its part
    std::vector<Size> n_changes_;          // of each block

    std::vector<detail::NarrowTile> narrow_;
    std::vector<detail::WideTile> wide_;
    Size n_lines_ = 0;
    std::vector<Size> line_;                            // (n_features,): where each feature's lines begin
    std::vector<Stat> histogram_;                       // (n_lines, n_classes)
    std::vector<std::int64_t> counts_;                  // (n_lines,)
    std::vector<std::vector<std::uint64_t>> occupied_;  // bits of the lines in use, without the missing ones
};

}  // namespace spinney
