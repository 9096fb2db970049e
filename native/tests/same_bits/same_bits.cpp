// Hashes of grown trees, boosted rounds and predictions, which every processor and compiler must reproduce.
//
//     same_bits              print the hashes
//     same_bits hashes.txt   compare them with those of a file
#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include "boost/booster.hpp"
#include "boost/stump_booster.hpp"
#include "grow/grow_forest.hpp"
#include "simd/cpu_level.hpp"
#include "tests/same_bits/exact_table.hpp"
#include "tests/same_bits/joined_trees.hpp"

using namespace spinney;
using same_bits::ExactTable;
using same_bits::Hash;
using same_bits::JoinedTrees;

namespace {

Interrupt none;
std::map<std::string, std::uint64_t> hashes;

/// Hash trees, and what they predict for many new rows and for a few, which takes other layouts. On the rows
/// of the fit, all trees with pure leaves would predict the same.
void add(const std::string& name, const std::vector<FlatTree>& trees, Size per_round) {
    static const ExactTable table(2, 2000);
    Hash hash;
    for (const FlatTree& tree : trees) hash.add(tree);
    hashes[name] = hash.value;
    const JoinedTrees joined(trees, table.columns().size());
    Predictor predictor(joined.view(), per_round);
    Hash predicted;
    for (const Size n : {table.n_rows, Size{3}}) {
        const auto columns = table.columns();
        std::vector<double> out(n * predictor.n_columns());
        predictor.sum(out.data(), {columns, n, false}, {0, trees.size(), 1, nullptr}, 2);
        predicted.add(out);
    }
    hashes[name + " predictions"] = predicted.value;
}

GrowOptions options_of(CriterionName criterion, std::uint64_t seed) {
    GrowOptions o;
    o.criterion = criterion;
    o.seed = o.tie_seed = seed;
    o.n_threads = 2;
    return o;
}

void grow_trees(const ExactTable& table) {
    const CodeMatrix binned = table.codes(255), ranked = table.codes(0);
    const auto grow = [&](const std::string& name, const GrowOptions& o, bool exact = false) {
        const bool classes = o.criterion <= CriterionName::entropy;
        const Target target = classes ? table.class_target() : table.value_target();
        std::vector<FlatTree> trees;
        trees.push_back(TreeGrower(exact ? ranked : binned).grow(target, o, exact, none));
        add(name, trees, 0);
    };
    for (const auto criterion : {CriterionName::gini, CriterionName::entropy, CriterionName::squared_error,
                                 CriterionName::poisson, CriterionName::absolute_error}) {
        const std::string name = spellings<CriterionName>[static_cast<Size>(criterion)];
        GrowOptions o = options_of(criterion, 7);
        grow("tree " + name, o);
        grow("tree on ranks " + name, o, true);
        o.splitter = Splitter::random;
        o.max_features = 2;
        grow("random splits " + name, o);
        o = options_of(criterion, 11);
        o.max_leaf_nodes = 30;
        o.categorical_split = CategorySplit::one_vs_rest;
        grow("best first " + name, o);
        o.oblique_directions = 6;
        o.max_leaf_nodes = 6;
        grow("oblique " + name, o, true);
    }
    GrowOptions c45 = options_of(CriterionName::entropy, 0);
    c45.score = SplitScore::gain_ratio;
    c45.categorical_split = CategorySplit::multiway;
    c45.missing = MissingRule::fractional;
    grow("C4.5", c45, true);
    for (const auto rule : {CostRule::tan, CostRule::tan_linear}) {
        GrowOptions o = options_of(CriterionName::entropy, 0);
        o.cost_rule = rule;
        o.ledger = LedgerLevel::features;
        for (Size f = 0; f < binned.columns.size(); ++f) o.feature_costs.push_back(1.0 + 0.3 * double(f));
        grow(std::string("costs ") + spellings<CostRule>[static_cast<Size>(rule)], o, true);
    }
}

void grow_forests(const ExactTable& table) {
    const CodeMatrix x = table.codes(255);
    const TreeGrower grower(x);
    const BootstrapSampler sampler(table.n_rows, table.n_rows, true, {});
    const std::vector<std::uint64_t> seeds{1, 22, 333, 4444};
    for (const bool classes : {true, false}) {
        GrowOptions o = options_of(classes ? CriterionName::gini : CriterionName::squared_error, 3);
        o.max_features = 3;
        std::vector<FlatTree> trees;
        grow_forest(grower, classes ? table.class_target() : table.value_target(), o, false,
                    {sampler, seeds, seeds}, none,
                    [&](FlatTree&& tree) { trees.push_back(std::move(tree)); });
        add(classes ? "forest of classes" : "forest of values", trees, 0);
    }
}

void boost(const ExactTable& table) {
    const CodeMatrix x = table.codes(255);
    const auto run = [&](const std::string& name, const Loss& loss, BoostOptions o, bool weighted = true) {
        o.n_threads = 2;
        o.max_leaf_nodes = 15;
        o.min_samples_leaf = 5;
        o.l2_regularization = 1;
        const Size n_scores = loss.name == LossName::softmax ? table.n_classes : 1;
        std::vector<double> y = table.values;
        for (Size i = 0; i < y.size(); ++i) {
            if (loss.name == LossName::softmax) y[i] = table.classes[i];
            if (loss.name == LossName::log || loss.name == LossName::exponential) y[i] = table.classes[i] % 2;
        }
        const std::vector<double> scores(table.n_rows * n_scores, 0.25);
        const auto booster = make_booster(x, o);
        booster->set_rows(y.data(), 1, weighted ? table.weights.data() : nullptr, scores.data(), n_scores);
        const std::vector<FlatTree> trees = booster->run(loss, 4, none);
        add("boosting " + name, trees, n_scores);
        Hash hash;
        for (const auto& column : booster->scores()) hash.add(column);
        hash.add(std::vector<double>{booster->mean_loss(loss, nullptr)});
        hashes["boosting " + name + " scores"] = hash.value;
    };
    for (Size i = 0; i < spellings<LossName>.size(); ++i) {
        const auto name = static_cast<LossName>(i);
        const double parameter = name == LossName::tweedie ? 1.5 : name == LossName::quantile ? 0.9 : 1.25;
        run(spellings<LossName>[i],
            {
                name, { parameter }
            },
            {});
    }
    for (Size i = 0; i < spellings<Growth>.size(); ++i) {
        BoostOptions o;
        o.growth = static_cast<Growth>(i);
        o.max_depth = 6;  // fewer leaves than this depth allows: leaf-wise and level-wise differ
        o.monotonic_cst.assign(x.columns.size(), 0);
        o.monotonic_cst[0] = 1;
        run(spellings<Growth>[i], { LossName::log, {0} }, o);
    }
    BoostOptions noisy;
    noisy.growth = Growth::symmetric;
    noisy.max_depth = 6;
    noisy.random_strength = 4;
    run("symmetric with noise", {LossName::log, {0}}, noisy);
    for (Size i = 1; i < spellings<Sampling>.size(); ++i) {
        BoostOptions o;
        o.sampling = static_cast<Sampling>(i);
        o.subsample = 0.6;
        o.colsample_bytree = 0.8;
        o.seed = 5;
        run(std::string("sampling ") + spellings<Sampling>[i], { LossName::squared, {0} }, o);
    }
    run("softmax of equal weights", {LossName::softmax, {0}}, {}, false);
}

void boost_stumps(const ExactTable& table) {
    const CodeMatrix x = table.codes(255);
    const std::vector<std::int64_t> copies(table.n_rows, 1);
    const std::vector<double> sizes(table.n_rows, 1048576.0);
    const StumpTarget target{table.classes, static_cast<int>(table.n_classes), copies, sizes};
    StumpBooster booster(x, target, options_of(CriterionName::gini, 0), none);
    Hash hash;
    for (int round = 0; round < 20; ++round) {
        const Stump& stump = booster.learn(none);
        hash.add(std::vector<double>{stump.best.threshold, double(stump.best.feature)});
        hash.add(stump.sums);
        hash.add(stump.value);
        booster.reweight(1.5, 1e6, 1e15, 40, none);
        hash.add(booster.weights());
    }
    hashes["stumps"] = hash.value;
}

/// The number of hashes that differ from those of a file, each of which is printed.
int compare(const char* path) {
    std::ifstream file(path);
    std::map<std::string, std::uint64_t> expected;
    std::uint64_t value;
    for (std::string name; file >> std::hex >> value && std::getline(file >> std::ws, name);)
        expected[name] = value;
    int n_wrong = 0;
    for (const auto& [name, hash] : hashes) {
        const auto found = expected.find(name);
        if (found != expected.end() && found->second == hash) continue;
        std::printf("differs: %s\n", name.c_str());
        ++n_wrong;
    }
    n_wrong += hashes.size() != expected.size();
    std::printf("%d of %d differ from the %d of %s\n", n_wrong, static_cast<int>(hashes.size()),
                static_cast<int>(expected.size()), path);
    return n_wrong;
}

/// Whether this processor runs the vector level of this program.
bool runs_here() {
    [[maybe_unused]] const std::string best = cpu_level();
#if defined(__AVX512F__)
    return best == "avx512";
#elif defined(__AVX2__)
    return best != "baseline";
#else
    return true;
#endif
}

}  // namespace

int main(int argc, char** argv) {
    if (!runs_here()) return 77;  // skipped
    const ExactTable table(1, 3000);
    grow_trees(table);
    grow_forests(table);
    boost(table);
    boost_stumps(table);
    if (argc > 1) return compare(argv[1]) == 0 ? 0 : 1;
    for (const auto& [name, hash] : hashes)
        std::printf("%016llx %s\n", static_cast<unsigned long long>(hash), name.c_str());
    return 0;
}
