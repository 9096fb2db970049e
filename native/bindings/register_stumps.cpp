// Registers StumpBooster, which finds boosted stumps, and StumpTables, which predicts with them.
#include <nanobind/stl/vector.h>

#include <array>
#include <limits>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/predict_call.hpp"
#include "bindings/register.hpp"
#include "boost/stump_rounds.hpp"
#include "predict/stump_tables.hpp"

using spinney::BoostedStumps;
using spinney::Candidate;
using spinney::CodeMatrix;
using spinney::Interrupt;
using spinney::Size;
using spinney::Stump;
using spinney::StumpBooster;

namespace {

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
               const Vector<std::int64_t>& copies, const Vector<double>& sizes,
               const spinney::GrowOptions& options) {
    check(x, classes, n_classes, copies, sizes, options.n_threads);
    const spinney::StumpTarget target{{classes.data(), classes.size()},
                                      n_classes,
                                      {copies.data(), copies.size()},
                                      {sizes.data(), sizes.size()}};
    run_interruptible([&](Interrupt& interrupt) { new (self) StumpBooster(x, target, options, interrupt); });
}

BoostedStumps learn(StumpBooster& self) {
    BoostedStumps out;
    run_interruptible([&](Interrupt& interrupt) { out.stumps.push_back(self.learn(interrupt)); });
    return out;
}

BoostedStumps boost(StumpBooster& self, Size n_rounds, int n_classes, double learning_rate, double share,
                    double least, double most, int fresh) {
    const spinney::StumpRounds rounds{n_rounds, n_classes, learning_rate, share, least, most, fresh};
    BoostedStumps out;
    run_interruptible([&](Interrupt& interrupt) { out = boost_stumps(self, rounds, interrupt); });
    return out;
}

/// An array of all stumps: of(stump) is a list of as many numbers for each.
template <class T, class Of>
auto gather(const BoostedStumps& self, Of&& of) {
    std::vector<T> out;
    for (const Stump& stump : self.stumps)
        for (const auto value : of(stump)) out.push_back(static_cast<T>(value));
    return nb::cast(to_array(std::move(out)));
}

/// An array with a number per node: of the root, and the same for both leaves.
template <class T, class OfRoot>
auto gather_nodes(const BoostedStumps& self, OfRoot&& of_root, T of_leaf) {
    return gather<T>(self,
                     [&](const Stump& s) { return std::array<T, 3>{of_root(s.best), of_leaf, of_leaf}; });
}

auto set_begin(const BoostedStumps& self) {
    std::vector<std::int64_t> out{0};
    for (const Stump& stump : self.stumps)
        out.push_back(out.back() + static_cast<std::int64_t>(stump.set_bits.size()));
    return nb::cast(to_array(std::move(out)));
}

void reweight(StumpBooster& self, double factor, double least, double most, int fresh) {
    run_interruptible([&](Interrupt& interrupt) { self.reweight(factor, least, most, fresh, interrupt); });
}

/// The tables with the arrays that they borrow.
struct BoundTables {
    Vector<double> base;
    nb::list held;
    spinney::StumpTables tables;

    BoundTables(Vector<double> first, const nb::list& given, Size n_features)
        : base(std::move(first)), tables({base.data(), base.size()}, views(given), n_features) {}

    /// given: tuples (feature, categorical, thresholds, sums)
    std::vector<spinney::FeatureTable> views(const nb::list& given) {
        std::vector<spinney::FeatureTable> out;
        for (nb::handle one : given) {
            const auto parts = nb::cast<nb::tuple>(one);
            const auto thresholds = nb::cast<Vector<double>>(parts[2]);
            const auto sums = nb::cast<Matrix<double>>(parts[3]);
            held.append(thresholds);
            held.append(sums);
            out.push_back({nb::cast<std::uint32_t>(parts[0]),
                           nb::cast<bool>(parts[1]),
                           {thresholds.data(), thresholds.size()},
                           {sums.data(), sums.size()}});
        }
        return out;
    }
};

