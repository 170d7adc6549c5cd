#pragma once
/// A mutex whose holder inherits the priority of who waits for it. The link thread may hold a real-time
/// priority while a client thread, preempted by others, holds the recorder: with an ordinary mutex the link
/// would wait for the scheduler.

#include <pthread.h>

#include <system_error>

namespace doxlab::lab {

/// Lockable with std::scoped_lock and std::unique_lock.
class PriorityMutex {
 public:
  PriorityMutex() {
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes);
    ::pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    const int error = ::pthread_mutex_init(&mutex_, &attributes);
    ::pthread_mutexattr_destroy(&attributes);
    if (error != 0) throw std::system_error(error, std::generic_category(), "make a mutex");
  }
  ~PriorityMutex() { ::pthread_mutex_destroy(&mutex_); }
  PriorityMutex(const PriorityMutex&) = delete;
  PriorityMutex& operator=(const PriorityMutex&) = delete;

  void lock() { ::pthread_mutex_lock(&mutex_); }
  void unlock() { ::pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};

}  // namespace doxlab::lab
