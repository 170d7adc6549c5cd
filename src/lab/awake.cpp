#include "lab/awake.hpp"

#include <future>

#include "net/scheduling.hpp"

namespace doxlab::lab {

AwakeProcessors::AwakeProcessors() {
  for (const int processor : net::allowed_processors()) {
    std::promise<bool> started;
    auto is_idle = started.get_future();
    threads_.emplace_back([processor, started = std::move(started)](std::stop_token stop) mutable {
      net::name_this_thread("awake");
      const bool idle = net::take_idle_priority() && net::stay_on_processor(processor);
      started.set_value(idle);
      // No pause instruction: hypervisors take a processor that executes many of them for one that waits.
      while (idle && !stop.stop_requested()) {
      }
    });
    if (!is_idle.get()) threads_.clear();
    if (threads_.empty()) return;
  }
}

}  // namespace doxlab::lab
