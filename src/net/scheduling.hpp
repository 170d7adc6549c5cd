#pragma once
/// Scheduling of the calling thread.

#include <string>
#include <vector>

namespace doxlab::net {

/// Takes a real-time priority (SCHED_FIFO) that children do not inherit. False if the kernel does not allow
/// it; the thread then stays as it was.
bool take_real_time_priority(int priority);

/// Runs only when nothing else wants to (SCHED_IDLE). False if the kernel does not allow it.
bool take_idle_priority();

/// The processors that the calling thread may run on, by number.
std::vector<int> allowed_processors();
/// The calling thread runs on this processor alone. False if it may not.
bool stay_on_processor(int processor);

/// Timers of this thread fire when due instead of up to 50 us later (timer slack).
void take_precise_timers();

/// For ps and gdb; at most 15 characters.
void name_this_thread(const std::string& name);

}  // namespace doxlab::net
