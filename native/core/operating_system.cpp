#include "core/operating_system.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#if !defined(_WIN32)
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

#include "core/thread_pool.hpp"

namespace spinney {

int detail::quota_cpus(double quota, double period) {
    if (!(quota > 0) || !(period > 0)) return 0;
    const double cpus = quota / period;
    return cpus > 4096 ? 0 : std::max(1, static_cast<int>(cpus) + (cpus > static_cast<int>(cpus)));
}

#if defined(__linux__)
namespace {

int tighter(int a, int b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

/// The tightest quota from `group` up to the root of one cgroup hierarchy; 0 when there is none.
int hierarchy_quota(const std::string& root, std::string group, bool unified) {
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
        cpus = tighter(cpus, detail::quota_cpus(quota, period));
        if (group.empty()) break;
        const auto slash = group.rfind('/');
        group.resize(slash == std::string::npos ? 0 : slash);
    }
    return cpus;
}

/// The container's CPU quota, cgroup version 1 or 2; 0 when there is none.
int container_quota() {
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

/// The CPUs of the affinity mask; 0 when it cannot be read.
int affinity_cpus() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

}  // namespace
#endif

int available_cpus() {
    static const int cpus = [] {
        int n = static_cast<int>(std::thread::hardware_concurrency());
#if defined(__linux__)
        if (const int allowed = affinity_cpus()) n = allowed;
        n = tighter(n, container_quota());
#endif
        return std::max(1, n);
    }();
    return cpus;
}

void raise_interrupt() { std::raise(SIGINT); }

#if defined(_WIN32)
void call_after_fork(void (*)()) {}
void with_signals_blocked(const std::function<void()>& f) { f(); }
void* map_temporary_file(Size) { return nullptr; }
void unmap_file(void*, Size) {}
#else
namespace {

/// Reserve the room of a file: writing to a mapping of a full disk would end the process.
bool reserve(int file, Size bytes) {
#if defined(__linux__)
    return posix_fallocate(file, 0, static_cast<off_t>(bytes)) == 0;
#else
    return ftruncate(file, static_cast<off_t>(bytes)) == 0;
#endif
}

}  // namespace

void* map_temporary_file(Size bytes) {
    const char* const directory = std::getenv("TMPDIR");
    std::string path = std::string(directory ? directory : "/tmp") + "/spinney-XXXXXX";
    const int file = mkstemp(path.data());
    if (file < 0) return nullptr;
    unlink(path.c_str());
    fcntl(file, F_SETFD, FD_CLOEXEC);
    void* const memory =
        reserve(file, bytes) ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    close(file);
    return memory == MAP_FAILED ? nullptr : memory;
}

void unmap_file(void* memory, Size bytes) { munmap(memory, bytes); }

void call_after_fork(void (*f)()) { pthread_atfork(nullptr, nullptr, f); }

void with_signals_blocked(const std::function<void()>& f) {
    struct Blocked {
        sigset_t old;
        Blocked() {
            sigset_t all;
            sigfillset(&all);
            pthread_sigmask(SIG_SETMASK, &all, &old);
        }
        ~Blocked() { pthread_sigmask(SIG_SETMASK, &old, nullptr); }
    };
    const Blocked blocked;
    f();
}
#endif

void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] Size bytes) {
#if defined(__linux__)
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<std::uintptr_t>(memory), first = (begin + page - 1) / page * page;
    if (begin + bytes > first) madvise(reinterpret_cast<void*>(first), begin + bytes - first, MADV_HUGEPAGE);
#endif
}

}  // namespace spinney
