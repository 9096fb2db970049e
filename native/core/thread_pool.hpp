// The thread pool, the work queue for tasks that make tasks, and the interrupt that long loops poll.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <fstream>
#include <functional>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/types.hpp"

namespace spinney {

using Clock = std::chrono::steady_clock;

/// Thrown out of a loop that the user stopped.
struct Interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
};

/// A request to stop. Any thread may poll; only the thread that made it asks `check`, and not too often.
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

    /// Do as `poll`, but only record the answer: for places that must not throw.
    void ask() {
        if (!check || stop.load(std::memory_order_relaxed) || owner_ != std::this_thread::get_id()) return;
        const auto now = Clock::now();
        if (now - last_ < period) return;
        last_ = now;
        if (check()) stop.store(true, std::memory_order_relaxed);
    }

  private:
    std::thread::id owner_ = std::this_thread::get_id();
    Clock::time_point last_ = Clock::now();
};

namespace detail {

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Spin until `done()` or `limit` has passed; the clock is read every 16 rounds, for it costs as much as they
/// do.
template <class Done>
bool spin_until(Done&& done, std::chrono::nanoseconds limit) {
    if (done()) return true;
    if (limit.count() == 0) return false;
    const auto end = Clock::now() + limit;
    do {
        for (int i = 0; i < 16; ++i) {
            if (done()) return true;
            relax();
        }
    } while (Clock::now() < end);
    return done();
}

/// CPUs that a quota of `quota` µs every `period` µs amounts to, rounded up; 0 when there is no quota.
inline int quota_cpus(double quota, double period) {
    if (!(quota > 0) || !(period > 0)) return 0;
    const double cpus = quota / period;
    return cpus > 4096 ? 0 : std::max(1, static_cast<int>(cpus) + (cpus > static_cast<int>(cpus)));
}

inline int tighter(int a, int b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

/// The tightest quota from `group` up to the root of one cgroup hierarchy; 0 when there is none.
inline int hierarchy_quota(const std::string& root, std::string group, bool unified) {
    int cpus = 0;
    for (int level = 0; level < 64; ++level) {
        const std::string folder = root + group + "/";
        double quota = 0, period = 0;
        if (unified) {
            std::ifstream file(folder + "cpu.max");
            std::string word;
            if (file >> word >> period && word != "max") quota = std::strtod(word.c_str(), nullptr);
        } else {
            std::ifstream(folder + "cpu.cfs_quota_us") >> quota;
            std::ifstream(folder + "cpu.cfs_period_us") >> period;
        }
        cpus = tighter(cpus, quota_cpus(quota, period));
        if (group.empty()) break;
        const auto slash = group.rfind('/');
        group.resize(slash == std::string::npos ? 0 : slash);
    }
    return cpus;
}

/// The container's CPU quota, cgroup version 1 or 2; 0 when there is none.
inline int container_quota() {
    int cpus = 0;
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {  // "hierarchy:controllers:path"
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        std::string group = line.substr(second + 1);
        if (group == "/") group.clear();
        if (controllers.empty()) {
            cpus = tighter(cpus, hierarchy_quota("/sys/fs/cgroup", group, true));
        } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
            cpus = tighter(cpus, hierarchy_quota("/sys/fs/cgroup/" + controllers, group, false));
            cpus = tighter(cpus, hierarchy_quota("/sys/fs/cgroup/cpu", group, false));
        }
    }
    return cpus;
}

}  // namespace detail

/// Take what memory exceptions need in this thread: the first one may be that there is none left, and then
/// the system would end the process.
inline void make_room_to_throw() {
    static thread_local bool made = false;
    if (std::exchange(made, true)) return;
    try {
        throw Interrupted{};
    } catch (const Interrupted&) {
    }
}

