// The thread pool, and the interrupt that long loops poll.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "core/types.hpp"

namespace spinney {

using Clock = std::chrono::steady_clock;

/// Thrown out of a loop that the user stopped.
struct Interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
};

/// Test hook: raise SIGINT at the n-th poll from now by the thread that owns the Interrupt; 0: off.
void interrupt_at_poll(std::int64_t n);

/// Polls left until the one that `interrupt_at_poll` chose; 0 when none is chosen.
std::int64_t polls_until_interrupt();

namespace detail {

extern std::atomic<std::int64_t> polls_left;  // 0 or less: no interrupt to inject

/// Count a poll; true, and SIGINT is raised, when it is the chosen one.
bool count_poll();

inline bool interrupt_injected() { return polls_left.load(std::memory_order_relaxed) > 0 && count_poll(); }

}  // namespace detail

/// A request to stop. Any thread may poll; only the thread that made it calls `check`, every 50 ms at most.
struct Interrupt {
    static constexpr std::chrono::milliseconds period{50};

    std::atomic<bool> stop{false};
    std::function<bool()> check;  // true: stop now

    Interrupt() = default;
    explicit Interrupt(std::function<bool()> ask) : check(std::move(ask)) {}

    /// Throw Interrupted once stopped. About 30 ns on the owner's thread, a load elsewhere.
    void poll() {
        ask();
        if (stop.load(std::memory_order_relaxed)) throw Interrupted{};
    }

    /// Like `poll`, but only record the request: for places that must not throw.
    void ask() {
        if (!check || stop.load(std::memory_order_relaxed) || owner_ != std::this_thread::get_id()) return;
        const bool injected = detail::interrupt_injected();
        const auto now = Clock::now();
        if (!injected && now - last_ < period) return;
        last_ = now;
        if (check()) stop.store(true, std::memory_order_relaxed);
    }

  private:
    std::thread::id owner_ = std::this_thread::get_id();
    Clock::time_point last_ = Clock::now();
};

namespace detail {

/// CPUs that a quota of `quota` µs per `period` µs amounts to, rounded up; 0 if there is no quota.
int quota_cpus(double quota, double period);

}  // namespace detail

/// Allocate what the first exception of this thread needs. Should that be "out of memory", it could not be
/// allocated any more, and the process would be terminated.
void make_room_to_throw();

/// CPUs this process may use: those of its affinity mask, and no more than the container's quota.
int available_cpus();

/// Worker threads that wait for the next loop, spinning at first.
///
/// The caller works through the tasks itself, then closes the loop and waits only for the workers that joined
/// in time. A worker that the system has not yet woken costs nothing.
class Pool {
  public:
    static constexpr int max_threads = 256;

    /// The process's pool. It is never destroyed, so threads asleep at exit touch nothing that is gone.
    static Pool& shared();

    /// Call f(task, thread) for each task in 0..n_tasks-1 on at most n_threads threads, the caller's among
    /// them.
    ///
    /// `thread` is below n_threads and belongs to one thread at a time. Called from within a task, or while
    /// another thread uses the pool, the loop runs in place as thread 0. The first exception of a task is
    /// thrown again here.
    template <class F>
    void parallel_for(int n_threads, Size n_tasks, F&& f, Interrupt* interrupt = nullptr) {
        const Size wanted = std::min<Size>({static_cast<Size>(std::max(n_threads, 1)), n_tasks, max_threads});
        if (wanted <= 1 || inside()) return serial(n_tasks, f, interrupt);
        std::unique_lock<std::mutex> turn(turn_, std::try_to_lock);
        if (!turn.owns_lock()) return serial(n_tasks, f, interrupt);
        using Function = std::remove_reference_t<F>;
        job_.call = [](void* context, Size task, int thread) {
            (*static_cast<Function*>(context))(task, thread);
        };
        job_.context = const_cast<void*>(static_cast<const void*>(&f));
        job_.n_tasks = n_tasks;
        run(static_cast<int>(wanted), interrupt);
    }

    int n_workers() const { return n_workers_.load(std::memory_order_relaxed); }

  private:
    struct Job {
        void (*call)(void*, Size, int) = nullptr;
        void* context = nullptr;
        Size n_tasks = 0;
        std::exception_ptr error;
    };

    static std::atomic<Pool*>& current();
    static bool& inside();
    static void forget();

    template <class F>
    static void serial(Size n_tasks, F& f, Interrupt* interrupt) {
        for (Size task = 0; task < n_tasks; ++task) {
            if (interrupt) interrupt->poll();
            f(task, 0);
        }
    }

    void run(int n_threads, Interrupt* interrupt);
    void work(int thread, Interrupt* interrupt);
    void wait_for_workers(Interrupt* interrupt);
    void wake(int wanted);
    void start_workers(int wanted);
    int join(std::uint32_t& last);
    void leave();
    void serve();
    int wait_for_work(std::uint32_t& last);

    Job job_;
    int limit_ = 0;
    // epoch (32 bits) | places still free (16) | workers inside (16): joining is one compare-and-swap
    alignas(64) std::atomic<std::uint64_t> state_{0};
    alignas(64) std::atomic<Size> next_{0};
    alignas(64) std::atomic<bool> failed_{false};
    std::atomic<bool> caller_waits_{false};
    std::atomic<int> n_workers_{0}, spinning_{0}, sleeping_{0};
    std::mutex turn_, mutex_;
    std::condition_variable work_, done_;
};

}  // namespace spinney
