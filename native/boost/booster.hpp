// The gradient booster: round after round, gradients of a loss, a tree on them, and new scores.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "boost/boost_rows.hpp"
#include "boost/leaf_quantiles.hpp"

namespace spinney {

class Booster {
  public:
    Booster(const CodeMatrix& x, BoostOptions options)
        : o_(std::move(options)),
          table_(times_.time(Phase::prepare, [&] { return BoostTable(x, o_.n_threads); })),
          quantiser_(table_, o_, target_),
          grower_(table_, o_, times_),
          round_(o_.first_round) {}
    Booster(const Booster&) = delete;
    Booster& operator=(const Booster&) = delete;

    /// y (n_rows,), weights (n_rows,) or null, scores (n_rows, n_scores)
    void set_rows(const double* y, const double* weights, const double* scores, Size n_scores) {
        const Size n = table_.x.n_rows;
        target_.set(y, weights, n);
        quantiser_.set_weights();
        scores_.assign(n_scores, std::vector<double>(n));
        for (Size r = 0; r < n; ++r)
            for (Size k = 0; k < n_scores; ++k) scores_[k][r] = scores[r * n_scores + k];
        gradient_.resize(n);
        hessian_.resize(n);
        ready_ = true;
    }

    /// Boost by a loss that is built in: n_scores trees a round.
    std::vector<FlatTree> run(LossName loss, double parameter, Size n_rounds, Interrupt& interrupt) {
        std::vector<FlatTree> out;
        begin();
        for (Size i = 0; i < n_rounds; ++i, ++round_) {
            if (loss == LossName::softmax) times_.time(Phase::gradient, [&] { normalise(); });
            for (Size k = 0; k < scores_.size(); ++k) {
                const SlopeSums sums =
                    times_.time(Phase::gradient, [&] { return find_slopes(loss, parameter, k); });
                out.push_back(grow(sums, k, {loss, parameter}, interrupt));
            }
        }
        ready_ = true;
        return out;
    }

    /// Boost one round by gradients and hessians of the caller's.  both (n_rows, n_scores), without weights
    std::vector<FlatTree> step(const double* gradient, const double* hessian, Interrupt& interrupt) {
        std::vector<FlatTree> out;
        begin();
        const Size n_scores = scores_.size();
        for (Size k = 0; k < n_scores; ++k) {
            const SlopeSums sums = times_.time(Phase::gradient, [&] {
                return for_chunks([&](Size begin, Size end) {
                    return take_slopes(begin, end, gradient + k, hessian + k, n_scores);
                });
            });
            out.push_back(grow(sums, k, {LossName::squared, 0}, interrupt));
        }
        ++round_;
        ready_ = true;
        return out;
    }

    /// The mean of a loss over the rows, by weight.  weights (n_rows,), or null for those of training
    double mean_loss(LossName loss, double parameter, const double* weights) {
        require_rows();
        if (loss == LossName::softmax) normalise();
        double sum = 0, total = 0;
        for (Size c = 0; c < table_.n_chunks(); ++c) {
            double part = 0, weight = 0;
            for (Size r = c * kChunkRows; r < c * kChunkRows + table_.chunk_size(c); ++r) {
                const double w = weights ? weights[r] : target_.weight(r);
                if (!(w > 0)) continue;
                part += w * value_of(loss, parameter, r);
                weight += w;
            }
            sum += part;
            total += weight;
        }
        return sum / total;
    }

    const std::vector<std::vector<double>>& scores() const { return scores_; }
    const PhaseTimes& times() const { return times_; }
    std::uint64_t round() const { return round_; }
    Size n_rows() const { return table_.x.n_rows; }

  private:
    struct Refit {
        LossName loss;
        double parameter;
        bool by_quantiles() const {
            return loss == LossName::absolute || loss == LossName::quantile || loss == LossName::huber;
        }
    };

    /// What a leaf's rows add up to, unscaled.
    struct LeafSums {
        double gradient = 0, hessian = 0, weight = 0;
    };

    void require_rows() const {
        if (!ready_)
            throw std::invalid_argument("give rows (set_rows) first; an interrupted booster has none");
    }

    void begin() {
        require_rows();
        ready_ = false;  // until the round is done
    }

    /// Sum over chunks in their order, whichever thread did them.
    template <class F>
    SlopeSums for_chunks(F&& f) {
        const Size n_chunks = table_.n_chunks();
        std::vector<SlopeSums> parts(n_chunks);
        Pool::shared().parallel_for(o_.n_threads, n_chunks, [&](Size c, int) {
            parts[c] = f(c * kChunkRows, c * kChunkRows + table_.chunk_size(c));
        });
        SlopeSums out;
        for (const SlopeSums& part : parts) {
            out.gradient += part.gradient;
            out.hessian += part.hessian;
        }
        if (!std::isfinite(out.gradient) || !std::isfinite(out.hessian))
            throw std::invalid_argument("the gradients of round " + std::to_string(round_) +
                                        " are not finite; scale the target, or lower the learning rate");
        return out;
    }

