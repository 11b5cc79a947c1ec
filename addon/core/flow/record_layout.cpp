#include "flow/record_layout.h"

namespace floodwall {
namespace {

/// Whether a record cannot do without the element, or counts wrongly without.
bool isVital(const Element& element) noexcept {
  switch (element.slot) {
    case Slot::packets:
    case Slot::bytes:
    case Slot::totalPackets:
    case Slot::totalBytes:
    case Slot::layer2Bytes:
    case Slot::samplingInterval:
    case Slot::randomInterval:
      return true;
    default:
      return element.part != Part::none;
  }
}

}  // namespace

void RecordLayout::clear() noexcept {
  numbers.clear();
  parts = {};
  present.reset();
  start = end = TimeForm::none;
}

bool RecordLayout::place(const Element& element, std::uint32_t offset, std::uint16_t length) {
  // A field of variable length.
  if (length == 0) return true;
  if (element.part != Part::none) {
    const auto part = static_cast<std::size_t>(element.part);
    PartField& field = parts[part];
    if (kPartBytes[part] != 0 && kPartBytes[part] != length) return false;
    if (field.length != 0) return placeInner(element, offset, length);
    field = {static_cast<std::uint16_t>(offset), length};
    return true;
  }
  if (element.slot == Slot::none) return true;
  if (length > 8) return !isVital(element);
  if (element.time != TimeForm::none) {
    TimeForm& form = element.slot == Slot::start ? start : end;
    if (element.time <= form) return true;
    form = element.time;
  }
  const NumberField field{static_cast<std::int32_t>(offset + length) - 8, element.slot,
                          static_cast<std::uint8_t>(64 - 8 * length)};
  if (!has(element.slot)) {
    numbers.push_back(field);
    present[static_cast<std::size_t>(element.slot)] = true;
    return true;
  }
  // The first of several holds, but for times, of which the better form does, and for what is within a tunnel.
  if (element.time == TimeForm::none) return placeInner(element, offset, length);
  for (NumberField& known : numbers) {
    if (known.slot == element.slot) known = field;
  }
  return true;
}

bool RecordLayout::placeInner(const Element& element, std::uint32_t offset, std::uint16_t length) {
  const Element inner = innerOf(element);
  return (inner.part == Part::none && inner.slot == Slot::none) || place(inner, offset, length);
}

void RecordLayout::useConnection() {
  const PartField client = part(Part::client4), server = part(Part::server4);
  const bool countsSides = has(Slot::initiatorPackets) || has(Slot::initiatorBytes) || has(Slot::clientBytes);
  const bool countsOneWay = has(Slot::packets) || has(Slot::bytes);
  if (client.length == 0 || server.length == 0 || !countsSides || countsOneWay) return;
  parts[static_cast<std::size_t>(Part::source4)] = client;
  parts[static_cast<std::size_t>(Part::destination4)] = server;
  replace(Slot::sourcePort, Slot::clientPort);
  replace(Slot::destinationPort, Slot::serverPort);
  // The source is the initiator now.
  replace(Slot::biflowDirection, Slot::none);
}

void RecordLayout::replace(Slot slot, Slot by) {
  std::erase_if(numbers, [slot](const NumberField& field) { return field.slot == slot; });
  present[static_cast<std::size_t>(slot)] = by != Slot::none && has(by);
  for (NumberField& field : numbers) {
    if (field.slot == by) field.slot = slot;
  }
}

std::size_t FlowTemplate::memoryBytes() const noexcept {
  return sizeof *this + layout.numbers.capacity() * sizeof(NumberField) + fields.capacity() * sizeof(TemplateField) +
         definition.capacity();
}

std::uint32_t resolveLayout(const FlowTemplate& flowTemplate, ByteSpan bytes, RecordLayout& layout) {
  layout.clear();
  std::size_t offset = 0;
  for (const TemplateField& field : flowTemplate.fields) {
    std::size_t length = field.length;
    if (length == kVariableLength) {
      if (offset + 1 > bytes.size()) return 0;
      length = bytes[offset++];
      if (length == 0xff) {
        if (offset + 2 > bytes.size()) return 0;
        length = big16(&bytes[offset]);
        offset += 2;
      }
    }
    if (length > bytes.size() - offset) return 0;
    // A variable length that an element cannot have is as if it were not there.
    static_cast<void>(
        layout.place(field.element, static_cast<std::uint32_t>(offset), static_cast<std::uint16_t>(length)));
    offset += length;
  }
  layout.useConnection();
  return static_cast<std::uint32_t>(offset);
}

}  // namespace floodwall
