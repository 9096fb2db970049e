// Field lists: the members of an options struct by name, from which its Python class is made.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <utility>

namespace spinney {

/// The Python spellings of an enum's values, in their order. Specialised beside each enum.
template <class E>
inline constexpr std::array<const char*, 0> spellings{};

/// A count that the user limits, such as the number of leaves. At most 2^31 − 1 when given.
using Limit = std::uint32_t;
inline constexpr Limit kNoLimit = std::numeric_limits<Limit>::max();

}  // namespace spinney

/// One entry of a field list: Python sees the member under its own name.
#define SPINNEY_FIELD(Struct, name) \
    std::pair { #name, &Struct::name }
