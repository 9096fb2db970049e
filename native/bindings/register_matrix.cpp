// Registers CodeMatrix and what builds it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "data/binning.hpp"

using spinney::CodeColumn;
using spinney::CodeMatrix;
using spinney::InputColumn;
using spinney::Size;

namespace {

const CodeColumn& column_at(const CodeMatrix& matrix, Size j) {
    if (j >= matrix.columns.size()) throw nb::index_error("no such column");
    return matrix.columns[j];
}

void set_categories(std::vector<InputColumn>& columns, const std::vector<std::uint32_t>& n_categories) {
    if (n_categories.empty()) return;
    if (n_categories.size() != columns.size()) {
        throw nb::value_error("n_categories must have one entry per column, or none");
    }
    for (Size j = 0; j < columns.size(); ++j) {
        if (n_categories[j] > 0 && columns[j].type != InputColumn::Type::category) {
            const std::string message =
                "column " + std::to_string(j) + " has categories, so it must be int32 codes";
            throw nb::value_error(message.c_str());
        }
        columns[j].n_categories = n_categories[j];
    }
}

CodeMatrix build(nb::handle input, const std::vector<std::uint32_t>& n_categories,
                 const std::optional<Vector<double>>& weights, std::uint32_t max_bins, int n_threads) {
    InputArrays arrays(input);
    set_categories(arrays.columns, n_categories);
    if (weights && weights->shape(0) != arrays.n_rows)
        throw nb::value_error("weights must have one entry a row");
    const double* row_weights = weights ? weights->data() : nullptr;
    CodeMatrix matrix;
    run_interruptible([&](spinney::Interrupt& interrupt) {
        matrix =
            spinney::build_codes(arrays.columns, arrays.n_rows, row_weights, max_bins, n_threads, interrupt);
    });
    return matrix;
}

auto codes(const CodeMatrix& matrix, Size j) {
    const CodeColumn& column = column_at(matrix, j);
    NewArray<std::uint32_t> out({matrix.n_rows});
    for (Size row = 0; row < matrix.n_rows; ++row) out.data[row] = column.at(row);
    return out.array;
}

void extend(CodeMatrix& matrix, const CodeMatrix& other) {
    if (!matrix.columns.empty() && matrix.n_rows != other.n_rows) {
        throw nb::value_error("the two matrices differ in their number of rows");
    }
    matrix.n_rows = other.n_rows;
    matrix.columns.reserve(matrix.columns.size() + other.columns.size());
    for (Size j = 0, n = other.columns.size(); j < n; ++j) matrix.columns.push_back(other.columns[j]);
}

/// Let the categories that a column was coded from be groups of others, whose groups are given.
void group_categories(CodeMatrix& matrix, Size j, const Vector<std::uint32_t>& groups) {
    column_at(matrix, j);  // there is such a column
    CodeColumn& column = matrix.columns[j];
    if (column.kind != spinney::ColumnKind::categorical) throw nb::value_error("only categories have groups");
    for (Size c = 0; c < groups.size(); ++c)
        if (groups.data()[c] >= column.n_bins) throw nb::value_error("there is no such group");
    column.bin_of_category.assign(groups.data(), groups.data() + groups.size());
}

CodeMatrix select_columns(const CodeMatrix& matrix, const std::vector<Size>& chosen) {
    CodeMatrix out;
    out.n_rows = matrix.n_rows;
    for (const Size j : chosen) out.columns.push_back(column_at(matrix, j));
    return out;
}

}  // namespace

void register_matrix(nb::module_& m) {
    const auto copy = [](const auto& values) { return to_array(std::vector(values)); };
    nb::class_<CodeMatrix>(m, "CodeMatrix", "Every column of a table as integer codes in rank order.")
        .def_ro("n_rows", &CodeMatrix::n_rows)
        .def_prop_ro("n_columns", [](const CodeMatrix& x) { return x.columns.size(); })
        .def_prop_ro(
            "missing_columns",
            [](const CodeMatrix& x) {
                nb::list out;
                for (const CodeColumn& column : x.columns) out.append(column.has_missing);
                return out;
            },
            "Whether each column has missing values.")
        .def("codes", &codes, "column"_a, "Copy a column's codes; n_bins(column) means missing.")
        .def(
            "n_bins", [](const CodeMatrix& x, Size j) { return column_at(x, j).n_bins; }, "column"_a)
        .def(
            "width", [](const CodeMatrix& x, Size j) { return column_at(x, j).width; }, "column"_a)
        .def(
            "has_missing", [](const CodeMatrix& x, Size j) { return column_at(x, j).has_missing; },
            "column"_a)
        .def(
            "lo", [=](const CodeMatrix& x, Size j) { return copy(column_at(x, j).lo); }, "column"_a,
            "Copy the least value of each bin.")
        .def(
            "hi",
            [=](const CodeMatrix& x, Size j) {
                const CodeColumn& column = column_at(x, j);
                return copy(column.hi.empty() ? column.lo : column.hi);
            },
            "column"_a, "Copy the greatest value of each bin.")
        .def(
            "bin_of_category",
            [=](const CodeMatrix& x, Size j) { return copy(column_at(x, j).bin_of_category); }, "column"_a,
            "Copy the bin of each category.")
        .def("select", &select_columns, "columns"_a, "Copy some of the columns, in the order they are named.")
        .def("group_categories", &group_categories, "column"_a, "groups"_a,
             "Let the categories of a column be groups of others; (n_categories,) the group of each.")
        .def("extend", &extend, "other"_a, "Append the columns of another matrix of as many rows.");
    m.def("build_codes", &build, "columns"_a, "n_categories"_a, "weights"_a.none(), "max_bins"_a,
          "n_threads"_a, "Code a 2-D array or a sequence of columns; max_bins 0 ranks numbers exactly.");
}
