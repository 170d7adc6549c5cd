#pragma once
/// How ordinary failure is told: a sentence for a person. Rooms whose callers must tell failures
/// apart define their own enum beside it (dns::ParseError, quic::CloseReason).

#include <expected>
#include <string>
#include <utility>

namespace doxlab {

/// What went wrong, as one sentence without a final stop, for example
/// "connect to 10.66.0.1:853: connection refused".
struct Error {
  std::string message;
};

template <class T>
using Result = std::expected<T, Error>;

/// Shorthand for `return std::unexpected(Error{...})`.
inline std::unexpected<Error> fail(std::string message) { return std::unexpected(Error{std::move(message)}); }

}  // namespace doxlab