/// CPUs this process may use: its affinity, and no more than the container's quota.
inline int available_cpus() {
    static const int cpus = [] {
        int n = static_cast<int>(std::thread::hardware_concurrency());
#if defined(__linux__)
        cpu_set_t set;
        if (sched_getaffinity(0, sizeof set, &set) == 0) n = CPU_COUNT(&set);
        n = detail::tighter(n, detail::container_quota());
#endif
        return std::max(1, n);
    }();
    return cpus;
}

/// The number of threads that `n_jobs` asks for: itself when positive; -1 all CPUs, -2 all but one, …
inline int resolve_threads(int n_jobs) {
    if (n_jobs == 0) throw std::invalid_argument("n_jobs must not be 0; use 1 for one thread, -1 for all");
    return n_jobs > 0 ? n_jobs : std::max(1, available_cpus() + 1 + n_jobs);
}

/// Threads that wait, at first spinning, for the next loop to share.
///
/// A loop is open to those who come in time: the caller works through the tasks itself, then closes the loop
/// and waits only for the workers that joined. A worker the system has not yet woken costs nothing.
class Pool {
  public:
    static constexpr int max_threads = 256;

    /// The process's pool. It is never destroyed, so threads asleep at exit touch nothing that is gone.
    static Pool& shared() {
        Pool* pool = current().load(std::memory_order_acquire);
        if (pool) return *pool;
        static std::once_flag once;  // fork replaces the pool, not the handler
        std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { forget(); }); });
        Pool* fresh = new Pool;
        if (current().compare_exchange_strong(pool, fresh, std::memory_order_acq_rel)) return *fresh;
        delete fresh;  // another thread came first
        return *pool;
    }

    /// Call f(task, slot) for each task in 0..n_tasks-1 on at most n_threads threads, the caller's among
    /// them.
    ///
    /// `slot` is below n_threads and belongs to one thread at a time. Called from within a task, or while
    /// another thread uses the pool, the loop runs in place on slot 0. The first exception of a task is
    /// thrown again here.
    template <class F>
    void parallel_for(int n_threads, Size n_tasks, F&& f, Interrupt* interrupt = nullptr) {
        const Size wanted = std::min<Size>({static_cast<Size>(std::max(n_threads, 1)), n_tasks, max_threads});
        if (wanted <= 1 || inside()) return serial(n_tasks, f, interrupt);
        std::unique_lock<std::mutex> turn(turn_, std::try_to_lock);
        if (!turn.owns_lock()) return serial(n_tasks, f, interrupt);
        using Function = std::remove_reference_t<F>;
        job_.call = [](void* context, Size task, int slot) {
            (*static_cast<Function*>(context))(task, slot);
        };
        job_.context = const_cast<void*>(static_cast<const void*>(&f));
        job_.n_tasks = n_tasks;
        run(static_cast<int>(wanted), interrupt);
    }

    int n_workers() const { return n_workers_.load(std::memory_order_relaxed); }

  private:
    static constexpr std::chrono::microseconds spin_time{40};

    struct Job {
        void (*call)(void*, Size, int) = nullptr;
        void* context = nullptr;
        Size n_tasks = 0;
        std::exception_ptr error;
    };

    // state_ = epoch (32 bits) | slots still free (16) | workers inside (16): joining is one
    // compare-and-swap.
    static constexpr std::uint64_t one_inside = 1, one_free = 1ull << 16;
    static std::uint64_t inside_of(std::uint64_t s) { return s & 0xffff; }
    static std::uint64_t free_of(std::uint64_t s) { return (s >> 16) & 0xffff; }
    static std::uint32_t epoch_of(std::uint64_t s) { return static_cast<std::uint32_t>(s >> 32); }

    static std::atomic<Pool*>& current() {
        static std::atomic<Pool*> pool{nullptr};
        return pool;
    }
    static bool& inside() {
        static thread_local bool flag = false;
        return flag;
    }
    // After fork only the calling thread lives: the old pool's threads are gone and its locks in any state.
    static void forget() {
        current().store(nullptr, std::memory_order_release);
        inside() = false;
    }

    struct Inside {
        Inside() { inside() = true; }
        ~Inside() { inside() = false; }
    };

    template <class F>
    static void serial(Size n_tasks, F& f, Interrupt* interrupt) {
        for (Size task = 0; task < n_tasks; ++task) {
            if (interrupt) interrupt->poll();
            f(task, 0);
        }
    }

    void run(int n_threads, Interrupt* interrupt) {
        hire(n_threads - 1);
        job_.error = nullptr;
        next_.store(0, std::memory_order_relaxed);
        failed_.store(false, std::memory_order_relaxed);
        limit_ = n_threads - 1;
        const std::uint64_t epoch = epoch_of(state_.load(std::memory_order_relaxed)) + 1ull;
        state_.store(epoch << 32 | static_cast<std::uint64_t>(limit_) << 16);
        wake(limit_);
        {
            Inside guard;
            work(0, interrupt);
        }
        // Close: nobody may join from here on.
        std::uint64_t s = state_.load();
        while (!state_.compare_exchange_weak(s, s & ~(0xffffull << 16))) {
        }
        wait_for_workers(interrupt);
        if (job_.error) std::rethrow_exception(std::exchange(job_.error, nullptr));
    }

    void work(int slot, Interrupt* interrupt) {
        for (;;) {
            const Size task = next_.fetch_add(1, std::memory_order_relaxed);
            if (task >= job_.n_tasks) return;
            try {
                if (interrupt) interrupt->poll();
                job_.call(job_.context, task, slot);
            } catch (...) {
                next_.store(job_.n_tasks, std::memory_order_relaxed);
                if (!failed_.exchange(true)) job_.error = std::current_exception();
                return;
            }
        }
    }

    void wait_for_workers(Interrupt* interrupt) {
        const auto done = [&] { return inside_of(state_.load()) == 0; };
        if (detail::spin_until(done, spin_time)) return;
        std::unique_lock<std::mutex> lock(mutex_);
        caller_waits_.store(true);
        while (!done()) {
            if (!interrupt) {
                done_.wait(lock);
                continue;
            }
            done_.wait_for(lock, Interrupt::period);
            lock.unlock();  // `check` may take long, and may want locks of its own
            interrupt->ask();
            lock.lock();
        }
        caller_waits_.store(false);
    }

    // Wakes as many as the loop has use for; those that spin come by themselves.
    void wake(int wanted) {
        if (sleeping_.load() == 0) return;
        wanted -= spinning_.load();
        if (wanted <= 0) return;
        std::lock_guard<std::mutex> lock(mutex_);
        for (int i = std::min(wanted, sleeping_.load()); i > 0; --i) work_.notify_one();
    }

    void hire(int wanted) {
        if (n_workers() >= wanted) return;
        // Signals belong to the thread that started us: a worker must not run the host's handlers.
        sigset_t all, old;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        try {
            for (int i = n_workers(); i < wanted; ++i) {
                std::thread([this] { serve(); }).detach();
                // What a thread needs to begin it takes before the loop takes the memory there is.
                while (n_workers() <= i) std::this_thread::yield();
            }
        } catch (const std::exception&) {  // no more threads to be had: go on with those there are
        }
        pthread_sigmask(SIG_SETMASK, &old, nullptr);
    }

    // Joins the open loop, if it is not the one just left. Gives the slot, or 0 when there is none.
    int join(std::uint32_t& last) {
        std::uint64_t s = state_.load();
        while (epoch_of(s) != last && free_of(s) > 0) {
            if (state_.compare_exchange_weak(s, s - one_free + one_inside)) {
                last = epoch_of(s);
                return limit_ + 1 - static_cast<int>(free_of(s));
            }
        }
        return 0;
    }

    void leave() {
        const std::uint64_t s = state_.fetch_sub(one_inside);
        if (inside_of(s) == 1 && caller_waits_.load()) {
            std::lock_guard<std::mutex> lock(mutex_);
            done_.notify_one();
        }
    }

    void serve() {
        inside() = true;
        make_room_to_throw();
        n_workers_.fetch_add(1, std::memory_order_relaxed);
        std::uint32_t last = 0;
        for (;;) {
            const int slot = wait_for_work(last);
            work(slot, nullptr);
            leave();
        }
    }

    int wait_for_work(std::uint32_t& last) {
        int slot = 0;
        // More spinners than CPUs would only take time from those that work.
        if (spinning_.fetch_add(1) + 1 < available_cpus()) {
            detail::spin_until([&] { return (slot = join(last)) != 0; }, spin_time);
        }
        spinning_.fetch_sub(1);
        if (slot != 0) return slot;
        std::unique_lock<std::mutex> lock(mutex_);
        sleeping_.fetch_add(1);
        while ((slot = join(last)) == 0) work_.wait(lock);
        sleeping_.fetch_sub(1);
        return slot;
    }

    Job job_;
    int limit_ = 0;
    alignas(64) std::atomic<std::uint64_t> state_{0};
    alignas(64) std::atomic<Size> next_{0};
    alignas(64) std::atomic<bool> failed_{false};
    std::atomic<bool> caller_waits_{false};
    std::atomic<int> n_workers_{0}, spinning_{0}, sleeping_{0};
    std::mutex turn_, mutex_;
    std::condition_variable work_, done_;
};

