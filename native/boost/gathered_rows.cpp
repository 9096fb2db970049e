#include "boost/gathered_rows.hpp"

#include <algorithm>

namespace spinney {

namespace {

constexpr Size kSparse = 4;                   // a copy pays for at most one row in so many
constexpr Size kCachedBytes = Size{1} << 20;  // smaller tables stay in the caches as they are

}  // namespace

void GatheredRows::clear() {
    copies_.clear();
    n_used_ = 0;
}

int GatheredRows::reserve(int from, Size n, const std::vector<Size>& chunk_sizes) {
    const Size there = from == kTable ? n_rows_ : copies_[static_cast<Size>(from)].n_rows;
    if (n_rows_ * table_.stride < kCachedBytes || n * kSparse > there || n_used_ + n > capacity())
        return from;
    if (position_.empty()) {
        position_.resize(n_rows_);
        codes_ = Bytes(capacity() * table_.stride);
        packed_ = Bytes(capacity() * sizeof(Stat));
    }
    Copy copy{n, {}};
    copy.first.reserve(chunk_sizes.size());
    for (const Size size : chunk_sizes) {
        copy.first.push_back(n_used_);
        n_used_ += size;
    }
    copies_.push_back(std::move(copy));
    return static_cast<int>(copies_.size()) - 1;
}

CodedRows GatheredRows::rows(int copy, Size chunk, const Stat* packed) const {
    if (copy == kTable)
        return {table_.codes.data() + chunk * kChunkRows * table_.stride,
                const_cast<Stat*>(packed) + chunk * kChunkRows};
    const Size first = copies_[static_cast<Size>(copy)].first[chunk];
    return {codes_.data() + first * table_.stride, reinterpret_cast<Stat*>(packed_.data()) + first};
}

void GatheredRows::copy(Stat* hist, int from, int to, Size chunk, const LocalRow* ids, Size n,
                        const Stat* packed) {
    const CodedRows source = rows(from, chunk, packed), target = rows(to, chunk, packed);
    LocalRow* position = position_.data() + chunk * kChunkRows;
    std::array<LocalRow, kBlockRows> positions;
    for (Size begin = 0; begin < n; begin += kBlockRows) {
        const Size m = std::min(kBlockRows, n - begin);
        const LocalRow* at = ids + begin;
        for (Size i = 0; i < m; ++i) {
            positions[i] = from == kTable ? at[i] : position[at[i]];
            position[at[i]] = static_cast<LocalRow>(begin + i);
        }
        const CodedRows part{target.codes + begin * table_.stride, target.words + begin};
        copy_rows(part, source, table_.stride, positions.data(), m);
        add_rows(hist, table_, part, m);
    }
}

void GatheredRows::collect(Stat* hist, RowBuffer& buffer, int from, Size chunk, const LocalRow* ids, Size n,
                           const Stat* packed) const {
    if (buffer.packed.empty()) {
        buffer.codes = Bytes(kBlockRows * table_.stride);
        buffer.packed.resize(kBlockRows);
    }
    const CodedRows source = rows(from, chunk, packed);
    const LocalRow* position = position_.data() + chunk * kChunkRows;
    for (Size begin = 0; begin < n;) {
        const Size m = std::min(kBlockRows - buffer.n, n - begin);
        const LocalRow* positions = ids + begin;
        if (from != kTable) {
            for (Size i = 0; i < m; ++i) buffer.positions[i] = position[positions[i]];
            positions = buffer.positions.data();
        }
        copy_rows({buffer.codes.data() + buffer.n * table_.stride, buffer.packed.data() + buffer.n}, source,
                  table_.stride, positions, m);
        buffer.n += m;
        begin += m;
        if (buffer.n == kBlockRows) flush(hist, buffer);
    }
}

void GatheredRows::flush(Stat* hist, RowBuffer& buffer) const {
    if (buffer.n > 0) add_rows(hist, table_, {buffer.codes.data(), buffer.packed.data()}, buffer.n);
    buffer.n = 0;
}

}  // namespace spinney
