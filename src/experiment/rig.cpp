#include "experiment/rig.hpp"

#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <condition_variable>
#include <deque>
#include <format>
#include <future>
#include <map>
#include <stdexcept>

#include "experiment/direct_observer.hpp"
#include "experiment/foreign_lookups.hpp"
#include "experiment/foreign_server.hpp"
#include "experiment/remembered.hpp"
#include "io/lag_monitor.hpp"
#include "io/unix_clock.hpp"
#include "lab/awake.hpp"
#include "lab/topology.hpp"
#include "net/scheduling.hpp"

namespace doxlab::experiment {
namespace {

// Client ports 10000 to 59999 on each client address name lookups; none is used twice by neighbours.
constexpr std::uint64_t kFirstPort = 10000, kPorts = 50000;
// Warm-up lookups draw from sample numbers that no experiment uses.
constexpr std::uint64_t kWarmUpSample = std::uint64_t{1} << 40;
constexpr std::uint64_t kWarmUpAttempts = 5;
// Below that of the link, so that what client and resolver compute never makes a packet late. Where the system grants
// none they run as any other thread.
constexpr int kEndpointPriority = 1;
// Fine enough to see a lag of a millisecond, rare enough to cost nothing.
constexpr auto kLagPeriod = 2ms;
// How soon the end of a foreign server is noticed.
constexpr auto kLookAfterServer = 200ms;

std::set<std::uint16_t> ports_of(const Elsewhere& server) {
  std::set<std::uint16_t> out;
  for (const auto& [transport, port] : server.ports) out.insert(port);
  return out;
}

lab::LabOptions lab_options(const Setup& setup) {
  lab::LabOptions out{.impairments = setup.link,
                      .sysctls = setup.sysctls,
                      .keep_processors_awake = true,
                      .tcp_initial_window = setup.tcp_initial_window};
  if (setup.fast_open) out.sysctls.emplace_back("tcp_fastopen", "3");  // as client and as server
  if (setup.elsewhere) out.beyond = setup.elsewhere->address;
  return out;
}

}  // namespace

struct Rig::State {
  explicit State(const Setup& given)
      : setup(given), server_io(1), client_io(1), server_lag(server_io, kLagPeriod), client_lag(client_io, kLagPeriod),
        pace_timer(client_io) {
    if (setup.is_direct()) {
      direct.emplace(setup.elsewhere->address, ports_of(*setup.elsewhere));
      awake.emplace();
    } else {
      lab.emplace(lab_options(setup));
    }
  }

  Setup setup;
  std::optional<lab::Lab> lab;                // or, where the setup is direct, the next two
  std::optional<DirectObserver> direct;
  std::optional<lab::AwakeProcessors> awake;
  asio::io_context server_io, client_io;
  io::LagMonitor server_lag, client_lag;
  asio::steady_timer pace_timer;
  std::jthread server_thread, client_thread;
  client::LookupOptions base;                 // what all lookups share
  std::vector<std::pair<Transport, Bytes>> queries;
  Remembered remembered{setup};               // written before the measurement begins
  server::Server* server = nullptr;           // lives in the server thread
  std::optional<ForeignServer> foreign;
  std::optional<ForeignLookups> foreign_client;

  // Client thread only.
  std::uint64_t next_lookup = 1;
  std::deque<Task> waiting;
  std::size_t in_flight = 0;
  Pace pace;
  Timestamp next_start{};
  std::uint64_t generation = 0;               // of run(); lookups of an earlier one report to nobody

  // Handed from the client thread to the caller of run().
  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<Sample> finished;

  const Bytes& query_for(Transport t) const {
    return std::ranges::find(queries, t, &std::pair<Transport, Bytes>::first)->second;
  }

  void start_server(const server::ServerOptions& options) {
    std::promise<void> ready;
    server_thread = lab->start_thread(lab::Side::Server, [this, &options, &ready](std::stop_token stop) {
      std::unique_ptr<server::Server> listening;
      try {
        listening = std::make_unique<server::Server>(server_io, options);
        if (setup.subject) {
          listening->listen(Transport::Do53, {kBackendAddress, kBackendPort});
          listening->listen(Transport::Do53Tcp, {kBackendAddress, kBackendPort});
          listening->listen_cleartext_doh({kBackendAddress, kBackendDohPort});
        } else {
          listening->listen(lab::Lab::server_address(setup.ipv6));
        }
        server = listening.get();
        ready.set_value();
      } catch (...) {
        ready.set_exception(std::current_exception());
        return;
      }
      const std::stop_callback on_stop(stop, [this] { server_io.stop(); });
      net::take_real_time_priority(kEndpointPriority);
      server_lag.start();
      server_io.run();
    });
    ready.get_future().get();
  }