/// Tasks that make further tasks, newest first; `run` comes back when none is left.
template <class Task>
class WorkQueue {
  public:
    /// Call f(task, slot, queue) for the initial tasks and all that are pushed meanwhile.
    template <class F>
    void run(int n_threads, std::vector<Task> initial, F&& f, Interrupt* interrupt = nullptr) {
        tasks_ = std::move(initial);
        open_ = tasks_.size();
        ready_.store(tasks_.size());
        finished_.store(tasks_.empty());
        const Size loops = static_cast<Size>(std::max(n_threads, 1));
        Pool::shared().parallel_for(n_threads, loops, [&](Size, int slot) { drain(slot, f, interrupt); });
    }

    void push(Task task) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            tasks_.push_back(std::move(task));
            ++open_;
            ready_.store(tasks_.size(), std::memory_order_relaxed);
        }
        if (idle_.load() > 0) changed_.notify_one();
    }

  private:
    template <class F>
    void drain(int slot, F& f, Interrupt* interrupt) {
        try {
            for (;;) {
                if (interrupt) interrupt->poll();
                std::unique_lock<std::mutex> lock(mutex_);
                while (tasks_.empty() && !finished_.load()) wait(lock, interrupt);
                if (finished_.load()) return;
                Task task = std::move(tasks_.back());
                tasks_.pop_back();
                ready_.store(tasks_.size(), std::memory_order_relaxed);
                lock.unlock();
                f(task, slot, *this);
                lock.lock();
                if (--open_ == 0) finish();
            }
        } catch (...) {  // the others must not wait for what will never be pushed
            std::lock_guard<std::mutex> lock(mutex_);
            tasks_.clear();
            finish();
            throw;
        }
    }

    void finish() {
        finished_.store(true);
        changed_.notify_all();
    }

    void wait(std::unique_lock<std::mutex>& lock, Interrupt* interrupt) {
        lock.unlock();
        const auto changed = [&] { return ready_.load(std::memory_order_relaxed) > 0 || finished_.load(); };
        const bool soon = detail::spin_until(changed, std::chrono::microseconds{20});
        if (interrupt) interrupt->poll();
        lock.lock();
        if (soon || !tasks_.empty() || finished_.load()) return;
        idle_.fetch_add(1);
        changed_.wait_for(lock, Interrupt::period);
        idle_.fetch_sub(1);
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Task> tasks_;
    Size open_ = 0;  // waiting or running
    std::atomic<Size> ready_{0};
    std::atomic<bool> finished_{false};
    std::atomic<int> idle_{0};
};

}  // namespace spinney
