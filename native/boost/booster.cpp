#include "boost/booster.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>

#include "boost/boosted_grower.hpp"
#include "boost/feature_prefilter.hpp"
#include "boost/gradient_quantizer.hpp"
#include "boost/leaf_quantiles.hpp"
#include "boost/leaf_values.hpp"
#include "core/random.hpp"

namespace spinney {

namespace {

/// What the growth of a tree needs for itself: the trees of a round that are grown at once have one each.
struct TreeWork {
    PhaseTimes times;
    std::vector<double> gradient, hessian;  // (n_rows,)
    GradientQuantizer quantizer;
    std::unique_ptr<BoostedGrower> grower;

    /// Borrows all three.
    TreeWork(const BoostTable& table, const BoostOptions& options, const BoostTarget& target)
        : gradient(table.x.n_rows),
          hessian(table.x.n_rows),
          quantizer(table, options, target),
          grower(make_boosted_grower(table, options, times)) {
        quantizer.set_weights();
    }
};

/// How many trees of a round are grown at once, each by one thread; 1: one after the other, by all threads.
Size trees_at_once(const BoostTable& table, const BoostOptions& o, Size n_trees) {
    constexpr double kMaxSums = 0x1.0p25;  // in the histograms of all growers together
    const double threads = o.n_threads, trees = static_cast<double>(n_trees);
    const double leaves = static_cast<double>(std::min<Size>(o.max_leaf_nodes, 4096));
    const double fitting = kMaxSums / (leaves * static_cast<double>(table.histogram_size()));
    const double n = std::floor(std::min({threads, trees, fitting}));
    if (n < 2) return 1;
    // The gain of threads on one tree grows with the logarithm of the cells, as measured on 16 cores.
    const double cells = static_cast<double>(table.x.n_rows * table.bundles.bundles.size());
    const double within = std::clamp(std::log2(cells / 70'000), 1.0, 1 + 0.75 * (threads - 1));
    return trees / std::ceil(trees / n) >= within ? static_cast<Size>(n) : 1;
}

class TreeBooster final : public Booster {
  public:
    TreeBooster(const CodeMatrix& x, BoostOptions options)
        : o_(std::move(options)), one_thread_(o_), x_(x), round_(o_.first_round) {
        one_thread_.n_threads = 1;
    }

    void set_rows(const double* y, Size n_outputs, const double* weights, const double* scores,
                  Size n_scores) override {
        const Size n = x_.n_rows;
        target_.set(y, n_outputs, weights, n);
        works_.clear();  // they borrow the table
        times_.time(Phase::prepare,
                    [&] { table_.emplace(x_, o_.n_threads, splittable_features(x_, o_, target_)); });
        scores_.assign(n_scores, std::vector<double>(n));
        for (Size r = 0; r < n; ++r)
            for (Size k = 0; k < n_scores; ++k) scores_[k][r] = scores[r * n_scores + k];
        score_columns_.clear();
        for (const auto& column : scores_) score_columns_.push_back(column.data());
        set_changed();
        const Size n_works = trees_at_once(*table_, o_, n_scores);
        for (Size i = 0; i < n_works; ++i)
            works_.push_back(std::make_unique<TreeWork>(*table_, n_works > 1 ? one_thread_ : o_, target_));
        ready_ = true;
    }

    std::vector<FlatTree> run(const Loss& loss, Size n_rounds, Interrupt& interrupt) override {
        std::vector<FlatTree> out;
        begin_round();
        for (Size i = 0; i < n_rounds; ++i, ++round_) {
            if (loss.name == LossName::softmax) times_.time(Phase::gradient, [&] { update_log_sum_exp(); });
            set_changed();
            grow_round(out, loss, interrupt, [&](TreeWork& work, Size k, Size begin, Size end) {
                return compute_gradients(loss, loss_rows(), k, begin, end, work.gradient.data(),
                                         work.hessian.data());
            });
        }
        ready_ = true;
        return out;
    }

    std::vector<FlatTree> step(const double* gradient, const double* hessian, bool bounded,
                               Interrupt& interrupt) override {
        std::vector<FlatTree> out;
        begin_round();
        set_changed();
        const Loss like{bounded ? LossName::log : LossName::squared, {}};
        grow_round(out, like, interrupt, [&](TreeWork& work, Size k, Size begin, Size end) {
            return copy_gradients(work, begin, end, gradient + k, hessian + k, scores_.size());
        });
        ++round_;
        ready_ = true;
        return out;
    }

    double mean_loss(const Loss& loss, const double* weights) override {
        require_rows();
        update_losses(loss);
        double sum = 0, total = 0;
        for (Size c = 0; c < table_->n_chunks(); ++c) {
            const Size begin = c * kChunkRows, end = begin + table_->chunk_size(c);
            double part = 0, weight = 0;
            for (Size r = begin; r < end; ++r) {
                const double w = weights ? weights[r] : target_.weight(r);
                // Without branches: which rows are held out is unpredictable. A sum and 0 are the sum.
                part += w > 0 ? w * losses_[r] : 0.0;
                weight += w > 0 ? w : 0.0;
            }
            sum += part;
            total += weight;
        }
        return sum / total;
    }

    const std::vector<std::vector<double>>& scores() const override { return scores_; }
    const PhaseTimes& times() const override { return times_; }
    std::uint64_t round() const override { return round_; }
    Size n_rows() const override { return x_.n_rows; }

  private:
    void require_rows() const {
        if (!ready_) throw std::invalid_argument("call set_rows first; an interrupted booster has no rows");
    }

    void begin_round() {
        require_rows();
        ready_ = false;  // until the round is complete
    }

    LossRows loss_rows() const {
        return {target_.y.data(), target_.y.size() / x_.n_rows, x_.n_rows, target_.weights_or_null(),
                score_columns_,   log_sum_exp_.data()};
    }

    /// Grow the trees of a round, each on the gradients of its score, which no other tree of the round
    /// changes.  fill(work, k, begin, end): the gradients of some rows, and their sums
    template <class F>
    void grow_round(std::vector<FlatTree>& out, const Loss& loss, Interrupt& interrupt, F&& fill) {
        const Size first = out.size(), n_trees = scores_.size();
        out.resize(first + n_trees);
        const int n_threads = static_cast<int>(works_.size());
        const auto grow_one = [&](Size k, int thread) {
            TreeWork& work = *works_[static_cast<Size>(thread)];
            const GradientSums sums = work.times.time(Phase::gradient, [&] {
                return sum_chunks([&](Size begin, Size end) { return fill(work, k, begin, end); });
            });
            out[first + k] = grow(work, sums, k, loss, interrupt);
        };
        if (n_threads == 1)
            for (Size k = 0; k < n_trees; ++k) grow_one(k, 0);
        else
            Pool::shared().parallel_for(n_threads, n_trees, grow_one, &interrupt);
        for (auto& work : works_) times_.add(std::exchange(work->times, {}));
    }

    /// Sum over chunks in their order, for any number of threads.
    template <class F>
    GradientSums sum_chunks(F&& f) {
        const Size n_chunks = table_->n_chunks();
        std::vector<GradientSums> parts(n_chunks);
        Pool::shared().parallel_for(o_.n_threads, n_chunks, [&](Size c, int) {
            parts[c] = f(c * kChunkRows, c * kChunkRows + table_->chunk_size(c));
        });
        GradientSums out;
        for (const GradientSums& part : parts) {
            out.gradient += part.gradient;
            out.hessian += part.hessian;
        }
        if (!std::isfinite(out.gradient) || !std::isfinite(out.hessian))
            throw std::invalid_argument("the gradients of round " + std::to_string(round_) +
                                        " are not finite; scale the target, or lower the learning rate");
        return out;
    }

    /// The scores are about to change.
    void set_changed() { has_log_sum_exp_ = has_losses_ = false; }

    /// The losses of all rows: one call serves the scores of training and of validation rows.
    void update_losses(const Loss& loss) {
        if (has_losses_ && loss.name == loss_of_losses_.name && loss.parameters == loss_of_losses_.parameters)
            return;
        if (loss.name == LossName::softmax) update_log_sum_exp();
        losses_.resize(x_.n_rows);
        Pool::shared().parallel_for(o_.n_threads, table_->n_chunks(), [&](Size c, int) {
            const Size begin = c * kChunkRows;
            compute_losses(losses_.data(), loss, loss_rows(), begin, begin + table_->chunk_size(c));
        });
        loss_of_losses_ = loss;
        has_losses_ = true;
    }

    /// The log-sum-exp of the scores stays fixed while the trees of a round are grown.
    void update_log_sum_exp() {
        if (has_log_sum_exp_) return;
        has_log_sum_exp_ = true;
        log_sum_exp_.resize(x_.n_rows);
        Pool::shared().parallel_for(o_.n_threads, table_->n_chunks(), [&](Size c, int) {
            const Size begin = c * kChunkRows;
            compute_log_sum_exp(log_sum_exp_.data(), score_columns_, begin, begin + table_->chunk_size(c));
        });
    }

    GradientSums copy_gradients(TreeWork& work, Size begin, Size end, const double* gradient,
                                const double* hessian, Size step) const {
        GradientSums out;
        for (Size r = begin; r < end; ++r) {
            work.gradient[r] = gradient[r * step];
            work.hessian[r] = std::max(hessian[r * step], kMinHessian);
            const double w = target_.weight(r);
            if (!(w > 0)) continue;
            out.gradient += w * std::abs(work.gradient[r]);
            out.hessian += w * work.hessian[r];
        }
        return out;
    }

    FlatTree grow(TreeWork& work, const GradientSums& sums, Size k, const Loss& loss, Interrupt& interrupt) {
        const std::uint64_t address = mix(mix(o_.seed, round_), k);
        BoostRows& rows = work.times.time(Phase::gradient, [&]() -> BoostRows& {
            return work.quantizer.quantize(work.gradient.data(), work.hessian.data(), sums, loss.name,
                                           address);
        });
        if (o_.random_strength > 0) rows.score_noise = score_noise(work);
        BoostedTree tree = work.grower->grow(rows, address, interrupt);
        return work.times.time(Phase::update, [&] {
            const std::vector<LeafSums> leaf_sums = sum_leaves(work, tree, rows);
            const std::vector<double> values = fit_leaves(tree, rows, leaf_sums, k, loss);
            update_scores(scores_[k], tree, rows, values);
            return flatten(tree, leaf_sums, values);
        });
    }

    double score_noise(const TreeWork& work) {
        const GradientSums sums = sum_chunks([&](Size begin, Size end) {
            GradientSums out;
            for (Size r = begin; r < end; ++r) {
                const double w = target_.weight(r);
                out.gradient += w * work.gradient[r] * work.gradient[r];
                out.hessian += w * work.hessian[r];
            }
            return out;
        });
        return noise_deviation(o_, round_, target_.n_counted(), sums.gradient, sums.hessian);
    }

    /// Sum unscaled gradients and hessians per leaf, in row order.  -> (n_leaves,)
    std::vector<LeafSums> sum_leaves(const TreeWork& work, const BoostedTree& tree, const BoostRows& rows) {
        const Size n_leaves = tree.leaves.size(), n_chunks = table_->n_chunks();
        const bool all = fits_all_rows(o_);
        std::vector<LeafSums> parts(n_chunks * n_leaves), out(n_leaves);
        Pool::shared().parallel_for(o_.n_threads, n_chunks, [&](Size c, int) {
            const LocalRow* ids = rows.ids.data() + c * kChunkRows;
            for (Size i = 0; i < n_leaves; ++i) {
                const ChunkRange& range = tree.ranges[static_cast<Size>(tree.leaves[i]) * n_chunks + c];
                LeafSums& sum = parts[c * n_leaves + i];
                add_list(work, sum, c * kChunkRows, ids + range.begin, ids + range.end, true);
                if (all)
                    add_list(work, sum, c * kChunkRows, ids + range.out_begin, ids + range.out_end, false);
            }
        });
        for (Size c = 0; c < n_chunks; ++c)
            for (Size i = 0; i < n_leaves; ++i) {
                out[i].gradient += parts[c * n_leaves + i].gradient;
                out[i].hessian += parts[c * n_leaves + i].hessian;
                out[i].weight += parts[c * n_leaves + i].weight;
            }
        return out;
    }

    void add_list(const TreeWork& work, LeafSums& sum, Size first_row, const LocalRow* id,
                  const LocalRow* end, bool drawn) const {
        const double *g = work.gradient.data() + first_row, *h = work.hessian.data() + first_row;
        if (target_.weights.empty()) {
            if (drawn) sum.weight += static_cast<double>(end - id);
            for (; id < end; ++id) {
                sum.gradient += g[*id];
                sum.hessian += h[*id];
            }
            return;
        }
        const double* w = target_.weights.data() + first_row;
        for (; id < end; ++id) {
            sum.gradient += w[*id] * g[*id];
            sum.hessian += w[*id] * h[*id];
            if (drawn) sum.weight += w[*id];
        }
    }

    /// Leaf values, learning rate included: a Newton step, or a quantile of the residuals.  -> (n_leaves,)
    std::vector<double> fit_leaves(const BoostedTree& tree, const BoostRows& rows,
                                   const std::vector<LeafSums>& sums, Size k, const Loss& loss) {
        std::vector<double> out(tree.leaves.size());
        const bool by_quantile = fits_quantiles(loss.name);
        Pool::shared().parallel_for(by_quantile ? o_.n_threads : 1, out.size(), [&](Size i, int) {
            const BoostNode& leaf = tree.nodes[static_cast<Size>(tree.leaves[i])];
            const double value = by_quantile ? fit_quantile(tree, rows, leaf, k, loss)
                                             : newton_step(o_, sums[i], out.size() == 1, loss.name);
            out[i] = o_.learning_rate * std::clamp(value, leaf.lower, leaf.upper);
        });
        return out;
    }

    double fit_quantile(const BoostedTree& tree, const BoostRows& rows, const BoostNode& leaf, Size k,
                        const Loss& loss) const {
        const double *y = loss_rows().output(k), *scores = scores_[k].data();
        std::vector<Residual> residuals;
        residuals.reserve(leaf.n_rows);
        const Size n_chunks = table_->n_chunks();
        for (Size c = 0; c < n_chunks; ++c) {
            const ChunkRange& range = tree.ranges[static_cast<Size>(leaf.id) * n_chunks + c];
            const auto add = [&](Size begin, Size end) {
                for (Size i = begin; i < end; ++i) {
                    const Size r = c * kChunkRows + rows.ids[c * kChunkRows + i];
                    if (target_.weight(r) > 0) residuals.emplace_back(y[r] - scores[r], target_.weight(r));
                }
            };
            add(range.begin, range.end);
            if (fits_all_rows(o_)) add(range.out_begin, range.out_end);
        }
        return fit_residuals(residuals, loss, k);
    }

    void update_scores(std::vector<double>& scores, const BoostedTree& tree, const BoostRows& rows,
                       const std::vector<double>& values) {
        const Size n_chunks = table_->n_chunks();
        Pool::shared().parallel_for(o_.n_threads, n_chunks, [&](Size c, int) {
            const LocalRow* ids = rows.ids.data() + c * kChunkRows;
            double* own = scores.data() + c * kChunkRows;
            for (Size i = 0; i < values.size(); ++i) {
                const ChunkRange& range = tree.ranges[static_cast<Size>(tree.leaves[i]) * n_chunks + c];
                for (Size j = range.begin; j < range.end; ++j) own[ids[j]] += values[i];
                for (Size j = range.out_begin; j < range.out_end; ++j) own[ids[j]] += values[i];
            }
        });
    }

    BoostOptions o_, one_thread_;
    PhaseTimes times_;
    const CodeMatrix& x_;
    std::optional<BoostTable> table_;  // from set_rows on
    BoostTarget target_;
    std::vector<std::unique_ptr<TreeWork>> works_;  // as many as trees are grown at once
    std::uint64_t round_;
    bool ready_ = false;
    std::vector<std::vector<double>> scores_;  // (n_scores,) of (n_rows,)
    std::vector<const double*> score_columns_;
    std::vector<double> log_sum_exp_, losses_;           // (n_rows,) each
    bool has_log_sum_exp_ = false, has_losses_ = false;  // of the scores as they are
    Loss loss_of_losses_;
};

}  // namespace

std::unique_ptr<Booster> make_booster(const CodeMatrix& x, BoostOptions options) {
    return std::make_unique<TreeBooster>(x, std::move(options));
}

}  // namespace spinney
