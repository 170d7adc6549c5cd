#include "net/scheduling.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

namespace doxlab::net {

bool take_real_time_priority(int priority) {
  sched_param parameters{};
  parameters.sched_priority = priority;
  return ::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) == 0;
}

bool take_idle_priority() {
  const sched_param parameters{};
  return ::sched_setscheduler(0, SCHED_IDLE, &parameters) == 0;
}

std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return out;  // more processors than the set has room for
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &set)) out.push_back(processor);
  return out;
}

bool stay_on_processor(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

void take_precise_timers() {
  ::prctl(PR_SET_TIMERSLACK, 1UL);
}

void name_this_thread(const std::string& name) {
  ::pthread_setname_np(::pthread_self(), name.substr(0, 15).c_str());
}

}  // namespace doxlab::net