  void start_client() {
    const auto body = [this](std::stop_token stop) {
      const std::stop_callback on_stop(stop, [this] { client_io.stop(); });
      net::take_real_time_priority(kEndpointPriority);
      client_lag.start();
      client_io.run();
    };
    client_thread = lab ? lab->start_thread(lab::Side::Client, body) : std::jthread(body);
  }

  SocketAddress server_of(Transport t) const {
    if (setup.elsewhere) return {setup.elsewhere->address, setup.elsewhere->ports.at(t)};
    return {lab::Lab::server_address(setup.ipv6), setup.subject ? setup.subject->ports.at(t) : resolver_port(t)};
  }

  /// In the lab each lookup has an address and port of its own, by which its packets are known.
  SocketAddress register_flows(const Task& task, std::uint64_t key) {
    // Tokens and Fast Open cookies are bound to the client's address.
    const auto addresses = setup.use_token || setup.fast_open ? 1 : lab::Lab::kClientAddresses;
    const SocketAddress local{lab::Lab::client_address(setup.ipv6, key / kPorts % addresses + 1),
                              static_cast<std::uint16_t>(kFirstPort + key % kPorts)};
    const lab::FlowTag tag{key, task.sample};
    if (!is_stream(task.transport)) lab->register_flow(capture::Protocol::Udp, local, tag);
    if (is_stream(task.transport) || tcp_fallback(task.transport))
      lab->register_flow(capture::Protocol::Tcp, local, tag);
    return local;
  }

  /// Starts one lookup (client thread). `done` gets the sample once its closing packets have passed too.
  void start(const Task& task, std::function<void()> answered, std::function<void(Sample&&)> done) {
    const auto key = next_lookup++;
    auto options = base;
    options.transport = task.transport;
    options.server = server_of(task.transport);
    if (setup.elsewhere) options.session.port = options.server.port;
    if (lab) options.socket.bind = register_flows(task, key);
    else options.socket.watcher = direct->watch(options.server);
    const auto watcher = options.socket.watcher;
    remembered.give(task.transport, options);
    if (opens_first(task)) options.reuse_after = 2 * setup.link.one_way_delay + 100ms;
    const auto secrets = std::make_shared<std::string>();
    options.session.key_log = [secrets](std::string_view line) { secrets->append(line).push_back('\n'); };
    const auto settle = options.linger + 2 * setup.link.one_way_delay + 20ms;
    client::start_lookup(client_io, options, query_for(task.transport),
                         [this, key, task, settle, secrets, watcher, answered = std::move(answered),
                          done = std::move(done)](client::LookupResult&& result) {
                           answered();
                           auto timer = std::make_shared<asio::steady_timer>(client_io, settle);
                           timer->async_wait([this, key, task, timer, secrets, watcher, done,
                                              result = std::move(result)](const std::error_code& e) mutable {
                             if (e) return;
                             Sample sample{.task = task, .result = std::move(result), .key_log = std::move(*secrets)};
                             if (lab) sample.packets = lab->take(key);
                             else direct->take(*watcher, sample);
                             done(finish(std::move(sample)));
                           });
                         });
  }

  /// Whether a connection is opened and used before the lookup proper. A DNSCrypt/TCP connection takes one
  /// query, so there the certificate is all that can be reused. The warm-up waits for tickets and tokens.
  bool opens_first(const Task& task) const {
    if (task.sample >= kWarmUpSample) return is_quic(task.transport) || has_tls(task.transport);
    return setup.start == Start::Reused && task.transport != Transport::DnscryptTcp;
  }

