// Registers Predictor: the trees of an ensemble, packed for prediction.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/ensemble_arrays.hpp"
#include "bindings/predict_call.hpp"
#include "bindings/register.hpp"
#include "predict/predictor.hpp"

using spinney::Interrupt;
using spinney::Predictor;
using spinney::Size;
using spinney::SumPlan;

namespace {

using Numbers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

/// A predictor and the arrays that it reads.
struct BoundPredictor {
    FieldArrays arrays;
    Predictor predictor;

    BoundPredictor(nb::handle ensemble, Size per_round, std::vector<std::int64_t> n_classes)
        : arrays(ensemble), predictor(ensemble_view(arrays, ensemble), per_round, std::move(n_classes)) {}
};

auto sum(BoundPredictor& self, nb::handle input, int n_threads, Size n_rows, Size first_tree, Size n_trees,
         Size n_stages, const std::optional<Numbers>& start) {
    Predictor& predictor = self.predictor;
    PredictCall call(predictor, input, n_rows);
    if (first_tree + n_trees > predictor.n_trees() || n_stages == 0 || n_trees % n_stages != 0)
        throw nb::value_error("the range of trees is out of bounds, or not divided by n_stages");
    if (start && start->size() != call.n_rows() * predictor.n_columns())
        throw nb::value_error("start must have one entry per row and output");
    const SumPlan plan{first_tree, n_trees, n_stages, start ? start->data() : nullptr};
    NewArray<double> out({n_stages, call.n_rows(), predictor.n_columns()});
    call.run([&](const auto& table, Interrupt* i) { predictor.sum(out.data, table, plan, n_threads, i); });
    return out.array;
}

auto apply(BoundPredictor& self, nb::handle input, int n_threads, Size n_rows) {
    PredictCall call(self.predictor, input, n_rows);
    NewArray<std::int32_t> out({call.n_rows(), self.predictor.n_trees()});
    call.run([&](const auto& table, Interrupt* i) { self.predictor.apply(out.data, table, n_threads, i); });
    return out.array;
}

auto values(BoundPredictor& self, nb::handle input, int n_threads, Size n_rows) {
    PredictCall call(self.predictor, input, n_rows);
    NewArray<double> out({call.n_rows(), self.predictor.n_outputs(), self.predictor.width()});
    call.run([&](const auto& table, Interrupt* i) { self.predictor.values(out.data, table, n_threads, i); });
    return out.array;
}

auto classes(BoundPredictor& self, nb::handle input, int n_threads, Size n_rows) {
    PredictCall call(self.predictor, input, n_rows);
    NewArray<std::int64_t> out({call.n_rows(), self.predictor.n_outputs()});
    call.run([&](const auto& table, Interrupt* i) { self.predictor.classes(out.data, table, n_threads, i); });
    return out.array;
}

auto decision_path(BoundPredictor& self, nb::handle input, int n_threads, Size n_rows) {
    PredictCall call(self.predictor, input, n_rows);
    spinney::DecisionPath path;
    call.run(
        [&](const auto& table, Interrupt* i) { path = self.predictor.decision_path(table, n_threads, i); });
    return nb::make_tuple(to_array(std::move(path.indptr)), to_array(std::move(path.indices)),
                          to_array(std::move(path.fractions)));
}

}  // namespace

void register_predict(nb::module_& m) {
    const auto input = "columns"_a;
    const auto n_threads = "n_threads"_a, n_rows = "n_rows"_a;
    nb::class_<BoundPredictor>(m, "Predictor",
                               "The trees of an ensemble, packed for prediction at first use.")
        .def(nb::init<nb::handle, Size, std::vector<std::int64_t>>(), "ensemble"_a, "per_round"_a,
             "n_classes"_a)
        .def_prop_ro("used_features",
                     [](const BoundPredictor& self) { return self.predictor.used_features(); })
        .def("sum", &sum, input, n_threads, n_rows, "first_tree"_a, "n_trees"_a, "n_stages"_a,
             "start"_a.none(), "Return the sums after each stage (n_stages, n_rows, n_columns).")
        .def("apply", &apply, input, n_threads, n_rows,
             "Return the leaf of each row in each tree (n_rows, n_trees).")
        .def("values", &values, input, n_threads, n_rows,
             "Return the values of the first tree (n_rows, n_outputs, width).")
        .def("classes", &classes, input, n_threads, n_rows,
             "Return the class with the largest value of the first tree (n_rows, n_outputs).")
        .def("decision_path", &decision_path, input, n_threads, n_rows,
             "Return indptr, indices and fractions of the nodes that each row visits.");
    m.def(
        "room", [](Size n_bytes) { return NewArray<std::uint8_t>({n_bytes}).array; }, "n_bytes"_a,
        "Return uninitialised memory.");
}
