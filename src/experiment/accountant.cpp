#include "experiment/accountant.hpp"

#include "experiment/measured.hpp"
#include "net/scheduling.hpp"

namespace doxlab::experiment {
namespace {

/// Some ten kilobytes each. At the rates of a run this is what gathers in several seconds without an idle moment.
constexpr std::size_t kMostWaiting = 1000;

}  // namespace

Accountant::Accountant(const link::Impairments& link, Handler on_account)
    : link_(link), on_account_(std::move(on_account)), thread_([this](std::stop_token stop) { work(std::move(stop)); }) {}

Accountant::~Accountant() = default;

void Accountant::work(std::stop_token stop) {
  net::name_this_thread("accountant");
  net::take_idle_priority();
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (!arrived_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
    }
    auto job = take_waiting();
    if (job.empty()) continue;
    take_apart(job.front());
    put_done(std::move(job));
  }
}

void Accountant::take_apart(Job& job) {
  try {
    if (job.sample.streams) return;  // no packets to take apart
    place_server(job.sample);
    const auto analysis = analyse(job.sample, link_);
    job.account = {causes_ms(analysis), ledger_rows(analysis.until_answer, analysis.after_answer)};
    const std::lock_guard lock(mutex_);
    sums_[job.sample.task.transport].add(job.sample, analysis);
  } catch (...) {
    job.error = std::current_exception();
  }
}

Accountant::Jobs Accountant::take_waiting() {
  Jobs out;
  const std::lock_guard lock(mutex_);
  if (!waiting_.empty()) out.splice(out.end(), waiting_, waiting_.begin());
  return out;
}

void Accountant::put_done(Jobs&& job) {
  const std::lock_guard lock(mutex_);
  done_.splice(done_.end(), job);
  --unfinished_;
  finished_.notify_one();
}

void Accountant::add(Sample&& sample) {
  Jobs mine;
  mine.push_back({.sample = std::move(sample), .account = {}, .error = {}});
  bool is_full = false;
  {
    const std::lock_guard lock(mutex_);
    waiting_.splice(waiting_.end(), mine);
    ++unfinished_;
    is_full = waiting_.size() > kMostWaiting;
    arrived_.notify_one();
  }
  if (is_full)
    if (auto job = take_waiting(); !job.empty()) {
      take_apart(job.front());
      put_done(std::move(job));
    }
  hand_over();
}

void Accountant::finish() {
  for (auto job = take_waiting(); !job.empty(); job = take_waiting()) {
    take_apart(job.front());
    put_done(std::move(job));
    hand_over();
  }
  {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return unfinished_ == 0; });
  }
  hand_over();
}

void Accountant::hand_over() {
  Jobs done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(done_);
  }
  for (auto& job : done) {
    if (job.error) std::rethrow_exception(job.error);
    on_account_(job.sample, std::move(job.account));
  }
}

results::Accounting Accountant::accounting(Transport transport, std::uint64_t end) const {
  const auto found = sums_.find(transport);
  return found == sums_.end() ? results::Accounting{} : found->second.finish(end);
}

}  // namespace doxlab::experiment
