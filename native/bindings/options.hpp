// Python classes made from field lists: keyword constructor, read-only properties, replace().
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "split/options.hpp"

namespace spinney {

template <class E>
E parse_spelling(nb::handle value) {
    const auto text = nb::cast<std::string>(value);
    const auto found = std::find(spellings<E>.begin(), spellings<E>.end(), text);
    if (found == spellings<E>.end()) {
        std::string message = "'" + text + "' is not one of";
        for (const char* name : spellings<E>) message += std::string(" '") + name + "'";
        throw nb::value_error(message.c_str());
    }
    return static_cast<E>(found - spellings<E>.begin());
}

/// Convert a Python value to the type of a field. Integers are clamped to the range of the limits.
template <class T>
T parse_field(nb::handle value) {
    if constexpr (std::is_same_v<T, LedgerLevel>) {
        if (PyBool_Check(value.ptr())) return value.is(Py_True) ? LedgerLevel::features : LedgerLevel::off;
        if (nb::cast<std::string>(value) == "full") return LedgerLevel::thresholds;
        throw nb::value_error("ledger is False, True or 'full'");
    } else if constexpr (std::is_enum_v<T>) {
        return parse_spelling<T>(value);
    } else if constexpr (std::is_same_v<T, int> || std::is_same_v<T, Limit>) {
        return static_cast<T>(
            std::min<long long>(nb::cast<long long>(value), std::numeric_limits<std::int32_t>::max()));
    } else if constexpr (std::is_same_v<T, std::vector<double>> ||
                         std::is_same_v<T, std::vector<std::int8_t>>) {
        using Element = const typename T::value_type;
        const auto array = nb::cast<nb::ndarray<Element, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(value);
        return T(array.data(), array.data() + array.size());
    } else {
        return nb::cast<T>(value);
    }
}

template <class T>
nb::object show_field(const T& value) {
    if constexpr (std::is_same_v<T, LedgerLevel>)
        return value == LedgerLevel::thresholds ? nb::cast("full") : nb::cast(value == LedgerLevel::features);
    else if constexpr (std::is_enum_v<T>)
        return nb::cast(spellings<T>[static_cast<Size>(value)]);
    else
        return nb::cast(value);
}

/// Set the named fields. None stands for the default.
template <class O>
void set_fields(O& options, const nb::kwargs& given) {
    for (const auto [key, value] : given) {
        const auto name = nb::cast<std::string>(key);
        bool known = false;
        const auto set = [&](const auto& field) {
            if (name != field.first) return;
            known = true;
            auto& member = options.*field.second;
            using T = std::remove_reference_t<decltype(member)>;
            try {
                member = value.is_none() ? O{}.*field.second : parse_field<T>(value);
            } catch (const nb::cast_error&) {
                throw nb::type_error((name + " has the wrong type").c_str());
            }
        };
        std::apply([&](const auto&... field) { (set(field), ...); }, O::fields());
        if (!known) throw nb::type_error(("there is no option '" + name + "'").c_str());
    }
}

template <class O>
void bind_options(nb::module_& m, const char* name, const char* doc) {
    nb::class_<O> bound(m, name, doc);
    bound
        .def("__init__",
             [](O* self, const nb::kwargs& given) {
                 O options;
                 set_fields(options, given);
                 new (self) O(std::move(options));
             })
        .def(
            "replace",
            [](const O& self, const nb::kwargs& changes) {
                O out = self;
                set_fields(out, changes);
                return out;
            },
            "Return a copy with some fields changed.");
    const auto bind = [&](const auto& field) {
        const auto member = field.second;
        bound.def_prop_ro(field.first, [member](const O& self) { return show_field(self.*member); });
    };
    std::apply([&](const auto&... field) { (bind(field), ...); }, O::fields());
}

}  // namespace spinney
