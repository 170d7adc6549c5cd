#include "transport/do53/udp_server.hpp"

#include <algorithm>

#include "dns/scan.hpp"

namespace doxlab::transport {
namespace {

// Under a flood the oldest query that nobody has answered gives way to the newest: its client has most likely
// stopped waiting.
constexpr std::size_t kMaxWaiting = 16'384;

constexpr std::size_t kMinUdpLimit = 512;  // RFC 1035 §4.2.1

// The octets of the OPT record (RFC 6891 §6.1.2); empty if there is none.
BytesView find_opt(BytesView message) {
  dns::RecordScanner records(message);
  while (const auto record = records.next()) {
    if (record->section == dns::Section::Additional && record->type == dns::kTypeOpt && record->owner_is_root) {
      return message.subspan(record->offset, record->end() - record->offset);
    }
  }
  return {};
}

}  // namespace

std::size_t udp_limit_of(BytesView query) {
  ByteReader opt(find_opt(query));
  opt.skip(1 + 2);  // root owner, type; the class field is the size
  return std::max<std::size_t>(kMinUdpLimit, opt.u16());
}

Bytes truncated(BytesView answer) {
  const auto header = dns::read_header(answer);
  if (!header) return {};
  const auto question = dns::read_question(answer);
  const BytesView opt = question ? find_opt(answer) : BytesView();
  ByteWriter out;
  out.u16(header->id);
  out.u16(header->flags | dns::kFlagTruncated);
  out.u16(question ? 1 : 0);
  out.u16(0);
  out.u16(0);
  out.u16(opt.empty() ? 0 : 1);
  if (question) out.append(answer.subspan(dns::kHeaderOctets, question->end - dns::kHeaderOctets));
  out.append(opt);
  return out.take();
}

void UdpServer::receive(const SocketAddress&, const SocketAddress& peer, BytesView datagram, Timestamp) {
  const auto header = dns::read_header(datagram);
  if (closed_ || !header || header->has(dns::kFlagResponse)) return;
  if (waiting_.size() >= kMaxWaiting) {
    const QueryHandle oldest = waiting_.begin()->first;
    if (!queries_.empty() && queries_.front().handle == oldest) queries_.pop_front();
    waiting_.erase(oldest);
  }
  const QueryHandle handle{++last_handle_};
  waiting_[handle] = {peer, std::min(udp_limit_of(datagram), std::max(max_udp_bytes_, kMinUdpLimit))};
  queries_.push_back({handle, to_bytes(datagram), false});
}

std::optional<IncomingQuery> UdpServer::poll_query() {
  if (queries_.empty()) return std::nullopt;
  IncomingQuery query = std::move(queries_.front());
  queries_.pop_front();
  return query;
}

void UdpServer::answer(QueryHandle handle, BytesView message, Timestamp) {
  const auto found = waiting_.find(handle);
  if (found == waiting_.end()) return;
  if (!message.empty()) {
    output_.push_back({found->second.address,
                       message.size() <= found->second.limit ? to_bytes(message) : truncated(message)});
  }
  waiting_.erase(found);
}

std::optional<DatagramServer::Output> UdpServer::poll_output(Timestamp) {
  if (output_.empty()) return std::nullopt;
  Output output = std::move(output_.front());
  output_.pop_front();
  return output;
}

void UdpServer::close(Timestamp) {
  closed_ = true;
  waiting_.clear();
  queries_.clear();
}

}  // namespace doxlab::transport
