// Registers the families; each has its own register_*.cpp.
#include "register.hpp"

// The most capable build of this library that the processor can run.
static const char* best_level() {
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

NB_MODULE(SPINNEY_MODULE, m) {
    m.def("best_level", &best_level);
    register_matrix(m);
    register_grow(m);
    register_predict(m);
}
