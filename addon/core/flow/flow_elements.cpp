#include "flow/flow_elements.h"

#include <array>

namespace floodwall {
namespace {

struct Known {
  std::uint16_t number;
  Element element;
};

constexpr Element slot(Slot slot) { return {.slot = slot}; }
constexpr Element part(Part part) { return {.part = part}; }
constexpr Element start(TimeForm form) { return {.slot = Slot::start, .time = form}; }
constexpr Element end(TimeForm form) { return {.slot = Slot::end, .time = form}; }

constexpr Known kKnown[] = {
    {1, slot(Slot::bytes)},
    {2, slot(Slot::packets)},
    {4, slot(Slot::protocol)},
    {5, slot(Slot::service)},
    {6, slot(Slot::tcpFlags)},
    {7, slot(Slot::sourcePort)},
    {8, part(Part::source4)},
    {10, slot(Slot::input)},
    {11, slot(Slot::destinationPort)},
    {12, part(Part::destination4)},
    {14, slot(Slot::output)},
    {16, slot(Slot::sourceAs)},
    {17, slot(Slot::destinationAs)},
    {21, end(TimeForm::uptimeMs)},
    {22, start(TimeForm::uptimeMs)},
    {23, slot(Slot::outBytes)},
    {24, slot(Slot::outPackets)},
    {27, part(Part::source6)},
    {28, part(Part::destination6)},
    {34, slot(Slot::samplingInterval)},
    {35, slot(Slot::samplingAlgorithm)},
    {48, slot(Slot::sampler)},
    {49, slot(Slot::samplingAlgorithm)},
    {50, slot(Slot::randomInterval)},
    {60, slot(Slot::ipVersion)},
    {61, slot(Slot::direction)},
    {82, part(Part::name)},
    {83, part(Part::description)},
    {85, slot(Slot::totalBytes)},
    {86, slot(Slot::totalPackets)},
    {88, slot(Slot::fragmentOffset)},
    {104, part(Part::frame)},
    {136, slot(Slot::endReason)},
    {145, slot(Slot::scopeTemplate)},
    {148, slot(Slot::flowId)},
    {150, start(TimeForm::seconds)},
    {151, end(TimeForm::seconds)},
    {152, start(TimeForm::ms)},
    {153, end(TimeForm::ms)},
    {154, start(TimeForm::us)},
    {155, end(TimeForm::us)},
    {156, start(TimeForm::ns)},
    {157, end(TimeForm::ns)},
    {158, start(TimeForm::deltaUs)},
    {159, end(TimeForm::deltaUs)},
    {160, slot(Slot::systemInitMs)},
    {161, slot(Slot::durationMs)},
    {162, slot(Slot::durationUs)},
    {180, slot(Slot::udpSourcePort)},
    {181, slot(Slot::udpDestinationPort)},
    {182, slot(Slot::tcpSourcePort)},
    {183, slot(Slot::tcpDestinationPort)},
    {190, slot(Slot::ipLength)},
    {197, slot(Slot::fragmentFlags)},
    {224, slot(Slot::ipLength)},
    {231, slot(Slot::initiatorBytes)},
    {232, slot(Slot::responderBytes)},
    {233, slot(Slot::event)},
    {252, slot(Slot::physicalInput)},
    {253, slot(Slot::physicalOutput)},
    {298, slot(Slot::initiatorPackets)},
    {299, slot(Slot::responderPackets)},
    {302, slot(Slot::selector)},
    {305, slot(Slot::packetInterval)},
    {306, slot(Slot::packetSpace)},
    {307, slot(Slot::timeInterval)},
    {308, slot(Slot::timeSpace)},
    {309, slot(Slot::samplingSize)},
    {310, slot(Slot::samplingPopulation)},
    {311, slot(Slot::samplingProbability)},
    {312, slot(Slot::frameSize)},
    {313, part(Part::ipPacket)},
    {315, part(Part::frame)},
    {323, end(TimeForm::eventMs)},
    {352, slot(Slot::layer2Bytes)},
    {353, slot(Slot::totalLayer2Bytes)},
};
constexpr std::size_t kTableSize = 354;

constexpr std::array<Element, kTableSize> kTable = [] {
  std::array<Element, kTableSize> table{};
  for (const Known& known : kKnown) table[known.number] = known.element;
  return table;
}();
/// Cisco's number of the firewall event before 233 was assigned.
constexpr std::uint16_t kCiscoFirewallEvent = 40005;

Element reverseOf(std::uint16_t number) noexcept {
  switch (number) {
    case 1:
      return slot(Slot::reverseBytes);
    case 2:
      return slot(Slot::reversePackets);
    case 6:
      return slot(Slot::reverseTcpFlags);
    case 85:
      return slot(Slot::reverseTotalBytes);
    case 86:
      return slot(Slot::reverseTotalPackets);
    default:
      return {};
  }
}

/// NSX and the distributed switch: elements 880 to 887 of VMware's document on IPFIX templates.
Element vmwareOf(std::uint16_t number) noexcept {
  switch (number) {
    case 880:
      return slot(Slot::innerProtocol);
    case 881:
      return part(Part::innerSource4);
    case 882:
      return part(Part::innerDestination4);
    case 883:
      return part(Part::innerSource6);
    case 884:
      return part(Part::innerDestination6);
    case 886:
      return slot(Slot::innerSourcePort);
    case 887:
      return slot(Slot::innerDestinationPort);
    default:
      return {};
  }
}

}  // namespace

Element elementOf(std::uint32_t enterprise, std::uint16_t number) noexcept {
  if (enterprise == kReverseEnterprise) return reverseOf(number);
  if (enterprise == kVmwareEnterprise) return vmwareOf(number);
  if (enterprise != kNoEnterprise) return {};
  if (number == kCiscoFirewallEvent) return slot(Slot::event);
  return number < kTableSize ? kTable[number] : Element{};
}

Element innerOf(const Element& outer) noexcept {
  switch (outer.part) {
    case Part::source4:
      return part(Part::innerSource4);
    case Part::destination4:
      return part(Part::innerDestination4);
    case Part::source6:
      return part(Part::innerSource6);
    case Part::destination6:
      return part(Part::innerDestination6);
    default:
      break;
  }
  switch (outer.slot) {
    case Slot::protocol:
      return slot(Slot::innerProtocol);
    case Slot::sourcePort:
      return slot(Slot::innerSourcePort);
    case Slot::destinationPort:
      return slot(Slot::innerDestinationPort);
    default:
      return {};
  }
}

Element netflow9ScopeOf(std::uint16_t type) noexcept {
  constexpr std::uint16_t kInterface = 2, kTemplate = 5;
  if (type == kInterface) return slot(Slot::scopeInterface);
  if (type == kTemplate) return slot(Slot::scopeTemplate);
  return {};
}

}  // namespace floodwall
