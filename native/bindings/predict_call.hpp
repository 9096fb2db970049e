// What every predictor's bindings share: the arrays of a fitted model, and a call with a table.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <span>
#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"

/// The arrays of a fitted model, held while they are read.
class FieldArrays {
  public:
    explicit FieldArrays(nb::handle model) : model_(model) {}

    template <class T>
    std::span<const T> get(const char* name) {
        auto array = nb::cast<nb::ndarray<const T, nb::c_contig, nb::device::cpu>>(model_.attr(name));
        const std::span<const T> span(array.data(), array.size());
        held_.push_back(nb::cast(array));
        return span;
    }

  private:
    nb::handle model_;
    std::vector<nb::object> held_;
};

/// Read the input, check that it fits, and call work(table, interrupt), without the lock if that is worth it.
template <class P>
class PredictCall {
  public:
    PredictCall(const P& predictor, nb::handle input, spinney::Size n_rows) : arrays_(input, true) {
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
        arrays_.n_rows = check_rows(n_rows, predictor);
    }

    spinney::Size n_rows() const { return arrays_.n_rows; }
    spinney::InputTable table() const { return arrays_.table(); }

    template <class F>
    void run(F&& work) {
        const spinney::InputTable table = arrays_.table();
        if (n_rows() < rows_worth_unlocking) return work(table, nullptr);
        run_interruptible([&](spinney::Interrupt& interrupt) { work(table, &interrupt); });
    }

  private:
    // Below this, giving the lock away and taking it back costs more than the walk.
    static constexpr spinney::Size rows_worth_unlocking = 256;

    // Only an input without any column leaves the number of rows open.
    spinney::Size check_rows(spinney::Size n_rows, const P& predictor) const {
        bool open = predictor.used_features().empty();
        for (const auto& column : arrays_.columns) open &= column.data == nullptr;
        if (!open && n_rows != arrays_.n_rows) throw nb::value_error("n_rows is not the columns' length");
        return n_rows;
    }

    InputArrays arrays_;
};
