// Registers EnsemblePredictor: all trees of an ensemble, ready to send rows down.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/predict_call.hpp"
#include "bindings/register.hpp"
#include "predict/traverse_ensemble.hpp"

using spinney::EnsembleView;
using spinney::Interrupt;
using spinney::Size;
using spinney::SumPlan;

namespace {

using Numbers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

/// A predictor and the arrays that it reads from.
struct Held {
    FieldArrays arrays;
    spinney::EnsemblePredictor predictor;

    Held(nb::handle ensemble, Size per_round)
        : arrays(ensemble), predictor(view(arrays, ensemble), per_round) {}

    static EnsembleView view(FieldArrays& a, nb::handle ensemble) {
        const nb::object value = ensemble.attr("value");
        const auto shape = nb::cast<std::vector<Size>>(value.attr("shape"));
        const bool narrow = nb::cast<int>(ensemble.attr("missing").attr("itemsize")) == 1;
        return {a.get<std::int64_t>("tree_begin"),
                a.get<std::uint8_t>("kind"),
                a.get<std::int32_t>("feature"),
                a.get<double>("threshold"),
                narrow ? a.get<std::int8_t>("missing") : std::span<const std::int8_t>(),
                narrow ? std::span<const std::int32_t>() : a.get<std::int32_t>("missing"),
                a.get<double>("value"),
                a.get<double>("weight"),
                a.get<std::int64_t>("set_begin"),
                a.get<std::uint64_t>("set_bits"),
                a.get<std::int64_t>("branch_begin"),
                a.get<std::int32_t>("branch_children"),
                a.get<std::int32_t>("branch"),
                a.get<std::int64_t>("term_begin"),
                a.get<std::int32_t>("term_feature"),
                a.get<double>("term_coefficient"),
                a.get<double>("term_fill"),
                nb::cast<Size>(ensemble.attr("n_features")),
                shape.at(1),
                shape.at(2)};
    }
};

auto sum(Held& self, nb::handle input, int n_threads, Size n_rows, Size first_tree, Size n_trees,
         Size n_stages, const std::optional<Numbers>& weights, const std::optional<Numbers>& start) {
    spinney::EnsemblePredictor& predictor = self.predictor;
    PredictCall call(predictor, input, n_rows);
    if (first_tree + n_trees > predictor.n_trees() || n_stages == 0 || n_trees % n_stages != 0)
        throw nb::value_error("there are no such trees");
    if (weights && weights->size() < first_tree + n_trees)
        throw nb::value_error("weights has too few entries");
    if (start && start->size() != call.n_rows() * predictor.n_columns())
        throw nb::value_error("start must have an entry for each row and output");
    const SumPlan plan{first_tree, n_trees, n_stages, weights ? weights->data() : nullptr,
                       start ? start->data() : nullptr};
    NewArray<double> out({n_stages, call.n_rows(), predictor.n_columns()});
    call.run([&](const auto& table, Interrupt* i) { predictor.sum(out.data, table, plan, n_threads, i); });
    return out.array;
}

auto apply(Held& self, nb::handle input, int n_threads, Size n_rows, Size n_trees) {
    spinney::EnsemblePredictor& predictor = self.predictor;
    PredictCall call(predictor, input, n_rows);
    if (n_trees > predictor.n_trees()) throw nb::value_error("there are no such trees");
    NewArray<std::int32_t> out({call.n_rows(), n_trees});
    call.run(
        [&](const auto& table, Interrupt* i) { predictor.apply(out.data, table, n_trees, n_threads, i); });
    return out.array;
}

}  // namespace

void register_ensemble(nb::module_& m) {
    nb::class_<Held>(m, "EnsemblePredictor",
                     "All trees of an ensemble, packed for prediction when first used.")
        .def(nb::init<nb::handle, Size>(), nb::arg("ensemble"), nb::arg("per_round"))
        .def_prop_ro("used_features", [](const Held& self) { return self.predictor.used_features(); })
        .def("sum", &sum, nb::arg("columns"), nb::arg("n_threads"), nb::arg("n_rows"), nb::arg("first_tree"),
             nb::arg("n_trees"), nb::arg("n_stages"), nb::arg("weights").none(), nb::arg("start").none(),
             "Give the sums after each stage (n_stages, n_rows, n_columns).")
        .def("apply", &apply, nb::arg("columns"), nb::arg("n_threads"), nb::arg("n_rows"), nb::arg("n_trees"),
             "Give the node that answers for each row in each tree (n_rows, n_trees).");
    m.def(
        "room", [](Size n_bytes) { return NewArray<std::uint8_t>({n_bytes}).array; }, nb::arg("n_bytes"),
        "Give memory that nobody has touched.");
}
