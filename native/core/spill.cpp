#include "core/spill.hpp"

#include <atomic>
#include <limits>
#include <mutex>
#include <new>
#include <unordered_map>

#include "core/operating_system.hpp"

namespace spinney {

namespace {

constexpr Size kNever = std::numeric_limits<Size>::max();

std::atomic<Size> threshold{kNever};
thread_local int n_pauses = 0;

/// The arrays that are in files, by address.
struct Spilled {
    std::mutex mutex;
    std::unordered_map<const void*, Size> bytes;
    std::atomic<Size> n{0};
};

/// Never destroyed: arrays may live until the process ends.
Spilled& spilled() {
    static auto* const all = new Spilled;
    return *all;
}

}  // namespace

Size spill_threshold() { return n_pauses > 0 ? kNever : threshold.load(std::memory_order_relaxed); }

Size set_spill_threshold(Size bytes) { return threshold.exchange(bytes); }

SpillPause::SpillPause() { ++n_pauses; }
SpillPause::~SpillPause() { --n_pauses; }

void* spill(Size bytes) {
    void* const array = map_temporary_file(bytes);
    if (!array) throw std::bad_alloc();
    Spilled& all = spilled();
    const std::lock_guard lock(all.mutex);
    all.bytes[array] = bytes;
    ++all.n;
    return array;
}

Size spilled_bytes(const void* array) {
    Spilled& all = spilled();
    if (all.n == 0) return 0;
    const std::lock_guard lock(all.mutex);
    const auto found = all.bytes.find(array);
    return found == all.bytes.end() ? 0 : found->second;
}

bool free_spilled(void* array) {
    Spilled& all = spilled();
    if (all.n == 0) return false;
    Size bytes = 0;
    {
        const std::lock_guard lock(all.mutex);
        const auto found = all.bytes.find(array);
        if (found == all.bytes.end()) return false;
        bytes = found->second;
        all.bytes.erase(found);
        --all.n;
    }
    unmap_file(array, bytes);
    return true;
}

}  // namespace spinney
