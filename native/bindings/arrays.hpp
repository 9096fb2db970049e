// Turns Python arrays into borrowed input columns, and results into numpy arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <bit>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/code_matrix.hpp"
#include "predict/input_table.hpp"

namespace nb = nanobind;

/// Arrays that functions take: contiguous, and of this element type.
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// A view of a Python array through the buffer protocol: any strides, read-only or not, nothing copied.
class Buffer {
  public:
    explicit Buffer(nb::handle array) {
        if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_STRIDES | PyBUF_FORMAT) != 0)
            throw nb::python_error();
    }
    Buffer(Buffer&& other) noexcept : view_(std::exchange(other.view_, Py_buffer{})) {}
    Buffer& operator=(Buffer&&) = delete;
    ~Buffer() { PyBuffer_Release(&view_); }  // does nothing to a view that was moved from

    const Py_buffer& view() const { return view_; }

    /// The element type: 'f', 'd', 'i' (32 bits), or '?' for anything else, other byte orders included.
    char type() const {
        const char* format = view_.format ? view_.format : "B";
        const char foreign = std::endian::native == std::endian::little ? '>' : '<';
        if (*format == foreign || *format == '!') return '?';
        if (*format == '@' || *format == '=' || *format == '<' || *format == '>') ++format;
        if (format[0] == '\0' || format[1] != '\0') return '?';
        if (format[0] == 'f' || format[0] == 'd') return format[0];
        return (format[0] == 'i' || format[0] == 'l') && view_.itemsize == 4 ? 'i' : '?';
    }

  private:
    Py_buffer view_{};
};

/// The columns of a call's input. The views keep the arrays alive while the lock is released.
class InputArrays {
  public:
    /// `input`: a 2-D array of float32 or float64, or a sequence of 1-D arrays of float32, float64 or int32
    /// (category codes). None may stand for a column that nobody reads, if `holes`.
    explicit InputArrays(nb::handle input, bool holes = false) {
        if (PyObject_CheckBuffer(input.ptr())) {
            add_block(input);
        } else {
            const auto n = PySequence_Size(input.ptr());
            if (n < 0) throw nb::python_error();
            for (Py_ssize_t j = 0; j < n; ++j) {
                const nb::object column = nb::steal(PySequence_GetItem(input.ptr(), j));
                if (!column.is_valid()) throw nb::python_error();
                add_column(column, holes);
            }
        }
    }

    std::vector<spinney::InputColumn> columns;
    spinney::Size n_rows = 0;
    bool row_major = false;

    spinney::InputTable table() const { return {columns, n_rows, row_major}; }

  private:
    using Type = spinney::InputColumn::Type;

    static Type type_of(const Buffer& buffer, const std::string& where, bool codes) {
        switch (buffer.type()) {
            case 'f':
                return Type::f32;
            case 'd':
                return Type::f64;
            case 'i':
                if (codes) return Type::category;
                [[fallthrough]];
            default: {
                const char* format = buffer.view().format ? buffer.view().format : "B";
                const std::string wanted = codes ? "float32, float64 or int32" : "float32 or float64";
                const std::string message = where + " has the element format '" + format +
                                            "'; convert it to " + wanted + " in native byte order";
                throw nb::type_error(message.c_str());
            }
        }
    }

    void add_block(nb::handle array) {
        buffers_.emplace_back(array);
        const Py_buffer& view = buffers_.back().view();
        if (view.ndim != 2) throw nb::value_error("the input must be 2-D, or a list of columns");
        const Type type = type_of(buffers_.back(), "the input", false);
        n_rows = static_cast<spinney::Size>(view.shape[0]);
        columns.resize(static_cast<spinney::Size>(view.shape[1]));
        const char* data = static_cast<const char*>(view.buf);
        for (spinney::InputColumn& column : columns) {
            column = {type, data, view.strides[0], 0};
            data += view.strides[1];
        }
        row_major = view.strides[1] == view.itemsize || columns.size() == 1;
    }

    void add_column(nb::handle array, bool holes) {
        if (holes && array.is_none()) {
            columns.emplace_back();
            return;
        }
        const std::string where = "column " + std::to_string(columns.size());
        Buffer buffer(array);
        const Py_buffer& view = buffer.view();
        if (view.ndim != 1) throw nb::value_error((where + " must be 1-D").c_str());
        const auto length = static_cast<spinney::Size>(view.shape[0]);
        if (!buffers_.empty() && length != n_rows) {
            const std::string message =
                where + " has " + std::to_string(length) + " rows, others have " + std::to_string(n_rows);
            throw nb::value_error(message.c_str());
        }
        n_rows = length;
        columns.push_back({type_of(buffer, where, true), view.buf, view.strides[0], 0});
        buffers_.push_back(std::move(buffer));
    }

    std::vector<Buffer> buffers_;
};

/// A new numpy array, not initialised, and where to write it.
template <class T>
struct NewArray {
    explicit NewArray(std::initializer_list<size_t> shape) {
        size_t n = 1;
        for (size_t length : shape) n *= length;
        data = new T[n];
        nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
        array = nb::ndarray<nb::numpy, T>(data, shape.size(), shape.begin(), owner);
    }
    T* data;
    nb::ndarray<nb::numpy, T> array;
};

/// A numpy array that takes over a vector.
template <class T, class Allocator>
nb::ndarray<nb::numpy, T> to_array(std::vector<T, Allocator>&& values) {
    using Vector = std::vector<T, Allocator>;
    auto* kept = new Vector(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Vector*>(p); });
    const size_t shape[] = {kept->size()};
    return nb::ndarray<nb::numpy, T>(kept->data(), 1, shape, owner);
}
