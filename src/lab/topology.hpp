#pragma once
/// One end of the lab: a namespace with a loopback device and a TUN device that everything goes through.

#include <string>
#include <utility>
#include <vector>

#include "lab/lab.hpp"
#include "net/network_namespace.hpp"
#include "net/tun_device.hpp"

namespace doxlab::lab {

struct End {
  net::NetworkNamespace network;
  net::TunDevice device;
  std::string congestion_control_of_routes;  ///< empty: the namespace's setting holds
};

/// Ready when it returns: addresses, default routes, kernel settings.
/// Errors: std::system_error, std::runtime_error (a setting of `options` that the kernel refuses).
End make_end(Side side, const LabOptions& options);

/// The settings that a reader of a measurement wants to know, as they are in force.
std::vector<std::pair<std::string, std::string>> read_kernel_settings(const End& end);
/// Those of the calling thread's namespace.
std::vector<std::pair<std::string, std::string>> read_kernel_settings();

}  // namespace doxlab::lab
