// Releases and takes the interpreter lock, also in threads that outlive the interpreter.
#pragma once

#include <Python.h>

#include <chrono>
#include <exception>
#include <thread>

#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#endif

/// Up to Python 3.13, a daemon thread that waits for the interpreter lock when the interpreter exits is ended
/// by pthread_exit, which with glibc unwinds the stack; a destructor or catch block on the way would abort
/// the process. Such a thread sleeps here until the process ends, as in Python 3.14.
[[noreturn]] inline void sleep_until_process_ends() {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

/// Call f, which may wait for the interpreter lock.
template <class F>
auto wait_for_interpreter(F&& f) {
#if defined(__GLIBCXX__)
    try {
        return f();
    } catch (abi::__forced_unwind&) {
        sleep_until_process_ends();
    }
#else
    return f();
#endif
}

/// An exception translator of nanobind for threads whose Python code, called from a binding, waited for the
/// lock: the unwinding that ends them is the only exception without an exception_ptr.
inline void catch_thread_exit(const std::exception_ptr& exception, void*) {
    if (!exception) sleep_until_process_ends();
    std::rethrow_exception(exception);  // for the next translator
}

/// Other Python threads may run during its lifetime.
class ReleaseInterpreterLock {
  public:
    ReleaseInterpreterLock() : state_(PyEval_SaveThread()) {}
    ~ReleaseInterpreterLock() {
        wait_for_interpreter([&] {
            PyEval_RestoreThread(state_);
            return true;
        });
    }
    ReleaseInterpreterLock(const ReleaseInterpreterLock&) = delete;
    ReleaseInterpreterLock& operator=(const ReleaseInterpreterLock&) = delete;

  private:
    PyThreadState* state_;
};

/// Python may be called during its lifetime.
class TakeInterpreterLock {
  public:
    TakeInterpreterLock() : state_(wait_for_interpreter([] { return PyGILState_Ensure(); })) {}
    ~TakeInterpreterLock() { PyGILState_Release(state_); }
    TakeInterpreterLock(const TakeInterpreterLock&) = delete;
    TakeInterpreterLock& operator=(const TakeInterpreterLock&) = delete;

  private:
    PyGILState_STATE state_;
};
