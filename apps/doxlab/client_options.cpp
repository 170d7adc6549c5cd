#include "client_options.hpp"

#include <format>

#include "lab/foreign_client.hpp"
#include "options.hpp"

namespace doxlab::app {

void ClientOptions::add_to(CLI::App& command) {
  command_ = &command;
  std::string names;
  for (const auto& name : experiment::client_names()) names += (names.empty() ? "" : ", ") + name;
  command
      .add_option("--client", name_,
                  "The client that is measured: " + names + ", PATH.toml, or a command with arguments, such as 'kdig @{{server}} {{qname}}' (docs/clients.md)")
      ->capture_default_str();
}

void ClientOptions::apply(experiment::Setup& setup) const {
  if (!is_given()) return;
  if (command_->count("--server") > 0) throw UsageError("--client: measures in the lab, so not with --server");
  const bool only = command_->count("--only") > 0;
  experiment::choose_client(setup, name_);
  const auto& client = *setup.client;
  for (const char* name : {"--start", "--token", "--fast-open", "--first-flight-copies", "--do53-retransmit", "--initial-rtt", "--no-verify",
                           "--compression", "--reject-early-data", "--congestion-control", "--qlog"})
    if (command_->count(name) > 0) throw UsageError(std::format("{}: only doxlab's own client follows it; not with --client {}", name, client.name));
  for (const char* name : {"group", "method"})
    if (command_->count(std::string("--") + name) > 0 && !client.options.contains(name) && client.command_line.empty())
      throw UsageError(std::format("--{}: {} cannot be told so by its client file; not with --client", name, client.name));
  if (!client.command_line.empty()) {
    if (only && setup.transports.size() > 1) throw UsageError("--only: a command asks over one transport; name one, or none to have it found out");
    return;
  }
  if (only && !setup.not_spoken.empty())
    throw UsageError(std::format("--only: {} does not ask over {}; it asks over {}", client.name, to_string(setup.not_spoken.front()),
                                 lab::spoken_transports(client)));
  if (setup.transports.empty())
    throw UsageError(std::format("--client {}: asks over {}, of which {} offers nothing", client.name, lab::spoken_transports(client), setup.subject_name));
}

}  // namespace doxlab::app
