// BoostOptions: the parameters of gradient boosting, under the names that Python uses; the times of its
// phases.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/thread_pool.hpp"
#include "split/options.hpp"

namespace spinney {

enum class Growth : std::uint8_t { leaf_wise, level_wise, symmetric };
enum class Sampling : std::uint8_t { none, uniform, goss, mvs };

template <>
inline constexpr std::array spellings<Growth>{"leaf-wise", "level-wise", "symmetric"};
template <>
inline constexpr std::array spellings<Sampling>{"none", "uniform", "goss", "mvs"};

struct BoostOptions {
    int n_threads = 1;
    std::uint64_t seed = 0;
    std::uint64_t first_round = 0;
    Growth growth = Growth::leaf_wise;
    Limit max_leaf_nodes = kNoLimit;
    int max_depth = std::numeric_limits<int>::max();
    double min_samples_leaf = 1;  // sum of row weights
    double min_hessian = 0;
    double l2_regularization = 0, min_gain = 0;
    double random_strength = 0;          // symmetric trees: noise on the scores of splits
    Splitter splitter = Splitter::best;  // random: one drawn threshold per feature
    double learning_rate = 0.1;
    Sampling sampling = Sampling::none;
    double subsample = 1;
    double top_fraction = 0.2, other_fraction = 0.1;  // GOSS: rows of large gradient, and of the others
    double colsample_bytree = 1;
    Limit max_features = kNoLimit;
    std::vector<std::int8_t> monotonic_cst;                   // (n_features,) or empty
    std::vector<std::vector<std::uint32_t>> interaction_cst;  // sets of features; empty: no limits
    CategorySplit categorical_split = CategorySplit::subset;
    double categorical_smoothing = 10, categorical_l2 = 10;
    bool ledger = false;  // record the split candidates

    bool level_wise() const { return growth == Growth::level_wise; }
    bool symmetric() const { return growth == Growth::symmetric; }
    bool limits_interactions() const { return !interaction_cst.empty(); }

    static constexpr auto fields() {
        using O = BoostOptions;
        return std::tuple{SPINNEY_FIELD(O, n_threads),
                          SPINNEY_FIELD(O, seed),
                          SPINNEY_FIELD(O, first_round),
                          SPINNEY_FIELD(O, growth),
                          SPINNEY_FIELD(O, max_leaf_nodes),
                          SPINNEY_FIELD(O, max_depth),
                          SPINNEY_FIELD(O, min_samples_leaf),
                          SPINNEY_FIELD(O, min_hessian),
                          SPINNEY_FIELD(O, l2_regularization),
                          SPINNEY_FIELD(O, min_gain),
                          SPINNEY_FIELD(O, random_strength),
                          SPINNEY_FIELD(O, splitter),
                          SPINNEY_FIELD(O, learning_rate),
                          SPINNEY_FIELD(O, sampling),
                          SPINNEY_FIELD(O, subsample),
                          SPINNEY_FIELD(O, top_fraction),
                          SPINNEY_FIELD(O, other_fraction),
                          SPINNEY_FIELD(O, colsample_bytree),
                          SPINNEY_FIELD(O, max_features),
                          SPINNEY_FIELD(O, monotonic_cst),
                          SPINNEY_FIELD(O, interaction_cst),
                          SPINNEY_FIELD(O, categorical_split),
                          SPINNEY_FIELD(O, categorical_smoothing),
                          SPINNEY_FIELD(O, categorical_l2),
                          SPINNEY_FIELD(O, ledger)};
    }
};

enum class Phase : std::uint8_t { prepare, gradient, histogram, split, partition, update };
inline constexpr std::array<const char*, 6> phase_names{"prepare", "gradient",  "histogram",
                                                        "split",   "partition", "update"};

/// Seconds by phase; those of trees that are grown at once are added up.
struct PhaseTimes {
    std::array<double, phase_names.size()> seconds{};

    template <class F>
    decltype(auto) time(Phase phase, F&& f) {
        const struct Stopwatch {
            double& sum;
            Clock::time_point start = Clock::now();
            ~Stopwatch() { sum += std::chrono::duration<double>(Clock::now() - start).count(); }
        } stopwatch{seconds[static_cast<Size>(phase)]};
        return f();
    }

    void add(const PhaseTimes& other) {
        for (Size i = 0; i < seconds.size(); ++i) seconds[i] += other.seconds[i];
    }
};

}  // namespace spinney
