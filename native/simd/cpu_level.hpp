// The most capable level of vector instructions that this processor runs.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace spinney {

#if defined(__x86_64__)
namespace detail {

/// The registers that the operating system saves, one bit a kind (XCR0).
inline std::uint64_t saved_registers() {
    std::uint32_t low, high;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return std::uint64_t{high} << 32 | low;
}

}  // namespace detail
#endif

/// "avx512", "avx2" or "baseline": the suffix of the module to load. By cpuid itself, because the builtins of
/// compilers need a run-time library that Windows does not link.
inline const char* cpu_level() {
#if defined(__x86_64__)
    constexpr std::uint32_t leaf_1 = bit_FMA | bit_POPCNT | bit_OSXSAVE | bit_AVX;
    constexpr std::uint32_t leaf_7 = bit_AVX2 | bit_BMI | bit_BMI2;
    constexpr std::uint32_t leaf_7_512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    constexpr std::uint64_t wide = 0x6, widest = 0xe6;  // 256 and 512 bits
    std::uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & leaf_1) != leaf_1) return "baseline";
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & leaf_7) != leaf_7) return "baseline";
    const std::uint64_t saved = detail::saved_registers();
    if ((b & leaf_7_512) == leaf_7_512 && (saved & widest) == widest) return "avx512";
    if ((saved & wide) == wide) return "avx2";
#endif
    return "baseline";
}

}  // namespace spinney
