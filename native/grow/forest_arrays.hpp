// The trees of a forest in the arrays of Python's TreeEnsemble, appended one after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "core/operating_system.hpp"
#include "core/types.hpp"
#include "grow/flat_tree.hpp"

namespace spinney {

/// An array that grows by realloc, which moves the pages of a large one instead of copying them, so that it
/// is never in memory twice. Memory that is reserved and not written to yet takes no pages.
template <class T>
class GrowingArray {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    GrowingArray() = default;
    GrowingArray(GrowingArray&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)),
          capacity_(std::exchange(other.capacity_, 0)) {}
    GrowingArray& operator=(GrowingArray&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
        return *this;
    }
    ~GrowingArray() { std::free(data_); }

    Size size() const { return size_; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    const T& back() const { return data_[size_ - 1]; }

    void reserve(Size n) {
        if (n > capacity_) reallocate(n);
    }

    /// Append n entries, not initialised, and return them.
    T* extend(Size n) {
        if (size_ + n > capacity_) reallocate(size_ + n + std::min(size_ / 8 + 64, kMaxSpare));
        size_ += n;
        return data_ + size_ - n;
    }

    template <class From>
    void append(const From* from, Size n) {
        T* to = extend(n);
        for (Size i = 0; i < n; ++i) to[i] = static_cast<T>(from[i]);
    }

    void push_back(T value) { *extend(1) = value; }

    /// Give back the memory beyond the last entry.
    void shrink() {
        if (size_ < capacity_) reallocate(size_);
    }

  private:
    static constexpr Size kMaxSpare = Size{1} << 16, kLarge = Size{1} << 22;

    void reallocate(Size n) {
        void* moved = std::realloc(data_, std::max<Size>(1, n) * sizeof(T));
        if (!moved) throw std::bad_alloc();
        data_ = static_cast<T*>(moved);
        capacity_ = n;
        if (n * sizeof(T) >= kLarge) prefer_large_pages(data_, n * sizeof(T));
    }

    T* data_ = nullptr;
    Size size_ = 0, capacity_ = 0;
};

/// Nodes of all trees; offsets of a pool have one entry per split of its kind, and the end.
struct ForestArrays {
    GrowingArray<std::int64_t> tree_begin;
    GrowingArray<std::uint8_t> kind;
    GrowingArray<std::int32_t> feature;
    GrowingArray<double> threshold, value, weight, impurity;
    GrowingArray<std::int8_t> missing;        // unless a child beyond 127 takes missing values
    GrowingArray<std::int32_t> wide_missing;  // instead, if one does
    GrowingArray<std::int32_t> n_samples;     // unless a node has 2³¹ rows or more
    GrowingArray<std::int64_t> wide_n_samples;
    GrowingArray<std::int64_t> set_begin, branch_begin, term_begin;
    GrowingArray<std::uint64_t> set_bits;
    GrowingArray<std::int32_t> branch_children, branch, term_feature;
    GrowingArray<double> term_coefficient, term_fill;
    int n_outputs = 1, width = 1;

    /// With the first tree, memory for `n_expected` trees of its size is reserved.
    explicit ForestArrays(Size n_expected) : n_expected_(n_expected) {
        for (auto* offsets : {&tree_begin, &set_begin, &branch_begin, &term_begin}) offsets->push_back(0);
    }

    Size n_trees() const { return tree_begin.size() - 1; }

    /// Append a tree; its ledger is not taken.
    void add(const FlatTree& tree);

    /// Give back memory that was reserved and not used.
    void shrink();

  private:
    void reserve(const FlatTree& first);
    void add_pools(const FlatTree& tree);

    Size n_expected_;
};

}  // namespace spinney
