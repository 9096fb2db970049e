// The most capable level of vector instructions that this processor runs.
#pragma once

namespace spinney {

/// "avx512", "avx2" or "baseline": the suffix of the module to load.
inline const char* cpu_level() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("popcnt");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx2 && avx512) return "avx512";
    if (avx2) return "avx2";
#endif
    return "baseline";
}

}  // namespace spinney
