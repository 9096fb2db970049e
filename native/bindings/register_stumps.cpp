// Registers StumpBooster, which finds boosted stumps, and StumpTables, which predicts with them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "boost/stump_booster.hpp"
#include "predict/stump_tables.hpp"

using spinney::CodeMatrix;
using spinney::Interrupt;
using spinney::Size;
using spinney::StumpBooster;

namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Sums = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void check(const CodeMatrix& x, const Vector<std::int32_t>& classes, int n_classes,
           const Vector<std::int64_t>& copies, const Vector<double>& sizes, int n_threads) {
    if (classes.size() != x.n_rows || copies.size() != x.n_rows || sizes.size() != x.n_rows)
        throw nb::value_error("classes, copies and sizes must have one entry a row");
    if (x.columns.empty() || x.n_rows > std::numeric_limits<spinney::Row>::max())
        throw nb::value_error("no columns, or more than 2^32 - 1 rows");
    if (n_classes < 1 || n_classes > std::numeric_limits<std::uint16_t>::max())
        throw nb::value_error("from 1 to 65535 classes");
    for (Size r = 0; r < x.n_rows; ++r)
        if (classes.data()[r] < 0 || classes.data()[r] >= n_classes)
            throw nb::value_error("a class code is out of range");
    if (n_threads < 1) throw nb::value_error("n_threads must be positive");
}

void construct(StumpBooster* self, const CodeMatrix& x, const Vector<std::int32_t>& classes, int n_classes,
               const Vector<std::int64_t>& copies, const Vector<double>& sizes, bool one_vs_rest,
               int n_threads) {
    check(x, classes, n_classes, copies, sizes, n_threads);
    const spinney::StumpTarget target{{classes.data(), classes.size()},
                                      n_classes,
                                      {copies.data(), copies.size()},
                                      {sizes.data(), sizes.size()}};
    const auto categories =
        one_vs_rest ? spinney::CategorySplit::one_vs_rest : spinney::CategorySplit::subset;
    run_interruptible(
        [&](Interrupt& interrupt) { new (self) StumpBooster(x, target, categories, n_threads, interrupt); });
}

/// What a round found: its stump, and the weights it was found under.
struct FoundStump {
    spinney::Stump stump;
    std::int64_t wrong, total;
};

FoundStump learn(StumpBooster& self) {
    const spinney::Stump* found = nullptr;
    run_interruptible([&](Interrupt& interrupt) { found = &self.learn(interrupt); });
    return {*found, self.wrong_weight(), self.total()};
}

void reweight(StumpBooster& self, double factor, double least, double most, int fresh) {
    run_interruptible([&](Interrupt& interrupt) { self.reweight(factor, least, most, fresh, interrupt); });
}

auto predictions(const StumpBooster& self) {
    NewArray<std::int64_t> out({self.n_rows()});
    self.predictions(out.data);
    return out.array;
}

auto weights(const StumpBooster& self) {
    NewArray<std::int64_t> out({self.n_rows()});
    self.weights(out.data);
    return out.array;
}

/// The tables with the arrays that they borrow.
class HeldTables {
  public:
    HeldTables(Vector<double> base, const nb::list& tables, Size n_features) : base_(std::move(base)) {
        std::vector<spinney::FeatureTable> views;
        for (nb::handle one : tables) {
            const auto parts = nb::cast<nb::tuple>(one);  // (feature, categorical, thresholds, sums)
            thresholds_.push_back(nb::cast<Vector<double>>(parts[2]));
            sums_.push_back(nb::cast<Sums>(parts[3]));
            views.push_back({nb::cast<std::uint32_t>(parts[0]),
                             nb::cast<bool>(parts[1]),
                             {thresholds_.back().data(), thresholds_.back().size()},
                             {sums_.back().data(), sums_.back().size()}});
        }
        tables_ = std::make_unique<spinney::StumpTables>(std::span(base_.data(), base_.size()),
                                                         std::move(views), n_features);
    }

