// A grown tree as a dict of TreeArrays' fields.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "grow/grown_tree.hpp"

namespace spinney {

namespace nb = nanobind;

/// Hand a vector over to numpy without copying it.
template <class T>
nb::object array(std::vector<T> data, std::vector<std::size_t> shape = {}) {
    auto* kept = new std::vector<T>(std::move(data));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    if (shape.empty()) shape = {kept->size()};
    return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.data(), owner));
}

/// Offsets into a pool, one for each node and the end. Zeros that nobody writes take no memory.
inline nb::object offsets(std::vector<std::int64_t> begin, std::size_t n_nodes) {
    if (!begin.empty()) return array(std::move(begin));
    return nb::module_::import_("numpy").attr("zeros")(n_nodes + 1, "int64");
}

template <class T, class Get>
nb::object ledger_column(const std::vector<LedgerRow>& rows, Get&& get) {
    std::vector<T> column;
    column.reserve(rows.size());
    for (const auto& row : rows) column.push_back(static_cast<T>(get(row)));
    return array(std::move(column));
}

inline nb::dict write_ledger(const std::vector<LedgerRow>& rows) {
    nb::dict d;
    d["node"] = ledger_column<std::int32_t>(rows, [](const auto& r) { return r.node; });
    d["feature"] = ledger_column<std::int32_t>(rows, [](const auto& r) { return r.feature; });
    d["threshold"] = ledger_column<double>(rows, [](const auto& r) { return r.threshold; });
    d["gain"] = ledger_column<double>(rows, [](const auto& r) { return r.gain; });
    d["gain_ratio"] = ledger_column<double>(rows, [](const auto& r) { return r.gain_ratio; });
    d["score"] = ledger_column<double>(rows, [](const auto& r) { return r.score; });
    d["chosen"] = ledger_column<std::uint8_t>(rows, [](const auto& r) { return r.chosen; });
    return d;
}

/// Without its ledger.
inline nb::dict write_arrays(FlatTree t) {
    nb::dict d;
    const Size n = t.kind.size();
    d["value"] = array(std::move(t.value), {n, static_cast<Size>(t.n_outputs), static_cast<Size>(t.width)});
    d["kind"] = array(std::move(t.kind));
    d["feature"] = array(std::move(t.feature));
    d["threshold"] = array(std::move(t.threshold));
    d["first_child"] = array(std::move(t.first_child));
    d["n_children"] = array(std::move(t.n_children));
    d["missing"] = array(std::move(t.missing));
    d["weight"] = array(std::move(t.weight));
    d["n_samples"] = array(std::move(t.n_samples));
    d["impurity"] = array(std::move(t.impurity));
    d["set_begin"] = offsets(std::move(t.set_begin), n);
    d["set_bits"] = array(std::move(t.set_bits));
    d["branch_begin"] = offsets(std::move(t.branch_begin), n);
    d["branch"] = array(std::move(t.branch));
    d["term_begin"] = offsets(std::move(t.term_begin), n);
    d["term_feature"] = array(std::move(t.term_feature));
    d["term_coefficient"] = array(std::move(t.term_coefficient));
    d["term_fill"] = array(std::move(t.term_fill));
    return d;
}

inline nb::dict write_tree(FlatTree t) {
    nb::dict candidates = write_ledger(t.ledger), d = write_arrays(std::move(t));
    d["candidates"] = candidates;
    return d;
}

}  // namespace spinney
