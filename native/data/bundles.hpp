// Slots: bytes that hold the codes of one column, or of several with few values together.
//
// A histogram over a slot costs one addition a row, however many columns share it. Columns share a slot when
// no more than 256 combinations of their codes occur (so a one-hot group of 200 columns fills one slot); the
// slot's code numbers the combination, and the columns' own histograms are sums over it. Nothing is lost.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "data/code_matrix.hpp"
#include "core/thread_pool.hpp"

namespace spinney {

inline constexpr Size kSlotLines = 256;

struct Slot {
    std::vector<std::uint32_t> features;  // ascending; one: the slot's code is the column's
    // shared: the columns' codes in each combination  (n_combinations, features.size())
    std::vector<std::uint8_t> codes_of;
    Size n_lines = 0;  // codes in use: missing included

    bool shared() const { return features.size() > 1; }
};

namespace detail {

/// Columns with more codes than this are not worth sharing: a partner could hardly have two.
inline constexpr Size kFewCodes = 100;

/// Numbers the combinations of a slot's codes with one more column's.  out (n_rows,) holds the slot's codes
/// and is overwritten when the result is true: the column joins.
class Joiner {
  public:
    explicit Joiner(Size n_rows) : n_rows_(n_rows), codes(n_rows) {}

    void start(const CodeColumn& column) {
        std::copy_n(column.as<std::uint8_t>(), n_rows_, codes.data());
        n_ = column.n_bins + 1;
        combinations.resize(n_);
        for (Size c = 0; c < n_; ++c) combinations[c] = {static_cast<std::uint8_t>(c)};
    }

    /// Combinations in order of first appearance would depend on the rows' order; they are numbered by value.
    bool join(const CodeColumn& column) {
        const std::uint8_t* other = column.as<std::uint8_t>();
        const Size width = column.n_bins + 1;
        met_.assign(n_ * width, 0);
        for (Size r = 0; r < n_rows_; ++r) met_[codes[r] * width + other[r]] = 1;
        const Size n = static_cast<Size>(std::count(met_.begin(), met_.end(), 1));
        if (n > kSlotLines) return false;
        number_.assign(met_.size(), 0);
        std::vector<std::vector<std::uint8_t>> next;
        for (Size i = 0; i < met_.size(); ++i) {
            if (!met_[i]) continue;
            number_[i] = static_cast<std::uint8_t>(next.size());
            next.push_back(combinations[i / width]);
            next.back().push_back(static_cast<std::uint8_t>(i % width));
        }
        for (Size r = 0; r < n_rows_; ++r) codes[r] = number_[codes[r] * width + other[r]];
        combinations = std::move(next);
        n_ = n;
        return true;
    }

  private:
    Size n_rows_, n_ = 0;
    std::vector<std::uint8_t> met_, number_;

  public:
    std::vector<std::uint8_t> codes;
    std::vector<std::vector<std::uint8_t>> combinations;
};

}  // namespace detail

/// The slots of a matrix and the codes of those that are shared.
struct Slots {
    std::vector<Slot> slots;
    std::vector<std::vector<std::uint8_t>> codes;  // (n_slots,): (n_rows,) if shared, else empty
    std::vector<std::pair<Size, Size>> place_of;   // (n_features,): slot, and place in it

    /// The codes of a slot.  (n_rows,)
    const std::uint8_t* codes_of(Size slot, const CodeMatrix& x) const {
        return slots[slot].shared() ? codes[slot].data()
                                    : x.columns[slots[slot].features[0]].as<std::uint8_t>();
    }
};

/// Give every column a slot, sharing where that is possible with neighbours among the columns of few values.
inline Slots make_slots(const CodeMatrix& x) {
    Slots out;
    const auto finish = [&](Slot slot, detail::Joiner& joiner) {
        out.codes.emplace_back();
        if (slot.shared()) {
            for (const auto& codes : joiner.combinations)
                slot.codes_of.insert(slot.codes_of.end(), codes.begin(), codes.end());
            slot.n_lines = joiner.combinations.size();
            out.codes.back() = joiner.codes;
        } else {
            slot.n_lines = x.columns[slot.features[0]].n_bins + 1;
        }
        out.slots.push_back(std::move(slot));
    };
    detail::Joiner joiner(x.n_rows);
    Slot open;
    for (std::uint32_t f = 0; f < x.columns.size(); ++f) {
        const CodeColumn& column = x.columns[f];
        if (column.n_bins + 1 > detail::kFewCodes) {
            finish({{f}, {}, 0}, joiner);
            continue;
        }
        if (!open.features.empty() && joiner.join(column)) {
            open.features.push_back(f);
            continue;
        }
        if (!open.features.empty()) finish(std::move(open), joiner);
        open = {{f}, {}, 0};
        joiner.start(column);
    }
    if (!open.features.empty()) finish(std::move(open), joiner);
    out.place_of.resize(x.columns.size());
    for (Size s = 0; s < out.slots.size(); ++s)
        for (Size p = 0; p < out.slots[s].features.size(); ++p)
            out.place_of[out.slots[s].features[p]] = {s, p};
    return out;
}

/// A column's own histogram from that of its shared slot.  out (n_bins + 1,), cleared here
inline void unpack(Stat* out, Size n_out, const Slot& slot, Size place, const Stat* lines) {
    std::fill_n(out, n_out, 0);
    const Size step = slot.features.size();
    const std::uint8_t* code = slot.codes_of.data() + place;
    for (Size i = 0; i < slot.n_lines; ++i) out[code[i * step]] += lines[i];
}

}  // namespace spinney
