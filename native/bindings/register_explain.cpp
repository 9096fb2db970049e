// Registers TreeExplainer: SHAP values of the trees of an ensemble.
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/ensemble_arrays.hpp"
#include "bindings/predict_call.hpp"
#include "bindings/register.hpp"
#include "explain/tree_explainer.hpp"

using spinney::Interrupt;
using spinney::Size;
using spinney::TreeExplainer;

namespace {

/// An explainer and the arrays that it reads.
struct BoundExplainer {
    FieldArrays arrays;
    TreeExplainer explainer;

    BoundExplainer(nb::handle ensemble, Size per_round, std::vector<std::uint32_t> owner, Size n_owners)
        : arrays(ensemble),
          explainer(ensemble_view(arrays, ensemble), per_round, std::move(owner), n_owners) {}
};

auto base(const BoundExplainer& self) { return to_array(std::vector<double>(self.explainer.base())); }

auto values(BoundExplainer& self, nb::handle input, int n_threads, Size n_rows) {
    const TreeExplainer& explainer = self.explainer;
    PredictCall call(explainer, input, n_rows);
    NewArray<double> out({call.n_rows(), explainer.n_owners(), explainer.n_outputs()});
    call.run([&](const auto& table, Interrupt* i) { explainer.values(out.data, table, n_threads, i); });
    return out.array;
}

auto interactions(BoundExplainer& self, nb::handle input, int n_threads, Size n_rows) {
    const TreeExplainer& explainer = self.explainer;
    PredictCall call(explainer, input, n_rows);
    const Size n = explainer.n_owners();
    NewArray<double> out({call.n_rows(), n, n, explainer.n_outputs()});
    call.run([&](const auto& table, Interrupt* i) { explainer.interactions(out.data, table, n_threads, i); });
    return out.array;
}

auto interventional(BoundExplainer& self, nb::handle input, nb::handle background, int n_threads, Size n_rows,
                    Size n_background) {
    const TreeExplainer& explainer = self.explainer;
    PredictCall call(explainer, input, n_rows);
    PredictCall other(explainer, background, n_background);
    NewArray<double> out({call.n_rows(), explainer.n_owners(), explainer.n_outputs()});
    NewArray<double> mean({explainer.n_outputs()});
    const spinney::InputTable rows = other.table();
    call.run([&](const auto& table, Interrupt* i) {
        explainer.interventional(out.data, mean.data, table, rows, n_threads, i);
    });
    return nb::make_tuple(out.array, mean.array);
}

auto responses(BoundExplainer& self, nb::handle input, int n_threads, Size n_rows,
               const std::vector<std::uint32_t>& features, const Matrix<double>& points, bool individual) {
    const TreeExplainer& explainer = self.explainer;
    PredictCall call(explainer, input, n_rows);
    if (points.shape(0) != features.size()) throw nb::value_error("points must have one row per feature");
    const spinney::GridPoints grid{features, points.data(), points.shape(1)};
    NewArray<double> out({individual ? call.n_rows() : 1, grid.n_points, explainer.n_outputs()});
    call.run([&](const auto& table, Interrupt* i) {
        explainer.responses(out.data, individual, table, grid, n_threads, i);
    });
    return out.array;
}

}  // namespace

void register_explain(nb::module_& m) {
    const auto input = "columns"_a;
    const auto n_threads = "n_threads"_a, n_rows = "n_rows"_a;
    nb::class_<BoundExplainer>(m, "TreeExplainer", "SHAP values of the trees of an ensemble.")
        .def(nb::init<nb::handle, Size, std::vector<std::uint32_t>, Size>(), "ensemble"_a, "per_round"_a,
             "owner"_a, "n_owners"_a)
        .def_prop_ro("used_features",
                     [](const BoundExplainer& self) { return self.explainer.used_features(); })
        .def("base", &base, "Return the mean prediction by training weight (n_outputs,).")
        .def("values", &values, input, n_threads, n_rows,
             "Return path-dependent SHAP values (n_rows, n_owners, n_outputs).")
        .def("interactions", &interactions, input, n_threads, n_rows,
             "Return path-dependent interaction values (n_rows, n_owners, n_owners, n_outputs).")
        .def("interventional", &interventional, input, "background"_a, n_threads, n_rows, "n_background"_a,
             "Return interventional SHAP values (n_rows, n_owners, n_outputs) and the mean prediction of the "
             "background (n_outputs,).")
        .def("responses", &responses, input, n_threads, n_rows, "features"_a, "points"_a, "individual"_a,
             "Return the outputs of rows with some features replaced by points (n_features, n_points): of "
             "each "
             "row (n_rows, n_points, n_outputs), or their sum (1, n_points, n_outputs).");
}
