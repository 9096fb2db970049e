// Registers the kernels of linear models.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "linear/cholesky.hpp"
#include "linear/coordinate_descent.hpp"
#include "linear/dual_descent.hpp"
#include "linear/products.hpp"
#include "linear/row_losses.hpp"
#include "linear/sparse_products.hpp"

using spinney::Interrupt;
using spinney::MatrixView;
using spinney::Size;

namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Codes = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Offsets = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using SparseRows = std::tuple<Vector, Codes, Offsets>;  // data, indices and indptr of CSR
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

MatrixView view_of(const Buffer& buffer) {
    const Py_buffer& view = buffer.view();
    const char type = buffer.type();
    if (view.ndim != 2 || (type != 'f' && type != 'd'))
        throw nb::type_error("the features must be a 2-D array of float32 or float64");
    return {static_cast<const char*>(view.buf),
            static_cast<Size>(view.shape[0]),
            static_cast<Size>(view.shape[1]),
            view.strides[0],
            view.strides[1],
            type == 'f'};
}

void require(bool valid, const char* message) {
    if (!valid) throw nb::value_error(message);
}

const double* data_of(const std::optional<Vector>& values, Size n_rows) {
    require(!values || values->size() == n_rows, "weights must have one entry per row");
    return values ? values->data() : nullptr;
}

auto gram_matrix(nb::handle features, const Vector& shift, const std::optional<Vector>& weights,
                 const std::optional<Matrix>& residuals, int n_threads) {
    const Buffer buffer(features);
    const MatrixView x = view_of(buffer);
    const double* w = data_of(weights, x.n_rows);
    require(shift.size() == x.n_columns, "one shift per column");
    require(!residuals || residuals->shape(0) == x.n_rows, "residuals must have one row per row");
    const Size n_residuals = residuals ? residuals->shape(1) : 0, p = x.n_columns + 1;
    NewArray<double> gram({p, p}), cross({n_residuals, p});
    run_interruptible([&](Interrupt& interrupt) {
        spinney::gram_matrix(gram.data, cross.data, x, shift.data(), w,
                             residuals ? residuals->data() : nullptr, n_residuals, n_threads, interrupt);
    });
    return std::pair(gram.array, cross.array);
}

auto cross_products(nb::handle features, const Vector& shift, const Matrix& residuals, int n_threads) {
    const Buffer buffer(features);
    const MatrixView x = view_of(buffer);
    require(shift.size() == x.n_columns, "one shift per column");
    require(residuals.shape(0) == x.n_rows, "residuals must have one row per row");
    NewArray<double> cross({residuals.shape(1), x.n_columns + 1});
    run_interruptible([&](Interrupt& interrupt) {
        spinney::gram_matrix(nullptr, cross.data, x, shift.data(), nullptr, residuals.data(),
                             residuals.shape(1), n_threads, interrupt);
    });
    return cross.array;
}

auto matrix_product(nb::handle features, const Matrix& coefficients, const Vector& intercept, int n_threads) {
    const Buffer buffer(features);
    const MatrixView x = view_of(buffer);
    const Size k = coefficients.shape(0);
    require(coefficients.shape(1) == x.n_columns && intercept.size() == k,
            "coefficients must have one column per feature, and intercepts one entry per output");
    NewArray<double> out({x.n_rows, k});
    run_interruptible([&](Interrupt& interrupt) {
        spinney::matrix_product(out.data, x, coefficients.data(), intercept.data(), k, n_threads, interrupt);
    });
    return out.array;
}

