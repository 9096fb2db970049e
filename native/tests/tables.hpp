// Random tables and targets for the kernel tests.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "data/binning.hpp"
#include "split/options.hpp"
#include "split/statistics.hpp"

namespace tables {

using namespace spinney;

/// A table with numeric and categorical columns, some of them coarse, some with missing values.
struct Table {
    Size n_rows = 0;
    std::vector<std::vector<double>> numeric;
    std::vector<std::vector<std::int32_t>> categories;
    std::vector<std::uint32_t> n_categories;

    Table(std::uint64_t seed, Size n, Size n_numeric, Size n_categorical, bool missing) : n_rows(n) {
        std::mt19937_64 g(seed);
        std::normal_distribution<double> normal;
        const auto lost = [&] { return missing && g() % 7 == 0; };
        for (Size f = 0; f < n_numeric; ++f) {
            auto& column = numeric.emplace_back(n);
            const double grain = f % 3 == 0 ? 0.0 : f % 3 == 1 ? 0.5 : 2.0;
            for (auto& v : column) {
                v = normal(g);
                if (grain > 0) v = std::round(v / grain) * grain;
                if (lost()) v = std::numeric_limits<double>::quiet_NaN();
            }
        }
        for (Size f = 0; f < n_categorical; ++f) {
            const std::uint32_t levels = f % 2 == 0 ? 4 : 40;
            auto& column = categories.emplace_back(n);
            n_categories.push_back(levels);
            for (auto& v : column) v = lost() ? -1 : static_cast<std::int32_t>(g() % levels);
        }
    }

    CodeMatrix codes(std::uint32_t max_bins, const double* weights = nullptr) const {
        std::vector<InputColumn> columns;
        for (const auto& c : numeric)
            columns.push_back({InputColumn::Type::f64, c.data(), sizeof(double), 0});
        for (Size f = 0; f < categories.size(); ++f)
            columns.push_back(
                {InputColumn::Type::category, categories[f].data(), sizeof(std::int32_t), n_categories[f]});
        Interrupt none;
        return build_codes(columns, n_rows, weights, max_bins, 1, none);
    }

    /// A signal in the first columns that missing values and categories share.
    double signal(Size row) const {
        double sum = 0;
        for (Size f = 0; f < numeric.size() && f < 3; ++f)
            sum += std::isnan(numeric[f][row]) ? 0.7 : numeric[f][row];
        for (Size f = 0; f < categories.size() && f < 2; ++f) sum += categories[f][row] % 3;
        return sum;
    }
};

/// A target with its storage.
struct Goal {
    std::vector<std::int32_t> classes;
    std::vector<double> values, weights;
    Target target;

    Goal(const Table& table, std::uint64_t seed, int n_classes /* 0: regression */, int n_outputs,
         bool weighted) {
        std::mt19937_64 g(seed);
        std::normal_distribution<double> noise(0, 0.5);
        target.n_rows = table.n_rows;
        target.n_outputs = n_outputs;
        target.task = n_classes ? Task::classification : Task::regression;
        for (Size r = 0; r < table.n_rows; ++r)
            for (int o = 0; o < n_outputs; ++o) {
                const double v = table.signal(r) * (o + 1) + noise(g);
                values.push_back(std::abs(v));
                classes.push_back(static_cast<std::int32_t>(std::abs(v) * 1.3) % std::max(1, n_classes));
            }
        if (weighted)
            for (Size r = 0; r < table.n_rows; ++r)
                weights.push_back(g() % 5 == 0 ? 0.0 : 0.1 + static_cast<double>(g() % 100) / 37);
        if (n_classes) target.n_classes.assign(static_cast<Size>(n_outputs), n_classes);
        target.classes = n_classes ? classes.data() : nullptr;
        target.values = n_classes ? nullptr : values.data();
        target.weights = weighted ? weights.data() : nullptr;
    }
};

}  // namespace tables