    const spinney::StumpTables& operator*() const { return *tables_; }

  private:
    Vector<double> base_;
    std::vector<Vector<double>> thresholds_;
    std::vector<Sums> sums_;
    std::unique_ptr<spinney::StumpTables> tables_;
};

auto sum(const HeldTables& self, nb::handle input, int n_threads, std::optional<Size> n_rows) {
    const spinney::StumpTables& tables = *self;
    InputArrays arrays(input, true);
    if (arrays.columns.size() != tables.n_features())
        throw nb::value_error("the input has another number of columns than the stumps were fitted to");
    for (const auto& table : tables.tables()) {
        const spinney::InputColumn& column = arrays.columns[table.feature];
        const bool codes = column.type == spinney::InputColumn::Type::category;
        if (!column.data && arrays.n_rows > 0) throw nb::value_error("a column that is read is None");
        if (column.data && codes != table.categorical)
            throw nb::type_error("a column of categories is int32 codes, and no other is");
    }
    if (tables.tables().empty() && n_rows) arrays.n_rows = *n_rows;
    NewArray<double> out({arrays.n_rows, tables.width()});
    const spinney::InputTable table = arrays.table();
    run_interruptible([&](Interrupt& interrupt) { tables.sum(out.data, table, n_threads, &interrupt); });
    return out.array;
}

}  // namespace

void register_stumps(nb::module_& m) {
    const auto copy = [](const auto& values) {
        return nb::cast(to_array(std::vector(values.begin(), values.end())));
    };
    nb::class_<FoundStump>(m, "Stump", "The best stump of a round: node 0 is its root, 1 and 2 its leaves.")
        .def_prop_ro("kind", [](const FoundStump& s) { return static_cast<int>(s.stump.best.kind); })
        .def_prop_ro("feature", [](const FoundStump& s) { return s.stump.best.feature; })
        .def_prop_ro("threshold", [](const FoundStump& s) { return s.stump.best.threshold; })
        .def_prop_ro("missing", [](const FoundStump& s) { return s.stump.best.missing; })
        .def_prop_ro("set_bits", [=](const FoundStump& s) { return copy(s.stump.set_bits); })
        .def_prop_ro("value", [=](const FoundStump& s) { return copy(s.stump.value); })
        .def_prop_ro("sums", [=](const FoundStump& s) { return copy(s.stump.sums); })
        .def_prop_ro("n_samples", [=](const FoundStump& s) { return copy(s.stump.n_samples); })
        .def_ro("wrong", &FoundStump::wrong)
        .def_ro("total", &FoundStump::total);
    nb::class_<StumpBooster>(m, "StumpBooster", "The best stump under weights that shift every round.")
        .def("__init__", &construct, nb::arg("matrix"), nb::arg("classes"), nb::arg("n_classes"),
             nb::arg("copies"), nb::arg("sizes"), nb::arg("one_vs_rest"), nb::arg("n_threads"),
             nb::keep_alive<1, 2>())
        .def("learn", &learn, "Find the best stump under the present weights.")
        .def("reweight", &reweight, nb::arg("factor"), nb::arg("least"), nb::arg("most"), nb::arg("fresh"),
             "Multiply the weights of the rows that the last stump gets wrong.")
        .def("predictions", &predictions,
             "Return the class code that the last stump predicts for each row (n_rows,).")
        .def("weights", &weights, "Return the present weights (n_rows,).");
    nb::class_<HeldTables>(m, "StumpTables", "Additive stumps, summed into one table per feature.")
        .def(nb::init<Vector<double>, const nb::list&, Size>(), nb::arg("base"), nb::arg("tables"),
             nb::arg("n_features"))
        .def("sum", &sum, nb::arg("columns"), nb::arg("n_threads") = 1, nb::arg("n_rows") = nb::none(),
             "Return the sum of the tables of all features for each row (n_rows, width).");
}
