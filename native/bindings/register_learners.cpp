// Registers the kernels of naive Bayes, discriminant analysis, online learners and support vector machines.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "moments/class_moments.hpp"
#include "online/epoch.hpp"
#include "svm/smo.hpp"

using spinney::Interrupt;
using spinney::Size;

namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Block = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Weights = std::optional<Vector<double>>;

void require(bool condition, const char* message) {
    if (!condition) throw nb::value_error(message);
}

const double* data_of(const Weights& weights) { return weights ? weights->data() : nullptr; }

/// Borrow rows, their class codes and weights, all checked.
spinney::LabeledRows labeled_rows(const Block<double>& x, const Vector<std::int32_t>& codes, Size n_classes,
                                  const Weights& weights) {
    require(codes.size() == x.shape(0) && (!weights || weights->size() == x.shape(0)),
            "codes and weights must have one entry per row");
    for (Size r = 0; r < codes.size(); ++r)
        require(codes.data()[r] >= 0 && static_cast<Size>(codes.data()[r]) < n_classes,
                "a class code is out of range");
    return {x.data(), x.shape(0), x.shape(1), codes.data(), n_classes, data_of(weights)};
}

auto to_block(const std::vector<double>& values, Size n_rows) {
    NewArray<double> out({n_rows, values.size() / n_rows});
    std::copy(values.begin(), values.end(), out.data);
    return out.array;
}

auto class_moments(const Block<double>& x, const Vector<std::int32_t>& codes, Size n_classes,
                   const Weights& weights, int n_threads) {
    const auto rows = labeled_rows(x, codes, n_classes, weights);
    spinney::ClassMoments found;
    run_interruptible(
        [&](Interrupt& interrupt) { found = spinney::class_moments(rows, n_threads, interrupt); });
    return nb::make_tuple(to_block(found.weight, n_classes), to_block(found.mean, n_classes),
                          to_block(found.squares, n_classes));
}

auto class_sums(const Block<double>& x, const Vector<std::int32_t>& codes, Size n_classes,
                const Weights& weights, std::optional<double> above, int n_threads) {
    const auto rows = labeled_rows(x, codes, n_classes, weights);
    spinney::ClassSums found;
    run_interruptible([&](Interrupt& interrupt) {
        found = spinney::class_sums(rows, above.value_or(spinney::kNoThreshold), n_threads, interrupt);
    });
    return nb::make_tuple(to_block(found.weight, n_classes), to_block(found.sum, n_classes));
}

auto within_scatter(const Block<double>& x, const Vector<std::int32_t>& codes, const Block<double>& mean,
                    const Vector<double>& scale, const Weights& weights, int n_threads) {
    const auto rows = labeled_rows(x, codes, mean.shape(0), weights);
    require(mean.shape(1) == x.shape(1) && scale.size() == mean.shape(0), "one mean and scale per class");
    NewArray<double> out({x.shape(1), x.shape(1)});
    run_interruptible([&](Interrupt& interrupt) {
        spinney::within_scatter({out.data, x.shape(1) * x.shape(1)}, rows, mean.data(), scale.data(),
                                n_threads, interrupt);
    });
    return out.array;
}

auto gaussian_log_likelihood(const Block<double>& x, const Block<double>& mean,
                             const Block<double>& log_scale, const Block<double>& precision, int n_threads) {
    const Size n_classes = mean.shape(0);
    for (const auto* part : {&mean, &log_scale, &precision})
        require(part->shape(0) == n_classes && part->shape(1) == x.shape(1),
                "one entry per class and feature");
    NewArray<double> out({x.shape(0), n_classes});
    const spinney::LabeledRows rows{x.data(), x.shape(0), x.shape(1), nullptr, n_classes, nullptr};
    run_interruptible([&](Interrupt& interrupt) {
        spinney::gaussian_log_likelihood({out.data, x.shape(0) * n_classes}, rows, mean.data(),
                                         log_scale.data(), precision.data(), n_threads, interrupt);
    });
    return out.array;
}

