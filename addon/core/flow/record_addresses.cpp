#include "flow/record_addresses.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "flow/flow_transport.h"

namespace floodwall {
namespace {

/// The fields of source and destination; a destination of no length: none.
struct Hosts {
  PartField source;
  PartField destination;

  [[nodiscard]] bool exist() const noexcept { return destination.length != 0; }
};

Hosts hostsOf(const RecordLayout& layout, Part source, Part destination) noexcept {
  return {layout.part(source), layout.part(destination)};
}

bool isZero(const std::uint8_t* record, PartField field) noexcept {
  return std::all_of(record + field.offset, record + field.offset + field.length,
                     [](std::uint8_t byte) { return byte == 0; });
}

bool areNamed(const Hosts& hosts, const std::uint8_t* record) noexcept {
  return hosts.exist() && !isZero(record, hosts.destination);
}

/// As the packet parser: what is not IPv4 must not be taken for the IPv4 host.
bool setHosts(const Hosts& hosts, const std::uint8_t* record, Packet& packet) noexcept {
  constexpr std::uint16_t kIpv4Bytes = 4;
  const auto set = [&](PartField field, Address& address) {
    if (field.length == kIpv4Bytes) {
      setIpv4(address, record + field.offset);
    } else if (field.length != 0) {
      std::memcpy(address.bytes.data(), record + field.offset, address.bytes.size());
    }
    return field.length == kIpv4Bytes || !isIpv4Mapped(address);
  };
  if (!set(hosts.destination, packet.destination)) return false;
  if (!set(hosts.source, packet.source)) packet.source = {};
  return true;
}

struct Layers {
  Hosts inner;
  /// Not there: the record names one packet.
  Hosts outer;
};

Layers layersOf(const RecordLayout& layout, const SlotValues& values, const std::uint8_t* record) noexcept {
  const Hosts four = hostsOf(layout, Part::source4, Part::destination4);
  const Hosts six = hostsOf(layout, Part::source6, Part::destination6);
  const bool canHaveInner =
      layout.part(Part::innerDestination4).length != 0 || layout.part(Part::innerDestination6).length != 0;
  if (!canHaveInner && (!four.exist() || !six.exist())) return {four.exist() ? four : six, {}};
  for (const Hosts& inner : {hostsOf(layout, Part::innerSource4, Part::innerDestination4),
                             hostsOf(layout, Part::innerSource6, Part::innerDestination6)}) {
    if (areNamed(inner, record)) return {inner, areNamed(six, record) ? six : four};
  }
  if (!four.exist() || !six.exist()) return {four.exist() ? four : six, {}};
  // A template for both families leaves the addresses of the other zero.
  const bool saysFamily = layout.has(Slot::ipVersion) && !layout.has(Slot::innerProtocol);
  if (saysFamily) return {values[Slot::ipVersion] == 6 ? six : four, {}};
  if (isZero(record, six.destination)) return {four, {}};
  if (isZero(record, four.destination)) return {six, {}};
  // Layers stand in their order.
  const bool isSixOuter = six.destination.offset < four.destination.offset;
  return isSixOuter ? Layers{four, six} : Layers{six, four};
}

}  // namespace

bool namesHosts(const RecordLayout& layout) noexcept {
  return std::any_of(layout.parts.begin() + static_cast<std::size_t>(Part::source4),
                     layout.parts.begin() + static_cast<std::size_t>(Part::destinationPrefix) + 1,
                     [](PartField field) { return field.length != 0; });
}

bool namesOnlyIpv4(const RecordLayout& layout) noexcept {
  const auto hasPart = [&](Part part) { return layout.part(part).length != 0; };
  const auto hasSlot = [&](Slot slot) { return layout.has(slot); };
  constexpr Part kOthers[] = {Part::source6,           Part::destination6, Part::innerSource4,
                              Part::innerDestination4, Part::innerSource6, Part::innerDestination6};
  constexpr Slot kOtherPorts[] = {Slot::udpSourcePort, Slot::udpDestinationPort, Slot::tcpSourcePort,
                                  Slot::tcpDestinationPort};
  return hasPart(Part::source4) && hasPart(Part::destination4) &&
         std::none_of(std::begin(kOthers), std::end(kOthers), hasPart) &&
         std::none_of(std::begin(kOtherPorts), std::end(kOtherPorts), hasSlot);
}

bool setPacket(const RecordLayout& layout, const SlotValues& values, const std::uint8_t* record,
               FlowRecord& made) noexcept {
  const Layers layers = layersOf(layout, values, record);
  Packet& packet = made.packet;
  if (!layers.inner.exist() || !setHosts(layers.inner, record, packet)) return false;
  const bool isInner = layers.outer.exist();
  const bool hasInnerProtocol = isInner && layout.has(Slot::innerProtocol);
  packet.protocol = static_cast<std::uint8_t>(values[hasInnerProtocol ? Slot::innerProtocol : Slot::protocol]);
  if (isInner) {
    made.outerBytes = static_cast<std::uint8_t>(layers.outer.destination.length);
    made.outerProtocol = hasInnerProtocol ? static_cast<std::uint8_t>(values[Slot::protocol]) : 0;
    made.outerSource = layers.outer.source.length == 0 ? nullptr : record + layers.outer.source.offset;
    made.outerDestination = record + layers.outer.destination.offset;
  }
  std::uint64_t source = values[Slot::sourcePort] | values[Slot::udpSourcePort] | values[Slot::tcpSourcePort];
  std::uint64_t destination =
      values[Slot::destinationPort] | values[Slot::udpDestinationPort] | values[Slot::tcpDestinationPort];
  if (isInner && (layout.has(Slot::innerSourcePort) || layout.has(Slot::innerDestinationPort))) {
    source = values[Slot::innerSourcePort];
    destination = values[Slot::innerDestinationPort];
  }
  setPorts(values, source, destination, packet);
  return true;
}

}  // namespace floodwall
