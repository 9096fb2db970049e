// A row number of 16 bits for the small-index build, in which tables of ordinary size show what the real type
// would do on tables of billions of cells.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace spinney {

/// Counts as a 4-byte row does, at half the width: with a Size it widens to a Size, with anything narrower it
/// stays a row and wraps around. (A plain 16-bit integer would not do: the language widens it to int first.)
class SmallRow {
  public:
    constexpr SmallRow() = default;
    template <std::integral T>
    constexpr SmallRow(T value) : value_(static_cast<std::uint16_t>(value)) {}

    constexpr operator std::size_t() const { return value_; }

    constexpr SmallRow& operator++() {
        ++value_;
        return *this;
    }

    template <std::integral T>
    friend constexpr auto operator*(SmallRow a, T b) {
        return widened<T>(std::uint64_t{a.value_} * static_cast<std::uint64_t>(b));
    }
    template <std::integral T>
    friend constexpr auto operator*(T a, SmallRow b) {
        return b * a;
    }
    template <std::integral T>
    friend constexpr auto operator+(SmallRow a, T b) {
        return widened<T>(std::uint64_t{a.value_} + static_cast<std::uint64_t>(b));
    }
    friend constexpr SmallRow operator*(SmallRow a, SmallRow b) {
        return SmallRow(std::uint64_t{a.value_} * std::uint64_t{b.value_});
    }

  private:
    template <class T>
    static constexpr auto widened(std::uint64_t value) {
        if constexpr (sizeof(T) < sizeof(std::size_t))
            return SmallRow(value);
        else
            return static_cast<std::size_t>(value);
    }
    std::uint16_t value_ = 0;
};

}  // namespace spinney

template <>
struct std::numeric_limits<spinney::SmallRow> : std::numeric_limits<std::uint16_t> {};
