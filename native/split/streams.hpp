// A node's rows as a stream of groups of equal code, in ascending order of code.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "split/categories.hpp"
#include "split/moments.hpp"
#include "core/radix_sort.hpp"
#include "split/sweep.hpp"

namespace spinney {

/// What each row of a node adds, side by side in the node's order: a sweep in order of a feature's values
/// jumps about in this alone, not in the whole table.
struct NodeStatistics {
    std::vector<Stat> words;          // (n, row_words)
    std::vector<std::uint16_t> slot;  // (n,) for slots

    void gather(const Statistics& s, const NodeRows& node) {
        const Size n = node.rows.size(), width = static_cast<Size>(s.row_words);
        words.resize(n * width);
        slot.resize(s.layout == Layout::slots ? n : 0);
        for (Size i = 0; i < n; ++i) {
            if (s.layout == Layout::slots) slot[i] = s.slot[node.rows[i]];
            if (node.parts.empty()) {
                std::copy_n(s.row(node.rows[i]), width, words.data() + i * width);
            } else if (s.layout == Layout::slots) {
                words[i] = node.parts[i];
            } else {
                std::fill_n(words.data() + i * width, width, 0);
                s.add_part(words.data() + i * width, node.rows[i], node.parts[i]);
            }
        }
    }
};

/// Add the i-th row of a node to a sum; the layout is fixed by type because this is the inner loop.
template <Layout L>
[[gnu::always_inline]] inline void add_entry(Stat* sum, const Statistics& s, const NodeStatistics& node,
                                             Size i) {
    if constexpr (L == Layout::packed) {
        sum[0] += node.words[i];
    } else {
        const Size n = static_cast<Size>(s.row_words);
        const Stat* w = node.words.data() + i * n;
        Stat* at = L == Layout::slots ? sum + node.slot[i] * n : sum;
        for (Size k = 0; k < n; ++k) at[k] += w[k];
    }
}

/// Sums in a table with one line a code, and a bit for each line in use.
class DenseStream {
  public:
    DenseStream(const Stat* sums, std::span<const std::uint64_t> occupied, int width)
        : sums_(sums), occupied_(occupied), width_(static_cast<Size>(width)) {
        advance();
    }

    bool more() const { return word_ < occupied_.size(); }
    Code peek() const { return static_cast<Code>(word_ * 64) + static_cast<Code>(std::countr_zero(bits_)); }
    [[gnu::always_inline]] bool next(Code& code, Stat* sum) {
        if (!more()) return false;
        code = peek();
        const Stat* line = sums_ + code * width_;
        for (Size i = 0; i < width_; ++i) sum[i] += line[i];
        bits_ &= bits_ - 1;
        if (bits_ == 0) {
            ++word_;
            advance();
        }
        return true;
    }
    Code last() const {
        Size w = occupied_.size() - 1;
        while (occupied_[w] == 0) --w;
        return static_cast<Code>(w * 64 + 63) - static_cast<Code>(std::countl_zero(occupied_[w]));
    }

  private:
    void advance() {
        while (word_ < occupied_.size() && occupied_[word_] == 0) ++word_;
        bits_ = word_ < occupied_.size() ? occupied_[word_] : 0;
    }
    const Stat* sums_;
    std::span<const std::uint64_t> occupied_;
    Size width_;
    Size word_ = 0;
    std::uint64_t bits_ = 0;
};

/// Rows sorted by code: key = code << 32 | place in the node.
template <Layout L>
class SortedStream {
  public:
    SortedStream(std::span<const std::uint64_t> keys, const NodeStatistics& node, const Statistics& s)
        : keys_(keys), node_(node), s_(s) {}

    bool more() const { return at_ < keys_.size(); }
    Code peek() const { return static_cast<Code>(keys_[at_] >> 32); }
    Code last() const { return static_cast<Code>(keys_.back() >> 32); }
    [[gnu::always_inline]] bool next(Code& code, Stat* sum) {
        if (!more()) return false;
        code = peek();
        constexpr Size ahead = 16;
        do {
            if (at_ + ahead < keys_.size()) {
                const auto soon = static_cast<std::uint32_t>(keys_[at_ + ahead]);
                __builtin_prefetch(node_.words.data() + soon * static_cast<Size>(s_.row_words));
                if constexpr (L == Layout::slots) __builtin_prefetch(node_.slot.data() + soon);
            }
            add_entry<L>(sum, s_, node_, static_cast<std::uint32_t>(keys_[at_]));
            ++at_;
        } while (more() && peek() == code);
        return true;
    }

  private:
    std::span<const std::uint64_t> keys_;
    const NodeStatistics& node_;
    const Statistics& s_;
    Size at_ = 0;
};

/// Memory that a thread uses again for every node and feature.
struct OrderScratch {
    std::vector<std::uint64_t> keys, spare, occupied;
    std::vector<Stat> sums, known, missing;
    Groups groups;
    NodeStatistics statistics;  // of the node that this thread divides
};

/// Collect a stream into arrays.
template <class Stream>
void collect(Groups& out, Stream& stream, int width) {
    out.clear();
    while (stream.more()) {
        out.sums.resize(out.sums.size() + static_cast<Size>(width), 0);
        Code code = 0;
        stream.next(code, out.sums.data() + out.sums.size() - static_cast<Size>(width));
        out.code.push_back(code);
    }
}

/// Read the codes of a node's rows in one column: keys of the known rows, and the sum of the missing ones.
template <Layout L, class T>
void read_codes(OrderScratch& out, const CodeColumn& column, std::span<const Row> rows,
                const NodeStatistics& node, const Statistics& s) {
    const T* codes = column.as<T>();
    out.keys.resize(rows.size());
    out.missing.assign(static_cast<Size>(s.width), 0);
    Size known = 0;
    for (Size i = 0; i < rows.size(); ++i) {
        const Code code = codes[rows[i]];
        if (code != column.n_bins)
            out.keys[known++] = static_cast<std::uint64_t>(code) << 32 | i;
        else
            add_entry<L>(out.missing.data(), s, node, i);
    }
    out.keys.resize(known);
}

/// Give f a stream over the groups in ascending order of code, by a table where codes are few, else by
/// sorting.
template <Layout L, class F>
void with_stream(OrderScratch& scratch, const CodeColumn& column, std::span<const Row> rows,
                 const NodeStatistics& node, const Statistics& s, F&& f) {
    switch (column.width) {
        case 1:
            read_codes<L, std::uint8_t>(scratch, column, rows, node, s);
            break;
        case 2:
            read_codes<L, std::uint16_t>(scratch, column, rows, node, s);
            break;
        default:
            read_codes<L, std::uint32_t>(scratch, column, rows, node, s);
    }
    const Size width = static_cast<Size>(s.width), bins = column.n_bins;
    if (bins * width <= 2 * rows.size()) {
        scratch.sums.assign(bins * width, 0);
        scratch.occupied.assign((bins + 63) / 64, 0);
        for (const std::uint64_t key : scratch.keys) {
            const auto code = static_cast<Size>(key >> 32);
            scratch.occupied[code / 64] |= std::uint64_t{1} << (code % 64);
            add_entry<L>(scratch.sums.data() + code * width, s, node, static_cast<std::uint32_t>(key));
        }
        DenseStream stream(scratch.sums.data(), scratch.occupied, s.width);
        f(stream);
        return;
    }
    if (scratch.spare.size() < scratch.keys.size()) scratch.spare.resize(scratch.keys.size());
    radix_sort(scratch.keys.data(), scratch.spare.data(), scratch.keys.size());
    SortedStream<L> stream(scratch.keys, node, s);
    f(stream);
}

}  // namespace spinney
