// Registers Predictor: one fitted tree, ready to send rows down.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "interrupt.hpp"
#include "register.hpp"
#include "traverse.hpp"

using spinney::Interrupt;
using spinney::Predictor;
using spinney::Size;

namespace {

// Below this, giving the lock away and taking it back costs more than the walk.
constexpr Size rows_worth_unlocking = 256;

template <class T>
using Array = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;

/// The arrays of a TreeArrays, held while they are copied.
class Arrays {
  public:
    explicit Arrays(nb::handle tree) : tree_(tree) {}

    template <class T>
    std::span<const T> get(const char* name) {
        auto array = nb::cast<Array<T>>(tree_.attr(name));
        const std::span<const T> span(array.data(), array.size());
        held_.push_back(nb::cast(array));
        return span;
    }

    spinney::TreeView view() {
        return {get<std::uint8_t>("kind"),
                get<std::int32_t>("feature"),
                get<double>("threshold"),
                get<std::int32_t>("first_child"),
                get<std::int32_t>("n_children"),
                get<std::int32_t>("missing"),
                get<double>("weight"),
                get<std::int64_t>("set_begin"),
                get<std::uint64_t>("set_bits"),
                get<std::int64_t>("branch_begin"),
                get<std::int32_t>("branch"),
                get<std::int64_t>("term_begin"),
                get<std::int32_t>("term_feature"),
                get<double>("term_coefficient"),
                get<double>("term_fill"),
                nb::cast<Size>(tree_.attr("n_features"))};
    }

  private:
    nb::handle tree_;
    std::vector<nb::object> held_;
};

void construct(Predictor* self, nb::handle tree, const std::vector<std::int64_t>& n_classes) {
    Arrays arrays(tree);
    const auto value =
        nb::cast<nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>>(tree.attr("value"));
    new (self)
        Predictor(arrays.view(), {value.data(), value.size()}, value.shape(1), value.shape(2), n_classes);
}

/// Read the input, check that it fits, and call work(table, interrupt), without the lock if that is worth it.
class Call {
  public:
    Call(const Predictor& predictor, nb::handle input, std::optional<Size> n_rows) : arrays_(input, true) {
        if (arrays_.columns.size() != predictor.n_features()) {
            const std::string message = "the input has " + std::to_string(arrays_.columns.size()) +
                                        " columns, the tree was fitted on " +
                                        std::to_string(predictor.n_features());
            throw nb::value_error(message.c_str());
        }
        for (auto j : predictor.used_features()) {
            if (arrays_.columns[j].data || arrays_.n_rows == 0) continue;
            throw nb::value_error(
                ("column " + std::to_string(j) + " is None, but the tree reads it").c_str());
        }
        if (n_rows) arrays_.n_rows = check_rows(*n_rows, predictor);
    }

    Size n_rows() const { return arrays_.n_rows; }

    template <class F>
    void run(F&& work) {
        const spinney::InputTable table = arrays_.table();
        if (n_rows() < rows_worth_unlocking) return work(table, nullptr);
        run_interruptible([&](Interrupt& interrupt) { work(table, &interrupt); });
    }

  private:
    // Only an input without any column leaves the number of rows open.
    Size check_rows(Size n_rows, const Predictor& predictor) const {
        bool open = predictor.used_features().empty();
        for (const auto& column : arrays_.columns) open &= column.data == nullptr;
        if (!open && n_rows != arrays_.n_rows) throw nb::value_error("n_rows is not the columns' length");
        return n_rows;
    }

    InputArrays arrays_;
};

auto values(const Predictor& self, nb::handle input, int n_threads, std::optional<Size> n_rows) {
    Call call(self, input, n_rows);
    NewArray<double> out({call.n_rows(), self.n_outputs(), self.width()});
    call.run([&](const auto& table, Interrupt* i) { self.values(out.data, table, n_threads, i); });
    return out.array;
}

auto apply(const Predictor& self, nb::handle input, int n_threads, std::optional<Size> n_rows) {
    Call call(self, input, n_rows);
    NewArray<std::int64_t> out({call.n_rows()});
    call.run([&](const auto& table, Interrupt* i) { self.apply(out.data, table, n_threads, i); });
    return out.array;
}

auto classes(const Predictor& self, nb::handle input, int n_threads, std::optional<Size> n_rows) {
    Call call(self, input, n_rows);
    NewArray<std::int64_t> out({call.n_rows(), self.n_outputs()});
    call.run([&](const auto& table, Interrupt* i) { self.classes(out.data, table, n_threads, i); });
    return out.array;
}

auto decision_path(const Predictor& self, nb::handle input, int n_threads, std::optional<Size> n_rows) {
    Call call(self, input, n_rows);
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
