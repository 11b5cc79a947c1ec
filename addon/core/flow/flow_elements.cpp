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
    {50, slot(Slot::randomInterval)},
    {60, slot(Slot::ipVersion)},
    {61, slot(Slot::direction)},
    {82, part(Part::name)},
    {83, part(Part::description)},
    {85, slot(Slot::totalBytes)},
    {86, slot(Slot::totalPackets)},
    {88, slot(Slot::fragmentOffset)},
    {104, part(Part::frame)},
    {145, slot(Slot::scopeTemplate)},
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

}  // namespace

Element elementOf(std::uint32_t enterprise, std::uint16_t number) noexcept {
  if (enterprise == kReverseEnterprise) return reverseOf(number);
  if (enterprise != kNoEnterprise) return {};
  if (number == kCiscoFirewallEvent) return slot(Slot::event);
  return number < kTableSize ? kTable[number] : Element{};
}

Element netflow9ScopeOf(std::uint16_t type) noexcept {
  constexpr std::uint16_t kInterface = 2, kTemplate = 5;
  if (type == kInterface) return slot(Slot::scopeInterface);
  if (type == kTemplate) return slot(Slot::scopeTemplate);
  return {};
}

}  // namespace floodwall
