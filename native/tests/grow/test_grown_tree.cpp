// The grown tree: flattening the same tree divided into fragments in many ways, and what splits write into
// nodes.
#include <cstring>

#include "grow/grown_tree.hpp"
#include "tests/check.hpp"
#include "tests/naive.hpp"

using namespace spinney;
using naive::Sample;

namespace {

constexpr int kCategories = 70;  // more than one word of a set

CodeMatrix categories() {
    CodeColumn column;
    column.kind = ColumnKind::categorical;
    column.n_bins = 5;
    for (std::uint32_t c = 0; c < kCategories; ++c) column.bin_of_category.push_back(c % 5);
    return {0, std::vector<CodeColumn>(9, column)};
}

/// A random tree as plain objects, before it is divided into fragments.
struct Plain {
    Candidate split;
    std::vector<Row> rows;
    std::vector<Plain> children;
    int ledger_rows = 0;
};

Plain random_tree(std::mt19937_64& g, std::vector<Row> rows, int depth) {
    Plain out;
    out.ledger_rows = static_cast<int>(g() % 3);
    out.rows = std::move(rows);
    if (depth == 0 || out.rows.size() < 4 || g() % 6 == 0) return out;
    out.split.kind = static_cast<SplitKind>(1 + g() % 4);
    out.split.feature = out.split.kind == SplitKind::linear ? -1 : static_cast<std::int32_t>(g() % 9);
    out.split.threshold = static_cast<double>(g() % 100);
    out.split.missing = static_cast<std::int32_t>(g() % 2);
    Size n = 2;
    if (out.split.kind == SplitKind::multiway) {
        n = 2 + g() % 3;
        for (Code c = 0; c < n; ++c) out.split.bins.push_back(c);
    } else if (out.split.kind == SplitKind::category_set) {
        out.split.bins = {static_cast<Code>(g() % 3)};
        out.split.seen = {0, 1, 2, 3};
    } else if (out.split.kind == SplitKind::linear) {
        for (Size t = 0; t < 1 + g() % 3; ++t)
            out.split.terms.push_back({static_cast<std::int32_t>(t), 0.5, 1.0});
    }
    std::vector<std::vector<Row>> parts(n);
    for (Size i = 0; i < out.rows.size(); ++i) parts[i % n].push_back(out.rows[i]);
    for (auto& part : parts) out.children.push_back(random_tree(g, std::move(part), depth - 1));
    return out;
}

/// Writes a plain tree into fragments, divided at random nodes.
class Writer {
  public:
    Writer(const NodeValues& node_values, std::uint64_t seed, int one_in)
        : values_(node_values), g_(seed), one_in_(one_in) {
        fragments.resize(1);
        fragments[0].add(1);
    }
    std::vector<Fragment> fragments;

    void write(const Plain& tree, Size fragment = 0, Node node = 0) {
        if (one_in_ && g_() % static_cast<Size>(one_in_) == 0) {
            fragments[fragment].nodes[static_cast<Size>(node)].fragment =
                static_cast<std::int32_t>(fragments.size());
            fragment = fragments.size();
            node = fragments.emplace_back().add(1);
        }
        Fragment& f = fragments[fragment];
        const auto at = static_cast<Size>(node);
        f.nodes[at].n_samples = static_cast<std::uint32_t>(tree.rows.size());
        for (int i = 0; i < tree.ledger_rows; ++i) f.ledger.push_back({node, i, 0.5, 0.1, 0.2, 0.3, i == 0});
        if (tree.children.empty() || !values_.mergeable()) write_values(f, node, {tree.rows, {}});
        if (tree.children.empty()) return;
        f.set_split(node, tree.split, categories());
        const Node first = f.nodes[at].first_child;
        for (Size c = 0; c < tree.children.size(); ++c)
            write(tree.children[c], fragment, first + static_cast<Node>(c));
    }