spinney::CategoryRows category_rows(const Block<std::int32_t>& codes, const Vector<std::int64_t>& offset,
                                    Size n_classes) {
    require(offset.size() == codes.shape(1) + 1 && offset.data()[0] == 0,
            "one offset per feature, and the end");
    for (Size j = 0; j < codes.shape(1); ++j)
        require(offset.data()[j] <= offset.data()[j + 1], "offsets must not decrease");
    return {codes.data(), codes.shape(0), codes.shape(1), offset.data(), n_classes};
}

template <class Integer>
auto integer_codes(const Block<Integer>& x, int n_threads) {
    require(x.shape(0) > 0, "there must be a row");
    NewArray<std::int32_t> codes({x.shape(0), x.shape(1)});
    NewArray<Integer> highest({x.shape(1)});
    Integer lowest = 0;
    run_interruptible([&](Interrupt& interrupt) {
        spinney::integer_codes(codes.data, highest.data, &lowest, x.data(), x.shape(0), x.shape(1), n_threads,
                               interrupt);
    });
    return std::tuple(codes.array, highest.array, lowest);
}

auto category_counts(const Block<std::int32_t>& codes, const Vector<std::int64_t>& offset,
                     const Vector<std::int32_t>& classes, Size n_classes, const Weights& weights,
                     int n_threads) {
    const auto rows = category_rows(codes, offset, n_classes);
    require(classes.size() == rows.n_rows && (!weights || weights->size() == rows.n_rows),
            "classes and weights must have one entry per row");
    for (Size r = 0; r < rows.n_rows; ++r)
        require(classes.data()[r] >= 0 && static_cast<Size>(classes.data()[r]) < n_classes,
                "a class code is out of range");
    const auto n_categories = static_cast<Size>(offset.data()[rows.n_features]);
    NewArray<double> out({n_categories, n_classes});
    run_interruptible([&](Interrupt& interrupt) {
        spinney::category_counts({out.data, n_categories * n_classes}, rows, classes.data(), data_of(weights),
                                 n_threads, interrupt);
    });
    return out.array;
}

auto sum_categories(const Block<std::int32_t>& codes, const Vector<std::int64_t>& offset,
                    const Block<double>& table, int n_threads) {
    const auto rows = category_rows(codes, offset, table.shape(1));
    require(table.shape(0) == static_cast<Size>(offset.data()[rows.n_features]), "one entry per category");
    NewArray<double> out({rows.n_rows, rows.n_classes});
    run_interruptible([&](Interrupt& interrupt) {
        spinney::sum_categories({out.data, rows.n_rows * rows.n_classes}, rows, table.data(), n_threads,
                                interrupt);
    });
    return out.array;
}

void register_moments(nb::module_& m) {
    m.def("class_moments", &class_moments, nb::arg("x"), nb::arg("codes"), nb::arg("n_classes"),
          nb::arg("weights").none(), nb::arg("n_threads"),
          "Return the known weight, mean and sum of squared deviations (n_classes, n_features) per class.");
    m.def(
        "class_sums", &class_sums, nb::arg("x"), nb::arg("codes"), nb::arg("n_classes"),
        nb::arg("weights").none(), nb::arg("above").none(), nb::arg("n_threads"),
        "Return the known weight and the sum of values, or of x > above, (n_classes, n_features) per class.");
    m.def("within_scatter", &within_scatter, nb::arg("x"), nb::arg("codes"), nb::arg("mean"),
          nb::arg("scale"), nb::arg("weights").none(), nb::arg("n_threads"),
          "Return the scatter matrix within classes, each class times its scale (n_features, n_features).");
    m.def("gaussian_log_likelihood", &gaussian_log_likelihood, nb::arg("x"), nb::arg("mean"),
          nb::arg("log_scale"), nb::arg("precision"), nb::arg("n_threads"),
          "Return the sum over known features of log_scale - precision (x - mean)^2 (n_rows, n_classes).");
    constexpr const char* text =
        "Return integers as codes, the highest of each column and the lowest of all.";
    m.def("integer_codes", &integer_codes<std::int64_t>, nb::arg("x"), nb::arg("n_threads"), text);
    m.def("integer_codes", &integer_codes<std::int32_t>, nb::arg("x"), nb::arg("n_threads"), text);
    m.def("category_counts", &category_counts, nb::arg("codes"), nb::arg("offset"), nb::arg("classes"),
          nb::arg("n_classes"), nb::arg("weights").none(), nb::arg("n_threads"),
          "Return the weight of each category and class (n_categories, n_classes).");
    m.def("sum_categories", &sum_categories, nb::arg("codes"), nb::arg("offset"), nb::arg("table"),
          nb::arg("n_threads"),
          "Return the sum of the table rows of each row's categories (n_rows, n_classes).");
}