    // --- gradients ---

    /// ln Σ e^score of each row, held fixed while the round's trees are grown.
    void normalise() {
        normaliser_.resize(table_.x.n_rows);
        Pool::shared().parallel_for(o_.n_threads, table_.n_chunks(), [&](Size c, int) {
            const Size begin = c * kChunkRows;
            for_registers(begin, begin + table_.chunk_size(c), [&](Size r, Size n, Size) {
                Register most = load_register(scores_[0].data() + r, n), sum{};
                for (const auto& scores : scores_) {
                    const Register s = load_register(scores.data() + r, n);
                    most = where(s > most, s, most);
                }
                for (const auto& scores : scores_)
                    sum += exp_same_bits(load_register(scores.data() + r, n) - most);
                store_register(normaliser_.data() + r, most + log_same_bits(sum), n);
            });
        });
    }

    SlopeSums find_slopes(LossName loss, double parameter, Size k) {
        const double *y = target_.y.data(), *s = scores_[k].data();
        if (loss == LossName::softmax) {
            const SoftmaxLoss softmax(static_cast<double>(k));
            const double* z = normaliser_.data();
            return each_slope([=](Size r, Size n) {
                return softmax.slopes(load_register(s + r, n), load_register(y + r, n),
                                      load_register(z + r, n));
            });
        }
        return with_loss(loss, parameter, [&](auto one) {
            return each_slope(
                [=](Size r, Size n) { return one.slopes(load_register(s + r, n), load_register(y + r, n)); });
        });
    }

    template <class F>
    SlopeSums each_slope(F&& slopes_of) {
        return for_chunks([&](Size begin, Size end) {
            LaneSums gradients, hessians;
            const double* weights = target_.weights.empty() ? nullptr : target_.weights.data();
            for_registers(begin, end, [&](Size r, Size n, Size part) {
                Slopes<Register> slopes = slopes_of(r, n);
                slopes.hessian =
                    where(slopes.hessian < kLeastHessian, every<Register>(kLeastHessian), slopes.hessian);
                store_register(gradient_.data() + r, slopes.gradient, n);
                store_register(hessian_.data() + r, slopes.hessian, n);
                Register w = weights ? load_register(weights + r, n) : every<Register>(1.0);
                for (Size i = n; i < kRegister; ++i) w[i] = 0;
                gradients.parts[part] += w * where(slopes.gradient < 0.0, -slopes.gradient, slopes.gradient);
                hessians.parts[part] += w * slopes.hessian;
            });
            return SlopeSums{gradients.total(), hessians.total()};
        });
    }

    SlopeSums take_slopes(Size begin, Size end, const double* gradient, const double* hessian, Size step) {
        SlopeSums out;
        for (Size r = begin; r < end; ++r) {
            gradient_[r] = gradient[r * step];
            hessian_[r] = std::max(hessian[r * step], kLeastHessian);
            const double w = target_.weight(r);
            if (!(w > 0)) continue;
            out.gradient += w * std::abs(gradient_[r]);
            out.hessian += w * hessian_[r];
        }
        return out;
    }

    double value_of(LossName loss, double parameter, Size r) const {
        if (loss == LossName::softmax) return normaliser_[r] - scores_[static_cast<Size>(target_.y[r])][r];
        return with_loss(loss, parameter, [&](auto one) { return one.value(scores_[0][r], target_.y[r]); });
    }

    // --- trees ---

    FlatTree grow(const SlopeSums& sums, Size k, const Refit& refit, Interrupt& interrupt) {
        const std::uint64_t address = mix(mix(o_.seed, round_), k);
        const BoostRows& rows = times_.time(Phase::gradient, [&]() -> BoostRows& {
            return quantiser_.make(gradient_.data(), hessian_.data(), sums, address);
        });
        BoostedTree tree = grower_.grow(const_cast<BoostRows&>(rows), address, interrupt);
        return times_.time(Phase::update, [&] {
            const std::vector<LeafSums> sums_of = add_up_leaves(tree, rows);
            const std::vector<double> values = fit_leaves(tree, rows, sums_of, scores_[k], refit);
            update(scores_[k], tree, rows, values);
            return flatten(tree, sums_of, values);
        });
    }

