// The rows of a node as groups of equal code, in ascending order of code.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "core/radix_sort.hpp"
#include "data/code_matrix.hpp"
#include "split/categories.hpp"
#include "split/row_stats.hpp"

namespace spinney {

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
    SortedGroups(std::span<const std::uint64_t> keys, const RowStats& rows, int row_width)
        : keys_(keys), rows_(rows), row_width_(row_width) {}

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
                __builtin_prefetch(rows_.stats + soon * static_cast<Size>(row_width_));
                if constexpr (L == Layout::by_class) __builtin_prefetch(rows_.class_code + soon);
            }
            rows_.add<L>(sum, static_cast<std::uint32_t>(keys_[at_]), row_width_);
            ++at_;
        } while (more() && peek() == code);
        return true;
    }

  private:
    std::span<const std::uint64_t> keys_;
    RowStats rows_;
    int row_width_;
    Size at_ = 0;
};

/// Working memory of a thread, reused for every node and feature.
struct SearchScratch {
    std::vector<std::uint64_t> keys, spare, used;
    std::vector<Stat> sums, known, missing;
    CategorySums categories;
    CopiedRowStats statistics;  // of the node that this thread splits
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

/// Call f with the groups in ascending order of code: a histogram where codes are few, sorted rows otherwise.
/// The rows with a missing value are added up in scratch.missing.  stats: of the rows, in their order
template <Layout L, class F>
void with_groups(SearchScratch& scratch, const CodeColumn& column, std::span<const Row> rows,
                 const RowStats& stats, const Statistics& s, F&& f) {
    scratch.keys.resize(rows.size());
    scratch.missing.assign(static_cast<Size>(s.width), 0);
    Size known = 0;
    visit_codes(column, [&](const auto* codes) {
        for (Size i = 0; i < rows.size(); ++i) {
            const Code code = codes[rows[i]];
            if (code != column.n_bins)
                scratch.keys[known++] = static_cast<std::uint64_t>(code) << 32 | i;
            else
                stats.add<L>(scratch.missing.data(), i, s.row_width);
        }
    });
    scratch.keys.resize(known);
    const Size width = static_cast<Size>(s.width), bins = column.n_bins;
    if (bins * width <= 2 * rows.size()) {
        scratch.sums.assign(bins * width, 0);
        scratch.used.assign((bins + 63) / 64, 0);
        for (const std::uint64_t key : scratch.keys) {
            const auto code = static_cast<Size>(key >> 32);
            scratch.used[code / 64] |= std::uint64_t{1} << (code % 64);
            stats.add<L>(scratch.sums.data() + code * width, static_cast<std::uint32_t>(key), s.row_width);
        }
        BinnedGroups groups(scratch.sums.data(), scratch.used, s.width);
        f(groups);
        return;
    }
    if (scratch.spare.size() < scratch.keys.size()) scratch.spare.resize(scratch.keys.size());
    radix_sort(scratch.keys.data(), scratch.spare.data(), scratch.keys.size());
    SortedGroups<L> groups(scratch.keys, stats, s.row_width);
    f(groups);
}

}  // namespace spinney
