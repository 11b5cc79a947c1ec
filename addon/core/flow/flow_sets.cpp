#include "flow/flow_sets.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "flow/record_maker.h"
#include "flow/sampling_rules.h"
#include "flow/template_reader.h"

namespace floodwall {
namespace {

constexpr std::size_t kSetHeader = 4;
constexpr std::uint16_t kFirstDataSet = 256;

/// Whether a record can become a flow at all: it has a destination, or a packet.
bool namesPackets(const RecordLayout& layout) noexcept {
  const auto has = [&](Part part) { return layout.part(part).length != 0; };
  return has(Part::destination4) || has(Part::destination6) || has(Part::frame) || has(Part::ipPacket);
}

/// Records of fixed length. Returns their number.
std::uint32_t readFixed(Decoding& decoding, FlowDomain& domain, FlowTemplate& flowTemplate, ByteSpan records,
                        const MessageTimes& times) {
  // A rest that is shorter than a record is padding.
  const auto count = static_cast<std::uint32_t>(records.size() / flowTemplate.length);
  if (flowTemplate.defect) {
    decoding.state.undecoded.count(UndecodedKind::fieldLength, domain.key.number, flowTemplate.defect->number,
                                   flowTemplate.defect->length, count);
    return count;
  }
  const RecordLayout& layout = flowTemplate.layout;
  RecordMaker maker(decoding, domain, flowTemplate, times);
  if (!flowTemplate.isOptions && !namesPackets(layout)) {
    maker.countWithoutPacket(layout, count);
    return count;
  }
  const std::uint8_t* at = records.data();
  if (flowTemplate.isOptions) {
    decoding.state.work += count * (kOptionWork + layout.numbers.size());
    for (std::uint32_t i = 0; i < count; i++, at += flowTemplate.length) maker.readOptions(layout, at);
    maker.endOptions();
    return count;
  }
  maker.useLayout(layout);
  decoding.state.work += count * (kRecordWork + layout.numbers.size());
  for (std::uint32_t i = 0; i < count; i++, at += flowTemplate.length) maker.makeFlow(at);
  return count;
}

/// Records whose lengths vary, each with a layout of its own. Returns their number.
std::uint32_t readVariable(Decoding& decoding, FlowDomain& domain, FlowTemplate& flowTemplate, ByteSpan records,
                           const MessageTimes& times) {
  static thread_local RecordLayout layout;
  ExporterState& state = decoding.state;
  RecordMaker maker(decoding, domain, flowTemplate, times);
  std::uint32_t count = 0, withoutPacket = 0;
  while (records.size() >= flowTemplate.length) {
    state.work += kLayoutWork + flowTemplate.fields.size();
    const std::uint32_t length = resolveLayout(flowTemplate, records, layout);
    if (length == 0) {
      // Padding is of zeros, but for those that must be a record.
      if (std::any_of(records.begin(), records.end(), [](std::uint8_t byte) { return byte != 0; })) {
        state.undecoded.count(UndecodedKind::truncatedRecord, domain.key.number, flowTemplate.id,
                              static_cast<std::uint32_t>(records.size()));
      }
      break;
    }
    if (flowTemplate.isOptions) {
      state.work += kOptionWork;
      maker.readOptions(layout, records.data());
    } else if (namesPackets(layout)) {
      state.work += 2 * kRecordWork;
      maker.useLayout(layout);
      maker.makeFlow(records.data());
    } else {
      withoutPacket++;
    }
    records = records.subspan(length);
    count++;
  }
  maker.endOptions();
  if (withoutPacket != 0) maker.countWithoutPacket(flowTemplate.layout, withoutPacket);
  return count;
}

std::uint32_t readRecords(Decoding& decoding, FlowDomain& domain, FlowTemplate& flowTemplate, ByteSpan records,
                          const MessageTimes& times) {
  if (flowTemplate.replacesRates && decoding.state.samplings.forgetSaidBy(saidBy(domain, flowTemplate), decoding.nowMs))
    flowTemplate.replacesRates = false;
  const std::uint32_t count = flowTemplate.isVariable ? readVariable(decoding, domain, flowTemplate, records, times)
                                                      : readFixed(decoding, domain, flowTemplate, records, times);
  if (count == 0) return 0;
  if (flowTemplate.use.lastMs == 0) decoding.state.lastingVersion++;
  flowTemplate.use.note(decoding.nowMs);
  domain.use.note(decoding.nowMs);
  return count;
}

TemplateSet templateSetOf(const FlowDomain& domain, bool isOptions) noexcept {
  if (domain.key.protocol == FlowProtocol::ipfix) return isOptions ? TemplateSet::ipfixOptions : TemplateSet::ipfix;
  return isOptions ? TemplateSet::netflow9Options : TemplateSet::netflow9;
}

/// Data that waited for this template.
void readWaiting(Decoding& decoding, FlowDomain& domain, FlowTemplate& flowTemplate) {
  WaitingSets& waiting = decoding.state.waiting;
  if (waiting.isEmpty()) return;
  decoding.state.work += waiting.count();
  for (const WaitingSets::Set& set : waiting.take(domain, flowTemplate.id)) {
    MessageTimes times = set.times;
    times.waitedMs = static_cast<std::uint32_t>(decoding.nowMs - set.sinceMs);
    readRecords(decoding, domain, flowTemplate, set.records(), times);
    decoding.state.counts.recoveredSets++;
    // Their headers are in memory that is freed here.
    decoding.batch.flush();
  }
}

/// Notes the traits that a template of flows shows of its exporter.
void noteTraits(ExporterState& state, const FlowTemplate& flowTemplate) noexcept {
  const RecordLayout& layout = flowTemplate.layout;
  const auto hasOne = [&](std::initializer_list<Slot> slots) {
    return std::any_of(slots.begin(), slots.end(), [&](Slot slot) { return layout.has(slot); });
  };
  if (flowTemplate.vendor != 0) state.noteVendor(flowTemplate.vendor);
  if (flowTemplate.isOptions) return;
  const bool hasPackets = layout.has(Slot::packets), hasBytes = hasOne({Slot::bytes, Slot::layer2Bytes});
  const bool hasSides =
      !hasPackets && !hasBytes && hasOne({Slot::initiatorBytes, Slot::initiatorPackets, Slot::clientBytes});
  const bool isOfEvents = hasSides && layout.has(Slot::event);
  if (hasPackets || hasBytes || (hasSides && !isOfEvents)) state.note(FlowTrait::deltas);
  if ((!hasPackets && layout.has(Slot::totalPackets)) || (!hasBytes && layout.has(Slot::totalBytes)))
    state.note(FlowTrait::totals);
  if (isOfEvents) state.note(FlowTrait::events);
  if (layout.part(Part::frame).length != 0 || layout.part(Part::ipPacket).length != 0) state.note(FlowTrait::packets);
  if (layout.part(Part::innerDestination4).length != 0 || layout.has(Slot::innerProtocol))
    state.note(FlowTrait::tunnels);
  const bool isOfUptime = layout.end == TimeForm::uptimeMs;
  state.note(layout.end == TimeForm::none ? FlowTrait::noTimes
             : isOfUptime                 ? FlowTrait::uptimes
                                          : FlowTrait::wallTimes);
}

/// A template of the same number may be of the other kind, and have the same bytes by chance.
bool isSame(const FlowTemplate& known, const TemplateRecord& record, TemplateSet set) noexcept {
  return known.isOptions == isOptionsSet(set) && std::ranges::equal(known.definition, record.bytes);
}

/// Whether one of options said rates of another scope than its successor: they hold no more.
bool hasRatesToForget(const FlowTemplate& known, const FlowTemplate& successor) noexcept {
  const auto scope = [](const RecordLayout& layout) {
    return scopeOf(layout, layout.has(Slot::scopeInterface) || layout.has(Slot::input));
  };
  if (known.replacesRates) return true;
  const bool areRates = known.isOptions && known.hasRate && successor.isOptions && successor.hasRate;
  return areRates && scope(known.layout) != scope(successor.layout);
}

void define(Decoding& decoding, FlowDomain& domain, const TemplateRecord& record, TemplateSet set) {
  ExporterState& state = decoding.state;
  FlowTemplate* const known = domain.find(record.id);
  state.work += kSetWork + record.fields;
  if (known != nullptr && isSame(*known, record, set)) {
    known->seenMs = decoding.nowMs;
    return;
  }
  state.work += kTemplateWork + record.fields;
  std::unique_ptr<FlowTemplate> made = makeTemplate(record, set);
  if (made == nullptr) {
    state.undecoded.count(UndecodedKind::badTemplate, domain.key.number, record.id, record.fields);
    return;
  }
  made->seenMs = decoding.nowMs;
  made->replacesRates = known != nullptr && hasRatesToForget(*known, *made);
  noteTraits(state, *made);
  const FlowDomains::Stored stored = state.domains.store(domain, std::move(made), decoding.nowMs);
  if (stored == FlowDomains::Stored::refused) {
    state.counts.templatesRefused++;
    state.undecoded.count(UndecodedKind::bound, domain.key.number, record.id, 0);
    return;
  }
  // A new one is kept once it has decoded a record.
  if (stored == FlowDomains::Stored::changed) state.lastingVersion++;
  state.counts.templateChanges += stored == FlowDomains::Stored::changed ? 1 : 0;
  readWaiting(decoding, domain, *domain.find(record.id));
}

void readTemplates(Decoding& decoding, FlowDomain& domain, ByteSpan content, bool isOptions) {
  const TemplateSet set = templateSetOf(domain, isOptions);
  while (!content.empty()) {
    const TemplateRecord record = readTemplateRecord(content, set);
    switch (record.kind) {
      case TemplateRecord::Kind::definition:
        define(decoding, domain, record, set);
        break;
      case TemplateRecord::Kind::withdrawal:
        // To be ignored over UDP (RFC 7011, 8.4): another sender in the exporter's name would else remove its
        // templates.
        break;
      case TemplateRecord::Kind::padding:
        return;
      case TemplateRecord::Kind::bad:
        decoding.state.undecoded.count(UndecodedKind::badTemplate, domain.key.number, record.id, record.fields);
        return;
    }
    content = content.subspan(record.bytes.size());
  }
}

/// False if its records are not known yet.
bool readData(Decoding& decoding, FlowDomain& domain, std::uint16_t id, ByteSpan content, const MessageTimes& times,
              SetsRead& read) {
  ExporterState& state = decoding.state;
  if (FlowTemplate* const flowTemplate = domain.find(id); flowTemplate != nullptr) {
    read.records += readRecords(decoding, domain, *flowTemplate, content, times);
    return true;
  }
  if (state.waiting.keep(domain, id, times, content, decoding.nowMs)) {
    state.counts.keptSets++;
  } else {
    state.undecoded.count(UndecodedKind::templateRoom, domain.key.number, id, 0);
  }
  return false;
}

}  // namespace

SetsRead readSets(Decoding& decoding, FlowDomain& domain, ByteSpan sets, const MessageTimes& times) {
  const bool isIpfix = domain.key.protocol == FlowProtocol::ipfix;
  const std::uint16_t templateSet = isIpfix ? 2 : 0, optionsSet = isIpfix ? 3 : 1;
  SetsRead read;
  while (sets.size() >= kSetHeader) {
    decoding.state.work += kSetWork;
    const std::uint16_t id = big16(&sets[0]), length = big16(&sets[2]);
    if (length < kSetHeader || length > sets.size()) {
      // Some fill the rest of the datagram with zeros.
      if (id != 0 || length != 0) {
        decoding.state.undecoded.count(UndecodedKind::length, domain.key.number, id, length);
        read.isComplete = false;
      }
      return read;
    }
    const ByteSpan content = sets.subspan(kSetHeader, length - kSetHeader);
    if (id == templateSet || id == optionsSet) {
      readTemplates(decoding, domain, content, id == optionsSet);
    } else if (id < kFirstDataSet) {
      decoding.state.undecoded.count(UndecodedKind::set, domain.key.number, id, 0);
    } else if (!readData(decoding, domain, id, content, times, read)) {
      read.isComplete = false;
    }
    sets = sets.subspan(length);
  }
  return read;
}

}  // namespace floodwall
