// What dissect says of captures is what tshark says: packet types and numbers, frames and their sizes,
// records, handshake messages and HTTP frames of every transport, over a path that loses packets. tshark
// decrypts with the secrets inside of the captures.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "capture/pcapng.hpp"
#include "dissect/flow_collector.hpp"
#include "dissect/pcap_reader.hpp"
#include "experiment/rig.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab::experiment {
namespace {

using dissect::Dissection;
using link::Direction;
using Numbers = std::vector<std::uint64_t>;

/// What either side says of one packet.
struct PacketReport {
  Numbers packet_types, packet_numbers, frame_types, crypto_offsets, crypto_lengths, stream_ids,
      padding_lengths, largest_acknowledged, token_lengths;
  bool operator==(const PacketReport&) const = default;
};

std::ostream& operator<<(std::ostream& out, const PacketReport& report) {
  const auto print = [&](const char* name, const Numbers& numbers) {
    out << name;
    for (const auto number : numbers) out << ' ' << number;
    out << '\n';
  };
  print("types", report.packet_types);
  print("numbers", report.packet_numbers);
  print("frames", report.frame_types);
  print("crypto offsets", report.crypto_offsets);
  print("crypto lengths", report.crypto_lengths);
  print("streams", report.stream_ids);
  print("padding", report.padding_lengths);
  print("acknowledged", report.largest_acknowledged);
  print("tokens", report.token_lengths);
  return out;
}

/// What either side says of one direction of a lookup: the client's port and the server's.
struct StreamReport {
  Numbers record_lengths;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> handshake;  ///< type, length without header
  std::vector<std::pair<std::uint64_t, std::uint64_t>> http;       ///< type, length of payload
};
using StreamKey = std::tuple<std::uint64_t, std::uint64_t, Direction>;

struct Report {
  std::map<std::uint64_t, PacketReport> quic;  ///< by frame number
  std::map<StreamKey, StreamReport> streams;
  std::size_t without_keys = 0;  ///< packets that could not be decrypted when they came
};

/// Runs lookups of every encrypted transport and gives what a capture at the client would hold.
std::string make_capture(const Setup& given, std::size_t samples) {
  auto setup = given;
  std::string key_log;
  setup.key_log = [&](std::string_view line) { key_log.append(line).append("\n"); };
  setup.transports = {Transport::Dot, Transport::Doh, Transport::Doh3, Transport::Doq};
  std::vector<capture::RecordedPacket> packets;
  {
    Rig rig(setup);
    std::vector<Task> tasks;
    for (std::uint64_t sample = 0; sample < samples; ++sample)
      for (const auto transport : setup.transports)
        tasks.push_back({.transport = transport, .sample = sample});
    rig.run(tasks, {},
            [&](Sample&& sample) { std::ranges::move(sample.packets, std::back_inserter(packets)); }, {});
  }
  std::erase_if(packets, [](const auto& packet) {
    return packet.place.direction == Direction::ToClient && !packet.delivered;
  });
  std::ostringstream out;
  capture::write_capture(out, packets, {.key_log = key_log});
  return out.str();
}

/// The number of a long header's type in version 1, whatever the version; 4 for a short header.
std::uint64_t type_number(dissect::QuicPacketType type) {
  using dissect::QuicPacketType;
  switch (type) {
    case QuicPacketType::Initial:
      return 0;
    case QuicPacketType::ZeroRtt:
      return 1;
    case QuicPacketType::Handshake:
      return 2;
    case QuicPacketType::Retry:
      return 3;
    default:
      return 4;
  }
}

void add_packets(Report& report, const dissect::Flow& flow, const Dissection& dissection) {
  for (const auto& packet : dissection.quic_packets) {
    auto& out = report.quic[flow.packets.at(packet.packet).number];
    out.packet_types.push_back(type_number(packet.type));
    if (packet.type == dissect::QuicPacketType::Initial) out.token_lengths.push_back(packet.token.length);
    if (!packet.is_decrypted) continue;
    out.packet_numbers.push_back(packet.packet_number);
    for (auto i = packet.first_frame; i < packet.first_frame + packet.frames; ++i) {
      const auto& frame = dissection.quic_frames[i];
      out.frame_types.push_back(frame.type);
      if (frame.type == dissect::kFrameCrypto) {
        out.crypto_offsets.push_back(frame.stream_offset);
        out.crypto_lengths.push_back(frame.data_length);
      }
      if (frame.is_stream()) out.stream_ids.push_back(frame.stream_id);
      if (frame.type == dissect::kFramePadding) out.padding_lengths.push_back(frame.length);
      if (!frame.acked.empty()) out.largest_acknowledged.push_back(frame.acked.front().largest);
    }
  }
}

void add_streams(Report& report, const Dissection& dissection) {
  const auto key_of = [&](const dissect::Carrier& carrier) {
    const auto ports = [&](const auto& connection) {
      return StreamKey{connection.client.port, connection.server.port, carrier.direction};
    };
    return carrier.kind == dissect::CarrierKind::Quic
               ? ports(dissection.quic_connections.at(carrier.connection))
               : ports(dissection.tcp_connections.at(carrier.connection));
  };
  for (const auto& record : dissection.records)
    report.streams[key_of({dissect::CarrierKind::Tcp, record.connection, record.direction})]
        .record_lengths.push_back(record.length - dissect::kRecordHeaderBytes);
  for (const auto& message : dissection.handshake)
    report.streams[key_of(message.carrier)].handshake.emplace_back(static_cast<std::uint64_t>(message.type),
                                                                   message.length - 4);
  for (const auto& frame : dissection.http_frames)
    report.streams[key_of(frame.carrier)].http.emplace_back(frame.type, frame.payload_length);
}

Report report_of_dissect(const std::string& capture) {
  Report report;
  std::istringstream in(capture);
  auto reader = dissect::PcapReader::open(in).value();
  std::vector<dissect::Flow> flows;
  dissect::FlowCollector collector([&](dissect::Flow&& flow) { flows.push_back(std::move(flow)); });
  while (const auto packet = reader.next().value()) collector.add(*packet);
  collector.finish();
  for (const auto& flow : flows) {
    const auto dissection = dissect::dissect(flow.observe(), reader.keys());
    for (const auto& packet : dissection.packets) {
      std::uint64_t sum = 0;
      for (const auto& tile : packet.tiles) sum += tile.length;
      EXPECT_EQ(sum, packet.ip_bytes);
    }
    add_packets(report, flow, dissection);
    add_streams(report, dissection);
  }
  return report;
}

/// tshark's fields of one frame.
class Row {
 public:
  Row(const std::vector<std::string>& names, std::string_view line) {
    for (const auto& name : names) {
      const auto end = std::min(line.find('|'), line.size());
      fields_[name] = std::string(line.substr(0, end));
      line.remove_prefix(std::min(end + 1, line.size()));
    }
  }