  private:
    void write_values(Fragment& f, Node node, const NodeRows& rows) {
        if (!values_.exact()) return values_.from_rows(f.add_values(node, values_.size()), rows);
        std::vector<double> classes(static_cast<Size>(values_.size()));
        values_.from_rows(classes.data(), rows);
        f.add_classes(node, classes);
    }

    const NodeValues& values_;
    std::mt19937_64 g_;
    int one_in_;
};

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

void check_same(const FlatTree& a, const FlatTree& b) {
    CHECK(same(a.kind, b.kind) && same(a.feature, b.feature) && same(a.first_child, b.first_child));
    CHECK(same(a.n_children, b.n_children) && same(a.missing, b.missing) && same(a.threshold, b.threshold));
    CHECK(same(a.weight, b.weight) && same(a.impurity, b.impurity) && same(a.value, b.value));
    CHECK(same(a.n_samples, b.n_samples) && same(a.set_begin, b.set_begin) && same(a.set_bits, b.set_bits));
    CHECK(same(a.branch_begin, b.branch_begin) && same(a.branch, b.branch) &&
          same(a.term_begin, b.term_begin));
    CHECK(same(a.term_feature, b.term_feature) && same(a.term_coefficient, b.term_coefficient));
    CHECK(same(a.term_fill, b.term_fill));
    CHECK_EQUAL(a.ledger.size(), b.ledger.size());
    for (Size i = 0; i < std::min(a.ledger.size(), b.ledger.size()); ++i)
        CHECK(a.ledger[i].node == b.ledger[i].node && a.ledger[i].feature == b.ledger[i].feature &&
              a.ledger[i].chosen == b.ledger[i].chosen);
}

/// Number of entries of a node in a pool; no offsets: no node has any.
std::int64_t length(const std::vector<std::int64_t>& begin, Size node) {
    return begin.empty() ? 0 : begin[node + 1] - begin[node];
}

/// Breadth first: levels one after the other, children in a row, the plain tree node for node.
void check_order(const FlatTree& flat, const Plain& tree, const NodeValues& node_values) {
    std::vector<const Plain*> order{&tree};
    for (Size i = 0; i < order.size(); ++i) {
        const Plain& p = *order[i];
        CHECK_EQUAL(flat.n_samples[i], static_cast<std::int64_t>(p.rows.size()));
        CHECK_EQUAL(flat.n_children[i], static_cast<std::int32_t>(p.children.size()));
        CHECK_EQUAL(flat.first_child[i], p.children.empty() ? -1 : static_cast<std::int32_t>(order.size()));
        CHECK_EQUAL(flat.kind[i], static_cast<std::uint8_t>(p.split.kind));
        CHECK_EQUAL(length(flat.term_begin, i), static_cast<std::int64_t>(p.split.terms.size()));
        CHECK_EQUAL(length(flat.branch_begin, i), p.split.kind == SplitKind::multiway ? kCategories : 0);
        CHECK_EQUAL(length(flat.set_begin, i), p.split.kind == SplitKind::category_set ? 2 : 0);
        std::vector<double> own(static_cast<Size>(node_values.size()));
        node_values.from_rows(own.data(), {p.rows, {}});
        CHECK_CLOSE(flat.weight[i], node_values.weight(own.data()), 1e-12 * flat.weight[0]);
        CHECK_CLOSE(flat.impurity[i], node_values.impurity(own.data()), 1e-11);
        for (const Plain& child : p.children) order.push_back(&child);
    }
    CHECK_EQUAL(flat.kind.size(), order.size());
    Size row = 0;
    for (Size i = 0; i < order.size(); ++i)
        for (int k = 0; k < order[i]->ledger_rows; ++k, ++row) {
            CHECK_EQUAL(flat.ledger[row].node, static_cast<std::int32_t>(i));
            CHECK_EQUAL(flat.ledger[row].feature, k);
        }
    CHECK_EQUAL(flat.ledger.size(), row);
}

void check_fragments(CriterionName criterion, int n_classes) {
    GrowMemory reused;  // has the arrays of the trees before, larger and smaller ones
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        std::mt19937_64 g(seed);
        const Sample sample(seed, 200, n_classes, 1, 2);
        const Statistics s = make_statistics(sample.target, false, false, true);
        const NodeValues node_values(sample.target, s, criterion);
        std::vector<Row> rows;
        for (Row r = 0; r < 200; ++r) rows.push_back(r);
        const Plain tree = random_tree(g, rows, 5);
        Writer whole(node_values, seed, 0);
        whole.write(tree);
        const FlatTree expected = flatten(whole.fragments, node_values, sample.target);
        check_order(expected, tree, node_values);
        for (int one_in : {1, 2, 4, 10}) {
            Writer divided(node_values, seed + 100, one_in);
            divided.write(tree);
            check_same(flatten(divided.fragments, node_values, sample.target), expected);
            reused.fragments = divided.fragments;
            flatten(reused, node_values, sample.target);
            check_same(reused.tree, expected);
        }
    }
}