// ---- perceptron and passive–aggressive learners ----

/// Options, weights and what epochs carry over, of one binary or regression problem.
struct OnlineLearner {
    spinney::OnlineOptions options;
    std::vector<double> weights, penalty_paid, drift;
    spinney::OnlineState state;
    std::vector<double> norms;  // of the rows of the first epoch, which are those of all
};

using Indices = std::optional<Vector<std::int32_t>>;
using Begins = std::optional<Vector<std::int64_t>>;

/// Borrow a dense block, or the three arrays of a CSR matrix, checked.
spinney::FeatureRows feature_rows(const nb::ndarray<const double, nb::c_contig, nb::device::cpu>& values,
                                  const Indices& indices, const Begins& begin, Size n_features) {
    if (!indices) {
        require(values.ndim() == 2 && values.shape(1) == n_features, "rows have another number of features");
        return {values.shape(0), n_features, values.data()};
    }
    require(begin && begin->size() >= 1 && values.ndim() == 1 && values.size() == indices->size(),
            "a sparse matrix is values, indices and the begin of each row");
    const Size n_rows = begin->size() - 1;
    for (Size r = 0; r < n_rows; ++r)
        require(begin->data()[r] >= 0 && begin->data()[r] <= begin->data()[r + 1], "rows must not overlap");
    require(static_cast<Size>(begin->data()[n_rows]) <= values.size(), "a row ends beyond the values");
    for (Size i = 0; i < indices->size(); ++i)
        require(indices->data()[i] >= 0 && static_cast<Size>(indices->data()[i]) < n_features,
                "a column index is out of range");
    return {n_rows, n_features, values.data(), indices->data(), begin->data()};
}

void construct_learner(OnlineLearner* self, int rule, bool regression, double step, double epsilon, double l1,
                       double l2, bool fit_intercept, std::int64_t average_from,
                       const Vector<double>& weights, double intercept) {
    require(rule >= 0 && rule <= 2, "no such update rule");
    new (self) OnlineLearner;
    self->options = {static_cast<spinney::UpdateRule>(rule),
                     regression,
                     step,
                     epsilon,
                     l1,
                     l2,
                     fit_intercept,
                     average_from};
    self->weights.assign(weights.data(), weights.data() + weights.size());
    if (l1 > 0.0) self->penalty_paid.resize(weights.size());
    if (average_from >= 0) self->drift.resize(weights.size());
    self->state.intercept = intercept;
}

auto run_epoch(OnlineLearner& self, const nb::ndarray<const double, nb::c_contig, nb::device::cpu>& values,
               const Indices& indices, const Begins& begin, const Vector<double>& target,
               const Weights& weights, const Vector<std::uint32_t>& order) {
    const auto rows = feature_rows(values, indices, begin, self.weights.size());
    require(target.size() == rows.n_rows && (!weights || weights->size() == rows.n_rows),
            "target and weights must have one entry per row");
    for (Size i = 0; i < order.size(); ++i) require(order.data()[i] < rows.n_rows, "no such row");
    self.state.weights = self.weights;
    self.state.penalty_paid = self.penalty_paid;
    self.state.drift = self.drift;
    const bool needs_norms = self.options.rule != spinney::UpdateRule::perceptron;
    spinney::EpochReport report;
    run_interruptible([&](Interrupt&) {
        if (needs_norms && self.norms.size() != rows.n_rows) self.norms = spinney::squared_norms(rows);
        report = spinney::run_epoch(self.state, rows, target.data(), data_of(weights),
                                    needs_norms ? self.norms.data() : nullptr, {order.data(), order.size()},
                                    self.options);
    });
    return nb::make_tuple(report.loss, report.n_updates, report.n_mistakes);
}

