// The options of a booster, and the times of its phases.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/thread_pool.hpp"
#include "grow/options.hpp"

namespace spinney {

enum class Sampling : std::uint8_t { none, uniform, goss, mvs };

struct BoostOptions {
    int n_threads = 1;
    std::uint64_t seed = 0;
    std::uint64_t first_round = 0;
    bool level_wise = false;  // else leaf-wise: the leaf of largest gain first
    Size max_leaf_nodes = std::numeric_limits<Size>::max();
    int max_depth = std::numeric_limits<int>::max();
    double min_samples_leaf = 1;  // sum of row weights
    double min_hessian = 0;
    double l2 = 0, min_gain = 0;
    double learning_rate = 0.1;
    Sampling sampling = Sampling::none;
    double row_fraction = 1, top_fraction = 0.2, other_fraction = 0.1;
    double column_fraction = 1;
    Size max_features = std::numeric_limits<Size>::max();
    std::vector<std::int8_t> monotone;                     // (n_features,) or empty
    std::vector<std::vector<std::uint32_t>> interactions;  // sets of features; empty: no limits
    bool limits_interactions = false;
    CategorySplit categories = CategorySplit::subset;
    double category_smoothing = 10, category_l2 = 10;
    bool ledger = false;
};

enum class Phase : std::uint8_t { prepare, gradient, histogram, split, partition, update };
inline constexpr std::array<const char*, 6> phase_names{"prepare", "gradient",  "histogram",
                                                        "split",   "partition", "update"};

/// Seconds by phase.
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
};

}  // namespace spinney
