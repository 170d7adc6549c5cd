#pragma once
/// Everything that a run is made of: the link, the resolver, the client, the question. One struct with
/// documented defaults; every experiment starts from it and every option of the command line ends in it.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/foreign_client.hpp"
#include "lab/subject.hpp"
#include "link/path.hpp"
#include "quic/options.hpp"
#include "resolver/resolver.hpp"
#include "server/server.hpp"
#include "tls/forge.hpp"
#include "tls/options.hpp"
#include "transport/factory.hpp"
#include "transport/transport.hpp"

namespace doxlab::experiment {

/// In what state a lookup finds its connection.
enum class Start : std::uint8_t {
  Cold,       ///< nothing is known of the server
  Reused,     ///< on a connection that is open and has answered before
  Resumed,    ///< a new connection, TLS resumed with a ticket (RFC 8446 §2.2); DNSCrypt: the certificate is known
  EarlyData,  ///< as Resumed, the query sent as 0-RTT (RFC 8446 §2.3, RFC 9001 §4.6)
};
std::string_view to_string(Start start);  // "cold", "reused", "resumed", "0rtt"
std::optional<Start> parse_start(std::string_view text);

/// A server that is not in the lab. What its clients see of it is beyond the link: the way there, and itself.
struct Elsewhere {
  std::string name;                             ///< that its certificate is verified for, and HTTP's :authority
  IpAddress address;
  std::map<Transport, std::uint16_t> ports;     ///< of the transports that may be asked
  std::string doh_path = "/dns-query";
  Duration interval = 500ms;                    ///< between the starts of two lookups, at least
  /// Without lab and link: over this machine's own sockets, counted there. Then half of the shortest time in which anything came
  /// back while it was primed stands for the link's delay, where something waits for what is still on its way.
  bool is_direct = false;
};

/// A run as it is asked for. The defaults are a cold lookup of example.com on a clean path.
struct Setup {
  link::Impairments link;
  bool ipv6 = false;

  std::vector<Transport> transports{kAllTransports.begin(), kAllTransports.end()};
  std::string qname = "example.com";
  std::string qtype = "A";
  Duration timeout = 15s;                       ///< start of a lookup to its answer

  /// The client: a program of others, executed once for each lookup, with what it calls its version. Null: doxlab's own, which
  /// all options below are for; another follows those that its file names.
  std::shared_ptr<const lab::ForeignClient> client;
  std::string client_version;
  std::vector<Transport> not_spoken;            ///< left out of `transports` because the client lacks them

  // The client.
  std::string client_groups = tls::kDefaultGroups;
  std::vector<tls::CertificateCompression> client_compression;
  bool verify = true;
  transport::HttpMethod method = transport::HttpMethod::Post;
  std::size_t pad_query_to = 128;               ///< EDNS padding on transports with TLS (RFC 8467 §4.1); 0: none
  quic::Options client_quic;
  tls::KeyLog key_log;                          ///< secrets of the client's sessions; called in the client's thread
  /// Do53 has nothing to resume: over UDP all starts are one, over TCP only Reused differs.
  Start start = Start::Cold;
  bool reject_early_data = false;               ///< the resolver rejects the 0-RTT that its tickets allow
  bool use_token = false;                       ///< QUIC: with a NEW_TOKEN token of an earlier connection
  bool fast_open = false;                       ///< TCP Fast Open with a cookie of an earlier connection
  Duration do53_retransmission{};               ///< Do53 and DNSCrypt over UDP: send again after this; 0: never

  // Both kernels.
  std::uint32_t tcp_initial_window = 0;         ///< segments; 0: the kernel's 10
  std::vector<std::pair<std::string, std::string>> sysctls;  ///< as lab::LabOptions::sysctls

  /// The server: a program of others, with what it calls its version. Null: doxlab's own resolver, of which
  /// `subject_name` is "builtin" or the name of a stand-in.
  std::shared_ptr<const lab::Subject> subject;
  std::string subject_name = "builtin", subject_version;
  std::vector<Transport> not_offered;           ///< left out of `transports` because the subject lacks them
  /// Instead of any of these: a server that the link leads to through address translation, or none does, verified with the
  /// system's trust anchors. `ipv6` is its address's family.
  std::optional<Elsewhere> elsewhere;
  bool is_direct() const { return elsewhere && elsewhere->is_direct; }
  std::map<Transport, std::string> not_answering;  ///< of a server elsewhere: why a transport is in `not_offered`

  // The resolver, or what a subject is told to do as far as its options reach.
  std::shared_ptr<const resolver::Zone> zone;   ///< null: the built-in zone
  std::string server_groups = tls::kDefaultGroups;
  tls::ChainOptions chain;
  std::vector<tls::CertificateCompression> server_compression;
  std::size_t tickets = 1;
  quic::RetryPolicy doq_retry = quic::RetryPolicy::Off;
  quic::RetryPolicy doh3_retry = quic::RetryPolicy::Off;
  quic::Options server_quic;

  /// DNSCrypt: what the resolver offers, one certificate each, and what the client accepts, in order.
  std::vector<dnscrypt::EsVersion> dnscrypt_constructions = dnscrypt::ResolverKeyOptions{}.es_versions;
  std::string dnscrypt_provider = server::kDefaultProviderName;
};

/// The subject that is known by the name or read from the file: "builtin", kStandIn, one of
/// lab::built_in_subjects(), or a path that ends in .toml. Leaves `transports` with those that it offers and
/// `not_offered` with the others. Errors: std::runtime_error if the file cannot be read, if it is not a subject
/// file, or if the program is not there.
void choose_subject(Setup& setup, const std::string& name_or_path);
/// The resolver with the fault of quic::Options::withhold_initial_retransmission, to see what it looks like.
inline constexpr const char* kStandIn = "standin-lost-initial";
/// All names that choose_subject() knows, "builtin" first.
std::vector<std::string> subject_names();

/// The client that is known by the name, read from the file or typed as a command: "builtin", one of
/// lab::built_in_foreign_clients(), a path that ends in .toml, or a text with a blank or a placeholder in it. Leaves
/// `transports` with those that it asks over and `not_spoken` with the others; of a command Rig finds out. Errors:
/// std::runtime_error as choose_subject().
void choose_client(Setup& setup, const std::string& name_path_or_command);
/// All names that choose_client() knows, "builtin" first.
std::vector<std::string> client_names();

/// An OpenSSL list of groups as other programs take it: without the marks of key shares, and of what a client guesses.
std::string groups_without_marks(std::string groups);

/// As the published measurement's server and client were set: Retry on DoH3 and not on DoQ, QUIC datagrams
/// of 1280 bytes, a chain of about 3.9 KB, X25519MLKEM768 first, POST.
void set_as_published(Setup& setup);

/// The resolver that a setup asks for, with a forged chain and new DNSCrypt keys. Errors: std::invalid_argument
/// (a provider name that is none).
server::ServerOptions server_options(const Setup& setup, const tls::Chain& chain);

}  // namespace doxlab::experiment