    /// (n_leaves,), from the unscaled numbers in row order. Rows drawn by importance were chosen to find the
    /// test; the leaf is fitted to all rows then.
    std::vector<LeafSums> add_up_leaves(const BoostedTree& tree, const BoostRows& rows) {
        const Size n_leaves = tree.leaves.size(), n_chunks = table_.n_chunks();
        const bool all = o_.sampling == Sampling::gradient || o_.sampling == Sampling::variance;
        std::vector<LeafSums> parts(n_chunks * n_leaves), out(n_leaves);
        Pool::shared().parallel_for(o_.n_threads, n_chunks, [&](Size c, int) {
            const LocalRow* ids = rows.ids.data() + c * kChunkRows;
            for (Size i = 0; i < n_leaves; ++i) {
                const ChunkRange& range = tree.ranges[static_cast<Size>(tree.leaves[i]) * n_chunks + c];
                LeafSums& sum = parts[c * n_leaves + i];
                add_list(sum, c * kChunkRows, ids + range.begin, ids + range.end, true);
                if (all) add_list(sum, c * kChunkRows, ids + range.out_begin, ids + range.out_end, false);
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

    void add_list(LeafSums& sum, Size first_row, const LocalRow* id, const LocalRow* end, bool weigh) const {
        const double *g = gradient_.data() + first_row, *h = hessian_.data() + first_row;
        if (target_.weights.empty()) {
            if (weigh) sum.weight += static_cast<double>(end - id);
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
            if (weigh) sum.weight += w[*id];
        }
    }

    /// (n_leaves,), learning rate included.
    std::vector<double> fit_leaves(const BoostedTree& tree, const BoostRows& rows,
                                   const std::vector<LeafSums>& sums, const std::vector<double>& scores,
                                   const Refit& refit) {
        std::vector<double> out(tree.leaves.size());
        const bool by_quantiles = refit.by_quantiles();
        Pool::shared().parallel_for(by_quantiles ? o_.n_threads : 1, out.size(), [&](Size i, int) {
            const BoostNode& leaf = tree.nodes[static_cast<Size>(tree.leaves[i])];
            const double value = by_quantiles ? fit_by_quantiles(tree, rows, leaf, scores, refit)
                                              : -sums[i].gradient / (sums[i].hessian + o_.l2);
            const double finite = std::isfinite(value) ? value : 0.0;
            out[i] = o_.learning_rate * std::clamp(finite, leaf.lower, leaf.upper);
        });
        return out;
    }

    double fit_by_quantiles(const BoostedTree& tree, const BoostRows& rows, const BoostNode& leaf,
                            const std::vector<double>& scores, const Refit& refit) const {
        std::vector<Residual> residuals;
        residuals.reserve(leaf.n_rows);
        const Size n_chunks = table_.n_chunks();
        for (Size c = 0; c < n_chunks; ++c) {
            const ChunkRange& range = tree.ranges[static_cast<Size>(leaf.id) * n_chunks + c];
            for (Size i = range.begin; i < range.end; ++i) {
                const Size r = c * kChunkRows + rows.ids[c * kChunkRows + i];
                residuals.emplace_back(target_.y[r] - scores[r], target_.weight(r));
            }
        }
        if (refit.loss == LossName::huber) return huber_step(residuals, refit.parameter);
        return weighted_quantile(residuals, refit.loss == LossName::absolute ? 0.5 : refit.parameter);
    }

    void update(std::vector<double>& scores, const BoostedTree& tree, const BoostRows& rows,
                const std::vector<double>& values) {
        const Size n_chunks = table_.n_chunks();
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

    /// An inner node answers the mean of its leaves by weight; its impurity is the gain of its test.
    static FlatTree flatten(BoostedTree& tree, const std::vector<LeafSums>& sums,
                            const std::vector<double>& values) {
        std::vector<double> value(tree.nodes.size(), 0.0), weight(tree.nodes.size(), 0.0);
        for (Size i = 0; i < values.size(); ++i) {
            value[static_cast<Size>(tree.leaves[i])] = values[i];
            weight[static_cast<Size>(tree.leaves[i])] = sums[i].weight;
        }
        // Children come after their parents.
        for (Size i = tree.nodes.size(); i-- > 0;) {
            GrownNode& n = tree.fragment.nodes[i];
            n.n_samples = static_cast<std::int64_t>(tree.nodes[i].n_rows);
            if (n.n_children == 0) continue;
            const Size a = static_cast<Size>(n.first_child), b = a + 1;
            weight[i] = weight[a] + weight[b];
            value[i] = weight[i] > 0 ? value[a] + (value[b] - value[a]) * (weight[b] / weight[i]) : value[a];
        }
        FlatTree out;
        for (const Place& place : lay_out(out, std::vector<Fragment>{std::move(tree.fragment)})) {
            const auto i = static_cast<Size>(place.node);
            out.value.push_back(value[i]);
            out.weight.push_back(weight[i]);
            out.impurity.push_back(out.kind[out.impurity.size()] ? tree.nodes[i].gain : 0.0);
        }
        return out;
    }

    BoostOptions o_;
    PhaseTimes times_;
    BoostTable table_;
    BoostTarget target_;
    Quantiser quantiser_;
    BoostedGrower grower_;
    std::uint64_t round_;
    bool ready_ = false;
    std::vector<std::vector<double>> scores_;  // (n_scores,) of (n_rows,)
    std::vector<double> gradient_, hessian_, normaliser_;
};

}  // namespace spinney
