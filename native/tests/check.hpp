// The few macros that the kernel tests need; each test file is a program of its own.
#pragma once

#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

namespace check {

/// How often a random test goes round: less under a sanitizer, which makes each round slow.
constexpr int rounds(int n) {
#ifdef SPINNEY_SANITIZE
    return (n + 7) / 8;
#else
    return n;
#endif
}

struct Case {
    const char* name;
    void (*body)();
};

inline std::vector<Case>& cases() {
    static std::vector<Case> all;
    return all;
}

inline int& failures() {
    static int n = 0;
    return n;
}

struct Add {
    Add(const char* name, void (*body)()) { cases().push_back({name, body}); }
};

inline void report(const char* file, int line, const char* what) {
    // A broken loop would otherwise print for ever.
    if (++failures() <= 20) std::printf("%s:%d: %s\n", file, line, what);
}

inline int run() {
    int passed = 0, failed = 0;
    for (const Case& test : cases()) {
        const int before = failures();
        try {
            test.body();
        } catch (const std::exception& error) {
            report(test.name, 0, error.what());
        }
        const bool ok = failures() == before;
        if (!ok) std::printf("FAILED %s\n", test.name);
        (ok ? passed : failed) += 1;
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}

}  // namespace check

#define TEST(name)                                     \
    static void test_##name();                         \
    static check::Add add_##name(#name, &test_##name); \
    static void test_##name()

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) check::report(__FILE__, __LINE__, "not " #condition); \
    } while (0)

#define CHECK_EQUAL(a, b)                                                             \
    do {                                                                              \
        if (!((a) == (b))) check::report(__FILE__, __LINE__, #a " differs from " #b); \
    } while (0)

#define CHECK_CLOSE(a, b, tolerance)                                                      \
    do {                                                                                  \
        if (!(std::fabs(double(a) - double(b)) <= (tolerance)))                           \
            check::report(__FILE__, __LINE__, #a " is not within " #tolerance " of " #b); \
    } while (0)

#define CHECK_THROWS(expression, Type)                                                       \
    do {                                                                                     \
        bool caught = false;                                                                 \
        try {                                                                                \
            expression;                                                                      \
        } catch (const Type&) {                                                              \
            caught = true;                                                                   \
        }                                                                                    \
        if (!caught) check::report(__FILE__, __LINE__, #expression " did not throw " #Type); \
    } while (0)

#define CHECK_MAIN \
    int main() { return check::run(); }
