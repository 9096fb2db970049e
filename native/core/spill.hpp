// Large arrays in temporary files, for fits on tables that do not fit in memory.
//
// While a threshold is set, arrays of at least so many bytes are mappings of unnamed temporary files instead
// of memory of the process: the operating system writes their pages out when memory runs short. Growth reads
// such arrays in the order of the rows.
#pragma once

#include <memory>
#include <vector>

#include "core/types.hpp"

namespace spinney {

/// Arrays of this many bytes or more are in files; the greatest Size: none is.
Size spill_threshold();
/// Set the threshold for all threads; returns the previous one.
Size set_spill_threshold(Size bytes);

/// While it lives, arrays of this thread are in memory.
class SpillPause {
  public:
    SpillPause();
    ~SpillPause();
    SpillPause(const SpillPause&) = delete;
    SpillPause& operator=(const SpillPause&) = delete;
};

/// Zeros in a temporary file. Throws std::bad_alloc if there is no room for them.
void* spill(Size bytes);
/// The bytes of an array in a file, 0 of memory.
Size spilled_bytes(const void* array);
/// Free an array in a file; false: it is memory.
bool free_spilled(void* array);

/// Allocates memory, or temporary files for large arrays.
template <class T>
struct SpillAllocator {
    using value_type = T;
    SpillAllocator() = default;
    template <class U>
    SpillAllocator(const SpillAllocator<U>&) {}

    T* allocate(Size n) {
        if (n >= spill_threshold() / sizeof(T)) return static_cast<T*>(spill(n * sizeof(T)));
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* array, Size n) {
        if (!free_spilled(array)) std::allocator<T>().deallocate(array, n);
    }
    bool operator==(const SpillAllocator&) const { return true; }
};

/// An array with entries for every row of a table.
template <class T>
using RowVector = std::vector<T, SpillAllocator<T>>;

}  // namespace spinney
