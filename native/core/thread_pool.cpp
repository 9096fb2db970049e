#include "core/thread_pool.hpp"

#include "core/operating_system.hpp"
#include "simd/spin_pause.hpp"

namespace spinney {

namespace detail {

std::atomic<std::int64_t> polls_left{0};

bool count_poll() {
    if (polls_left.fetch_sub(1, std::memory_order_relaxed) != 1) return false;
    raise_interrupt();
    return true;
}

}  // namespace detail

namespace {

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
            spin_pause();
        }
    } while (Clock::now() < end);
    return done();
}

// Longer than what a fit on some ten thousand rows does on one thread between two loops.
constexpr std::chrono::microseconds spin_time{200};

// The fields of Pool::state_.
constexpr std::uint64_t one_inside = 1, one_free = 1ull << 16;
std::uint64_t inside_of(std::uint64_t s) { return s & 0xffff; }
std::uint64_t free_of(std::uint64_t s) { return (s >> 16) & 0xffff; }
std::uint32_t epoch_of(std::uint64_t s) { return static_cast<std::uint32_t>(s >> 32); }

struct InsideGuard {
    bool& inside;
    explicit InsideGuard(bool& flag) : inside(flag) { inside = true; }
    ~InsideGuard() { inside = false; }
};

}  // namespace

void interrupt_at_poll(std::int64_t n) { detail::polls_left.store(n, std::memory_order_relaxed); }

std::int64_t polls_until_interrupt() {
    return std::max<std::int64_t>(0, detail::polls_left.load(std::memory_order_relaxed));
}

void make_room_to_throw() {
    static thread_local bool made = false;
    if (std::exchange(made, true)) return;
    try {
        throw Interrupted{};
    } catch (const Interrupted&) {
    }
}

Pool& Pool::shared() {
    Pool* pool = current().load(std::memory_order_acquire);
    if (pool) return *pool;
    static std::once_flag once;  // fork replaces the pool, not the handler
    std::call_once(once, [] { call_after_fork([] { forget(); }); });
    Pool* fresh = new Pool;
    if (current().compare_exchange_strong(pool, fresh, std::memory_order_acq_rel)) return *fresh;
    delete fresh;  // another thread came first
    return *pool;
}

std::atomic<Pool*>& Pool::current() {
    static std::atomic<Pool*> pool{nullptr};
    return pool;
}

bool& Pool::inside() {
    static thread_local bool flag = false;
    return flag;
}

// After fork only the calling thread lives: the old pool's threads are gone and its locks in any state.
void Pool::forget() {
    current().store(nullptr, std::memory_order_release);
    inside() = false;
}

void Pool::run(int n_threads, Interrupt* interrupt) {
    start_workers(n_threads - 1);
    job_.error = nullptr;
    next_.store(0, std::memory_order_relaxed);
    failed_.store(false, std::memory_order_relaxed);
    limit_ = n_threads - 1;
    const std::uint64_t epoch = epoch_of(state_.load(std::memory_order_relaxed)) + 1ull;
    state_.store(epoch << 32 | static_cast<std::uint64_t>(limit_) << 16);
    wake(limit_);
    {
        InsideGuard guard(inside());
        work(0, interrupt);
    }
    // Close: nobody may join from here on.
    std::uint64_t s = state_.load();
    while (!state_.compare_exchange_weak(s, s & ~(0xffffull << 16))) {
    }
    wait_for_workers(interrupt);
    if (job_.error) std::rethrow_exception(std::exchange(job_.error, nullptr));
}

void Pool::work(int thread, Interrupt* interrupt) {
    for (;;) {
        const Size task = next_.fetch_add(1, std::memory_order_relaxed);
        if (task >= job_.n_tasks) return;
        try {
            if (interrupt) interrupt->poll();
            job_.call(job_.context, task, thread);
        } catch (...) {
            next_.store(job_.n_tasks, std::memory_order_relaxed);
            if (!failed_.exchange(true)) job_.error = std::current_exception();
            return;
        }
    }
}

void Pool::wait_for_workers(Interrupt* interrupt) {
    const auto done = [&] { return inside_of(state_.load()) == 0; };
    if (spin_until(done, spin_time)) return;
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

// Wake as many as the loop needs; those that spin join by themselves.
void Pool::wake(int wanted) {
    if (sleeping_.load() == 0) return;
    wanted -= spinning_.load();
    if (wanted <= 0) return;
    std::lock_guard<std::mutex> lock(mutex_);
    for (int i = std::min(wanted, sleeping_.load()); i > 0; --i) work_.notify_one();
}

void Pool::start_workers(int wanted) {
    if (n_workers() >= wanted) return;
    // Signals belong to the thread that started us: a worker must not run the host's handlers.
    with_signals_blocked([this, wanted] {
        try {
            for (int i = n_workers(); i < wanted; ++i) {
                std::thread([this] { serve(); }).detach();
                // What a thread needs to begin it takes before the loop takes the memory there is.
                while (n_workers() <= i) std::this_thread::yield();
            }
        } catch (const std::exception&) {  // no more threads to be had: go on with those there are
        }
    });
}

// Join the open loop, if it is not the one just left. Returns the thread number, or 0 if there is none.
int Pool::join(std::uint32_t& last) {
    std::uint64_t s = state_.load();
    while (epoch_of(s) != last && free_of(s) > 0) {
        if (state_.compare_exchange_weak(s, s - one_free + one_inside)) {
            last = epoch_of(s);
            return limit_ + 1 - static_cast<int>(free_of(s));
        }
    }
    return 0;
}

void Pool::leave() {
    const std::uint64_t s = state_.fetch_sub(one_inside);
    if (inside_of(s) == 1 && caller_waits_.load()) {
        std::lock_guard<std::mutex> lock(mutex_);
        done_.notify_one();
    }
}

void Pool::serve() {
    inside() = true;
    make_room_to_throw();
    n_workers_.fetch_add(1, std::memory_order_relaxed);
    std::uint32_t last = 0;
    for (;;) {
        const int thread = wait_for_work(last);
        work(thread, nullptr);
        leave();
    }
}

int Pool::wait_for_work(std::uint32_t& last) {
    int thread = 0;
    // More spinners than CPUs would only take time from those that work.
    if (spinning_.fetch_add(1) + 1 < available_cpus()) {
        spin_until([&] { return (thread = join(last)) != 0; }, spin_time);
    }
    spinning_.fetch_sub(1);
    if (thread != 0) return thread;
    std::unique_lock<std::mutex> lock(mutex_);
    sleeping_.fetch_add(1);
    while ((thread = join(last)) == 0) work_.wait(lock);
    sleeping_.fetch_sub(1);
    return thread;
}

}  // namespace spinney
