// Reads options out of a Python dict.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>

namespace spinney {

namespace nb = nanobind;

template <class T>
T one_of(const std::map<std::string, T>& choices, const nb::handle& name, T otherwise) {
    if (name.is_none()) return otherwise;
    const auto found = choices.find(nb::cast<std::string>(name));
    if (found == choices.end()) throw nb::value_error("unknown part of a tree");
    return found->second;
}

/// Python's whole numbers are unbounded, limits are not.
template <class T>
T limit(const nb::handle& number) {
    return static_cast<T>(
        std::min<long long>(nb::cast<long long>(number), std::numeric_limits<std::int32_t>::max()));
}

}  // namespace spinney
