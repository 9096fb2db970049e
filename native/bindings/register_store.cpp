// Registers what codes tables block by block: samples of rows, bins, coders, and matrices of stored codes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/register.hpp"
#include "data/bin_coder.hpp"
#include "data/bin_learning.hpp"
#include "data/binning.hpp"

using spinney::BinCoder;
using spinney::Bins;
using spinney::CodeColumn;
using spinney::CodeMatrix;
using spinney::Size;
using spinney::ValueCounter;

namespace {

using Extents = std::pair<Vector<double>, Vector<double>>;
using OptionalVector = std::optional<Vector<double>>;

std::vector<double> to_vector(const Vector<double>& array) {
    return {array.data(), array.data() + array.size()};
}

Bins to_bins(const Extents& extents) { return {to_vector(extents.first), to_vector(extents.second)}; }

auto from_bins(const Bins& bins) {
    return std::make_pair(to_array(std::vector(bins.lo)), to_array(std::vector(bins.hi)));
}

const double* data_of(const OptionalVector& weights, Size n_rows) {
    if (weights && weights->shape(0) != n_rows) throw nb::value_error("weights must have one entry per row");
    return weights ? weights->data() : nullptr;
}

auto edge_sample(Size n_rows) {
    const bool sampled = n_rows > spinney::edge_sample_rows;
    const auto rows = spinney::sample_rows(n_rows, sampled ? spinney::edge_sample_rows : 0);
    return to_array(std::vector<std::int64_t>(rows.begin(), rows.end()));
}

auto learn(nb::handle input, const OptionalVector& weights, std::uint32_t max_bins, int n_threads) {
    InputArrays arrays(input);
    const double* row_weights = data_of(weights, arrays.n_rows);
    std::vector<Bins> bins;
    run_interruptible([&](spinney::Interrupt& interrupt) {
        bins =
            spinney::learn_bins(arrays.columns, arrays.n_rows, row_weights, max_bins, n_threads, interrupt);
    });
    std::vector<decltype(from_bins(bins[0]))> out;
    for (const Bins& one : bins) out.push_back(from_bins(one));
    return out;
}

void code(BinCoder& coder, nb::handle input, const OptionalVector& weights,
          const nb::ndarray<std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>& out, Size at,
          int n_threads) {
    InputArrays arrays(input, true);
    if (out.shape(0) < coder.n_columns()) throw nb::value_error("codes must have one row per column");
    const double* row_weights = data_of(weights, arrays.n_rows);
    run_interruptible([&](spinney::Interrupt& interrupt) {
        coder.code(out.data(), out.shape(1), at, arrays.columns, row_weights, arrays.n_rows, n_threads,
                   interrupt);
    });
}

void count(ValueCounter& counter, nb::handle input, const OptionalVector& masses, int n_threads) {
    InputArrays arrays(input, true);
    const double* row_masses = data_of(masses, arrays.n_rows);
    run_interruptible([&](spinney::Interrupt& interrupt) {
        counter.add(arrays.columns, row_masses, arrays.n_rows, n_threads, interrupt);
    });
}

/// A matrix whose codes are to be written; columns are numeric, of bins, or categorical, of the bins of
/// categories.
CodeMatrix allocate(Size n_rows, const std::vector<std::optional<Extents>>& bins,
                    const std::vector<std::optional<Vector<std::uint32_t>>>& categories) {
    if (bins.size() != categories.size()) throw nb::value_error("bins and categories differ in length");
    CodeMatrix matrix;
    matrix.n_rows = n_rows;
    matrix.columns.resize(bins.size());
    for (Size j = 0; j < bins.size(); ++j) {
        CodeColumn& column = matrix.columns[j];
        if (bins[j]) {
            column.lo = to_vector(bins[j]->first);
            column.hi = to_vector(bins[j]->second);
            if (column.lo.size() != column.hi.size() || column.lo.size() > 255)
                throw nb::value_error("the bins of a column are not at most 255 pairs of numbers");
            column.n_bins = static_cast<std::uint32_t>(column.lo.size());
        } else if (categories[j]) {
            column.kind = spinney::ColumnKind::categorical;
            const auto& of = *categories[j];
            column.bin_of_category.assign(of.data(), of.data() + of.size());
            const auto& bin = column.bin_of_category;
            column.n_bins = bin.empty() ? 0 : *std::max_element(bin.begin(), bin.end()) + 1;
        } else {
            throw nb::value_error("a column has neither bins nor categories");
        }
        column.width = column.n_bins <= 0xff ? 1 : column.n_bins <= 0xffff ? 2 : 4;
        column.bytes.assign(n_rows * column.width, 0);
    }
    return matrix;
}

/// Write the codes of some rows of a column, and note whether any is missing.
template <class Code>
void write(CodeMatrix& matrix, Size j, Size begin, const Vector<Code>& codes) {
    if (j >= matrix.columns.size()) throw nb::index_error("no such column");
    CodeColumn& column = matrix.columns[j];
    const Size n = codes.size();
    if (begin > matrix.n_rows || n > matrix.n_rows - begin) throw nb::index_error("no such rows");
    if (n == 0) return;
    const Code greatest = *std::max_element(codes.data(), codes.data() + n);
    if (greatest > column.n_bins) {
        const std::string message = "column " + std::to_string(j) + " has the code " +
                                    std::to_string(greatest) + " and " + std::to_string(column.n_bins) +
                                    " bins";
        throw nb::value_error(message.c_str());
    }
    column.has_missing |= greatest == column.n_bins;
    spinney::visit_codes(column, [&]<class C>(C* out) { std::copy_n(codes.data(), n, out + begin); });
}

}  // namespace