  bool has(const std::string& name) const { return !fields_.at(name).empty(); }
  /// Decimal or hexadecimal numbers.
  Numbers numbers(const std::string& name) const {
    Numbers out;
    std::istringstream in(fields_.at(name));
    for (std::string word; std::getline(in, word, ',');) out.push_back(std::stoull(word, nullptr, 0));
    return out;
  }
  std::uint64_t number(const std::string& name) const { return numbers(name).at(0); }

 private:
  std::map<std::string, std::string> fields_;
};

std::vector<Row> run_tshark(const std::string& path, const std::vector<std::string>& fields) {
  // Segments out of order, as they are under loss, are put in order only if asked for; and port 853 means
  // DTLS.
  test::Command command = {"tshark", "-n",
                           "-r",     path,
                           "-o",     "tcp.reassemble_out_of_order:TRUE",
                           "-d",     "udp.port==853,quic",
                           "-T",     "fields",
                           "-E",     "separator=|"};
  for (const auto& field : fields) {
    command.push_back("-e");
    command.push_back(field);
  }
  const auto finished = test::run_program(command);
  EXPECT_EQ(finished.status, 0) << finished;
  std::vector<Row> rows;
  std::istringstream lines(finished.output);
  for (std::string line; std::getline(lines, line);) rows.emplace_back(fields, line);
  return rows;
}

PacketReport quic_report(const Row& row, bool is_version_2) {
  PacketReport out;
  auto types = row.numbers(is_version_2 ? "quic.long.packet_type_v2" : "quic.long.packet_type");
  // RFC 9369 §3.2: the same types, moved by one.
  if (is_version_2)
    for (auto& type : types) type = (type + 3) % 4;
  std::size_t next = 0;
  for (const auto is_long : row.numbers("quic.header_form"))
    out.packet_types.push_back(is_long != 0 && next < types.size() ? types[next++] : 4);
  out.packet_numbers = row.numbers("quic.packet_number");
  out.frame_types = row.numbers("quic.frame_type");
  out.crypto_offsets = row.numbers("quic.crypto.offset");
  out.crypto_lengths = row.numbers("quic.crypto.length");
  out.stream_ids = row.numbers("quic.stream.stream_id");
  out.padding_lengths = row.numbers("quic.padding_length");
  out.largest_acknowledged = row.numbers("quic.ack.largest_acknowledged");
  out.token_lengths = row.numbers("quic.token_length");
  return out;
}

void add_pairs(std::vector<std::pair<std::uint64_t, std::uint64_t>>& out, const Numbers& types,
               const Numbers& lengths) {
  // Messages that tshark cannot read have a type or a length, not both.
  if (types.size() != lengths.size()) return;
  for (std::size_t i = 0; i < types.size(); ++i) out.emplace_back(types[i], lengths[i]);
}

Report report_of_tshark(const std::string& path, bool is_version_2) {
  const std::vector<std::string> fields = {"frame.number",
                                           "udp.srcport",
                                           "udp.dstport",
                                           "tcp.srcport",
                                           "tcp.dstport",
                                           "quic.header_form",
                                           "quic.long.packet_type",
                                           "quic.long.packet_type_v2",
                                           "quic.packet_number",
                                           "quic.frame_type",
                                           "quic.crypto.offset",
                                           "quic.crypto.length",
                                           "quic.stream.stream_id",
                                           "quic.padding_length",
                                           "quic.ack.largest_acknowledged",
                                           "quic.token_length",
                                           "quic.decryption_failed",
                                           "tls.record.length",
                                           "tls.handshake.type",
                                           "tls.handshake.length",
                                           "http2.type",
                                           "http2.length",
                                           "http3.frame_type",
                                           "http3.frame_length"};
  Report report;
  for (const auto& row : run_tshark(path, fields)) {
    if (row.has("quic.header_form")) {
      auto packets = quic_report(row, is_version_2);
      // It opened none of them, and says so, or has no keys for a short header that came early.
      const bool is_unread_short_header = packets.packet_types == Numbers{4} && packets.packet_numbers.empty();
      if (row.has("quic.decryption_failed") || is_unread_short_header)
        ++report.without_keys;
      else
        report.quic[row.number("frame.number")] = std::move(packets);
    }
    const bool is_udp = row.has("udp.srcport");
    const auto source = row.number(is_udp ? "udp.srcport" : "tcp.srcport");
    const auto destination = row.number(is_udp ? "udp.dstport" : "tcp.dstport");
    const auto direction = source < destination ? Direction::ToClient : Direction::ToServer;
    auto& stream = report.streams[{std::max(source, destination), std::min(source, destination), direction}];
    std::ranges::copy(row.numbers("tls.record.length"), std::back_inserter(stream.record_lengths));
    add_pairs(stream.handshake, row.numbers("tls.handshake.type"), row.numbers("tls.handshake.length"));
    add_pairs(stream.http, row.numbers("http2.type"), row.numbers("http2.length"));
    add_pairs(stream.http, row.numbers("http3.frame_type"), row.numbers("http3.frame_length"));
  }
  return report;
}

/// Everything in `parts` is in `whole`, as often.
template <class List>
bool is_part_of(List parts, List whole) {
  std::ranges::sort(parts);
  std::ranges::sort(whole);
  return std::ranges::includes(whole, parts);
}

void expect_agreement(const Setup& setup, std::size_t samples) {
  const test::TemporaryFolder folder;
  const auto capture = make_capture(setup, samples);
  const auto path = folder.write("lookups.pcapng", capture);
  const auto ours = report_of_dissect(capture);
  const auto theirs = report_of_tshark(path, setup.client_quic.version == 2);

  std::size_t compared = 0;
  for (const auto& [number, expected] : theirs.quic) {
    const auto found = ours.quic.find(number);
    ASSERT_NE(found, ours.quic.end()) << "frame " << number;
    EXPECT_EQ(found->second, expected) << "frame " << number;
    ++compared;
  }
  // tshark reads in one pass, so that it cannot open what overtook the ServerHello.
  EXPECT_EQ(compared + theirs.without_keys, ours.quic.size());
  EXPECT_LT(theirs.without_keys, compared / 4);
  EXPECT_GT(compared, 10 * samples);

  std::size_t messages = 0, all_messages = 0, http = 0, all_http = 0;
  for (const auto& [key, mine] : ours.streams) {
    const auto& [client, server, direction] = key;
    SCOPED_TRACE(testing::Message() << client << ":" << server << " " << link::to_string(direction));
    const auto found = theirs.streams.find(key);
    ASSERT_NE(found, theirs.streams.end());
    EXPECT_EQ(mine.record_lengths, found->second.record_lengths);
    EXPECT_TRUE(is_part_of(found->second.handshake, mine.handshake))
        << testing::PrintToString(found->second.handshake) << " in "
        << testing::PrintToString(mine.handshake);
    EXPECT_TRUE(is_part_of(found->second.http, mine.http))
        << testing::PrintToString(found->second.http) << " in " << testing::PrintToString(mine.http);
    messages += found->second.handshake.size();
    all_messages += mine.handshake.size();
    http += found->second.http.size();
    all_http += mine.http.size();
  }
  EXPECT_GE(messages * 10, all_messages * 9) << messages << " of " << all_messages;
  EXPECT_GE(http * 10, all_http * 8) << http << " of " << all_http;
  EXPECT_GT(all_messages, 4 * 7 * samples);
}

TEST(DissectTshark, AgreesWithoutLoss) {
  experiment::Setup setup;
  expect_agreement(setup, 2);
}

TEST(DissectTshark, AgreesUnderLossWithRetry) {
  experiment::Setup setup;
  setup.link.loss_probability = 0.1;
  setup.link.seed = 11;
  setup.doh3_retry = setup.doq_retry = quic::RetryPolicy::Always;
  expect_agreement(setup, 5);
}

TEST(DissectTshark, AgreesOnVersion2AndHelloRetryRequest) {
  experiment::Setup setup;
  setup.ipv6 = true;
  setup.link.loss_probability = 0.03;
  setup.client_groups = "*X25519:secp384r1";
  setup.server_groups = "secp384r1";
  setup.client_quic.version = setup.server_quic.version = 2;
  setup.client_compression = setup.server_compression = {tls::CertificateCompression::Zlib};
  expect_agreement(setup, 3);
}

}  // namespace
}  // namespace doxlab::experiment