/// The weights and the intercept, averaged over steps if that was asked for and has begun.
auto learned(const OnlineLearner& self) {
    std::vector<double> weights = self.weights;
    double intercept = self.state.intercept;
    const std::int64_t n = self.state.n_steps - self.options.average_from;
    if (self.options.average_from >= 0 && n > 0) {
        for (Size j = 0; j < weights.size(); ++j) weights[j] -= self.drift[j] / static_cast<double>(n);
        intercept -= self.state.intercept_drift / static_cast<double>(n);
    }
    return nb::make_tuple(to_array(std::move(weights)), intercept);
}

auto shuffled_rows(const Vector<std::uint32_t>& rows, std::uint64_t seed) {
    NewArray<std::uint32_t> out({rows.size()});
    std::copy(rows.data(), rows.data() + rows.size(), out.data);
    spinney::shuffle_rows({out.data, rows.size()}, seed);
    return out.array;
}

void register_online(nb::module_& m) {
    nb::class_<OnlineLearner>(m, "OnlineLearner",
                              "A perceptron or passive-aggressive learner, epoch by epoch.")
        .def("__init__", &construct_learner, nb::arg("rule"), nb::arg("regression"), nb::arg("step"),
             nb::arg("epsilon"), nb::arg("l1"), nb::arg("l2"), nb::arg("fit_intercept"),
             nb::arg("average_from"), nb::arg("weights"), nb::arg("intercept"))
        .def("run_epoch", &run_epoch, nb::arg("values"), nb::arg("indices").none(), nb::arg("begin").none(),
             nb::arg("target"), nb::arg("weights").none(), nb::arg("order"),
             "Visit the rows in order; return the summed loss, the number of updates and of mistakes.")
        .def("learned", &learned, "Return the weights (n_features,) and the intercept.");
    m.def("shuffled_rows", &shuffled_rows, nb::arg("rows"), nb::arg("seed"),
          "Return a permutation of row numbers that depends on the seed only.");
}

// ---- support vector machines ----

using AnyBlock = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

/// Rows of a dense or sparse matrix, with the arrays that they borrow.
struct SvmRows {
    AnyBlock values;
    Indices indices;
    Begins begin;
    spinney::FeatureRows rows;
};

void construct_rows(SvmRows* self, AnyBlock values, Indices indices, Begins begin, Size n_features) {
    const auto rows = feature_rows(values, indices, begin, n_features);
    require(rows.n_rows < std::numeric_limits<std::uint32_t>::max(), "too many rows");
    new (self) SvmRows{std::move(values), std::move(indices), std::move(begin), rows};
}

spinney::Kernel make_kernel(int type, double gamma, double coef0, int degree) {
    require(type >= 0 && type <= 5, "no such kernel");
    return {static_cast<spinney::KernelType>(type), gamma, coef0, degree};
}

auto solve_dual(const SvmRows& data, const spinney::Kernel& kernel, const Vector<double>& linear,
                const Vector<double>& lower, const Vector<double>& upper, const Vector<double>& start,
                double kink, double tol, double cache_megabytes, bool shrinking, std::int64_t max_iter,
                std::int64_t record_every, int n_threads) {
    const Size n = data.rows.n_rows;
    for (const auto* part : {&linear, &lower, &upper, &start})
        require(part->size() == n, "all arrays must have one entry per row");
    const bool precomputed = kernel.type == spinney::KernelType::precomputed;
    require(n > 0 && (!precomputed || (data.rows.n_features == n && !data.rows.is_sparse())),
            "a precomputed kernel is a square matrix");
    const spinney::SmoOptions options{
        tol, static_cast<Size>(cache_megabytes * 1048576.0), shrinking, max_iter, record_every, n_threads};
    spinney::SmoSolution found;
    run_interruptible([&](Interrupt& interrupt) {
        const auto matrix = spinney::make_kernel_matrix(data.rows, kernel);
        const auto span = [n](const Vector<double>& v) { return std::span(v.data(), n); };
        spinney::SmoProblem problem{*matrix,     span(linear),
                                    span(lower), span(upper),
                                    kink,        std::vector<double>(start.data(), start.data() + n)};
        found = spinney::solve_dual(std::move(problem), options, interrupt);
    });
    NewArray<double> records({found.records.size(), 4});
    for (Size i = 0; i < found.records.size(); ++i) {
        const auto& r = found.records[i];
        const double row[] = {static_cast<double>(r.iteration), static_cast<double>(r.n_active), r.gap,
                              r.objective};
        std::copy(row, row + 4, records.data + 4 * i);
    }
    return nb::make_tuple(to_array(std::move(found.beta)), found.intercept, found.objective, found.gap,
                          found.n_iter, static_cast<int>(found.status), records.array);
}