auto leave_one_out(nb::handle features, const Vector& shift, const Matrix& vectors, const Matrix& shrink,
                   const Matrix& responses, const Matrix& targets, const std::optional<Vector>& base,
                   const std::optional<Vector>& weights, bool keep, int n_threads) {
    const Buffer buffer(features);
    const MatrixView x = view_of(buffer);
    const Size p = x.n_columns, n_alphas = shrink.shape(0), n_targets = responses.shape(0);
    require(shift.size() == p && vectors.shape(0) == p && vectors.shape(1) == p && shrink.shape(1) == p &&
                responses.shape(1) == p && targets.shape(0) == x.n_rows && targets.shape(1) == n_targets,
            "the sizes of a ridge path do not agree");
    const spinney::RidgePath path{shift.data(),
                                  vectors.data(),
                                  shrink.data(),
                                  responses.data(),
                                  data_of(base, x.n_rows),
                                  data_of(weights, x.n_rows),
                                  targets.data(),
                                  n_alphas,
                                  n_targets};
    NewArray<double> sums({n_alphas, n_targets}), errors({keep ? x.n_rows : 0, n_alphas, n_targets});
    run_interruptible([&](Interrupt& interrupt) {
        spinney::leave_one_out(sums.data, keep ? errors.data : nullptr, x, path, n_threads, interrupt);
    });
    return std::pair(sums.array, errors.array);
}

/// Minimise for each row of penalties in turn, each from the solution before.
auto coordinate_descent(const Matrix& gram, const Matrix& linear, const Matrix& l1, const Matrix& l2,
                        const Matrix& start, const Vector& tolerances, Size max_sweeps, bool positive) {
    const Size n = gram.shape(0), n_tasks = linear.shape(1), n_steps = l1.shape(0);
    require(gram.shape(1) == n && linear.shape(0) == n && start.shape(0) == n && start.shape(1) == n_tasks &&
                l1.shape(1) == n && l2.shape(0) == n_steps && l2.shape(1) == n &&
                tolerances.size() == n_steps,
            "the sizes of a quadratic problem do not agree");
    NewArray<double> w({n_steps, n, n_tasks});
    NewArray<std::int64_t> sweeps({n_steps});
    run_interruptible([&](Interrupt& interrupt) {
        const double* from = start.data();
        for (Size s = 0; s < n_steps; ++s) {
            double* to = w.data + s * n * n_tasks;
            std::copy_n(from, n * n_tasks, to);
            const spinney::QuadraticProblem problem{
                gram.data(), linear.data(), l1.data() + s * n, l2.data() + s * n, n, n_tasks, positive};
            sweeps.data[s] = static_cast<std::int64_t>(
                spinney::coordinate_descent(to, problem, tolerances.data()[s], max_sweeps, interrupt));
            from = to;
        }
    });
    return std::pair(w.array, sweeps.array);
}

auto logistic_loss(const Vector& scores, const Vector& y, const std::optional<Vector>& weights,
                   int n_threads) {
    const Size n = scores.size();
    require(y.size() == n, "scores and targets must have one entry per row");
    const double* w = data_of(weights, n);
    NewArray<double> gradient({n}), curvature({n});
    double value = 0;
    run_interruptible([&](Interrupt& interrupt) {
        value = spinney::logistic_loss(gradient.data, curvature.data, scores.data(), y.data(), w, n,
                                       n_threads, interrupt);
    });
    return std::tuple(value, gradient.array, curvature.array);
}

auto softmax_loss(const Matrix& scores, const Codes& classes, const std::optional<Vector>& weights,
                  int n_threads) {
    const Size n = scores.shape(0), k = scores.shape(1);
    require(classes.size() == n, "scores and classes must have one entry per row");
    for (Size r = 0; r < n; ++r)
        require(classes.data()[r] >= 0 && static_cast<Size>(classes.data()[r]) < k,
                "a class code is out of range");
    const double* w = data_of(weights, n);
    NewArray<double> probabilities({n, k}), gradient({n, k});
    double value = 0;
    run_interruptible([&](Interrupt& interrupt) {
        value = spinney::softmax_loss(probabilities.data, gradient.data, scores.data(), classes.data(), w, n,
                                      k, n_threads, interrupt);
    });
    return std::tuple(value, probabilities.array, gradient.array);
}

