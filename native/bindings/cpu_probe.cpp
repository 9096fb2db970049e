// Module `_cpu`: names the vector level of this processor before any vector code is loaded. Plain C API, so
// that it starts fast and pulls in nothing.
#include <Python.h>

#include "simd/cpu_level.hpp"

static PyObject* best_level(PyObject*, PyObject*) { return PyUnicode_FromString(spinney::cpu_level()); }

static PyMethodDef methods[] = {
    {"best_level", best_level, METH_NOARGS, "Return the most capable vector level that this processor runs."},
    {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT,
                             "_cpu",
                             "Detection of vector instructions.",
                             0,
                             methods,
                             nullptr,
                             nullptr,
                             nullptr,
                             nullptr};

PyMODINIT_FUNC PyInit__cpu() { return PyModule_Create(&module); }