void register_store(nb::module_& m) {
    m.def("edge_sample", &edge_sample, "n_rows"_a,
          "Rows of the sample that bin edges are learned from, ascending; empty: all rows.");
    m.def("mass_scale", &spinney::mass_scale, "greatest"_a, "n_rows"_a,
          "Power of two that turns weights into integers, once rounded, whose sums are exact.");
    m.def("learn_bins", &learn, "columns"_a, "weights"_a.none(), "max_bins"_a, "n_threads"_a,
          "Learn the bins of columns from all given rows; (lo, hi) of each.");
    m.def(
        "bins_of_masses",
        [](const Vector<double>& values, const Vector<double>& masses, std::uint32_t max_bins) {
            if (values.size() != masses.size()) throw nb::value_error("values and masses differ in length");
            return from_bins(spinney::bins_of_masses({values.data(), values.size()},
                                                     {masses.data(), masses.size()}, max_bins));
        },
        "values"_a, "masses"_a, "max_bins"_a, "Bins of ascending distinct values by their masses; (lo, hi).");
    m.def(
        "bins_of_categories",
        [](const Vector<double>& masses) {
            return to_array(spinney::bins_of_categories({masses.data(), masses.size()}));
        },
        "masses"_a, "Bin of each category by the mass of its rows.");
    m.def("allocate_codes", &allocate, "n_rows"_a, "bins"_a, "categories"_a,
          "A matrix with code 0 everywhere, whose codes are then written by write_codes.");
    m.def("write_codes", &write<std::uint8_t>, "matrix"_a, "column"_a, "begin"_a, "codes"_a,
          "Write the codes of some rows of a column; the number of its bins means missing.");
    m.def("write_codes", &write<std::uint32_t>, "matrix"_a, "column"_a, "begin"_a, "codes"_a);
    nb::class_<BinCoder>(m, "BinCoder", "Codes numeric columns by known bins, block by block.")
        .def(
            "__init__",
            [](BinCoder* self, const std::vector<Extents>& bins, bool sampled) {
                std::vector<Bins> own;
                for (const Extents& one : bins) {
                    own.push_back(to_bins(one));
                    if (own.back().lo.size() != own.back().hi.size() || own.back().size() > 255)
                        throw nb::value_error("the bins of a column are not at most 255 pairs of numbers");
                }
                new (self) BinCoder(std::move(own), sampled);
            },
            "bins"_a, "sampled"_a)
        .def("code", &code, "columns"_a, "weights"_a.none(), "codes"_a, "at"_a, "n_threads"_a,
             "Write the codes of some rows into codes (n_columns, n), from position `at` on.")
        .def(
            "extents",
            [](const BinCoder& x, Size j) {
                if (j >= x.n_columns()) throw nb::index_error("no such column");
                return from_bins(x.extents(j));
            },
            "column"_a, "The bins of a column with the extents of the rows so far; (lo, hi).")
        .def(
            "has_missing",
            [](const BinCoder& x, Size j) {
                if (j >= x.n_columns()) throw nb::index_error("no such column");
                return x.has_missing(j);
            },
            "column"_a)
        .def(
            "merge",
            [](BinCoder& x, Size j, const Extents& extents, bool has_missing) {
                if (j >= x.n_columns()) throw nb::index_error("no such column");
                x.merge(j, to_bins(extents), has_missing);
            },
            "column"_a, "extents"_a, "has_missing"_a, "Go on from what another coder has seen.");
    nb::class_<ValueCounter>(m, "ValueCounter", "Counts the distinct values of numeric columns.")
        .def(nb::init<Size, Size>(), "n_columns"_a, "limit"_a)
        .def("add", &count, "columns"_a, "masses"_a.none(), "n_threads"_a,
             "Count the values of some rows; a row of mass -1 is left out.")
        .def("drop", &ValueCounter::drop, "column"_a, "Stop counting the values of a column.")
        .def("complete", &ValueCounter::complete, "column"_a, "Whether all values have been counted.")
        .def(
            "read",
            [](const ValueCounter& x, Size j) {
                std::vector<double> values, masses;
                x.read(j, values, masses);
                return std::make_pair(to_array(std::move(values)), to_array(std::move(masses)));
            },
            "column"_a, "The distinct values in ascending order, and the mass of each.");
}
