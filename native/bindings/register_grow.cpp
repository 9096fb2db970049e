// Registers the growers of trees and forests, their options, and the sampler of bootstrap samples.
#include <nanobind/stl/optional.h>

#include <bit>
#include <memory>

#include "bindings/arrays.hpp"
#include "bindings/grown_tree.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/options.hpp"
#include "bindings/register.hpp"
#include "grow/grow_forest.hpp"

namespace spinney {
namespace {

using ClassArray = Matrix<std::int32_t>;
using ValueArray = Matrix<double>;
using Seeds = Vector<std::uint64_t>;

/// Call a Python function with the lock held; its result is not used.
void call(const nb::callable& function, const nb::object& argument) {
    PyObject* result = wait_for_interpreter(
        [&] { return PyObject_CallFunctionObjArgs(function.ptr(), argument.ptr(), nullptr); });
    if (!result) throw nb::python_error();
    Py_DECREF(result);
}

Target read_target(const std::optional<ClassArray>& classes, std::vector<int> n_classes,
                   const std::optional<ValueArray>& values, const std::optional<Vector<double>>& weights) {
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
void check(const CodeMatrix& x, const Target& t, const GrowOptions& o,
           const std::optional<Vector<double>>& weights) {
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
    if (o.cost_rule != CostRule::none && o.feature_costs.size() != d)
        throw nb::value_error("one cost for each feature");
    if (!o.monotonic_cst.empty() && o.monotonic_cst.size() != d)
        throw nb::value_error("one direction for each feature");
    if (o.fractional() && o.min_samples_leaf > 1)
        throw nb::value_error("fractional instances are limited by min_weight_leaf, not by min_samples_leaf");
    if (o.n_threads < 1) throw nb::value_error("n_threads must be positive");
}

/// The codes of a table with what growth makes of them once; keeps the matrix alive.
class Grower {
  public:
    explicit Grower(const CodeMatrix& x) : x_(x), grower_(x) {}

    GrownTree grow(const std::optional<ClassArray>& classes, std::vector<int> n_classes,
                   const std::optional<ValueArray>& values, const std::optional<Vector<double>>& weights,
                   const GrowOptions& options, int n_threads) {
        const Job job = read(classes, std::move(n_classes), values, weights, options, n_threads);
        FlatTree tree;
        run_interruptible(
            [&](Interrupt& interrupt) { tree = grower_.grow(job.target, job.options, false, interrupt); });
        return {std::move(tree), x_.columns.size()};
    }

    /// Grow a forest. take(GrownTree), if given, is called for one tree after the other, on any thread, and
    /// the returned forest is empty; progress(n_trees), if given, after each tree that was added to it.
    GrownForest grow_forest(const std::optional<ClassArray>& classes, std::vector<int> n_classes,
                            const std::optional<ValueArray>& values, const GrowOptions& options,
                            const BootstrapSampler& sampler, const Seeds& sample_seeds,
                            const Seeds& tree_seeds, const std::optional<Vector<double>>& factors,
                            bool balanced, const std::optional<nb::callable>& take,
                            const std::optional<nb::callable>& progress, int n_threads) {
        const Job job = read(classes, std::move(n_classes), values, factors, options, n_threads);
        if (sampler.n_rows() != x_.n_rows) throw nb::value_error("the sampler was made for another table");
        if (sample_seeds.size() != tree_seeds.size()) throw nb::value_error("two seeds for each tree");
        if (balanced && !classes) throw nb::value_error("only classes can be balanced");
        const ForestPlan plan{sampler,
                              {sample_seeds.data(), sample_seeds.size()},
                              {tree_seeds.data(), tree_seeds.size()},
                              factors ? factors->data() : nullptr,
                              balanced};
        GrownForest out{ForestArrays(tree_seeds.size()), x_.columns.size()};
        const auto keep = [&](FlatTree&& tree) {
            if (take) {
                TakeInterpreterLock lock;
                return call(*take, nb::cast(GrownTree{std::move(tree), x_.columns.size()}));
            }
            out.arrays.add(tree);
            if (!progress) return;
            TakeInterpreterLock lock;
            call(*progress, nb::int_(out.arrays.n_trees()));
        };
        run_interruptible([&](Interrupt& interrupt) {
            spinney::grow_forest(grower_, job.target, job.options, false, plan, interrupt, keep);
        });
        out.arrays.shrink();
        return out;
    }

    /// category_keys: one for each category of a column, none for numbers.
    auto order_rows(const std::optional<ClassArray>& classes, const std::optional<ValueArray>& values,
                    const std::vector<Seeds>& category_keys, int n_threads) const {
        const Target target = read_target(classes, {}, values, {});
        if (target.n_rows != x_.n_rows) throw nb::value_error("one target for each row");
        if (category_keys.size() != x_.columns.size()) throw nb::value_error("keys for each column");
        CodeKeys keys(x_.columns.size());
        for (Size j = 0; j < keys.size(); ++j) {
            const CodeColumn& column = x_.columns[j];
            keys[j].assign(column.n_bins + 1, 1);
            if (column.kind == ColumnKind::numeric) {
                for (Code bin = 0; bin < column.n_bins; ++bin)
                    keys[j][bin] = std::bit_cast<std::uint64_t>(column.min_of(bin) + 0.0);
                continue;
            }
            if (category_keys[j].size() != column.bin_of_category.size())
                throw nb::value_error("one key for each category");
            // Categories that share a bin have the sum of their keys.
            for (Size c = 0; c < column.bin_of_category.size(); ++c)
                if (column.bin_of_category[c] < column.n_bins)
                    keys[j][column.bin_of_category[c]] += category_keys[j].data()[c];
        }
        return to_array(row_order(x_, target, keys, n_threads));
    }

  private:
    struct Job {
        GrowOptions options;
        Target target;
    };
    Job read(const std::optional<ClassArray>& classes, std::vector<int> n_classes,
             const std::optional<ValueArray>& values, const std::optional<Vector<double>>& weights,
             const GrowOptions& options, int n_threads) const {
        if (classes.has_value() == values.has_value()) throw nb::value_error("give classes or values");
        Job job{options, read_target(classes, std::move(n_classes), values, weights)};
        job.options.n_threads = n_threads;
        check(x_, job.target, job.options, weights);
        return job;
    }

    const CodeMatrix& x_;
    TreeGrower grower_;
};

BootstrapSampler make_sampler(Size n_rows, Size n_draw, bool bootstrap,
                              const std::optional<Vector<std::int64_t>>& order,
                              const std::optional<Vector<std::int64_t>>& copies,
                              const std::optional<Vector<double>>& chances) {
    const auto span = [&](const auto& given) {
        if (given->size() != n_rows) throw nb::value_error("one number for each row");
        return std::span(given->data(), n_rows);
    };
    if (n_rows == 0 || n_rows > std::numeric_limits<Row>::max())
        throw nb::value_error("no such number of rows");
    if (order)
        for (const auto row : span(order))
            if (row < 0 || static_cast<Size>(row) >= n_rows) throw nb::value_error("a row that is not there");
    BootstrapSampler sampler(n_rows, n_draw, bootstrap,
                             order ? span(order) : std::span<const std::int64_t>{});
    if (copies) sampler.set_repeats(span(copies));
    if (chances) sampler.set_probabilities(span(chances));
    return sampler;
}

auto draw(const BootstrapSampler& sampler, std::uint64_t seed) {
    RowVector<std::uint32_t> counts;
    {
        ReleaseInterpreterLock unlock;
        sampler.draw(counts, seed);
    }
    return to_array(RowVector<std::int64_t>(counts.begin(), counts.end()));
}

}  // namespace
}  // namespace spinney

void register_grow(nb::module_& m) {
    using spinney::BootstrapSampler;
    using spinney::Grower;
    spinney::bind_options<spinney::GrowOptions>(m, "GrowOptions", "The parameters of a tree algorithm.");
    nb::class_<BootstrapSampler>(m, "BootstrapSampler",
                                 "Draws the rows of bootstrap samples, as a function of a seed.")
        .def(
            "__init__",
            [](BootstrapSampler* self, spinney::Size n_rows, spinney::Size n_draw, bool bootstrap,
               const std::optional<Vector<std::int64_t>>& order,
               const std::optional<Vector<std::int64_t>>& copies,
               const std::optional<Vector<double>>& chances) {
                new (self) BootstrapSampler(
                    spinney::make_sampler(n_rows, n_draw, bootstrap, order, copies, chances));
            },
            "n_rows"_a, "n_draw"_a, "bootstrap"_a, "order"_a.none(), "copies"_a.none(), "chances"_a.none())
        .def("draw", &spinney::draw, "seed"_a, "Return how often each row is drawn (n_rows,).");
    nb::class_<Grower>(m, "Grower", "Grows trees on one coded table.")
        .def(nb::init<const spinney::CodeMatrix&>(), "matrix"_a, nb::keep_alive<1, 2>())
        .def("grow", &Grower::grow, "classes"_a.none(), "n_classes"_a, "values"_a.none(), "weights"_a.none(),
             "options"_a, "n_threads"_a, "Grow one tree.")
        .def("grow_forest", &Grower::grow_forest, "classes"_a.none(), "n_classes"_a, "values"_a.none(),
             "options"_a, "sampler"_a, "sample_seeds"_a, "tree_seeds"_a, "factors"_a.none(), "balanced"_a,
             "take"_a.none(), "progress"_a.none(), "n_threads"_a,
             "Grow one tree per pair of seeds; take(tree), if given, gets them in their order.")
        .def("order_rows", &Grower::order_rows, "classes"_a.none(), "values"_a.none(), "category_keys"_a,
             "n_threads"_a, "Return the rows ordered by a hash of their codes and targets (n_rows,).");
}
