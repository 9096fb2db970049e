// Tests the search of second-order splits: row weights within packed sums against a list of them, and both
// against every threshold and every set of categories that are neighbours by their ratio.
#include <algorithm>
#include <random>
#include <vector>

#include "split/newton.hpp"
#include "tests/check.hpp"

using namespace spinney;

namespace {

constexpr PackedLayout kWithWeight{12, 26};

/// The histogram of a column in a node: with packed weights, and without them beside a list of weights.
struct Column {
    Size n_bins;
    std::vector<Stat> packed = std::vector<Stat>(256 + 64, 0), plain = packed, weights = packed;
    Stat total_packed = 0, total_plain = 0, weight = 0;

    /// empty: one of so many bins may have rows
    Column(std::mt19937& random, Size n, bool missing, unsigned empty = 1) : n_bins(n) {
        for (Size b = 0; b < n + missing; ++b) {
            const auto rows = random() % empty == 0 ? static_cast<Stat>(random() % 7) : Stat{0};
            if (rows == 0) continue;
            const bool ties = random() % 4 == 0;  // with the other bins that do
            const Stat gradient = ties ? 7 * rows : static_cast<Stat>(random() % 2001) - 1000,
                       hessian = rows * (ties ? 5 : static_cast<Stat>(1 + random() % 50));
            packed[b] = pack(gradient, hessian, rows, kWithWeight);
            plain[b] = pack(gradient, hessian);
            weights[b] = rows;
            total_packed += packed[b];
            total_plain += plain[b];
            weight += rows;
        }
    }

    NewtonNode node(bool has_packed, bool bounded) const {
        NewtonNode out;
        out.layout = has_packed ? kWithWeight : PackedLayout{};
        out.total = has_packed ? total_packed : total_plain;
        out.weight = weight;
        out.min_weight = 20;
        out.l2 = 3;
        out.category_smoothing = 10;
        out.category_l2 = 2;
        out.bounded = bounded;
        out.lower = bounded ? -20 : out.lower;
        out.upper = bounded ? 20 : out.upper;
        out.direction = bounded ? 1 : 0;
        out.base = NewtonSearch::base_quality(out, out.l2);
        return out;
    }
};

void check_same(const NewtonSplit& a, const NewtonSplit& b) {
    CHECK_EQUAL(a.found(), b.found());
    if (!a.found()) return;
    CHECK_EQUAL(a.gain, b.gain);
    CHECK_EQUAL(a.threshold_bin, b.threshold_bin);
    CHECK_EQUAL(a.last, b.last);
    CHECK_EQUAL(a.missing, b.missing);
    CHECK_EQUAL(gradient_of(a.left, kWithWeight), gradient_of(b.left));
    CHECK_EQUAL(hessian_of(a.left, kWithWeight), hessian_of(b.left));
    CHECK(a.sure && b.sure);
}

}  // namespace

TEST(packed_weights_are_those_of_a_list) {
    std::mt19937 random(4);
    NewtonSearch search;
    Size n_found = 0;
    for (int trial = 0; trial < 4000; ++trial) {
        const Column column(random, 1 + random() % (trial % 4 ? trial % 3 ? 8 : 40 : 255), trial % 3 == 0,
                            trial % 8 < 4 ? 1 : 6);
        if (column.weight < 2) continue;
        const NewtonNode with = column.node(true, trial % 5 == 0),
                         without = column.node(false, trial % 5 == 0);
        NewtonSplit a, b;
        search.numeric(a, column.packed.data(), column.n_bins, nullptr, with);
        search.numeric(b, column.plain.data(), column.n_bins, column.weights.data(), without);
        check_same(a, b);
        n_found += a.found();
        search.categorical(a, column.packed.data(), column.n_bins, nullptr, with);
        search.categorical(b, column.plain.data(), column.n_bins, column.weights.data(), without);
        check_same(a, b);
        if (a.found()) CHECK(a.set.bits == b.set.bits && a.seen.bits == b.seen.bits);
    }
    CHECK(n_found > 500);
}

TEST(no_threshold_with_enough_rows_has_a_larger_gain) {
    std::mt19937 random(5);
    NewtonSearch search;
    for (int trial = 0; trial < 500; ++trial) {
        const Column column(random, 1 + random() % 40, false);
        if (column.weight < 2) continue;
        const NewtonNode node = column.node(true, false);
        NewtonSplit found;
        search.numeric(found, column.packed.data(), column.n_bins, nullptr, node);
        double best = kImpossible;
        Stat g = 0, h = 0, w = 0;
        for (Size b = 0; b < column.n_bins; ++b) {
            g += gradient_of(column.plain[b]);
            h += hessian_of(column.plain[b]);
            w += column.weights[b];
            if (std::min(w, column.weight - w) < node.min_weight) continue;
            const double gl = static_cast<double>(g),
                         gr = static_cast<double>(gradient_of(column.total_plain) - g),
                         hl = static_cast<double>(h) + node.l2,
                         hr = static_cast<double>(hessian_of(column.total_plain) - h) + node.l2;
            best = std::max(best, gl * gl / hl + gr * gr / hr - node.base);
        }
        CHECK_EQUAL(found.found(), best > kImpossible);
        if (found.found()) CHECK(std::abs(found.gain - best) <= 1e-9 * (1 + std::abs(best) + node.base));
    }
}

