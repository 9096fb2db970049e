// Sweeps over projected rows.
#include "split/projection.hpp"

#include <cmath>
#include <optional>
#include <vector>

#include "core/radix_sort.hpp"
#include "split/moving_sums.hpp"
#include "split/sorted_groups.hpp"
#include "split/sweep.hpp"

namespace spinney {

namespace {

/// From this number of classes on, sums over the classes are updated by row instead of summed per threshold.
constexpr int kManyClasses = 64;

template <Layout L, class Criterion>
class SweepingSplitter final : public ProjectionSplitter {
  public:
    SweepingSplitter(const Statistics& s, const NodeRows& node, const Stat* total, const Limits& limits)
        : s_(s),
          limits_(limits),
          total_(total),
          scorer_(s, total, limits_),
          left_(static_cast<Size>(s.width)) {
        rows_.gather(s, node);
        base_ = scorer_.quality(total);
        weight_ = scorer_.weight(total);
        if (ClassTerm<Criterion>::exists && s.n_channels >= kManyClasses) start_moving();
    }

    ProjectedSplit split(std::span<const double> values) override {
        return sweep(narrow_, values.size(), [&](Size i) { return static_cast<float>(values[i]); });
    }

    ProjectedSplit split_exactly(std::span<const double> values) override {
        return sweep(wide_, values.size(), [&](Size i) { return values[i]; });
    }

    /// Each row changes sides at the a with base + a·tilt = 0. As a grows, rows of positive tilt leave the
    /// left side there and rows of negative tilt enter it.
    ProjectedSplit tilt(std::span<const double> base, std::span<const double> tilt) override {
        constexpr double flat = 1e-6;  // such a row would only change sides far away
        auto& [keys, order, spare_keys, spare_order] = narrow_;
        narrow_.resize(base.size());
        reset();
        Size n = 0;
        for (Size i = 0; i < base.size(); ++i) {
            if (std::abs(tilt[i]) > flat) {
                keys[n] = key_of(static_cast<float>(-base[i] / tilt[i]));
                order[n++] = static_cast<std::uint32_t>(i);
                if (tilt[i] > 0) move(i, +1);
            } else if (base[i] <= 0) {
                move(i, +1);
            }
        }
        radix_sort_pairs(keys.data(), order.data(), spare_keys.data(), spare_order.data(), n);
        return best_boundary(narrow_, n, [&](Size i) { move(i, tilt[i] > 0 ? -1 : +1); });
    }

  private:
    template <class Key>
    struct SortBuffers {
        std::vector<Key> keys;
        std::vector<std::uint32_t> order;
        std::vector<Key> spare_keys;
        std::vector<std::uint32_t> spare_order;

        void resize(Size n) {
            keys.resize(n);
            order.resize(n);
            spare_keys.resize(n);
            spare_order.resize(n);
        }
    };

    template <class Key, class Value>
    ProjectedSplit sweep(SortBuffers<Key>& buffers, Size n, Value&& value) {
        buffers.resize(n);
        for (Size i = 0; i < n; ++i) {
            buffers.keys[i] = key_of(value(i));
            buffers.order[i] = static_cast<std::uint32_t>(i);
        }
        radix_sort_pairs(buffers.keys.data(), buffers.order.data(), buffers.spare_keys.data(),
                         buffers.spare_order.data(), n);
        reset();
        if (moving_) return best_boundary(buffers, n, [&](Size i) { move(i, +1); });
        return best_boundary(buffers, n,
                             [&](Size i) { rows_.view().template add<L>(left_.data(), i, s_.row_width); });
    }

    /// Move the rows in order of their keys and score wherever the key changes.
    template <class Key, class Pass>
    ProjectedSplit best_boundary(const SortBuffers<Key>& buffers, Size n, Pass&& pass) {
        ProjectedSplit best;
        for (Size i = 0; i + 1 < n; ++i) {
            pass(static_cast<Size>(buffers.order[i]));
            if (buffers.keys[i] == buffers.keys[i + 1]) continue;
            const double quality = moving_ ? moving_quality() : scorer_(left_.data());
            if (!(quality > best.quality)) continue;
            best.quality = quality;
            best.threshold = midpoint(number_of(buffers.keys[i]), number_of(buffers.keys[i + 1]));
            best.left_weight = moving_ ? moving_->left_weight() : scorer_.weight(left_.data());
        }
        if (best.quality > kImpossible) best.gain = (best.quality - base_) / weight_;
        return best;
    }

    void move(Size i, Stat sign) {
        const auto n = static_cast<Size>(s_.row_width);
        const Stat* own = rows_.stats.data() + i * n;
        Stat* to = left_.data() + (L == Layout::by_class ? rows_.class_code[i] * n : 0);
        if (moving_) {
            const Stat all = total_[static_cast<Size>(to - left_.data())];
            moving_->change(to[0], to[0] + sign * own[0], all);
            if (s_.count_index >= 0) left_count_ += sign * own[s_.count_index];
        }
        for (Size k = 0; k < n; ++k) to[k] += sign * own[k];
    }

    void start_moving() {
        moving_.emplace(s_, total_);
        if (s_.count_index < 0) return;
        for (int k = 0; k < s_.n_channels; ++k) all_count_ += total_[k * s_.row_width + s_.count_index];
    }

    /// Start with all rows on the right side.
    void reset() {
        std::fill(left_.begin(), left_.end(), 0);
        left_count_ = 0;
        if (moving_) moving_->reset();
    }

    /// As the scorer of the left sums, in time that does not depend on the number of classes.
    double moving_quality() const {
        const Stat left = moving_->left_steps(), right = moving_->right_steps();
        if (left < limits_.min_weight || right < limits_.min_weight) return kImpossible;
        if (limits_.min_count > 0) {
            const Stat on_left = s_.unit_weights ? left : left_count_;
            const Stat on_right = s_.unit_weights ? right : all_count_ - left_count_;
            if (on_left < limits_.min_count || on_right < limits_.min_count) return kImpossible;
        }
        return moving_->quality();
    }

    const Statistics& s_;
    CopiedRowStats rows_;
    Limits limits_;
    const Stat* total_;
    SplitScorer<L, Criterion> scorer_;
    std::vector<Stat> left_;
    std::optional<MovingClassSums<Criterion>> moving_;
    Stat left_count_ = 0, all_count_ = 0;
    double base_ = 0, weight_ = 0;
    SortBuffers<std::uint32_t> narrow_;
    SortBuffers<std::uint64_t> wide_;
};

}  // namespace

std::unique_ptr<ProjectionSplitter> make_projection_splitter(CriterionName criterion, const Statistics& s,
                                                             const NodeRows& node, const Stat* total,
                                                             const Limits& limits) {
    return with_criterion(criterion, s,
                          [&]<Layout L, class Criterion>() -> std::unique_ptr<ProjectionSplitter> {
                              return std::make_unique<SweepingSplitter<L, Criterion>>(s, node, total, limits);
                          });
}

}  // namespace spinney
