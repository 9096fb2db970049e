// What differs between operating systems, with available_cpus of thread_pool.hpp; only its source knows which
// one this is.
#pragma once

#include <functional>

#include "core/types.hpp"

namespace spinney {

/// Send this process what Ctrl-C sends.
void raise_interrupt();

/// Call f in the child after every fork, where processes fork.
void call_after_fork(void (*f)());

/// Call f; threads that it starts run no signal handlers.
void with_signals_blocked(const std::function<void()>& f);

/// Ask for large pages where they have to be asked for, beginning with the first page that begins in
/// `memory`.
void prefer_large_pages(void* memory, Size bytes);

/// Map a new temporary file of zeros, which has no name and ends with the mapping; null where there is no
/// room for it, or files cannot be mapped. It is in the directory of $TMPDIR, or in /tmp.
void* map_temporary_file(Size bytes);
void unmap_file(void* memory, Size bytes);

}  // namespace spinney
