#pragma once
/// What a client keeps of a server from one connection to the next, as far as a setup wants it. Internal.

#include <map>
#include <string>

#include "client/lookup.hpp"
#include "experiment/setup.hpp"

namespace doxlab::experiment {

class Remembered {
 public:
  /// The setup must outlive this object.
  explicit Remembered(const Setup& setup) : setup_(setup) {}

  /// Keeps what a lookup learned.
  void keep(Transport transport, const client::LookupResult& result);
  /// What must still be learned, as a sentence; empty: nothing.
  std::string missing(Transport transport);
  /// Gives a lookup its ticket and token.
  void give(Transport transport, client::LookupOptions& options) const;

 private:
  struct Memory {
    std::optional<transport::TicketReceived> ticket;
    Bytes token;
  };

  bool resumes() const { return setup_.start == Start::Resumed || setup_.start == Start::EarlyData; }

  const Setup& setup_;
  std::map<Transport, Memory> memories_;
};

}  // namespace doxlab::experiment
