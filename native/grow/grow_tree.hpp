// From codes and a target to a fitted tree: the way in for callers.
#pragma once

#include <mutex>

#include "grow/grow_histogram.hpp"
#include "grow/grow_exact.hpp"

namespace spinney {

namespace detail {

/// A target whose weights and values are brought near 1 by powers of two where their squares could overflow
/// or vanish. Such a factor changes no bit of the tree but the exponents of what is reported.
class ScaledTarget {
  public:
    ScaledTarget(const Target& target, CriterionName criterion)
        : target(target), squares(criterion == CriterionName::squared_error) {
        if (target.weights) weight_factor = scale(weights_, this->target.weights, target.n_rows);
        if (target.values)
            value_factor =
                scale(values_, this->target.values, target.n_rows * static_cast<Size>(target.n_outputs));
    }

    /// Give the reported numbers their own units back.
    void restore(FlatTree& tree) const {
        for (double& w : tree.weight) w /= weight_factor;
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

    /// An impurity in the units of the scaled values.
    double scale_impurity(double v) const {
        if (!std::isfinite(v)) return v;
        return squares ? v * value_factor * value_factor : v * value_factor;
    }

    Target target;
    bool squares;  // impurities grow with the square of y
    double weight_factor = 1.0, value_factor = 1.0;

  private:
    static double scale(std::vector<double>& store, const double*& data, Size n) {
        double most = 0;
        for (Size i = 0; i < n; ++i) most = std::max(most, std::abs(data[i]));
        if (most == 0 || (most < 0x1.0p200 && most > 0x1.0p-200)) return 1.0;
        const double factor = std::ldexp(1.0, std::clamp(-std::ilogb(most), -1020, 1020));
        store.assign(data, data + n);
        for (double& v : store) v *= factor;
        data = store.data();
        return factor;
    }

    std::vector<double> weights_, values_;
};

}  // namespace detail

/// Grows trees on the codes of one table, with what they can share made once. Many threads may call one
/// grower.
class TreeGrower {
  public:
    explicit TreeGrower(const CodeMatrix& x) : x_(x) {}

    /// Grow one tree. `ordered` asks for the general grower; the other takes byte codes and additive criteria
    /// only.
    FlatTree grow(const Target& given, GrowOptions options, bool ordered, Interrupt& interrupt) const {
        const detail::ScaledTarget scaled(given, options.criterion);
        const Target& target = scaled.target;
        if (options.fractional()) {
            // Parts of rows are not counted but weighed; the tolerance keeps thirds that add up to a whole.
            options.min_weight_leaf = std::max(options.min_weight_leaf,
                                               static_cast<double>(options.min_samples_leaf) * (1 - 1e-12));
            options.min_samples_leaf = 1;
        }
        options.min_weight_leaf *= scaled.weight_factor;
        options.min_impurity_decrease = scaled.scale_impurity(options.min_impurity_decrease);
        options.min_gain = scaled.scale_impurity(options.min_gain);
        const Statistics s = make_statistics(target, options.min_samples_leaf > 1, options.fractional(),
                                             options.criterion != CriterionName::poisson);
        const Moments moments(target, s, options.criterion);
        std::vector<Row> rows;
        rows.reserve(x_.n_rows);
        double weight = 0;
        for (Size r = 0; r < x_.n_rows; ++r) {
            if (!(target.weight(r) > 0)) continue;
            rows.push_back(static_cast<Row>(r));
            weight += target.weight(r);
        }
        GrowContext context{x_, target, s, options, moments, interrupt, weight};
        const bool fast = !ordered && HistogramGrower::takes(context);
        if (fast && options.random_splitter()) context.starts = starts();
        FlatTree tree = flatten(fast ? HistogramGrower(context, tiles(options)).grow(std::move(rows))
                                     : OrderedGrower(context).grow(std::move(rows)),
                                moments, target, &interrupt);
        scaled.restore(tree);
        return tree;
    }

    bool has_byte_codes() const {
        return std::all_of(x_.columns.begin(), x_.columns.end(),
                           [](const CodeColumn& column) { return column.width == 1; });
    }

    /// What the fast grower reads, of byte codes. Whoever comes first makes it; the others wait.
    const CodeTiles& tiles(const GrowOptions& options) const {
        const bool drawn = static_cast<Size>(options.max_features) < x_.columns.size();
        Shared& shared = drawn ? wide_ : narrow_;
        std::call_once(shared.made, [&] {
            shared.tiles = tile_codes(x_, drawn ? kWideTileFeatures : kTileFeatures, options.n_threads);
        });
        return shared.tiles;
    }

  private:
    std::span<const CodeStarts> starts() const {
        std::call_once(started_, [&] { starts_ = starts_of(x_); });
        return starts_;
    }

    struct Shared {
        std::once_flag made;
        CodeTiles tiles;
    };

    const CodeMatrix& x_;
    mutable Shared narrow_, wide_;
    mutable std::once_flag started_;
    mutable std::vector<CodeStarts> starts_;
};

/// Grow one tree.
inline FlatTree grow_tree(const CodeMatrix& x, const Target& target, const GrowOptions& options, bool ordered,
                          Interrupt& interrupt) {
    return TreeGrower(x).grow(target, options, ordered, interrupt);
}

}  // namespace spinney