bool bit(const std::vector<std::uint64_t>& bits, Size i) { return bits[i / 64] >> (i % 64) & 1; }

}  // namespace

TEST(fragments_do_not_show_with_classes) { check_fragments(CriterionName::entropy, 3); }
TEST(fragments_do_not_show_with_shares) {
    for (const int n_classes : {2, 3, 7, 8, 9, 31}) check_fragments(CriterionName::gini, n_classes);
}
TEST(fragments_do_not_show_with_means) { check_fragments(CriterionName::squared_error, 0); }
TEST(fragments_do_not_show_with_medians) { check_fragments(CriterionName::absolute_error, 0); }

TEST(unseen_categories_go_to_the_given_side) {
    const CodeMatrix x = categories();
    for (const bool unseen_left : {true, false}) {
        Fragment f;
        f.add(1);
        Candidate c;
        c.kind = SplitKind::category_set;
        c.feature = 3;
        c.unseen_left = unseen_left;
        c.bins = {1, 3};
        c.seen = {0, 1, 3};
        f.set_split(0, c, x);
        CHECK_EQUAL(f.nodes.size(), Size{3});
        CHECK_EQUAL(f.nodes[0].first_child, 1);
        CHECK_EQUAL(f.nodes[0].n_children, 2);
        CHECK_EQUAL(f.sets[0].size(), Size{2});
        for (Size k = 0; k < kCategories; ++k) {
            const Size bin = k % 5;
            const bool left = bin == 1 || bin == 3 || (bin != 0 && unseen_left);
            CHECK_EQUAL(bit(f.sets[0], k), left);
        }
        for (Size k = kCategories; k < 64 * f.sets[0].size(); ++k) CHECK(!bit(f.sets[0], k));
    }
}

TEST(branches_name_the_child_of_each_category) {
    Fragment f;
    f.add(1);
    Candidate c;
    c.kind = SplitKind::multiway;
    c.feature = 0;
    c.bins = {0, 2, 4};
    f.set_split(0, c, categories());
    CHECK_EQUAL(f.nodes.size(), Size{4});
    const std::int32_t child_of_bin[] = {0, -1, 1, -1, 2};
    for (Size k = 0; k < kCategories; ++k) CHECK_EQUAL(f.branches[0][k], child_of_bin[k % 5]);
}

TEST(monotonic_bounds_reach_the_values) {
    const Sample sample(1, 10, 0, 1, 0);
    const Statistics s = make_statistics(sample.target, false, false, true);
    const NodeValues node_values(sample.target, s, CriterionName::squared_error);
    std::vector<Fragment> fragments(1);
    fragments[0].add(1);
    const std::vector<Row> rows{0, 1, 2};
    node_values.from_rows(fragments[0].add_values(0, node_values.size()), {rows, {}});
    fragments[0].set_bounds(0, 50.0, 100.0);
    CHECK_EQUAL(flatten(fragments, node_values, sample.target).value[0], 50.0);
}

CHECK_MAIN