  /// Adds what disturbed the sample, if anything did: packets that the link took or gave late, and event loops that were
  /// busy when a packet for them arrived. A loop that was busy while the lookup waited for a timer did it no harm.
  Sample finish(Sample&& sample) const {
    // Of a reused connection only what belongs to the measured query counts.
    if (opens_first(sample.task) && !foreign_client) {
      const auto first = std::ranges::lower_bound(sample.packets, sample.result.started, {}, &capture::RecordedPacket::sent);
      sample.opening.assign(std::move_iterator(sample.packets.begin()), std::move_iterator(first));
      sample.packets.erase(sample.packets.begin(), first);
    }
    const auto end = sample.result.answered.value_or(sample.result.started + setup.timeout);
    const auto lag_at = [](const io::LagMonitor& loop, Timestamp when) { return loop.max_lag(when, when + kLagPeriod); };
    if (!foreign_client) sample.loop_lag = lag_at(client_lag, sample.result.started);
    const auto& packets = sample.streams ? sample.streams->steps : sample.packets;
    // Whatever the reason: it takes no longer to begin.
    if (!packets.empty() && !foreign_client)
      sample.loop_lag = std::max(sample.loop_lag, Duration(packets.front().sent - sample.result.started));
    for (const auto& packet : packets) {
      if (packet.sent > end) continue;
      if (lab) sample.link_lateness = std::max(sample.link_lateness, lab->stall_before(packet.sent));
      if (!packet.delivered) continue;
      sample.link_lateness = std::max(sample.link_lateness, Duration(*packet.delivered - packet.due));
      const bool to_server = packet.place.direction == link::Direction::ToServer;
      if (to_server ? setup.elsewhere.has_value() : foreign_client.has_value()) continue;  // no loop of ours
      sample.loop_lag = std::max(sample.loop_lag, lag_at(to_server ? server_lag : client_lag, *packet.delivered));
    }
    return std::move(sample);
  }

  void warm_up(Rig& rig);

