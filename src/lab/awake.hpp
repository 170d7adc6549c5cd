#pragma once
/// Keeps the processors from sleeping while something is measured. A virtual machine gives an idle processor back to
/// its host, and fetching it again costs 50 to 300 us for every thread that a packet wakes.

#include <thread>
#include <vector>

namespace doxlab::lab {

/// One thread on each processor that this process may use, at the lowest priority (SCHED_IDLE), which runs when
/// nothing else wants to. Where the system does not grant that priority there are no threads: at any other they
/// would be in the way.
class AwakeProcessors {
 public:
  AwakeProcessors();

 private:
  std::vector<std::jthread> threads_;
};

}  // namespace doxlab::lab
