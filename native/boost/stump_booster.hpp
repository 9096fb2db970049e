// Boosted stumps: the best split of all rows under weights that change from round to round.
//
// A round changes only the weights of the rows that the last stump misclassified. The histogram of all rows
// is kept and updated by these changes. Weights are integers, so it is bit for bit the histogram that would
// be built anew, for any number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/thread_pool.hpp"
#include "data/code_matrix.hpp"
#include "split/candidate.hpp"
#include "split/options.hpp"

namespace spinney {

/// Class codes, and weights as copies × size in units, borrowed.  all (n_rows,); a row of 0 copies does not
/// count
struct StumpTarget {
    std::span<const std::int32_t> classes;
    int n_classes = 2;
    std::span<const std::int64_t> copies;
    std::span<const double> sizes;
};

/// A stump and its statistics: of all rows, of child 0 and of child 1.
struct Stump {
    Candidate best;                           // a leaf if no split was found
    std::vector<std::uint64_t> set_bits;      // category set: the categories of child 0
    std::vector<Stat> sums;                   // (3, n_classes): class weights
    std::vector<double> value;                // (3, n_classes): class proportions
    std::array<std::int64_t, 3> n_samples{};  // rows
    std::array<int, 2> prediction{};          // the class that each child predicts
    Stat total = 0, wrong = 0;                // weight of all rows, and of those it misclassifies
};

class StumpBooster {
  public:
    /// options: criterion, categorical_split and n_threads
    StumpBooster(const CodeMatrix& x, const StumpTarget& target, const GrowOptions& options,
                 Interrupt& interrupt);
    ~StumpBooster();

    /// Find the best stump under the current weights.
    const Stump& learn(Interrupt& interrupt);

    /// Multiply the weights of the rows that the last stump misclassified. If the total would leave
    /// [min_total, max_total), scale all weights by a power of two to a total of about 2^fresh.
    void reweight(double factor, double min_total, double max_total, int fresh, Interrupt& interrupt);

    /// The class that the last stump predicts for each row of the table.  -> (n_rows,)
    std::vector<std::int64_t> predictions() const;

    /// The current weights.  -> (n_rows,)
    std::vector<std::int64_t> weights() const;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace spinney
