#include "flow/template_reader.h"

#include "flow/flow_bounds.h"
#include "flow/sampling_rules.h"

namespace floodwall {
namespace {

constexpr std::uint16_t kFirstTemplateId = 256;
constexpr std::uint16_t kEnterpriseBit = 0x8000;

bool isIpfix(TemplateSet set) noexcept { return set == TemplateSet::ipfix || set == TemplateSet::ipfixOptions; }

struct Specifier {
  std::uint16_t number = 0;
  std::uint16_t length = 0;
  std::uint32_t enterprise = kNoEnterprise;
};

/// Takes one from the front; false if there is none.
bool takeSpecifier(ByteSpan& bytes, TemplateSet set, Specifier& specifier) noexcept {
  if (bytes.size() < 4) return false;
  specifier = {big16(&bytes[0]), big16(&bytes[2]), kNoEnterprise};
  bytes = bytes.subspan(4);
  if (!isIpfix(set) || (specifier.number & kEnterpriseBit) == 0) return true;
  if (bytes.size() < 4) return false;
  specifier.number &= static_cast<std::uint16_t>(~kEnterpriseBit);
  specifier.enterprise = big32(&bytes[0]);
  bytes = bytes.subspan(4);
  return true;
}

/// Sets what the header says, and returns its length; 0 if the set ends before it does.
std::size_t readHeader(ByteSpan content, TemplateSet set, TemplateRecord& record) noexcept {
  const std::uint16_t second = big16(&content[2]);
  switch (set) {
    case TemplateSet::netflow9:
    case TemplateSet::ipfix:
      record.fields = second;
      return 4;
    case TemplateSet::netflow9Options: {
      if (content.size() < 6) return 0;
      record.scopes = second / 4;
      record.fields = static_cast<std::uint16_t>(record.scopes + big16(&content[4]) / 4);
      return 6;
    }
    case TemplateSet::ipfixOptions:
      record.fields = second;
      // A withdrawal has no scopes (RFC 7011, 8.1).
      if (second == 0) return 4;
      if (content.size() < 6) return 0;
      record.scopes = big16(&content[4]);
      return 6;
  }
  return 0;
}

Element elementAt(const Specifier& specifier, TemplateSet set, bool isScope) noexcept {
  if (!isScope) return elementOf(specifier.enterprise, specifier.number);
  if (set == TemplateSet::netflow9Options) return netflow9ScopeOf(specifier.number);
  const Element element = elementOf(specifier.enterprise, specifier.number);
  if (element.slot == Slot::input || element.slot == Slot::output) return {.slot = Slot::scopeInterface};
  return element;
}

/// The vendor that defined an element; 0: a standard one. NetFlow v9 has no enterprise numbers: Cisco's firewalls and
/// nProbe have ranges of their own.
std::uint32_t vendorOf(const Specifier& specifier, TemplateSet set) noexcept {
  constexpr std::uint32_t kNtop = 35'632;
  if (specifier.enterprise != kReverseEnterprise && specifier.enterprise != kNoEnterprise) return specifier.enterprise;
  if (isIpfix(set)) return 0;
  if (specifier.number >= 57'472) return kNtop;
  return specifier.number >= 33'000 && specifier.number <= 40'005 ? kCiscoEnterprise : 0;
}

/// Those that are stepped over become one, so that a record costs what it has of use.
void addField(std::vector<TemplateField>& fields, TemplateField field) {
  const auto isSteppedOver = [](const TemplateField& one) {
    return one.element.slot == Slot::none && one.element.part == Part::none && one.length != kVariableLength;
  };
  const bool joins = !fields.empty() && isSteppedOver(fields.back()) && isSteppedOver(field) &&
                     fields.back().length + field.length < kVariableLength;
  if (joins) {
    fields.back().length = static_cast<std::uint16_t>(fields.back().length + field.length);
  } else {
    fields.push_back(field);
  }
}

}  // namespace

TemplateRecord readTemplateRecord(ByteSpan content, TemplateSet set) noexcept {
  TemplateRecord record;
  if (content.size() < 4) {
    record.kind = TemplateRecord::Kind::padding;
    return record;
  }
  record.id = big16(&content[0]);
  const std::size_t header = readHeader(content, set, record);
  if (record.id < kFirstTemplateId && record.fields != 0) return record;
  if (record.fields == 0) {
    // IPFIX withdraws all templates of a kind by the number of their set.
    const bool isWithdrawal = isIpfix(set) && record.id != 0;
    record.kind = isWithdrawal ? TemplateRecord::Kind::withdrawal : TemplateRecord::Kind::padding;
    record.bytes = content.first(4);
    return record;
  }
  if (header == 0 || record.fields > kTemplateFieldsMax || record.scopes > record.fields) return record;
  ByteSpan rest = content.subspan(header);
  Specifier specifier;
  for (unsigned i = 0; i < record.fields; i++) {
    if (!takeSpecifier(rest, set, specifier)) return record;
  }
  record.kind = TemplateRecord::Kind::definition;
  record.bytes = content.first(content.size() - rest.size());
  record.specifiers = record.bytes.subspan(header);
  return record;
}

std::uint64_t digestOf(ByteSpan bytes) noexcept {
  // FNV-1a in words: what comes from one exporter is compared with what came from it before.
  std::uint64_t digest = 0xcbf29ce484222325 ^ bytes.size();
  const auto mix = [&](std::uint64_t word) {
    digest = (digest ^ word) * 0x9e3779b97f4a7c15;
    digest ^= digest >> 32;
  };
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) mix(big64(&bytes[at]));
  for (; at < bytes.size(); at++) mix(bytes[at]);
  return digest;
}

std::unique_ptr<FlowTemplate> makeTemplate(const TemplateRecord& record, TemplateSet set) {
  auto made = std::make_unique<FlowTemplate>();
  made->id = record.id;
  made->isOptions = isOptionsSet(set);
  made->definition.assign(record.bytes.begin(), record.bytes.end());
  ByteSpan rest = record.specifiers;
  Specifier specifier;
  for (unsigned i = 0; i < record.fields && takeSpecifier(rest, set, specifier); i++) {
    if (made->vendor == 0) made->vendor = vendorOf(specifier, set);
    // NetFlow v9 exporters leave fields out by giving them no length: a record of one byte could have hundreds of them.
    if (specifier.length == 0) continue;
    const Element element = elementAt(specifier, set, i < record.scopes);
    addField(made->fields, {element, specifier.length});
    const bool isVariable = specifier.length == kVariableLength;
    // The least length of a field of variable length is the byte that holds it.
    const std::uint16_t length = isVariable ? std::uint16_t{1} : specifier.length;
    if (isVariable) {
      made->isVariable = true;
      // For what the layout says of the template as a whole; each record has a layout of its own.
      static_cast<void>(made->layout.place(element, made->length, element.part == Part::none ? 8 : 16));
    } else if (!made->layout.place(element, made->length, length) && !made->defect) {
      made->defect = FieldDefect{specifier.number, specifier.length};
    }
    made->length += length;
  }
  if (made->length == 0 || made->length > 0xffff) return nullptr;
  made->layout.useConnection();
  made->hasRate = hasRate(made->layout);
  if (!made->isVariable) {
    made->fields = {};
  } else {
    made->fields.shrink_to_fit();
    made->layout.numbers = {};
  }
  made->layout.numbers.shrink_to_fit();
  return made;
}

}  // namespace floodwall
