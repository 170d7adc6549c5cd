#pragma once
/// Takes the lookups of a run apart beside the run, in a thread that runs when nothing else wants to: what is measured
/// is not disturbed.

#include <array>
#include <condition_variable>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "experiment/accounting.hpp"

namespace doxlab::experiment {

/// What `ms` and the bytes of one lookup consist of, for its own record.
struct Account {
  std::map<std::string, double> causes_ms;
  std::map<std::string, results::OwnedBytes> ledger;
};

class Accountant {
 public:
  using Handler = std::function<void(const Sample&, Account&&)>;

  /// `on_account` gets each sample once it is taken apart, from add() and finish(), in their thread: memory that
  /// measuring threads allocated is freed by no thread that others may keep from running.
  Accountant(const link::Impairments& link, Handler on_account);
  ~Accountant();

  /// Hands a sample over, and those that are done to the handler. One without packets is handed on without an account. With too many waiting, takes one apart itself.
  /// Errors: those of analyse(), of this sample or an earlier one.
  void add(Sample&& sample);
  /// Takes apart what is left, and hands it over. Errors: as add().
  void finish();

  /// After finish(): the samples of a transport with numbers below `end`.
  results::Accounting accounting(Transport transport, std::uint64_t end = std::numeric_limits<std::uint64_t>::max()) const;

 private:
  struct Job {
    Sample sample;
    Account account;
    std::exception_ptr error;
  };
  /// Jobs change lists by splice, so that no node is made or freed by the other thread.
  using Jobs = std::list<Job>;

  void work(std::stop_token stop);
  void take_apart(Job& job);
  /// The oldest that waits; empty if none does.
  Jobs take_waiting();
  void put_done(Jobs&& job);
  void hand_over();

  const link::Impairments link_;
  const Handler on_account_;
  std::mutex mutex_;
  std::condition_variable_any arrived_;
  Jobs waiting_, done_;
  std::size_t unfinished_ = 0;                    // handed over by add() and not in done_ yet
  std::condition_variable finished_;
  std::map<Transport, AccountSums> sums_;
  std::jthread thread_;                           // last, so that it ends first
};

}  // namespace doxlab::experiment
