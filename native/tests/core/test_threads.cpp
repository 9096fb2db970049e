// Tests the thread pool and the interrupt.
#if __has_include(<sys/wait.h>)
#include <sys/wait.h>
#include <unistd.h>
#define SPINNEY_FORKS
#endif

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "core/thread_pool.hpp"
#include "tests/check.hpp"

using namespace spinney;

static Size sum_of_tasks(int n_threads, Size n) {
    std::atomic<Size> sum{0};
    Pool::shared().parallel_for(n_threads, n, [&](Size task, int) { sum += task + 1; });
    return sum;
}

TEST(every_task_runs_once) {
    for (int n_threads : {1, 2, 3, 8, 40}) {
        for (Size n : {0, 1, 2, 7, 1000}) {
            std::vector<std::atomic<int>> seen(n);
            Pool::shared().parallel_for(n_threads, n, [&](Size task, int slot) {
                CHECK(slot >= 0 && slot < n_threads);
                ++seen[task];
            });
            for (auto& count : seen) CHECK_EQUAL(count.load(), 1);
        }
    }
}

TEST(a_slot_belongs_to_one_thread_at_a_time) {
    std::vector<std::atomic<int>> users(4);
    Pool::shared().parallel_for(4, 2000, [&](Size, int slot) {
        CHECK_EQUAL(users[static_cast<Size>(slot)].fetch_add(1), 0);
        users[static_cast<Size>(slot)].fetch_sub(1);
    });
}

TEST(many_small_regions) {
    Size total = 0;
    for (int i = 0; i < 20000; ++i) total += sum_of_tasks(2, 2);
    CHECK_EQUAL(total, Size{60000});
}

TEST(nested_loops_run_in_place) {
    std::atomic<int> n{0};
    Pool::shared().parallel_for(4, 8, [&](Size, int) {
        Pool::shared().parallel_for(4, 8, [&](Size, int slot) {
            CHECK_EQUAL(slot, 0);
            ++n;
        });
    });
    CHECK_EQUAL(n.load(), 64);
}

TEST(two_callers_at_once) {
    std::thread other([] {
        for (int i = 0; i < 200; ++i) CHECK_EQUAL(sum_of_tasks(3, 100), Size{5050});
    });
    for (int i = 0; i < 200; ++i) CHECK_EQUAL(sum_of_tasks(3, 100), Size{5050});
    other.join();
}

TEST(exceptions_reach_the_caller) {
    for (int n_threads : {1, 4}) {
        CHECK_THROWS(Pool::shared().parallel_for(n_threads, 100,
                                                 [](Size task, int) {
                                                     if (task == 37) throw std::runtime_error("37");
                                                 }),
                     std::runtime_error);
        CHECK_EQUAL(sum_of_tasks(n_threads, 10), Size{55});
    }
}

TEST(interrupt_stops_all_threads_soon) {
    for (int n_threads : {1, 2, 4}) {
        int n_asked = 0;
        const auto caller = std::this_thread::get_id();
        Interrupt interrupt([&] {
            CHECK(std::this_thread::get_id() == caller);
            return ++n_asked == 2;
        });
        CHECK_THROWS(Pool::shared().parallel_for(
                         n_threads, 4,
                         [&](Size, int) {
                             for (;;) interrupt.poll();
                         },
                         &interrupt),
                     Interrupted);
    }
}

TEST(an_injected_interrupt_is_asked_for_at_its_poll) {
    auto* const handler = std::signal(SIGINT, SIG_IGN);
    Interrupt interrupt([&] { return polls_until_interrupt() == 0; });
    interrupt_at_poll(3);
    interrupt.poll();
    interrupt.poll();
    CHECK_EQUAL(polls_until_interrupt(), std::int64_t{1});
    CHECK_THROWS(interrupt.poll(), Interrupted);
    CHECK_EQUAL(polls_until_interrupt(), std::int64_t{0});
    std::signal(SIGINT, handler);
}

TEST(caller_without_work_still_asks) {
    Interrupt interrupt([&] { return true; });
    std::atomic<int> started{0};
    // Only a worker loops; the caller comes back from its own task and waits.
    const auto caller = std::this_thread::get_id();
    CHECK_THROWS(Pool::shared().parallel_for(
                     2, 2,
                     [&](Size, int) {
                         ++started;
                         while (started < 2) std::this_thread::yield();
                         while (std::this_thread::get_id() != caller) interrupt.poll();
                     },
                     &interrupt),
                 Interrupted);
}

#if defined(SPINNEY_FORKS)
TEST(pool_works_after_fork) {
    if (std::getenv("SPINNEY_EMULATED") != nullptr) return;  // qemu aborts threads in a forked child
    CHECK_EQUAL(sum_of_tasks(3, 100), Size{5050});
    const pid_t child = fork();
    if (child == 0) _exit(sum_of_tasks(3, 100) == 5050 && Pool::shared().n_workers() == 2 ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQUAL(sum_of_tasks(3, 100), Size{5050});
}
#endif

TEST(threads_are_counted) {
    CHECK(available_cpus() >= 1);
    CHECK_EQUAL(detail::quota_cpus(150000, 100000), 2);
    CHECK_EQUAL(detail::quota_cpus(200000, 100000), 2);
    CHECK_EQUAL(detail::quota_cpus(1000, 100000), 1);
    CHECK_EQUAL(detail::quota_cpus(-1, 100000), 0);
}

CHECK_MAIN
