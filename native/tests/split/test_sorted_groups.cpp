// The groups of equal code of a node, by histogram and by sorting, against a map.
#include <map>

#include "split/sorted_groups.hpp"
#include "tests/check.hpp"
#include "tests/naive.hpp"

using namespace spinney;
using naive::Sample;

namespace {

template <class T>
CodeColumn make_column(std::mt19937_64& g, Size n, std::uint32_t n_bins, bool missing) {
    CodeColumn column;
    column.width = sizeof(T);
    column.n_bins = n_bins;
    column.has_missing = missing;
    column.bytes.resize(n * sizeof(T));
    for (Size r = 0; r < n; ++r) {
        const auto code = static_cast<T>(missing && g() % 5 == 0 ? n_bins : g() % n_bins);
        std::memcpy(column.bytes.data() + r * sizeof(T), &code, sizeof(T));
    }
    return column;
}

struct Expected {
    std::map<Code, std::vector<Stat>> groups;
    std::vector<Stat> missing;
};

Expected naive_groups(const CodeColumn& column, const NodeRows& node, const Statistics& s) {
    Expected out;
    out.missing.assign(static_cast<Size>(s.width), 0);
    for (Size i = 0; i < node.rows.size(); ++i) {
        const Code code = column.at(node.rows[i]);
        auto& sum = code == column.n_bins ? out.missing : out.groups[code];
        sum.resize(static_cast<Size>(s.width), 0);
        if (node.parts.empty())
            s.add(sum.data(), node.rows[i]);
        else
            s.add_fraction(sum.data(), node.rows[i], node.parts[i]);
    }
    return out;
}

template <class Groups>
void check_groups(Groups& given, const Expected& expected, int width) {
    if (!expected.groups.empty()) CHECK_EQUAL(given.last(), expected.groups.rbegin()->first);
    CategorySums groups;
    collect(groups, given, width);
    CHECK(!given.more());
    CHECK_EQUAL(groups.size(), expected.groups.size());
    if (groups.size() != expected.groups.size()) return;
    Size i = 0;
    for (const auto& [code, sum] : expected.groups) {
        CHECK_EQUAL(groups.code[i], code);
        CHECK(std::equal(sum.begin(), sum.end(), groups.sums.begin() + static_cast<long>(i * sum.size())));
        ++i;
    }
}

template <Layout L>
void check_node(const CodeColumn& column, const NodeRows& node, const Statistics& s) {
    CHECK(s.layout == L);
    const Expected expected = naive_groups(column, node, s);
    CopiedRowStats statistics;
    statistics.gather(s, node);
    SearchScratch scratch;
    with_groups<L>(scratch, column, node.rows, statistics.view(), s, [&](auto& groups) {
        CHECK(scratch.missing == expected.missing);
        check_groups(groups, expected, s.width);
    });
    // Both kinds of groups of the same node, whichever with_groups has chosen.
    std::vector<Stat> table(column.n_bins * static_cast<Size>(s.width), 0);
    std::vector<std::uint64_t> used((column.n_bins + 63) / 64, 0), keys;
    for (const auto& [code, sum] : expected.groups) {
        std::copy(sum.begin(), sum.end(), table.begin() + static_cast<long>(code * sum.size()));
        used[code / 64] |= std::uint64_t{1} << (code % 64);
    }
    for (Size i = 0; i < node.rows.size(); ++i)
        if (column.at(node.rows[i]) != column.n_bins)
            keys.push_back(static_cast<std::uint64_t>(column.at(node.rows[i])) << 32 | i);
    std::sort(keys.begin(), keys.end());
    BinnedGroups dense(table.data(), used, s.width);
    check_groups(dense, expected, s.width);
    SortedGroups<L> sorted(keys, statistics.view(), s.row_width);
    check_groups(sorted, expected, s.width);
}

/// Nodes of every size, of full rows or of fractions.
template <Layout L>
void check_layout(std::uint64_t seed, const Statistics& s, bool parts) {
    std::mt19937_64 g(seed);
    const Size n = 600;
    for (Size size : {1, 2, 30, 600})
        for (std::uint32_t n_bins : {1u, 2u, 63u, 64u, 65u, 255u, 5000u, 100000u})
            for (bool missing : {false, true}) {
                const CodeColumn column = n_bins <= 255 ? make_column<std::uint8_t>(g, n, n_bins, missing)
                                          : n_bins < 65536u
                                              ? make_column<std::uint16_t>(g, n, n_bins, missing)
                                              : make_column<std::uint32_t>(g, n, n_bins, missing);
                std::vector<Row> rows;
                std::vector<Stat> part;
                for (Size i = 0; i < size; ++i) {
                    rows.push_back(static_cast<Row>(size == n ? i : g() % n));
                    if (parts)
                        part.push_back(1 + static_cast<Stat>(g() % static_cast<Size>(s.row_weight(rows[i]))));
                }
                check_node<L>(column, {rows, part}, s);
            }
}

Statistics statistics(int n_classes, int n_outputs, int weighted, bool counts, bool fractional) {
    return make_statistics(Sample(9, 600, n_classes, n_outputs, weighted).target, counts, fractional, true);
}

}  // namespace

TEST(groups_of_two_classes) { check_layout<Layout::packed>(1, statistics(2, 1, 0, true, false), false); }
TEST(groups_of_weighted_classes) {
    check_layout<Layout::by_class>(2, statistics(4, 1, 2, true, false), false);
}
TEST(groups_of_values) { check_layout<Layout::dense>(3, statistics(0, 2, 2, true, false), false); }
TEST(groups_of_many_outputs) { check_layout<Layout::dense>(4, statistics(3, 2, 1, true, false), false); }
TEST(groups_of_fractions_of_classes) {
    check_layout<Layout::by_class>(5, statistics(2, 1, 0, true, true), true);
}
TEST(groups_of_fractions_of_values) { check_layout<Layout::dense>(6, statistics(0, 1, 2, true, true), true); }
TEST(groups_of_fractions_of_outputs) {
    check_layout<Layout::dense>(7, statistics(2, 2, 2, true, true), true);
}

TEST(a_node_whose_values_are_all_missing_has_no_groups) {
    const Statistics s = statistics(2, 1, 0, false, false);
    CodeColumn column;
    column.n_bins = 3;
    column.bytes.assign(600, 3);
    const std::vector<Row> rows{4, 5, 6};
    CopiedRowStats statistics;
    statistics.gather(s, {rows, {}});
    SearchScratch scratch;
    with_groups<Layout::packed>(scratch, column, rows, statistics.view(), s, [&](auto& groups) {
        CHECK(!groups.more());
        CHECK_EQUAL(s.weight_steps(scratch.missing.data()), 3);
        Code code = 7;
        Stat sum = 0;
        CHECK(!groups.next(code, &sum));
    });
}

CHECK_MAIN
