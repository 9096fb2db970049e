// A table made from integers alone, the same with every C++ library, and a hash of results.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "data/binning.hpp"
#include "grow/flat_tree.hpp"
#include "split/statistics.hpp"

namespace same_bits {

using namespace spinney;

/// FNV-1a over the bytes of arrays and their lengths.
struct Hash {
    std::uint64_t value = 0xcbf29ce484222325;

    void add_bytes(const void* data, Size n) {
        const auto* bytes = static_cast<const unsigned char*>(data);
        for (Size i = 0; i < n; ++i) value = (value ^ bytes[i]) * 0x100000001b3;
    }

    template <class T>
    void add(const std::vector<T>& array) {
        const std::uint64_t n = array.size();
        add_bytes(&n, sizeof n);
        add_bytes(array.data(), n * sizeof(T));
    }

    void add(const FlatTree& t) {
        add(t.kind);
        for (const auto* a :
             {&t.feature, &t.first_child, &t.n_children, &t.missing, &t.branch, &t.term_feature})
            add(*a);
        for (const auto* a :
             {&t.threshold, &t.weight, &t.impurity, &t.value, &t.term_coefficient, &t.term_fill})
            add(*a);
        for (const auto* a : {&t.n_samples, &t.set_begin, &t.branch_begin, &t.term_begin}) add(*a);
        add(t.set_bits);
        for (const LedgerRow& row : t.ledger)
            add(std::vector<double>{double(row.node), double(row.feature), row.threshold, row.gain,
                                    row.gain_ratio, row.score});
    }
};

/// Numeric and categorical columns with missing values, targets of both kinds, weights.
struct ExactTable {
    static constexpr Size n_classes = 3;

    Size n_rows;
    std::vector<std::vector<double>> numeric;
    std::vector<std::vector<float>> single;
    std::vector<std::vector<std::int32_t>> categories;
    std::vector<std::uint32_t> n_categories{5, 30};
    std::vector<std::int32_t> classes;
    std::vector<double> values, weights;

    ExactTable(std::uint64_t seed, Size n) : n_rows(n), numeric(4), single(2), categories(2) {
        std::mt19937_64 random(seed);
        const double nan = std::numeric_limits<double>::quiet_NaN();
        const auto number = [&](std::uint64_t steps) {  // within ±4
            return static_cast<double>(random() % (2 * steps + 1)) / double(steps) * 4 - 4;
        };
        for (Size i = 0; i < n; ++i) {
            double sum = 0;
            for (Size f = 0; f < numeric.size(); ++f) {
                const double v = number(f == 3 ? 8 : 1 << 20);
                numeric[f].push_back(f == 1 && random() % 7 == 0 ? nan : v);
                sum += f < 2 ? v : 0;
            }
            for (auto& column : single) column.push_back(static_cast<float>(number(1 << 12)));
            for (Size f = 0; f < categories.size(); ++f) {
                const auto c = static_cast<std::int32_t>(random() % n_categories[f]);
                categories[f].push_back(random() % 9 == 0 ? -1 : c);
                sum += c % 3;
            }
            sum += number(1 << 20) / 4;
            values.push_back(sum < 0 ? -sum : sum + 0.125);
            classes.push_back(static_cast<std::int32_t>(values.back() * 1.5) % std::int32_t{n_classes});
            weights.push_back(0.25 + static_cast<double>(random() % 64) / 32);
        }
    }

    std::vector<InputColumn> columns() const {
        using Type = InputColumn::Type;
        std::vector<InputColumn> out;
        for (const auto& c : numeric) out.push_back({Type::f64, c.data(), sizeof(double), 0});
        for (const auto& c : single) out.push_back({Type::f32, c.data(), sizeof(float), 0});
        for (Size f = 0; f < categories.size(); ++f)
            out.push_back({Type::category, categories[f].data(), sizeof(std::int32_t), n_categories[f]});
        return out;
    }

    CodeMatrix codes(std::uint32_t max_bins) const {
        Interrupt none;
        return build_codes(columns(), n_rows, weights.data(), max_bins, 2, none);
    }

    Target class_target() const {
        Target target;
        target.n_rows = n_rows;
        target.n_outputs = 1;
        target.task = Task::classification;
        target.n_classes = {static_cast<int>(n_classes)};
        target.classes = classes.data();
        target.weights = weights.data();
        return target;
    }

    Target value_target() const {
        Target target;
        target.n_rows = n_rows;
        target.n_outputs = 1;
        target.task = Task::regression;
        target.values = values.data();
        target.weights = weights.data();
        return target;
    }
};

}  // namespace same_bits