auto kernel_sums(const SvmRows& data, const SvmRows& support, const spinney::Kernel& kernel,
                 const Block<std::int64_t>& terms, const Vector<double>& coef,
                 const Vector<double>& intercept, int n_threads) {
    const bool precomputed = kernel.type == spinney::KernelType::precomputed;
    const Size n_support = precomputed ? data.rows.n_features : support.rows.n_rows;
    require(terms.shape(1) == 4, "a term is output, begin, end and first coefficient");
    require(precomputed || (data.rows.n_features == support.rows.n_features &&
                            data.rows.is_sparse() == support.rows.is_sparse()),
            "rows and support vectors must be of one kind");
    require(!precomputed || !data.rows.is_sparse(), "a precomputed kernel is dense");
    std::vector<spinney::KernelTerm> list;
    for (Size t = 0; t < terms.shape(0); ++t) {
        const std::int64_t* term = terms.data() + 4 * t;
        require(term[0] >= 0 && static_cast<Size>(term[0]) < intercept.size() && term[1] >= 0 &&
                    term[1] <= term[2] && static_cast<Size>(term[2]) <= n_support && term[3] >= 0 &&
                    static_cast<Size>(term[3] + term[2] - term[1]) <= coef.size(),
                "a term is out of range");
        list.push_back({static_cast<std::int32_t>(term[0]), term[1], term[2], term[3]});
    }
    NewArray<double> out({data.rows.n_rows, intercept.size()});
    run_interruptible([&](Interrupt& interrupt) {
        spinney::kernel_sums({out.data, data.rows.n_rows * intercept.size()}, data.rows, support.rows, kernel,
                             list, {coef.data(), coef.size()}, {intercept.data(), intercept.size()},
                             n_threads, interrupt);
    });
    return out.array;
}

void register_svm(nb::module_& m) {
    nb::class_<SvmRows>(m, "SvmRows", "Rows of a dense matrix, or of a sparse one in CSR format.")
        .def("__init__", &construct_rows, nb::arg("values"), nb::arg("indices").none(),
             nb::arg("begin").none(), nb::arg("n_features"));
    nb::class_<spinney::Kernel>(m, "Kernel", "A kernel function and its parameters.")
        .def(
            "__init__",
            [](spinney::Kernel* self, int type, double gamma, double coef0, int degree) {
                new (self) spinney::Kernel(make_kernel(type, gamma, coef0, degree));
            },
            nb::arg("type"), nb::arg("gamma"), nb::arg("coef0"), nb::arg("degree"));
    m.def("solve_dual", &solve_dual, nb::arg("rows"), nb::arg("kernel"), nb::arg("linear"), nb::arg("lower"),
          nb::arg("upper"), nb::arg("start"), nb::arg("kink"), nb::arg("tol"), nb::arg("cache_megabytes"),
          nb::arg("shrinking"), nb::arg("max_iter"), nb::arg("record_every"), nb::arg("n_threads"),
          "Solve the dual problem by SMO; return coefficients, intercept, objective, gap, iterations, status "
          "and records.");
    m.def("kernel_sums", &kernel_sums, nb::arg("rows"), nb::arg("support"), nb::arg("kernel"),
          nb::arg("terms"), nb::arg("coef"), nb::arg("intercept"), nb::arg("n_threads"),
          "Return sums of coefficients times kernel values (n_rows, n_outputs).");
}

}  // namespace

void register_learners(nb::module_& m) {
    register_moments(m);
    register_online(m);
    register_svm(m);
}