auto cholesky_solve(const Matrix& matrix, const Matrix& right) {
    const Size n = matrix.shape(0), k = right.shape(0);
    require(matrix.shape(1) == n && right.shape(1) == n, "the sizes of a linear system do not agree");
    NewArray<double> out({k, n});
    std::copy_n(right.data(), k * n, out.data);
    double pivot = 0;
    run_interruptible([&](Interrupt& interrupt) {
        pivot = spinney::cholesky_solve(out.data, matrix.data(), n, k, interrupt);
    });
    return std::pair(out.array, pivot);
}

/// View CSR arrays, which are checked once: kernels trust them.
spinney::RowView checked_rows(const SparseRows& rows, Size n_columns) {
    const auto& [data, indices, indptr] = rows;
    require(indptr.size() > 0 && indices.size() == data.size() && indptr.data()[0] == 0,
            "the sparse rows are not valid");
    const Size n_rows = indptr.size() - 1;
    for (Size i = 0; i < n_rows; ++i) require(indptr.data()[i] <= indptr.data()[i + 1], "rows overlap");
    require(static_cast<Size>(indptr.data()[n_rows]) <= data.size(), "the sparse rows are not valid");
    const auto limit = static_cast<std::int32_t>(std::min<Size>(n_columns, INT32_MAX));
    std::int32_t outside = 0;  // without a branch, so that the loop is vectorised
    for (Size k = 0; k < indices.size(); ++k)
        outside |= static_cast<std::int32_t>(indices.data()[k] >= limit) | (indices.data()[k] < 0);
    require(outside == 0, "a column is out of range");
    return {data.data(), indices.data(), indptr.data(), n_rows, n_columns};
}

/// A sparse matrix and the products that solvers need.
class SparseMatrix {
  public:
    SparseMatrix(const SparseRows& rows, Size n_columns)
        : rows_(rows), view_(checked_rows(rows_, n_columns)) {}

    auto product(const Vector& coefficients, double intercept, int n_threads) const {
        require(coefficients.size() == view_.n_columns, "one coefficient per column");
        NewArray<double> out({view_.n_rows});
        run_interruptible([&](Interrupt& interrupt) {
            spinney::sparse_product(out.data, view_, coefficients.data(), intercept, n_threads, interrupt);
        });
        return out.array;
    }

    auto cross(const Vector& factors, bool squares, int n_threads) const {
        require(factors.size() == view_.n_rows, "one factor per row");
        NewArray<double> out({view_.n_columns + 1});
        run_interruptible([&](Interrupt& interrupt) {
            spinney::sparse_cross(out.data, view_, factors.data(), squares, n_threads, interrupt);
        });
        return out.array;
    }

    auto curvature_product(const Vector& curvatures, const Vector& direction, int n_threads) const {
        require(curvatures.size() == view_.n_rows, "one curvature per row");
        require(direction.size() == view_.n_columns + 1, "one entry per column, and one more");
        NewArray<double> out({view_.n_columns + 1}), scores({view_.n_rows});
        run_interruptible([&](Interrupt& interrupt) {
            spinney::sparse_curvature_product(out.data, scores.data, view_, direction.data(),
                                              curvatures.data(), n_threads, interrupt);
        });
        return std::pair(out.array, scores.array);
    }

  private:
    SparseRows rows_;
    spinney::RowView view_;
};

auto dual_descent(const std::optional<Matrix>& dense, const std::optional<SparseRows>& rows, Size n_columns,
                  const Vector& y, const Vector& low, const Vector& high, const Vector& diagonal,
                  double epsilon, double bias, double tolerance, Size max_sweeps, std::uint64_t seed) {
    spinney::RowView x{nullptr, nullptr, nullptr, y.size(), n_columns};
    require(dense.has_value() != rows.has_value(), "either dense or sparse rows");
    if (dense) {
        require(dense->shape(0) == y.size() && dense->shape(1) == n_columns, "one row per target");
        x.values = dense->data();
    } else {
        x = checked_rows(*rows, n_columns);
        require(x.n_rows == y.size(), "one row per target");
    }
    require(low.size() == y.size() && high.size() == y.size() && diagonal.size() == y.size(),
            "bounds must have one entry per row");
    NewArray<double> w({n_columns + 1}), b({y.size()});
    std::fill_n(b.data, y.size(), 0.0);
    const spinney::DualProblem problem{x, y.data(), low.data(), high.data(), diagonal.data(), epsilon, bias};
    spinney::DualResult result{};
    run_interruptible([&](Interrupt& interrupt) {
        result = spinney::dual_descent(w.data, b.data, problem, tolerance, max_sweeps, seed, interrupt);
    });
    return std::tuple(w.array, b.array, result.sweeps, result.violation);
}

}  // namespace

