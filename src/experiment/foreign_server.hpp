#pragma once
/// A server that others wrote as the server of a rig: started with a setup's certificate and settings, and
/// answering before anything is measured.

#include <memory>
#include <string>

#include "client/lookup.hpp"
#include "experiment/setup.hpp"
#include "lab/lab.hpp"
#include "lab/subject_process.hpp"

namespace doxlab::experiment {

/// Where doxlab's own resolver serves a subject that forwards or proxies, in the server's namespace.
inline const IpAddress kBackendAddress = IpAddress::v4({127, 0, 0, 1});
inline constexpr std::uint16_t kBackendPort = 5300, kBackendDohPort = 8053;

class ForeignServer {
 public:
  /// Starts setup.subject and waits until it has answered a question of each transport, asked inside the server's
  /// namespace, so that the link sees nothing of it. `base` is what lookups share; `query_for` gives the question.
  /// Errors: std::runtime_error with what is missing and the last lines that the program wrote: it is not there,
  /// it ended, it did not answer in time. std::invalid_argument: a transport of the setup that it does not offer.
  ForeignServer(lab::Lab& lab, const Setup& setup, const tls::Chain& chain, const client::LookupOptions& base,
                const std::function<const Bytes&(Transport)>& query_for);

  /// Errors: std::runtime_error if the program has ended, saying how, with its last lines.
  void check_that_it_runs() const;
  std::string last_words() const { return process_.last_words(); }

 private:
  void wait_until_ready(lab::Lab& lab, const client::LookupOptions& base,
                        const std::function<const Bytes&(Transport)>& query_for) const;

  const Setup& setup_;
  lab::SubjectProcess process_;
};

/// "nginx/1.26.3".
std::string subject_title(const Setup& setup);

}  // namespace doxlab::experiment