TEST(a_random_threshold_is_any_of_the_node_with_its_own_gain) {
    std::mt19937 random(11);
    NewtonSearch search;
    for (int trial = 0; trial < 40; ++trial) {
        const Column column(random, 3 + random() % 20, trial % 2 == 0);
        NewtonNode node = column.node(false, false);
        node.min_weight = 0;
        node.random = true;
        std::vector<Stat> left_sums;  // of every threshold
        Stat left = 0;
        for (Size b = 0; b < column.n_bins; ++b)
            if (column.plain[b] != 0) left_sums.push_back(left += column.plain[b]);
        const Stat missing = column.plain[column.n_bins];
        if (missing == 0 && !left_sums.empty()) left_sums.pop_back();
        if (left_sums.size() < 2) continue;
        std::vector<int> n_drawn(left_sums.size(), 0);
        constexpr int n_draws = 2000;
        for (int draw = 0; draw < n_draws; ++draw) {
            node.address = static_cast<std::uint64_t>(draw);
            NewtonSplit found;
            search.numeric(found, column.plain.data(), column.n_bins, nullptr, node);
            CHECK(found.found());
            const Stat known = found.left - (found.missing == 0 ? missing : 0);
            const auto at = std::find(left_sums.begin(), left_sums.end(), known) - left_sums.begin();
            CHECK(at < static_cast<long>(left_sums.size()));
            ++n_drawn[static_cast<Size>(at)];
            const auto quality = [&](Stat sum) {
                const double g = static_cast<double>(gradient_of(sum));
                return g * g / (static_cast<double>(hessian_of(sum)) + node.l2);
            };
            const double gain = quality(found.left) + quality(column.total_plain - found.left) - node.base;
            CHECK(std::abs(found.gain - gain) <= 1e-9 * (1 + std::abs(gain) + node.base));
        }
        const int mean = n_draws / static_cast<int>(left_sums.size());
        for (const int n : n_drawn) CHECK(n > mean / 2 && n < 2 * mean);
    }
}

TEST(no_prefix_of_the_categories_by_ratio_has_a_larger_gain) {
    std::mt19937 random(7);
    NewtonSearch search;
    int n_found = 0;
    for (int trial = 0; trial < 1000; ++trial) {
        const Column column(random, 4 + random() % 16, false);
        NewtonNode node = column.node(true, false);
        node.min_weight = 2;
        node.category_smoothing = static_cast<double>(random() % 2 * 10);
        std::vector<std::pair<double, Size>> order;
        for (Size b = 0; b < column.n_bins; ++b)
            if (column.plain[b] != 0)
                order.emplace_back(
                    static_cast<double>(gradient_of(column.plain[b])) /
                        (static_cast<double>(hessian_of(column.plain[b])) + node.category_smoothing),
                    b);
        if (order.size() < 3) continue;
        std::sort(order.begin(), order.end());
        const double l2 = node.l2 + node.category_l2, base = NewtonSearch::base_quality(node, l2);
        double best = kImpossible;
        CodeSet prefix, set;
        Stat left = 0, w = 0;
        for (const auto& [ratio, b] : order) {
            prefix.put(static_cast<Code>(b));
            left += column.plain[b];
            w += column.weights[b];
            if (std::min(w, column.weight - w) < node.min_weight) continue;
            const double gl = static_cast<double>(gradient_of(left)),
                         gr = static_cast<double>(gradient_of(column.total_plain)) - gl,
                         hl = static_cast<double>(hessian_of(left)) + l2,
                         hr = static_cast<double>(hessian_of(column.total_plain) - hessian_of(left)) + l2;
            const double gain = gl * gl / hl + gr * gr / hr - base;
            if (gain > best) set = prefix;
            best = std::max(best, gain);
        }
        NewtonSplit found;
        search.categorical(found, column.packed.data(), column.n_bins, nullptr, node);
        CHECK_EQUAL(found.found(), best > kImpossible);
        if (!found.found()) continue;
        CHECK(std::abs(found.gain - best) <= 1e-9 * (1 + std::abs(best) + base));
        CHECK(found.set.bits == set.bits);
        ++n_found;
    }
    CHECK(n_found > 500);
}

CHECK_MAIN
