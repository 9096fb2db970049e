// From codes and a target to a fitted tree.
#include "grow/grow_tree.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "data/code_starts.hpp"
#include "grow/growers.hpp"

namespace spinney {

namespace {

/// A target whose weights are integers if they are multiples of the smallest one, so that a tree does not
/// depend on their unit, not even in how ties are rounded. Other weights and all values are scaled by powers
/// of two where their squares could overflow or vanish.
class ScaledTarget {
  public:
    ScaledTarget(const Target& target, CriterionName criterion)
        : target(target), squares(criterion == CriterionName::squared_error) {
        if (target.weights && !count_rows(target))
            weight_unit = 1.0 / scale(weights_, this->target.weights, target.n_rows);
        if (target.values)
            value_factor =
                scale(values_, this->target.values, target.n_rows * static_cast<Size>(target.n_outputs));
    }

    /// Convert the reported numbers back to their units.
    void restore(FlatTree& tree) const {
        for (double& w : tree.weight) w *= weight_unit;
        if (value_factor == 1.0) return;
        for (double& v : tree.value) v /= value_factor;
        const auto back = [this](double& v) {
            v = std::clamp(squares ? v / value_factor / value_factor : v / value_factor, -DBL_MAX, DBL_MAX);
        };
        for (double& v : tree.impurity) back(v);
        for (LedgerRow& row : tree.ledger) {
            back(row.gain);
            back(row.gain_ratio);
            back(row.score);
        }
    }

    /// Convert an impurity to the units of the scaled values.
    double scale_impurity(double v) const {
        if (!std::isfinite(v)) return v;
        return squares ? v * value_factor * value_factor : v * value_factor;
    }

    Target target;
    bool squares;  // impurities grow with the square of y
    double weight_unit = 1.0, value_factor = 1.0;

  private:
    /// Divide the weights by the smallest one if they are multiples of it. Integers are kept: a row of weight
    /// 3 is then bit for bit the row three times.
    bool count_rows(const Target& given) {
        const double* weights = given.weights;
        if (std::all_of(weights, weights + given.n_rows, detail::is_whole)) return false;
        double least = DBL_MAX, total = 0;
        for (Size r = 0; r < given.n_rows; ++r)
            if (weights[r] > 0) least = std::min(least, weights[r]);
        std::vector<double> counts(given.n_rows);
        for (Size r = 0; r < given.n_rows; ++r) {
            const double ratio = given.weights[r] / least;
            total += counts[r] = std::nearbyint(ratio);
            if (!(std::abs(ratio - counts[r]) <= 1e-12 * ratio && total < 0x1.0p52)) return false;
        }
        weights_ = std::move(counts);
        target.weights = weights_.data();
        weight_unit = least;
        return true;
    }

    static double scale(std::vector<double>& store, const double*& data, Size n) {
        double largest = 0;
        for (Size i = 0; i < n; ++i) largest = std::max(largest, std::abs(data[i]));
        if (largest == 0 || (largest < 0x1.0p200 && largest > 0x1.0p-200)) return 1.0;
        const double factor = std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1020, 1020));
        store.assign(data, data + n);
        for (double& v : store) v *= factor;
        data = store.data();
        return factor;
    }

    std::vector<double> weights_, values_;
};

}  // namespace

/// What all trees share, built by the first that needs it.
struct TreeGrower::Shared {
    struct Tiles {
        std::once_flag built;
        CodeTiles tiles;
    };

    Tiles narrow, wide;

    std::span<const CodeStarts> starts(const CodeMatrix& x) {
        std::call_once(started_, [&] { starts_ = starts_of(x); });
        return starts_;
    }

  private:
    std::once_flag started_;
    std::vector<CodeStarts> starts_;
};

TreeGrower::TreeGrower(const CodeMatrix& x) : x_(x), shared_(std::make_unique<Shared>()) {}
TreeGrower::~TreeGrower() = default;

FlatTree TreeGrower::grow(const Target& target, GrowOptions options, bool exact, Interrupt& interrupt) const {
    GrowMemory memory;
    grow(memory, target, std::move(options), exact, interrupt);
    return std::move(memory.tree);
}

void TreeGrower::grow(GrowMemory& memory, const Target& given, GrowOptions options, bool exact,
                      Interrupt& interrupt) const {
    const ScaledTarget scaled(given, options.criterion);
    const Target& target = scaled.target;
    options.min_weight_leaf /= scaled.weight_unit;
    options.mdl_row_weight /= scaled.weight_unit;
    options.min_impurity_decrease = scaled.scale_impurity(options.min_impurity_decrease);
    options.min_gain = scaled.scale_impurity(options.min_gain);
    const Statistics s = make_statistics(target, options.min_samples_leaf > 1, options.fractional(),
                                         options.criterion != CriterionName::poisson);
    const NodeValues node_values(target, s, options.criterion);
    RowVector<Row> rows(x_.n_rows);
    Size n_rows = 0;
    for (Size r = 0; r < x_.n_rows; ++r) {  // without branches: a bootstrap sample is random
        rows[n_rows] = static_cast<Row>(r);
        n_rows += target.weight(r) > 0;
    }
    double weight = s.weight_unit == 1.0 ? s.total_weight : 0.0;  // whole numbers: the same in any order
    for (Size r = 0; s.weight_unit != 1.0 && r < x_.n_rows; ++r) weight += target.weight(r);
    rows.resize(n_rows);
    GrowContext context{x_, target, s, options, node_values, interrupt, weight};
    const bool histogram = !exact && histogram_grower_supports(context);
    if (histogram && options.random_splitter()) context.starts = shared_->starts(x_);
    for (Fragment& f : memory.fragments) f.clear();
    if (histogram)
        memory.fragments =
            grow_histogram(context, tiles(options), std::move(rows), std::move(memory.fragments));
    else
        memory.fragments = grow_exact(context, {rows.begin(), rows.end()});
    flatten(memory, node_values, target, &interrupt);
    scaled.restore(memory.tree);
}

bool TreeGrower::has_byte_codes() const {
    return std::all_of(x_.columns.begin(), x_.columns.end(),
                       [](const CodeColumn& column) { return column.width == 1; });
}

const CodeTiles& TreeGrower::tiles(const GrowOptions& options) const {
    const bool drawn = static_cast<Size>(options.max_features) < x_.columns.size();
    Shared::Tiles& shared = drawn ? shared_->wide : shared_->narrow;
    std::call_once(shared.built, [&] {
        shared.tiles = make_tiles(x_, drawn ? kWideTileFeatures : kTileFeatures, options.n_threads);
    });
    return shared.tiles;
}

}  // namespace spinney
