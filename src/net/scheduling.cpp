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

void take_precise_timers() {
  ::prctl(PR_SET_TIMERSLACK, 1UL);
}

void name_this_thread(const std::string& name) {
  ::pthread_setname_np(::pthread_self(), name.substr(0, 15).c_str());
}

}  // namespace doxlab::net
