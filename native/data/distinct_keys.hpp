// The distinct keys of a column that has few of them, found without sorting it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/radix_sort.hpp"
#include "core/types.hpp"

namespace spinney {

/// A hash table of keys as `key_of` makes them.
template <class Key>
class DistinctKeys {
  public:
    /// Most keys that there is room for.
    static constexpr Size capacity = 255;

    /// Collect the distinct keys; false as soon as there are more than the limit, or seem to be.
    bool collect(std::span<const Key> keys, Size limit) {
        table_.fill(0);
        n_ = 0;
        for (Size i = 0; i < keys.size(); ++i) {
            const Key key = keys[i];
            Size at = static_cast<Size>(key * multiplier >> shift);
            while (table_[at] != key) {
                if (table_[at] == 0) {
                    if (n_ == limit) return false;
                    table_[at] = keys_[n_++] = key;
                    break;
                }
                at = (at + 1) % table_.size();
            }
            // So many of so few rows: there will be more than the limit.
            if (i == looked_at && n_ > mostly_new) return false;
        }
        return true;
    }

    /// The keys in ascending order.
    std::span<const Key> sorted() {
        radix_sort(keys_.data(), scratch_.data(), n_);
        return {keys_.data(), n_};
    }

  private:
    static constexpr int log2_slots = 10, shift = 8 * static_cast<int>(sizeof(Key)) - log2_slots;
    static constexpr Key multiplier = static_cast<Key>(0x9e3779b97f4a7c15u >> (64 - 8 * sizeof(Key))) | 1;
    static constexpr Size looked_at = 256, mostly_new = 192;

    std::array<Key, Size{1} << log2_slots> table_;  // 0: empty, the key of no number
    std::array<Key, capacity> keys_, scratch_;
    Size n_ = 0;
};

}  // namespace spinney