void register_linear(nb::module_& m) {
    m.def("gram_matrix", &gram_matrix, nb::arg("features"), nb::arg("shift"), nb::arg("weights").none(),
          nb::arg("residuals").none(), nb::arg("n_threads"),
          "Return the weighted Gram matrix of (x - shift, 1), and its products with the residuals.");
    m.def("cross_products", &cross_products, nb::arg("features"), nb::arg("shift"), nb::arg("residuals"),
          nb::arg("n_threads"), "Return the products of (x - shift, 1) with the residuals.");
    m.def("matrix_product", &matrix_product, nb::arg("features"), nb::arg("coefficients"),
          nb::arg("intercept"), nb::arg("n_threads"), "Return X @ coefficients.T + intercept.");
    m.def("leave_one_out", &leave_one_out, nb::arg("features"), nb::arg("shift"), nb::arg("vectors"),
          nb::arg("shrink"), nb::arg("responses"), nb::arg("targets"), nb::arg("base").none(),
          nb::arg("weights").none(), nb::arg("keep"), nb::arg("n_threads"),
          "Return sums of squared leave-one-out errors of ridge regression, and the errors if kept.");
    m.def("cholesky_solve", &cholesky_solve, nb::arg("matrix"), nb::arg("right"),
          "Return the solution of a positive definite system for each row, and the smallest pivot.");
    m.def("coordinate_descent", &coordinate_descent, nb::arg("gram"), nb::arg("linear"), nb::arg("l1"),
          nb::arg("l2"), nb::arg("start"), nb::arg("tolerances"), nb::arg("max_sweeps"), nb::arg("positive"),
          "Return the coefficients and sweeps of a path of quadratic problems with L1 penalties.");
    nb::class_<SparseMatrix>(m, "SparseMatrix", "A matrix in CSR form, and its products.")
        .def(nb::init<const SparseRows&, Size>(), nb::arg("rows"), nb::arg("n_columns"))
        .def("product", &SparseMatrix::product, nb::arg("coefficients"), nb::arg("intercept"),
             nb::arg("n_threads"), "Return X @ coefficients + intercept.")
        .def("cross", &SparseMatrix::cross, nb::arg("factors"), nb::arg("squares"), nb::arg("n_threads"),
             "Return the sums of factors times (x, 1), or times (x**2, 1).")
        .def("curvature_product", &SparseMatrix::curvature_product, nb::arg("curvatures"),
             nb::arg("direction"), nb::arg("n_threads"),
             "Return (X, 1).T @ (curvatures * scores) and the scores (X, 1) @ direction.");
    m.def("dual_descent", &dual_descent, nb::arg("dense").none(), nb::arg("rows").none(),
          nb::arg("n_columns"), nb::arg("y"), nb::arg("low"), nb::arg("high"), nb::arg("diagonal"),
          nb::arg("epsilon"), nb::arg("bias"), nb::arg("tolerance"), nb::arg("max_sweeps"), nb::arg("seed"),
          "Return coefficients and intercept, dual coefficients, sweeps and violation of a linear SVM.");
    m.def("logistic_loss", &logistic_loss, nb::arg("scores"), nb::arg("y"), nb::arg("weights").none(),
          nb::arg("n_threads"), "Return the summed logistic loss, its gradient and its curvature.");
    m.def("softmax_loss", &softmax_loss, nb::arg("scores"), nb::arg("classes"), nb::arg("weights").none(),
          nb::arg("n_threads"), "Return the summed cross-entropy, the probabilities and the gradient.");
}
