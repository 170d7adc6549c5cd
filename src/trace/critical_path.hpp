#pragma once
/// The chain of packets that the answer waited for, read off the recorder: from the packet that completed
/// the answer back to the start, each packet preceded by the last packet of the other direction that
/// its sender had received. Round trips are counted on it, so they are integers of packets and not a time
/// divided by a delay; what is not transit is waiting or computing at one of the ends.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "capture/packet.hpp"
#include "dissect/flow.hpp"

namespace doxlab::trace {

/// One packet on the path and what came before it at its sender.
struct Hop {
  std::size_t packet = 0;   ///< index into the packets given
  Duration wait{};          ///< at the sender: from the previous hop's delivery (or the start) to `sent`
  Duration transit{};       ///< sent to delivered
};

struct CriticalPath {
  std::vector<Hop> hops;    ///< in order of time; directions alternate, beginning towards the server
  Duration final_wait{};    ///< at the client: last delivery to `answered`
  std::size_t round_trips() const { return hops.size() / 2; }
  Duration transit() const;       ///< sum over hops
  Duration client_waits() const;  ///< waits before packets towards the server, and the final wait
  Duration server_waits() const;
};

/// `packets` are those of one lookup in order of `sent`. The parts sum to answered - started exactly.
/// Empty: no chain leads from the answer to the start (no packet delivered before `answered`).
std::optional<CriticalPath> critical_path(std::span<const capture::RecordedPacket> packets, Timestamp started,
                                          Timestamp answered);
/// The same of packets with known directions.
std::optional<CriticalPath> critical_path(std::span<const dissect::ObservedPacket> packets, Timestamp started,
                                          Timestamp answered);

/// The packet of `direction` delivered last among those delivered at or before `when`, by index.
std::optional<std::size_t> last_delivered(std::span<const dissect::ObservedPacket> packets, link::Direction direction,
                                          Timestamp when);

/// Where counting ends: packets towards the server count if sent before the packet that completed the answer
/// was delivered, packets towards the client if sent no later than it. So the acknowledgement of the
/// answer does not count, however fast the kernel is.
struct Cut {
  Timestamp to_server = Timestamp::max();  ///< exclusive
  Timestamp to_client = Timestamp::max();  ///< inclusive

  bool is_before(const capture::RecordedPacket& packet) const {
    return packet.place.direction == link::Direction::ToServer ? packet.sent < to_server : packet.sent <= to_client;
  }
};
/// The cut at the last packet of a path; without a path everything counts.
Cut cut_at_answer(std::span<const capture::RecordedPacket> packets, const std::optional<CriticalPath>& path);

/// Packets and bytes of one direction.
struct Volume {
  std::uint64_t packets = 0;
  std::uint64_t ip_bytes = 0;
};

/// What a lookup put on the wire: each direction as handed to the link (lost packets included), up to the
/// answer and after it (tickets, acknowledgements, closing).
struct Volumes {
  Volume to_server, to_client;              ///< before the cut
  Volume to_server_after, to_client_after;
  std::uint64_t lost = 0;                   ///< of all of them, dropped by the link
};
/// Duplicates made by the link count once, as what was sent.
Volumes count_volumes(std::span<const capture::RecordedPacket> packets, const Cut& cut);

/// Client flights before the cut: groups of client packets that follow from the same knowledge, that is
/// with the same depth of packets received before them. A pure ACK sent while a flight's answer is on its
/// way belongs to the flight of its depth.
std::size_t count_flights(std::span<const capture::RecordedPacket> packets, const Cut& cut);

}  // namespace doxlab::trace
