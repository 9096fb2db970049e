// Registers Predictor: one fitted tree, ready to send rows down.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/predict_call.hpp"
#include "bindings/register.hpp"
#include "predict/traverse.hpp"

using spinney::Interrupt;
using spinney::Predictor;
using spinney::Size;

namespace {

spinney::TreeView view_of(FieldArrays& a, nb::handle tree) {
    return {a.get<std::uint8_t>("kind"),
            a.get<std::int32_t>("feature"),
            a.get<double>("threshold"),
            a.get<std::int32_t>("first_child"),
            a.get<std::int32_t>("n_children"),
            a.get<std::int32_t>("missing"),
            a.get<double>("weight"),
            a.get<std::int64_t>("set_begin"),
            a.get<std::uint64_t>("set_bits"),
            a.get<std::int64_t>("branch_begin"),
            a.get<std::int32_t>("branch"),
            a.get<std::int64_t>("term_begin"),
            a.get<std::int32_t>("term_feature"),
            a.get<double>("term_coefficient"),
            a.get<double>("term_fill"),
            nb::cast<Size>(tree.attr("n_features"))};
}

void construct(Predictor* self, nb::handle tree, const std::vector<std::int64_t>& n_classes) {
    FieldArrays arrays(tree);
    const auto value =
        nb::cast<nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>>(tree.attr("value"));
    new (self) Predictor(view_of(arrays, tree), {value.data(), value.size()}, value.shape(1), value.shape(2),
                         n_classes);
}

auto values(const Predictor& self, nb::handle input, int n_threads, std::optional<Size> n_rows) {
    PredictCall call(self, input, n_rows);
    NewArray<double> out({call.n_rows(), self.n_outputs(), self.width()});
    call.run([&](const auto& table, Interrupt* i) { self.values(out.data, table, n_threads, i); });
    return out.array;
}

auto apply(const Predictor& self, nb::handle input, int n_threads, std::optional<Size> n_rows) {
    PredictCall call(self, input, n_rows);
    NewArray<std::int64_t> out({call.n_rows()});
    call.run([&](const auto& table, Interrupt* i) { self.apply(out.data, table, n_threads, i); });
    return out.array;
}

auto classes(const Predictor& self, nb::handle input, int n_threads, std::optional<Size> n_rows) {
    PredictCall call(self, input, n_rows);
    NewArray<std::int64_t> out({call.n_rows(), self.n_outputs()});
    call.run([&](const auto& table, Interrupt* i) { self.classes(out.data, table, n_threads, i); });
    return out.array;
}

auto decision_path(const Predictor& self, nb::handle input, int n_threads, std::optional<Size> n_rows) {
    PredictCall call(self, input, n_rows);
    spinney::DecisionPath path;
    call.run([&](const auto& table, Interrupt* i) { path = self.decision_path(table, n_threads, i); });
    return nb::make_tuple(to_array(std::move(path.indptr)), to_array(std::move(path.indices)),
                          to_array(std::move(path.shares)));
}

}  // namespace

void register_predict(nb::module_& m) {
    const auto input = nb::arg("columns");
    const auto n_threads = nb::arg("n_threads") = 1;
    const auto n_rows = nb::arg("n_rows") = nb::none();
    nb::class_<Predictor>(m, "Predictor", "One fitted tree, packed for prediction.")
        .def("__init__", &construct, nb::arg("tree"), nb::arg("n_classes"))
        .def_prop_ro("used_features", &Predictor::used_features)
        .def("values", &values, input, n_threads, n_rows, "Give each row's value (n_rows, n_outputs, width).")
        .def("apply", &apply, input, n_threads, n_rows, "Give the node that answers for each row (n_rows,).")
        .def("classes", &classes, input, n_threads, n_rows, "Give each row's best class (n_rows, n_outputs).")
        .def("decision_path", &decision_path, input, n_threads, n_rows,
             "Give indptr, indices and shares of the nodes each row visits.");
}
