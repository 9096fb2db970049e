// The growers: options in as a dict of GrowPlan's fields, fitted arrays out as a dict of TreeArrays' fields.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "grow_tree.hpp"
#include "interrupt.hpp"
#include "options_dict.hpp"
#include "register.hpp"
#include "tree_dict.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace spinney {
namespace {

using ClassArray = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using ValueArray = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using SignVector = nb::ndarray<const std::int8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

GrowOptions read_options(const nb::dict& d) {
    GrowOptions o;
    o.criterion = one_of<CriterionName>({{"gini", CriterionName::gini},
                                         {"entropy", CriterionName::entropy},
                                         {"squared_error", CriterionName::squared_error},
                                         {"poisson", CriterionName::poisson},
                                         {"absolute_error", CriterionName::absolute_error}},
                                        d["criterion"], CriterionName::gini);
    o.gain_ratio = one_of<bool>({{"gain", false}, {"gain_ratio", true}}, d["score"], false);
    o.random_splitter = one_of<bool>({{"best", false}, {"random", true}}, d["splitter"], false);
    o.categories = one_of<CategorySplit>({{"subset", CategorySplit::subset},
                                          {"one-vs-rest", CategorySplit::one_vs_rest},
                                          {"multiway", CategorySplit::multiway}},
                                         d["categories"], CategorySplit::subset);
    o.fractional = one_of<bool>({{"direction", false}, {"fractional", true}}, d["missing"], false);
    o.use_once = nb::cast<bool>(d["use_categories_once"]);
    o.oblique_directions = limit<int>(d["oblique_directions"]);
    o.max_depth = limit<int>(d["max_depth"]);
    o.min_samples_split = limit<Size>(d["min_samples_split"]);
    o.min_samples_leaf = limit<Size>(d["min_samples_leaf"]);
    o.min_weight_leaf = nb::cast<double>(d["min_weight_leaf"]);
    o.min_impurity_decrease = nb::cast<double>(d["min_impurity_decrease"]);
    o.min_gain = nb::cast<double>(d["min_gain"]);
    o.best_first = !d["max_leaf_nodes"].is_none();
    if (o.best_first) o.max_leaf_nodes = limit<Size>(d["max_leaf_nodes"]);
    o.max_features = limit<int>(d["max_features"]);
    o.cost_rule = one_of<CostRule>(
        {{"tan", CostRule::tan}, {"tan-linear", CostRule::tan_linear}, {"nunez", CostRule::nunez}},
        d["cost_rule"], CostRule::none);
    o.omega = nb::cast<double>(d["omega"]);
    if (!d["feature_costs"].is_none()) {
        const auto costs = nb::cast<Vector>(d["feature_costs"]);
        o.costs.assign(costs.data(), costs.data() + costs.size());
    }
    if (!d["monotone"].is_none()) {
        const auto signs = nb::cast<SignVector>(d["monotone"]);
        o.monotone.assign(signs.data(), signs.data() + signs.size());
    }
    o.seed = nb::cast<std::uint64_t>(d["seed"]);
    o.n_threads = limit<int>(d["n_threads"]);
    o.ledger = one_of<LedgerLevel>({{"off", LedgerLevel::off},
                                    {"features", LedgerLevel::features},
                                    {"thresholds", LedgerLevel::thresholds}},
                                   d["ledger"], LedgerLevel::off);
    return o;
}

Target read_target(const std::optional<ClassArray>& classes, std::vector<int> n_classes,
                   const std::optional<ValueArray>& values, const std::optional<Vector>& weights) {
    Target t;
    if (classes) {
        t.task = Task::classification;
        t.n_rows = classes->shape(0);
        t.n_outputs = static_cast<int>(classes->shape(1));
        t.classes = classes->data();
        t.n_classes = std::move(n_classes);
    } else {
        t.task = Task::regression;
        t.n_rows = values->shape(0);
        t.n_outputs = static_cast<int>(values->shape(1));
        t.values = values->data();
    }
    if (weights) t.weights = weights->data();
    return t;
}

/// Check what a wrong call from Python could break.
void check(const CodeMatrix& x, const Target& t, const GrowOptions& o, const std::optional<Vector>& weights) {
    const auto d = x.columns.size();
    if (t.n_rows != x.n_rows || (weights && weights->size() != x.n_rows))
        throw nb::value_error("the target and the weights must have one entry for each row of the matrix");
    if (x.n_rows > std::numeric_limits<Row>::max()) throw nb::value_error("more than 2^32 - 1 rows");
    if (t.task == Task::classification && t.n_classes.size() != static_cast<Size>(t.n_outputs))
        throw nb::value_error("n_classes must name the classes of each output");
    if (t.task == Task::classification)
        for (Size i = 0; i < t.n_rows * static_cast<Size>(t.n_outputs); ++i)
            if (t.classes[i] < 0 || t.classes[i] >= t.n_classes[i % static_cast<Size>(t.n_outputs)])
                throw nb::value_error("a class code is out of range");
    if (t.max_classes() > std::numeric_limits<std::uint16_t>::max())
        throw nb::value_error("more than 65535 classes");
    if (o.cost_rule != CostRule::none && o.costs.size() != d)
        throw nb::value_error("one cost for each feature");
    if (!o.monotone.empty() && o.monotone.size() != d)
        throw nb::value_error("one direction for each feature");
    if (o.n_threads < 1) throw nb::value_error("n_threads must be positive");
}

nb::dict grow(const CodeMatrix& x, const std::optional<ClassArray>& classes, std::vector<int> n_classes,
              const std::optional<ValueArray>& values, const std::optional<Vector>& weights,
              const nb::dict& options) {
    if (classes.has_value() == values.has_value()) throw nb::value_error("give classes or values");
    const GrowOptions o = read_options(options);
    const Target target = read_target(classes, std::move(n_classes), values, weights);
    check(x, target, o, weights);
    const bool ordered = nb::cast<bool>(options["ordered"]);
    FlatTree tree;
    run_interruptible([&](Interrupt& interrupt) { tree = grow_tree(x, target, o, ordered, interrupt); });
    return write_tree(std::move(tree));
}

}  // namespace
}  // namespace spinney

void register_grow(nb::module_& m) {
    m.def("grow", &spinney::grow, "matrix"_a, "classes"_a.none(), "n_classes"_a, "values"_a.none(),
          "weights"_a.none(), "options"_a);
}
