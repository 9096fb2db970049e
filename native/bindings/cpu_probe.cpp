// What this processor can run, asked before any vector code is loaded; a module of its own without nanobind.
#include <Python.h>

static PyObject* best_level(PyObject*, PyObject*) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("popcnt");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx2 && avx512) return PyUnicode_FromString("avx512");
    if (avx2) return PyUnicode_FromString("avx2");
#endif
    return PyUnicode_FromString("baseline");
}

static PyMethodDef methods[] = {{"best_level", best_level, METH_NOARGS,
                                 "Name the most capable build of the core that this processor can run."},
                                {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT,
                             "_cpu",
                             "What this processor can run.",
                             0,
                             methods,
                             nullptr,
                             nullptr,
                             nullptr,
                             nullptr};

PyMODINIT_FUNC PyInit__cpu() { return PyModule_Create(&module); }
