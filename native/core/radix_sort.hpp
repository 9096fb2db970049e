// Radix sorts of keys, alone or with a row number, and the map from floating-point numbers to keys in the
// same order.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/types.hpp"

namespace spinney {

/// Map a number to a key that orders the same way; −0.0 and +0.0 give one key. NaN has no place in the order.
inline std::uint64_t key_of(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x + 0.0);
    return bits ^ (static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> 63) | 1ull << 63);
}

inline std::uint32_t key_of(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x + 0.0f);
    return bits ^ (static_cast<std::uint32_t>(static_cast<std::int32_t>(bits) >> 31) | 1u << 31);
}

/// Undo `key_of`; zero comes back as +0.0.
inline double number_of(std::uint64_t key) {
    return std::bit_cast<double>(key ^ (((key >> 63) - 1) | 1ull << 63));
}

inline float number_of(std::uint32_t key) {
    return std::bit_cast<float>(key ^ (((key >> 31) - 1) | 1u << 31));
}

namespace detail {

inline constexpr Size insertion_limit = 48;

/// Where each digit of n keys falls: counts[digit][value].
template <class Key, int FirstDigit>
using DigitCounts = std::array<std::array<std::uint32_t, 256>, sizeof(Key) - FirstDigit>;

template <class Key, int FirstDigit>
void count_digits(DigitCounts<Key, FirstDigit>& counts, const Key* keys, Size n) {
    counts = {};
    for (Size i = 0; i < n; ++i) {
        Key key = keys[i] >> (8 * FirstDigit);
        for (auto& count : counts) {
            ++count[key & 255];
            key = static_cast<Key>(key >> 8);
        }
    }
}

/// Turn counts into first positions; false when all keys share the digit, so that its pass can be left out.
inline bool positions(std::array<std::uint32_t, 256>& count, std::uint32_t sample_digit, Size n) {
    if (count[sample_digit] == n) return false;
    std::uint32_t at = 0;
    for (auto& c : count) at += std::exchange(c, at);
    return true;
}

/// Keys to be sorted, with or without a payload that moves with them, and as much room again.
template <class Key, bool Loaded>
struct Sortable {
    Key *keys, *key_scratch;
    std::uint32_t *payload, *payload_scratch;  // null unless Loaded
    Size n;

    void insertion_sort(Size begin, Size end) {
        for (Size i = begin + 1; i < end; ++i) {
            const Key key = keys[i];
            const std::uint32_t load = Loaded ? payload[i] : 0;
            Size j = i;
            for (; j > begin && keys[j - 1] > key; --j) {
                keys[j] = keys[j - 1];
                if constexpr (Loaded) payload[j] = payload[j - 1];
            }
            keys[j] = key;
            if constexpr (Loaded) payload[j] = load;
        }
    }

    /// Sort by the digits from FirstDigit up, the lowest first. Stable.
    template <int FirstDigit, class Poll>
    void sort_digits(Poll& poll) {
        DigitCounts<Key, FirstDigit> counts;
        count_digits<Key, FirstDigit>(counts, keys, n);
        Key *from = keys, *to = key_scratch;
        std::uint32_t *load_from = payload, *load_to = payload_scratch;
        for (Size d = 0; d < counts.size(); ++d) {
            const int shift = static_cast<int>(8 * (FirstDigit + d));
            auto& at = counts[d];
            if (!positions(at, static_cast<std::uint32_t>(from[0] >> shift & 255), n)) continue;
            poll();
            for (Size i = 0; i < n; ++i) {
                const std::uint32_t place = at[from[i] >> shift & 255]++;
                to[place] = from[i];
                if constexpr (Loaded) load_to[place] = load_from[i];
            }
            std::swap(from, to);
            std::swap(load_from, load_to);
        }
        if (from == keys) return;
        std::memcpy(keys, from, n * sizeof(Key));
        if constexpr (Loaded) std::memcpy(payload, load_from, n * sizeof(std::uint32_t));
    }

    /// Order short runs of keys with equal upper halves; false when a run is too long for that.
    bool settle() {
        constexpr int half = 4 * sizeof(Key);
        for (Size i = 1; i < n; ++i) {
            if (keys[i] >= keys[i - 1]) continue;
            Size begin = i - 1, end = i + 1;
            while (begin > 0 && keys[begin - 1] >> half == keys[i] >> half) --begin;
            while (end < n && keys[end] >> half == keys[i] >> half) ++end;
            if (end - begin > insertion_limit) return false;
            insertion_sort(begin, end);
            i = end - 1;
        }
        return true;
    }

    /// Numbers from measurements nearly always differ in their upper 32 bits: four passes order those, and
    /// the few ties are put right afterwards, which is half the work of eight passes.
    template <class Poll>
    void sort(Poll&& poll) {
        if (n <= insertion_limit) return insertion_sort(0, n);
        if constexpr (sizeof(Key) == 8) {
            sort_digits<4>(poll);
            if (settle()) return;
        }
        sort_digits<0>(poll);
    }
};

}  // namespace detail

/// Sort keys in place.  keys, scratch (n,), n < 2^32
template <class Key>
void radix_sort(Key* keys, Key* scratch, Size n) {
    detail::Sortable<Key, false>{keys, scratch, nullptr, nullptr, n}.sort([] {});
}

/// Sort keys in place and their payload with them. Stable.  all four (n,), n < 2^32
///
/// poll() is called before each pass over the data, and may throw; keys and payload are then in no order.
template <class Key, class Poll>
void radix_sort_pairs(Key* keys, std::uint32_t* payload, Key* key_scratch, std::uint32_t* payload_scratch,
                      Size n, Poll&& poll) {
    detail::Sortable<Key, true>{keys, key_scratch, payload, payload_scratch, n}.sort(poll);
}

template <class Key>
void radix_sort_pairs(Key* keys, std::uint32_t* payload, Key* key_scratch, std::uint32_t* payload_scratch,
                      Size n) {
    radix_sort_pairs(keys, payload, key_scratch, payload_scratch, n, [] {});
}

}  // namespace spinney
