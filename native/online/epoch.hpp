// One pass of the perceptron or of a passive–aggressive learner over the rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/types.hpp"

namespace spinney {

/// Rows of features: dense row-major, or compressed sparse rows.  values (n_rows, n_features), or (n_stored,)
/// with indices (n_stored,) and begin (n_rows + 1,)
struct FeatureRows {
    Size n_rows, n_features;
    const double* values;
    const std::int32_t* indices = nullptr;
    const std::int64_t* begin = nullptr;

    bool is_sparse() const { return begin != nullptr; }
};

/// Which rows are learned from, and by how much.
enum class UpdateRule : std::uint8_t {
    perceptron,     // on a mistake, by eta (Rosenblatt, 1958)
    passive,        // PA-I: as far as the loss asks for, at most C (Crammer et al., 2006)
    passive_slack,  // PA-II: loss / (‖x‖² + 1 / 2C)
};

struct OnlineOptions {
    UpdateRule rule = UpdateRule::perceptron;
    bool regression = false;  // ε-insensitive loss of a number, instead of the hinge loss of ±1
    double step = 1.0;        // eta or C; C may be infinite
    double epsilon = 0.0;
    double l1 = 0.0, l2 = 0.0;  // penalty per step, times eta
    bool fit_intercept = true;
    std::int64_t average_from = -1;  // steps before averaging begins; -1: none
};

/// The weights, and what an epoch carries over to the next.  weights (n_features,); penalty_paid
/// (n_features,) with an L1 penalty; drift (n_features,) with averaging: Σ step · update, so that mean =
/// weights − drift / n
struct OnlineState {
    std::span<double> weights, penalty_paid, drift;
    double intercept = 0.0, intercept_drift = 0.0, penalty_due = 0.0;
    std::int64_t n_steps = 0;
};

struct EpochReport {
    double loss = 0.0;
    std::int64_t n_updates = 0, n_mistakes = 0;
};

/// Visit every row once in a given order.  target (n_rows,): ±1 or numbers; row_weights (n_rows,) or null;
/// squared_norms (n_rows,), or null for the perceptron, which does not need them; order (n_visited,)
EpochReport run_epoch(OnlineState& state, const FeatureRows& rows, const double* target,
                      const double* row_weights, const double* squared_norms,
                      std::span<const std::uint32_t> order, const OnlineOptions& options);

/// ‖x‖² of each row.
std::vector<double> squared_norms(const FeatureRows& rows);

/// A permutation that depends on the seed only.  order (n,): permuted in place
void shuffle_rows(std::span<std::uint32_t> order, std::uint64_t seed);

}  // namespace spinney
