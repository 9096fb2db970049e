// Runs a kernel without the interpreter lock and lets Ctrl-C stop it.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "bindings/interpreter_lock.hpp"
#include "core/thread_pool.hpp"

/// Call work(interrupt) on this thread with the lock released. A signal that Python turns into an exception
/// (Ctrl-C) stops the loops that poll `interrupt`, and the exception is raised from here.
template <class F>
void run_interruptible(F&& work) {
    namespace nb = nanobind;
    spinney::make_room_to_throw();
    spinney::Interrupt interrupt([] {
        TakeInterpreterLock lock;
        return wait_for_interpreter([] { return PyErr_CheckSignals() != 0; });
    });
    try {
        ReleaseInterpreterLock unlock;
        std::forward<F>(work)(interrupt);
    } catch (...) {
        if (PyErr_Occurred()) throw nb::python_error();
        throw;
    }
    if (PyErr_Occurred()) throw nb::python_error();  // it came when the last task was under way
}
