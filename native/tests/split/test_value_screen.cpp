// The screen of features: scores of its columns against those of every threshold, and their margin.
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/random.hpp"
#include "split/value_screen.hpp"
#include "tests/check.hpp"

using namespace spinney;

namespace {

/// A node of rows with few or many codes per column, some of them missing.
struct DrawnNode {
    static constexpr Size n_columns = 7;
    std::vector<Row> rows;
    std::vector<Stat> stats;  // (n_rows, 2)
    std::array<Stat, 2> total{};
    Tile tile;
    std::array<std::uint8_t, kWideTileFeatures> missing{};

    /// classes: values are those of two classes, else around `shift`
    DrawnNode(Size n, std::uint64_t seed, double shift, bool classes = false) {
        Draws draws(seed);
        tile.n = n_columns;
        tile.codes.resize(n * n_columns + kWideTileFeatures);
        for (Size c = 0; c < n_columns; ++c)
            missing[c] = static_cast<std::uint8_t>(c == 0 ? 0 : c == 1 ? 255 : 1 + draws.below(255));
        for (Size i = 0; i < n; ++i) {
            rows.push_back(static_cast<Row>(i));
            const Stat weight = 1 + draws.below(3);
            const double y = (draws.uniform() - 0.5 + shift) * std::exp2(30.0);
            stats.push_back(weight);
            stats.push_back(weight * (classes ? Stat{draws.below(3) == 0} : static_cast<Stat>(y)));
            total[0] += weight;
            total[1] += stats.back();
            for (Size c = 0; c < n_columns; ++c) {
                const bool known = missing[c] > 0 && (c % 2 == 0 || draws.below(4) > 0);
                tile.codes[i * n_columns + c] =
                    known ? static_cast<std::uint8_t>(draws.below(missing[c])) : missing[c];
            }
        }
    }

    std::uint8_t code(Size i, Size c) const { return tile.codes[i * n_columns + c]; }

    /// The largest decrease of the sum of squares by a split of a column, or −1.
    double best(Size c, Stat min_side) const {
        double out = -1.0;
        for (int threshold = 0; threshold <= missing[c]; ++threshold)
            for (const bool missing_left : {false, true}) {
                double weight = 0, sum = 0;
                for (Size i = 0; i < rows.size(); ++i) {
                    const bool left = code(i, c) == missing[c] ? missing_left : code(i, c) <= threshold;
                    weight += left ? static_cast<double>(stats[2 * i]) : 0.0;
                    sum += left ? static_cast<double>(stats[2 * i + 1]) : 0.0;
                }
                const double all = static_cast<double>(total[0]), rest = all - weight;
                if (weight < static_cast<double>(min_side) || rest < static_cast<double>(min_side)) continue;
                const double distance = sum / weight - (static_cast<double>(total[1]) - sum) / rest;
                out = std::max(out, distance * distance * weight * rest / all);
            }
        return out;
    }
};

bool load(ValueScreen& screen, const DrawnNode& node, Stat min_side) {
    const auto of_row = [&](Size i) { return ValueScreen::Pair{node.stats[2 * i], node.stats[2 * i + 1]}; };
    const auto weight = static_cast<double>(node.total[0]), value = static_cast<double>(node.total[1]);
    return screen.load(node.rows.size(), of_row, {node.total[0], node.total[1]}, min_side,
                       value * value / weight);
}

/// Whether the features that can win are kept, and of the others most are not.
void check_node(ValueScreen& screen, const DrawnNode& node, Stat min_side, Size& n_kept) {
    CHECK(load(screen, node, min_side));
    std::array<double, DrawnNode::n_columns> exact, score;
    for (Size first = 0; first < DrawnNode::n_columns; first += ValueScreen::kColumns) {
        screen.score(node.tile, first, node.rows, node.missing.data() + first);
        for (Size c = first; c < std::min(DrawnNode::n_columns, first + ValueScreen::kColumns); ++c) {
            score[c] = screen.score_of(c - first);
            exact[c] = node.best(c, min_side);
            bool varied = false;
            for (Size i = 0; i < node.rows.size(); ++i) varied |= node.code(i, c) != node.code(0, c);
            CHECK(screen.varied(c - first) == varied);
            CHECK((score[c] < 0) == (exact[c] < 0));
        }
    }
    const double best = *std::max_element(exact.begin(), exact.end());
    const double least = screen.least_of_contenders(*std::max_element(score.begin(), score.end()));
    for (Size c = 0; c < DrawnNode::n_columns; ++c) {
        CHECK(exact[c] < best || score[c] >= least);
        n_kept += score[c] >= least;
    }
}

}  // namespace

TEST(the_screen_keeps_every_feature_that_can_win) {
    ValueScreen screen;
    Size n_kept = 0, n_nodes = 0;
    for (const Size n : {3, 5, 24, 31, 32, 33, 40, 200, 1000})
        for (int round = 0; round < check::rounds(24); ++round)
            for (const Stat min_side : {1, 3}) {
                if (n < 5 && min_side > 1) continue;
                check_node(screen, DrawnNode(n, mix(n, static_cast<std::uint64_t>(round)), 0.0), min_side,
                           n_kept);
                ++n_nodes;
            }
    CHECK(n_kept < 2 * n_nodes);
}

TEST(the_screen_keeps_every_feature_that_can_win_with_two_classes) {
    ValueScreen screen;
    Size n_kept = 0, n_nodes = 0;
    for (const Size n : {20, 32, 40, 200, 900})
        for (int round = 0; round < check::rounds(24); ++round, ++n_nodes)
            check_node(screen, DrawnNode(n, mix(n, static_cast<std::uint64_t>(round)), 0.0, true), 1, n_kept);
    CHECK(n_kept < 3 * n_nodes);
}

TEST(values_far_from_zero_widen_the_margin) {
    // Exact scores are rounded where the mean is large, so features of nearly equal scores must all be kept.
    ValueScreen screen;
    Size near = 0, far = 0;
    for (std::uint64_t round = 0; round < 24; ++round) {
        check_node(screen, DrawnNode(200, round, 0.0), 1, near);
        check_node(screen, DrawnNode(200, round, 0x1.0p20), 1, far);
    }
    CHECK(far > near);
}

TEST(heavy_or_equal_rows_are_not_screened) {
    DrawnNode node(30, 1, 0.0);
    ValueScreen screen;
    node.total[0] = 2048;
    CHECK(!load(screen, node, 1));
    std::fill(node.stats.begin(), node.stats.end(), 1);
    node.total = {30, 30};
    CHECK(!load(screen, node, 1));
}

CHECK_MAIN
