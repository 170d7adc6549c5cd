#pragma once
/// The lab without root.

namespace doxlab::net {

/// Whether this process may make network namespaces and configure devices.
bool is_privileged();

/// If not privileged, moves the process into a user namespace of its own, in which it is root, and into a
/// network namespace that belongs to it. To be called at the start of main, while there is one thread.
/// Errors: std::runtime_error saying why and what to do (the system forbids user namespaces).
void enter_user_namespace_if_unprivileged();

}  // namespace doxlab::net
