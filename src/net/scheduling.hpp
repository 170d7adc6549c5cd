#pragma once
/// Scheduling of the calling thread.

#include <string>

namespace doxlab::net {

/// Takes a real-time priority (SCHED_FIFO) that children do not inherit. False if the kernel does not allow
/// it; the thread then stays as it was.
bool take_real_time_priority(int priority);

/// Timers of this thread fire when due instead of up to 50 us later (timer slack).
void take_precise_timers();

/// For ps and gdb; at most 15 characters.
void name_this_thread(const std::string& name);

}  // namespace doxlab::net
