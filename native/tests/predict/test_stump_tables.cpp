// Tests tables of additive stumps against evaluating one stump after another.
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "predict/stump_tables.hpp"
#include "tests/check.hpp"

using namespace spinney;

TEST(tables_sum_the_stumps_of_each_value) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (Size m : {1, 3, 47, 48, 49, 200}) {
        std::vector<double> thresholds(m), sums((m + 2) * 2), category_sums{10, 11, 20, 21, 90, 91};
        for (Size i = 0; i < m; ++i) thresholds[i] = static_cast<double>(i);
        for (Size i = 0; i < sums.size(); ++i) sums[i] = static_cast<double>(i);
        const std::vector<double> base{0.5, 0.25};
        const std::vector<FeatureTable> views{{0, false, thresholds, sums}, {2, true, {}, category_sums}};
        const StumpTables tables(base, views, 3);
        std::vector<double> x{nan, -1.0, 0.0, 0.5};
        for (Size i = 0; i < 600; ++i) x.push_back(static_cast<double>(i) / 3);
        std::vector<std::int32_t> c(x.size(), 0);
        c[1] = 1;
        c[2] = -1;
        c[3] = 7;  // an unseen category
        const std::vector<InputColumn> columns{
            {InputColumn::Type::f64, x.data(), 8, 0}, {}, {InputColumn::Type::category, c.data(), 4, 2}};
        std::vector<double> out(x.size() * 2);
        tables.sum(out.data(), {columns, x.size(), false}, 2, nullptr);
        for (Size i = 0; i < x.size(); ++i) {
            Size at = m + 1;
            if (x[i] == x[i])
                at = static_cast<Size>(std::count_if(thresholds.begin(), thresholds.end(),
                                                     [&](double t) { return !(x[i] <= t); }));
            const Size category = c[i] < 0 || c[i] > 1 ? 2 : static_cast<Size>(c[i]);
            for (Size k = 0; k < 2; ++k)
                CHECK_EQUAL(out[i * 2 + k], base[k] + sums[at * 2 + k] + category_sums[category * 2 + k]);
        }
    }
}

TEST(tables_that_do_not_fit_together_are_refused) {
    const std::vector<double> base{0.0}, thresholds{1.0, 2.0}, sums{1, 2, 3, 4}, unsorted{2.0, 1.0};
    for (const FeatureTable& table : {FeatureTable{3, false, thresholds, sums},
                                      {0, true, thresholds, sums},
                                      {0, false, unsorted, sums},
                                      {0, false, thresholds, thresholds}})
        CHECK_THROWS(StumpTables(base, {&table, 1}, 3), std::invalid_argument);
}

CHECK_MAIN
