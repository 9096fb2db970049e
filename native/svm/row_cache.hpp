// Kernel rows in float32, the least recently used of which make room for others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/operating_system.hpp"
#include "svm/kernel.hpp"

namespace spinney {

/// Memory for rows of one length, asked for in large pages: small ones would take as long as the kernel
/// values.
class RowArena {
  public:
    explicit RowArena(Size length) : length_((length + 15) / 16 * 16) {}

    float* allocate() {
        if (left_ == 0) grow();
        --left_;
        return next_ += length_, next_ - length_;
    }

  private:
    static constexpr Size kPage = Size{2} << 20, kChunk = Size{8} << 20;
    static constexpr std::align_val_t kPageAlignment{kPage};
    struct Free {
        void operator()(float* memory) const { ::operator delete(memory, kPageAlignment); }
    };

    void grow() {
        const Size row = length_ * sizeof(float), bytes = (std::max(row, kChunk) + kPage - 1) / kPage * kPage;
        chunks_.emplace_back(static_cast<float*>(::operator new(bytes, kPageAlignment)));
        prefer_large_pages(chunks_.back().get(), bytes);
        next_ = chunks_.back().get();
        left_ = bytes / row;
    }

    Size length_, left_ = 0;
    float* next_ = nullptr;
    std::vector<std::unique_ptr<float, Free>> chunks_;
};

/// Rows by variable; a row holds the kernel values of the first `length` positions.
class RowCache {
  public:
    RowCache(const KernelMatrix& kernel, Size n, Size bytes, int n_threads)
        : kernel_(kernel), n_threads_(n_threads), arena_(n), rows_(n) {
        room_ = std::max<Size>(bytes / (sizeof(float) * std::max<Size>(n, 1)), 4);
    }

    /// The row of a variable that stands at a position, with at least `length` values.
    const float* get(Size variable, Size position, Size length) {
        Row& row = rows_[variable];
        if (row.values) {
            used_.splice(used_.begin(), used_, row.place);
        } else {
            row.values = make_room();
            used_.push_front(static_cast<std::uint32_t>(variable));
            row.place = used_.begin();
        }
        if (row.length < length) {
            kernel_.row(row.values + row.length, position, row.length, length, n_threads_);
            row.length = length;
        }
        return row.values;
    }

    bool has(Size variable) const { return rows_[variable].values != nullptr; }

    /// Whether kBlock more rows fit, so that guesses push nothing out.
    bool has_room() const { return kernel_.blocks() && used_.size() + KernelMatrix::kBlock <= room_; }

    /// Compute kBlock rows that are not there, all at once.
    void fill(const Size* variables, const Size* positions, Size length) {
        float* out[KernelMatrix::kBlock];
        for (Size q = 0; q < KernelMatrix::kBlock; ++q) {
            Row& row = rows_[variables[q]];
            row.values = make_room();
            row.length = length;
            used_.push_front(static_cast<std::uint32_t>(variables[q]));
            row.place = used_.begin();
            out[q] = row.values;
        }
        kernel_.rows(out, positions, length, n_threads_);
    }

    /// Exchange positions in all rows; a row that holds one of the two only is given up.
    void swap(const std::vector<std::pair<Size, Size>>& pairs) {
        for (Row& row : rows_) {
            if (!row.values) continue;
            for (const auto& [a, b] : pairs) {  // a < b
                if (b < row.length)
                    std::swap(row.values[a], row.values[b]);
                else if (a < row.length)
                    row.length = a;
            }
        }
    }

  private:
    struct Row {
        float* values = nullptr;
        Size length = 0;
        std::list<std::uint32_t>::iterator place;
    };

    float* make_room() {
        if (used_.size() < room_) return arena_.allocate();
        Row& last = rows_[used_.back()];
        used_.pop_back();
        last.length = 0;
        return std::exchange(last.values, nullptr);
    }

    const KernelMatrix& kernel_;
    Size room_;
    int n_threads_;
    RowArena arena_;
    std::vector<Row> rows_;
    std::list<std::uint32_t> used_;
};

}  // namespace spinney
