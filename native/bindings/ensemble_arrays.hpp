// The arrays of a TreeEnsemble as the core reads them.
#pragma once

#include <nanobind/stl/vector.h>

#include <span>
#include <vector>

#include "bindings/predict_call.hpp"
#include "predict/ensemble_view.hpp"

/// Borrow the arrays of an ensemble, which `a` holds.
inline spinney::EnsembleView ensemble_view(FieldArrays& a, nb::handle ensemble) {
    const nb::object value = ensemble.attr("value");
    const auto shape = nb::cast<std::vector<spinney::Size>>(value.attr("shape"));
    const bool narrow = nb::cast<int>(ensemble.attr("missing").attr("itemsize")) == 1;
    return {a.get<std::int64_t>("tree_begin"),
            a.get<std::uint8_t>("kind"),
            a.get<std::int32_t>("feature"),
            a.get<double>("threshold"),
            narrow ? a.get<std::int8_t>("missing") : std::span<const std::int8_t>(),
            narrow ? std::span<const std::int32_t>() : a.get<std::int32_t>("missing"),
            a.get<double>("value"),
            a.get<double>("weight"),
            a.get<std::int64_t>("set_begin"),
            a.get<std::uint64_t>("set_bits"),
            a.get<std::int64_t>("branch_begin"),
            a.get<std::int32_t>("branch_children"),
            a.get<std::int32_t>("branch"),
            a.get<std::int64_t>("term_begin"),
            a.get<std::int32_t>("term_feature"),
            a.get<double>("term_coefficient"),
            a.get<double>("term_fill"),
            nb::cast<spinney::Size>(ensemble.attr("n_features")),
            shape.at(1),
            shape.at(2)};
}
