// The rows of a node as groups of equal code, in ascending order of code.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "core/radix_sort.hpp"
#include "data/code_matrix.hpp"
#include "split/categories.hpp"
#include "split/node_values.hpp"

namespace spinney {

/// Statistics of a node's rows in the node's order. A sweep in order of a feature's values then reads this
/// small array at random instead of the whole table.
struct NodeRowStats {
    std::vector<Stat> stats;                // (n, row_width)
    std::vector<std::uint16_t> class_code;  // (n,) of layout by_class

    void gather(const Statistics& s, const NodeRows& node) {
        const Size n = node.rows.size(), width = static_cast<Size>(s.row_width);
        stats.resize(n * width);
        class_code.resize(s.layout == Layout::by_class ? n : 0);
        for (Size i = 0; i < n; ++i) {
            if (s.layout == Layout::by_class) class_code[i] = s.class_code[node.rows[i]];
            if (node.parts.empty()) {
                std::copy_n(s.row(node.rows[i]), width, stats.data() + i * width);
            } else if (s.layout == Layout::by_class) {
                stats[i] = node.parts[i];
            } else {
                std::fill_n(stats.data() + i * width, width, 0);
                s.add_fraction(stats.data() + i * width, node.rows[i], node.parts[i]);
            }
        }
    }
};

/// Add the i-th row of a node to a sum. The layout is a template parameter: this is the inner loop.
template <Layout L>
[[gnu::always_inline]] inline void add_row(Stat* sum, const Statistics& s, const NodeRowStats& node, Size i) {
    if constexpr (L == Layout::packed) {
        sum[0] += node.stats[i];
    } else {
        const Size n = static_cast<Size>(s.row_width);
        const Stat* own = node.stats.data() + i * n;
        Stat* to = L == Layout::by_class ? sum + node.class_code[i] * n : sum;
        for (Size k = 0; k < n; ++k) to[k] += own[k];
    }
}

/// Groups given as a histogram with one bit per used bin.
class BinnedGroups {
  public:
    BinnedGroups(const Stat* sums, std::span<const std::uint64_t> used, int width)
        : sums_(sums), occupied_(used), width_(static_cast<Size>(width)) {
        advance();
    }

    bool more() const { return word_ < occupied_.size(); }
    Code peek() const { return static_cast<Code>(word_ * 64) + static_cast<Code>(std::countr_zero(bits_)); }
    [[gnu::always_inline]] bool next(Code& code, Stat* sum) {
        if (!more()) return false;
        code = peek();
        const Stat* bin = sums_ + code * width_;
        for (Size i = 0; i < width_; ++i) sum[i] += bin[i];
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

/// Groups given as sorted rows: key = code << 32 | position in the node.
template <Layout L>
class SortedGroups {
  public:
    SortedGroups(std::span<const std::uint64_t> keys, const NodeRowStats& node, const Statistics& s)
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
                __builtin_prefetch(node_.stats.data() + soon * static_cast<Size>(s_.row_width));
                if constexpr (L == Layout::by_class) __builtin_prefetch(node_.class_code.data() + soon);
            }
            add_row<L>(sum, s_, node_, static_cast<std::uint32_t>(keys_[at_]));
            ++at_;
        } while (more() && peek() == code);
        return true;
    }

  private:
    std::span<const std::uint64_t> keys_;
    const NodeRowStats& node_;
    const Statistics& s_;
    Size at_ = 0;
};

/// Working memory of a thread, reused for every node and feature.
struct SearchScratch {
    std::vector<std::uint64_t> keys, spare, used;
    std::vector<Stat> sums, known, missing;
    CategorySums categories;
    NodeRowStats statistics;  // of the node that this thread splits
};

/// Copy the remaining groups into arrays.
template <class Groups>
void collect(CategorySums& out, Groups& groups, int width) {
    out.clear();
    while (groups.more()) {
        out.sums.resize(out.sums.size() + static_cast<Size>(width), 0);
        Code code = 0;
        groups.next(code, out.sums.data() + out.sums.size() - static_cast<Size>(width));
        out.code.push_back(code);
    }
}

/// Read the codes of a node's rows in one column: keys of the known values and the sum over the missing ones.
template <Layout L, class T>
void read_codes(SearchScratch& out, const CodeColumn& column, std::span<const Row> rows,
                const NodeRowStats& node, const Statistics& s) {
    const T* codes = column.as<T>();
    out.keys.resize(rows.size());
    out.missing.assign(static_cast<Size>(s.width), 0);
    Size known = 0;
    for (Size i = 0; i < rows.size(); ++i) {
        const Code code = codes[rows[i]];
        if (code != column.n_bins)
            out.keys[known++] = static_cast<std::uint64_t>(code) << 32 | i;
        else
            add_row<L>(out.missing.data(), s, node, i);
    }
    out.keys.resize(known);
}

/// Call f with the groups in ascending order of code: a histogram where codes are few, sorted rows otherwise.
template <Layout L, class F>
void with_groups(SearchScratch& scratch, const CodeColumn& column, std::span<const Row> rows,
                 const NodeRowStats& node, const Statistics& s, F&& f) {
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
        scratch.used.assign((bins + 63) / 64, 0);
        for (const std::uint64_t key : scratch.keys) {
            const auto code = static_cast<Size>(key >> 32);
            scratch.used[code / 64] |= std::uint64_t{1} << (code % 64);
            add_row<L>(scratch.sums.data() + code * width, s, node, static_cast<std::uint32_t>(key));
        }
        BinnedGroups groups(scratch.sums.data(), scratch.used, s.width);
        f(groups);
        return;
    }
    if (scratch.spare.size() < scratch.keys.size()) scratch.spare.resize(scratch.keys.size());
    radix_sort(scratch.keys.data(), scratch.spare.data(), scratch.keys.size());
    SortedGroups<L> groups(scratch.keys, node, s);
    f(groups);
}

}  // namespace spinney