  void start_waiting() {
    const auto run = generation;
    while (!waiting.empty() && in_flight < pace.in_flight) {
      const auto now = monotonic_now();
      if (now < next_start) {
        pace_timer.expires_at(next_start);
        pace_timer.async_wait([this, run](const std::error_code& e) {
          if (!e && run == generation) start_waiting();
        });
        return;
      }
      // Starts keep their distance also when one was late: catching up would bunch them.
      next_start = now + pace.interval;
      const auto task = waiting.front();
      waiting.pop_front();
      ++in_flight;
      start(
          task,
          [this, run] {
            if (run != generation) return;
            --in_flight;
            start_waiting();
          },
          [this, run](Sample&& sample) {
            if (run != generation) return;
            const std::lock_guard lock(mutex);
            finished.push_back(std::move(sample));
            arrived.notify_one();
          });
    }
  }
};

/// Loads everything once, and again where a loss kept it from bringing what later lookups start with.
void Rig::State::warm_up(Rig& rig) {
  auto todo = setup.transports;
  for (std::uint64_t attempt = 0; !todo.empty(); ++attempt) {
    std::vector<Task> tasks;
    for (auto t : todo) tasks.push_back({t, kWarmUpSample + attempt});
    std::map<Transport, std::string> reasons;
    const Duration interval = setup.elsewhere ? setup.elsewhere->interval : 0ms;
    rig.run(tasks, {.interval = interval, .in_flight = tasks.size()}, [&](Sample&& sample) {
      remembered.keep(sample.task.transport, sample.result);
      reasons[sample.task.transport] = sample.result.reason;
    }, {});
    std::erase_if(todo, [&](Transport t) { return remembered.missing(t).empty(); });
    if (attempt + 1 == kWarmUpAttempts && !todo.empty()) {
      const auto t = todo.front();
      throw std::runtime_error(remembered.missing(t) + (reasons[t].empty() ? "" : "; " + reasons[t]));
    }
  }
  if (setup.reject_early_data) server->accept_early_data(false);
}

Rig::Rig(const Setup& setup) : state_(std::make_unique<State>(setup)) {
  for (auto t : setup.transports) state_->queries.emplace_back(t, compose_query(setup, t));
  if (setup.elsewhere) {
    state_->base = lookup_options(setup, {});
    state_->start_client();
    state_->warm_up(*this);
    return;
  }
  auto chain_options = setup.chain;
  chain_options.addresses.push_back(lab::Lab::server_address(false));
  chain_options.addresses.push_back(lab::Lab::server_address(true));
  const auto chain = tls::forge_chain(chain_options);
  auto& base = state_->base;
  base = lookup_options(setup, chain.root_pem);
  auto server = server_options(setup, chain);
  if (setup.subject) {
    server.transports = {Transport::Do53, Transport::Do53Tcp};
    server.limits.idle_timeout = 1h;  // of the connections that a proxy keeps open
  }
  if (server.dnscrypt_keys) {
    base.session.dnscrypt.provider_name = server.dnscrypt_keys->provider_name();
    base.session.dnscrypt.provider_key = server.dnscrypt_keys->provider_key();
    base.session.dnscrypt.clock = io::unix_clock_now();
    base.session.dnscrypt.es_versions = setup.dnscrypt_constructions;
    base.session.dnscrypt.retransmission = setup.do53_retransmission;
  }
  if (setup.client) {
    state_->foreign_client.emplace(*state_->lab, state_->setup,
                                   ForeignLookups::Server{chain.chain_pem, chain.root_pem, server.dnscrypt_keys.get()});
    server.tls.key_log = [client = &*state_->foreign_client](std::string_view line) { client->add_secret(line); };
  }
  state_->start_server(server);
  if (setup.subject)
    state_->foreign.emplace(*state_->lab, state_->setup, chain, base,
                            [state = state_.get()](Transport t) -> const Bytes& { return state->query_for(t); });
  if (setup.client) {
    state_->setup.transports = state_->foreign_client->warm_up();
    return;
  }
  state_->start_client();

  state_->warm_up(*this);
}

Rig::~Rig() {
  if (state_->client_thread.joinable()) {
    state_->client_thread.request_stop();
    state_->client_thread.join();
  }
  state_->foreign.reset();
  if (state_->server_thread.joinable()) {
    state_->server_thread.request_stop();
    state_->server_thread.join();
  }
}

bool Rig::run(std::span<const Task> tasks, const Pace& pace, const std::function<void(Sample&&)>& on_sample,
              std::stop_token stop) {
  auto* state = state_.get();
  if (state->foreign_client) {
    return state->foreign_client->look_up_all(tasks, pace.interval, [&](Sample&& sample) {
      if (state->foreign) state->foreign->check_that_it_runs();
      on_sample(state->finish(std::move(sample)));
    }, stop);
  }
  asio::post(state->client_io, [state, pace, list = std::deque<Task>(tasks.begin(), tasks.end())]() mutable {
    ++state->generation;
    state->in_flight = 0;
    state->waiting = std::move(list);
    state->pace = pace;
    state->start_waiting();
  });
  const std::stop_callback wake(stop, [state] {
    const std::lock_guard lock(state->mutex);
    state->arrived.notify_one();
  });
  std::size_t remaining = tasks.size();
  // Also while lookups come back: those that a server's end has refused do so at once.
  auto next_look = monotonic_now() + kLookAfterServer;
  while (remaining > 0) {
    if (state->foreign && monotonic_now() >= next_look) {
      state->foreign->check_that_it_runs();
      next_look = monotonic_now() + kLookAfterServer;
    }
    std::unique_lock lock(state->mutex);
    const auto is_due = [&] { return !state->finished.empty() || stop.stop_requested(); };
    while (!state->arrived.wait_for(lock, kLookAfterServer, is_due))
      if (state->foreign) state->foreign->check_that_it_runs();
    if (state->finished.empty()) break;
    auto sample = std::move(state->finished.front());
    state->finished.pop_front();
    lock.unlock();
    --remaining;
    on_sample(std::move(sample));
  }
  if (remaining == 0) {
    if (state->foreign) state->foreign->check_that_it_runs();
    return true;
  }
  std::promise<void> dropped;
  asio::post(state->client_io, [state, &dropped] {
    ++state->generation;
    state->waiting.clear();
    dropped.set_value();
  });
  dropped.get_future().wait();
  const std::lock_guard lock(state->mutex);
  state->finished.clear();
  return false;
}

void Rig::set_interval(Duration interval) {
  if (state_->foreign_client) {
    state_->foreign_client->set_interval(interval);
    return;
  }
  asio::post(state_->client_io, [state = state_.get(), interval] { state->pace.interval = interval; });
}

lab::Lab& Rig::lab() {
  if (!state_->lab) throw std::logic_error("a server that is asked directly has no lab");
  return *state_->lab;
}
std::vector<std::pair<std::string, std::string>> Rig::kernel_settings() const {
  return state_->lab ? state_->lab->kernel_settings() : lab::read_kernel_settings();
}
lab::LinkPrecision Rig::precision() const { return state_->lab ? state_->lab->precision() : lab::LinkPrecision{}; }
std::uint64_t Rig::missed_packets() const { return state_->direct ? state_->direct->missed() : 0; }
const Setup& Rig::setup() const { return state_->setup; }
std::string Rig::server_log() const { return state_->foreign ? state_->foreign->last_words() : std::string(); }

}  // namespace doxlab::experiment
