#include "experiment/remembered.hpp"

#include <format>

namespace doxlab::experiment {

void Remembered::keep(Transport transport, const client::LookupResult& result) {
  auto& memory = memories_[transport];
  if ((resumes() && is_encrypted(transport)) || (setup_.start == Start::Reused && transport == Transport::DnscryptTcp))
    memory.ticket = result.ticket;
  if (setup_.use_token && is_quic(transport)) memory.token = result.token;
}

std::string Remembered::missing(Transport transport) {
  const auto& memory = memories_[transport];
  if (resumes() && is_encrypted(transport) && !memory.ticket)
    return std::format("{}: nothing to resume with came from the resolver (--tickets 0?)", display_name(transport));
  if (setup_.start == Start::EarlyData && has_tls(transport) && memory.ticket->ticket.max_early_data_bytes == 0)
    return std::format("{}: the ticket of the resolver does not allow 0-RTT", display_name(transport));
  if (setup_.use_token && is_quic(transport) && memory.token.empty())
    return std::format("{}: no NEW_TOKEN came from the resolver", display_name(transport));
  return {};
}

void Remembered::give(Transport transport, client::LookupOptions& options) const {
  const auto known = memories_.find(transport);
  if (known == memories_.end()) return;
  options.session.ticket = known->second.ticket;
  options.session.token = known->second.token;
}

}  // namespace doxlab::experiment
