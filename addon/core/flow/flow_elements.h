// The information elements that count (RFC 7012 and IANA's registry; NetFlow v9 has the same numbers, RFC 3954, 8), and
// what each is of a record here. All others are stepped over.
#pragma once

#include <cstddef>
#include <cstdint>

namespace floodwall {

/// A number of a record, of at most 8 bytes whatever its element's usual length (RFC 7011, 6.2).
enum class Slot : std::uint8_t {
  none,
  packets,
  bytes,
  totalPackets,
  totalBytes,
  outPackets,
  outBytes,
  layer2Bytes,
  totalLayer2Bytes,
  initiatorPackets,
  initiatorBytes,
  responderPackets,
  responderBytes,
  reversePackets,
  reverseBytes,
  reverseTotalPackets,
  reverseTotalBytes,
  reverseTcpFlags,
  protocol,
  sourcePort,
  destinationPort,
  innerProtocol,
  innerSourcePort,
  innerDestinationPort,
  service,
  flowId,
  endReason,
  udpSourcePort,
  udpDestinationPort,
  tcpSourcePort,
  tcpDestinationPort,
  tcpFlags,
  ipVersion,
  ipLength,
  fragmentOffset,
  fragmentFlags,
  input,
  output,
  physicalInput,
  physicalOutput,
  sourceAs,
  destinationAs,
  direction,
  event,
  start,
  end,
  durationMs,
  durationUs,
  systemInitMs,
  frameSize,
  sampler,
  selector,
  samplingInterval,
  samplingAlgorithm,
  randomInterval,
  packetInterval,
  packetSpace,
  timeInterval,
  timeSpace,
  samplingSize,
  samplingPopulation,
  samplingProbability,
  scopeInterface,
  scopeTemplate,
  count,
};
inline constexpr std::size_t kSlots = static_cast<std::size_t>(Slot::count);
static_assert(kSlots <= 64, "RecordLayout::present is a word");

/// Bytes of a record that are no number.
enum class Part : std::uint8_t {
  none,
  source4,
  destination4,
  source6,
  destination6,
  innerSource4,
  innerDestination4,
  innerSource6,
  innerDestination6,
  frame,
  ipPacket,
  name,
  description,
  count
};
inline constexpr std::size_t kParts = static_cast<std::size_t>(Part::count);

/// How `start` and `end` give the time; a later one is preferred to an earlier where a template has several.
enum class TimeForm : std::uint8_t { none, deltaUs, seconds, uptimeMs, eventMs, ms, us, ns };

/// What an element is here; at most one of slot and part is set.
struct Element {
  Slot slot = Slot::none;
  Part part = Part::none;
  TimeForm time = TimeForm::none;
};

inline constexpr std::uint32_t kNoEnterprise = 0;
/// Elements of a flow's other direction (RFC 5103, 6.1).
inline constexpr std::uint32_t kReverseEnterprise = 29305;
/// VMware's elements of the packet within a tunnel, beside the usual ones of the packet around it.
inline constexpr std::uint32_t kVmwareEnterprise = 6876;

[[nodiscard]] Element elementOf(std::uint32_t enterprise, std::uint16_t number) noexcept;
/// The meaning of an element that a template has once more: it is of the packet within a tunnel, since occurrences are
/// in the order of the layers (RFC 7011, 8). Nothing for an element that has one meaning however often it is there.
[[nodiscard]] Element innerOf(const Element& outer) noexcept;
/// A scope of NetFlow v9, whose types are not elements (RFC 3954, 6.1).
[[nodiscard]] Element netflow9ScopeOf(std::uint16_t type) noexcept;

}  // namespace floodwall
