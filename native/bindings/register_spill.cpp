// Registers where large arrays are: in memory, or in temporary files.
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "bindings/register.hpp"
#include "core/spill.hpp"

namespace nb = nanobind;

namespace {

using spinney::free_spilled;
using spinney::Size;
using spinney::spilled_bytes;

// The allocator of numpy's arrays, as numpy/ndarraytypes.h declares it (NEP 49).

void* allocate(void*, size_t bytes) noexcept {
    if (bytes < spinney::spill_threshold()) return std::malloc(bytes);
    try {
        return spinney::spill(bytes);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void* allocate_zeros(void* context, size_t n, size_t size) noexcept {
    return n * size < spinney::spill_threshold() ? std::calloc(n, size) : allocate(context, n * size);
}

void release(void*, void* array, size_t) noexcept {
    if (!free_spilled(array)) std::free(array);
}

void* reallocate(void* context, void* array, size_t bytes) noexcept {
    const Size old = array ? spilled_bytes(array) : 0;
    if (old == 0) return std::realloc(array, bytes);
    void* const out = allocate(context, bytes);
    if (!out) return nullptr;
    std::memcpy(out, array, std::min<size_t>(old, bytes));
    free_spilled(array);
    return out;
}

struct ArrayHandler {
    char name[127];
    std::uint8_t version;
    void* context;
    void* (*allocate)(void*, size_t);
    void* (*allocate_zeros)(void*, size_t, size_t);
    void* (*reallocate)(void*, void*, size_t);
    void (*release)(void*, void*, size_t);
};

ArrayHandler handler{"spinney_spill", 1, nullptr, &allocate, &allocate_zeros, &reallocate, &release};

/// Let numpy, whose table of functions is `api`, allocate the arrays of the current context by a handler;
/// None: its default. Returns the handler before.
nb::object set_array_handler(nb::handle api, nb::handle chosen) {
    constexpr int set_handler = 304;
    auto** const table = static_cast<void**>(PyCapsule_GetPointer(api.ptr(), nullptr));
    if (!table) nb::raise_python_error();
    const auto set = reinterpret_cast<PyObject* (*)(PyObject*)>(table[set_handler]);
    PyObject* const before = set(chosen.is_none() ? nullptr : chosen.ptr());
    if (!before) nb::raise_python_error();
    return nb::steal(before);
}

}  // namespace

void register_spill(nb::module_& m) {
    m.attr("NO_SPILL") = std::numeric_limits<Size>::max();
    m.def("set_spill_threshold", &spinney::set_spill_threshold, "bytes"_a,
          "Put arrays of at least so many bytes into temporary files; returns the threshold before.");
    m.def(
        "spilling_handler", [] { return nb::capsule(&handler, "mem_handler"); },
        "The memory handler of numpy arrays that puts large ones into temporary files.");
    m.def("set_array_handler", &set_array_handler, "api"_a, "handler"_a.none(),
          "Choose the memory handler of numpy arrays in this context, None is numpy's own; returns the one "
          "before.");
    m.def(
        "is_spilled", [](nb::ndarray<nb::ro> array) { return spilled_bytes(array.data()) > 0; }, "array"_a,
        "Whether an array is in a temporary file.");
}
