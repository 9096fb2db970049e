// Where the codes and words of a node's rows are: in the table, or copied together where they would be
// sparse.
//
// A node with few of the rows finds each in a cache line of its own. So its rows are copied one behind the
// other when its histogram is built, and its descendants find them there.
#pragma once

#include <cstdint>
#include <vector>

#include "data/bundle_rows.hpp"

namespace spinney {

/// A few rows on their way into a histogram; a thread's own.
struct GatheredRows {
    Bytes codes;
    std::vector<Stat> words;
    std::array<LocalRow, kBlockRows> places;
    Size n = 0;
};

class RowStores {
  public:
    static constexpr int kTable = -1;

    RowStores(const SlotRows& table, Size n_rows) : table_(table), n_rows_(n_rows) {}

    /// Forget all stores: a new tree begins.
    void clear() {
        stores_.clear();
        n_used_ = 0;
    }

    /// Open a store for a node's rows if it is worth it; gives the store that the node is to use.
    template <class SizeOf>
    int open(int from, Size n, Size n_chunks, SizeOf&& size_of) {
        const Size there = from == kTable ? n_rows_ : stores_[static_cast<Size>(from)].n_rows;
        if (n_rows_ * table_.stride < kCachedBytes || n * kSparse > there || n_used_ + n > room())
            return from;
        if (place_.empty()) {
            place_.resize(n_rows_);
            codes_ = Bytes(room() * table_.stride);
            words_ = Bytes(room() * sizeof(Stat));
        }
        Store store{n, {}};
        store.first.reserve(n_chunks);
        for (Size c = 0; c < n_chunks; ++c) {
            store.first.push_back(n_used_);
            n_used_ += size_of(c);
        }
        stores_.push_back(std::move(store));
        return static_cast<int>(stores_.size()) - 1;
    }

    /// A chunk's rows in a store.  words (n_rows,): those of the table
    CodedRows rows(int store, Size chunk, const Stat* words) const {
        if (store == kTable)
            return {table_.codes.data() + chunk * kChunkRows * table_.stride,
                    const_cast<Stat*>(words) + chunk * kChunkRows};
        const Size first = stores_[static_cast<Size>(store)].first[chunk];
        return {codes_.data() + first * table_.stride, reinterpret_cast<Stat*>(words_.data()) + first};
    }

    /// Copy a node's rows of a chunk into its store, and add them to the histogram.
    void move(Stat* hist, int from, int to, Size chunk, const LocalRow* ids, Size n, const Stat* words) {
        const CodedRows source = rows(from, chunk, words), target = rows(to, chunk, words);
        LocalRow* place = place_.data() + chunk * kChunkRows;
        std::array<LocalRow, kBlockRows> places;
        for (Size begin = 0; begin < n; begin += kBlockRows) {
            const Size m = std::min(kBlockRows, n - begin);
            const LocalRow* at = ids + begin;
            for (Size i = 0; i < m; ++i) {
                places[i] = from == kTable ? at[i] : place[at[i]];
                place[at[i]] = static_cast<LocalRow>(begin + i);
            }
            const CodedRows part{target.codes + begin * table_.stride, target.words + begin};
            copy_rows(part, source, table_.stride, places.data(), m);
            add_rows(hist, table_, part, m);
        }
    }

    /// Add a node's rows of a chunk to the histogram, by way of the block.
    void collect(Stat* hist, GatheredRows& block, int from, Size chunk, const LocalRow* ids, Size n,
                 const Stat* words) const {
        if (block.words.empty()) {
            block.codes = Bytes(kBlockRows * table_.stride);
            block.words.resize(kBlockRows);
        }
        const CodedRows source = rows(from, chunk, words);
        const LocalRow* place = place_.data() + chunk * kChunkRows;
        for (Size begin = 0; begin < n;) {
            const Size m = std::min(kBlockRows - block.n, n - begin);
            const LocalRow* places = ids + begin;
            if (from != kTable) {
                for (Size i = 0; i < m; ++i) block.places[i] = place[places[i]];
                places = block.places.data();
            }
            copy_rows({block.codes.data() + block.n * table_.stride, block.words.data() + block.n}, source,
                      table_.stride, places, m);
            block.n += m;
            begin += m;
            if (block.n == kBlockRows) flush(hist, block);
        }
    }

    /// Add the rows that are still in the block.
    void flush(Stat* hist, GatheredRows& block) const {
        if (block.n > 0) add_rows(hist, table_, {block.codes.data(), block.words.data()}, block.n);
        block.n = 0;
    }

  private:
    /// Rows that the stores of a tree may hold together: with more, trees took as long.
    Size room() const { return n_rows_ / 4; }

    struct Store {
        Size n_rows;
        std::vector<Size> first;  // (n_chunks,)
    };

    static constexpr Size kSparse = 4;                   // one row in so many is worth a copy
    static constexpr Size kCachedBytes = Size{1} << 20;  // tables below this stay in the caches as they are

    const SlotRows& table_;
    Size n_rows_, n_used_ = 0;
    std::vector<Store> stores_;
    std::vector<LocalRow> place_;  // (n_rows,): place of a row among those of its chunk and store
    Bytes codes_, words_;          // (room(),) of all stores
};

}  // namespace spinney
