#include "progress.hpp"

#include <unistd.h>

#include <print>

namespace doxlab::app {

void show_progress(std::size_t done, std::size_t of) {
  if (!isatty(STDERR_FILENO)) return;
  std::print(stderr, "\r{} of {} lookups", done, of);
  if (done == of) std::print(stderr, "\r\033[K");
}

}  // namespace doxlab::app