auto sum(const BoundTables& self, nb::handle input, int n_threads, Size n_rows) {
    PredictCall call(self.tables, input, n_rows);
    NewArray<double> out({call.n_rows(), self.tables.width()});
    call.run([&](const auto& table, Interrupt* i) { self.tables.sum(out.data, table, n_threads, i); });
    return out.array;
}

}  // namespace

void register_stumps(nb::module_& m) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    nb::class_<BoostedStumps>(m, "Stumps", "Stumps as arrays of three nodes each: the root and its leaves.")
        .def_prop_ro("kind",
                     [](const BoostedStumps& s) {
                         return gather_nodes<std::uint8_t>(
                             s, [](const Candidate& c) { return static_cast<std::uint8_t>(c.kind); }, 0);
                     })
        .def_prop_ro("feature",
                     [](const BoostedStumps& s) {
                         return gather_nodes<std::int32_t>(
                             s, [](const Candidate& c) { return c.feature; }, -1);
                     })
        .def_prop_ro("threshold",
                     [](const BoostedStumps& s) {
                         return gather_nodes<double>(s, [](const Candidate& c) { return c.threshold; }, nan);
                     })
        .def_prop_ro("missing",
                     [](const BoostedStumps& s) {
                         return gather_nodes<std::int32_t>(
                             s, [](const Candidate& c) { return c.missing; }, -1);
                     })
        .def_prop_ro("set_begin", &set_begin)
        .def_prop_ro("set_bits",
                     [](const BoostedStumps& s) {
                         return gather<std::uint64_t>(s,
                                                      [](const Stump& one) -> auto& { return one.set_bits; });
                     })
        .def_prop_ro("value",
                     [](const BoostedStumps& s) {
                         return gather<double>(s, [](const Stump& one) -> auto& { return one.value; });
                     })
        .def_prop_ro("sums",
                     [](const BoostedStumps& s) {
                         return gather<std::int64_t>(s, [](const Stump& one) -> auto& { return one.sums; });
                     })
        .def_prop_ro("n_samples",
                     [](const BoostedStumps& s) {
                         return gather<std::int64_t>(s,
                                                     [](const Stump& one) -> auto& { return one.n_samples; });
                     })
        .def_prop_ro("total",
                     [](const BoostedStumps& s) {
                         return gather<std::int64_t>(s,
                                                     [](const Stump& one) { return std::array{one.total}; });
                     })
        .def_prop_ro("wrong",
                     [](const BoostedStumps& s) {
                         return gather<std::int64_t>(s,
                                                     [](const Stump& one) { return std::array{one.wrong}; });
                     })
        .def_ro("weights", &BoostedStumps::weights)
        .def_ro("errors", &BoostedStumps::errors);
    nb::class_<StumpBooster>(m, "StumpBooster", "The best stump under weights that shift every round.")
        .def("__init__", &construct, "matrix"_a, "classes"_a, "n_classes"_a, "copies"_a, "sizes"_a,
             "options"_a, nb::keep_alive<1, 2>())
        .def("learn", &learn, "Find the best stump under the present weights.")
        .def("boost", &boost, "n_rounds"_a, "n_classes"_a, "learning_rate"_a, "share"_a, "least"_a, "most"_a,
             "fresh"_a, "Make rounds, until one has no errors or is no better than chance.")
        .def("reweight", &reweight, "factor"_a, "least"_a, "most"_a, "fresh"_a,
             "Multiply the weights of the rows that the last stump gets wrong.")
        .def(
            "predictions", [](const StumpBooster& self) { return to_array(self.predictions()); },
            "Return the class code that the last stump predicts for each row (n_rows,).")
        .def(
            "weights", [](const StumpBooster& self) { return to_array(self.weights()); },
            "Return the present weights (n_rows,).");
    nb::class_<BoundTables>(m, "StumpTables", "Additive stumps, summed into one table per feature.")
        .def(nb::init<Vector<double>, const nb::list&, Size>(), "base"_a, "tables"_a, "n_features"_a)
        .def("sum", &sum, "columns"_a, "n_threads"_a, "n_rows"_a,
             "Return the sum of the tables of all features for each row (n_rows, width).");
}
