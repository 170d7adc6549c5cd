#pragma once
/// SSLKEYLOGFILE, as browsers and curl have it: the file that TLS secrets are appended to.

#include "tls/options.hpp"

namespace doxlab::app {

/// Appends to the file that the environment names, and makes it with mode 0600 if it does not exist. Empty if
/// the variable is not set or empty. All callers share the file; any thread may call the result. Errors:
/// std::runtime_error with the file and the system's reason.
tls::KeyLog key_log_of_environment();

}  // namespace doxlab::app
