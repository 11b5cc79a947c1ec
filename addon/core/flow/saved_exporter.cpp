#include "flow/saved_exporter.h"

#include <utility>

#include "flow/flow_bounds.h"
#include "flow/saved_bytes.h"
#include "flow/template_reader.h"

namespace floodwall {
namespace {

constexpr std::uint8_t kFormat = 1;
/// Sizes of a domain, of a template beside its definition, of a rate, of a name beside its text.
constexpr std::size_t kDomainBytes = 74, kTemplateBytes = 27, kRateBytes = 28, kNameBytes = 13;

bool hasTemplates(FlowProtocol protocol) noexcept {
  return protocol == FlowProtocol::netflow9 || protocol == FlowProtocol::ipfix;
}

TemplateSet setOf(FlowProtocol protocol, bool isOptions) noexcept {
  if (protocol == FlowProtocol::ipfix) return isOptions ? TemplateSet::ipfixOptions : TemplateSet::ipfix;
  return isOptions ? TemplateSet::netflow9Options : TemplateSet::netflow9;
}

void saveUse(SavedWriter& writer, const Use& use) {
  writer.number(use.firstMs, 8);
  writer.number(use.lastMs, 8);
}

Use readUse(SavedReader& reader) noexcept {
  Use use;
  use.firstMs = reader.number<std::uint64_t>();
  use.lastMs = reader.number<std::uint64_t>();
  return use;
}

void saveDomain(SavedWriter& writer, const FlowDomain& domain) {
  writer.number(static_cast<std::uint64_t>(domain.key.protocol), 1);
  writer.number(domain.key.number, 4);
  writer.number(domain.key.port, 2);
  for (const std::uint16_t port : domain.otherPorts) writer.number(port, 2);
  writer.number(domain.seenMs, 8);
  saveUse(writer, domain.use);
  writer.number((domain.hasUptime ? 1U : 0U) | (domain.countsRecords ? 2U : 0U), 1);
  writer.number(domain.uptimeMs, 4);
  writer.number(domain.exportMs, 8);
  writer.number(domain.systemInitMs, 8);
  writer.number(domain.ownRate, 4);
  const std::size_t countAt = writer.size();
  std::uint16_t count = 0;
  writer.number(0, 2);
  for (const auto& one : domain.templates) {
    if (one->use.lastMs == 0 || one->use.lastMs + kFlowIdleMs < domain.use.lastMs) continue;
    if (writer.size() + kTemplateBytes + one->definition.size() > kSavedExporterMax) break;
    writer.number(one->isOptions ? 1 : 0, 1);
    writer.number(one->seenMs, 8);
    saveUse(writer, one->use);
    writer.number(one->definition.size(), 2);
    writer.bytes(one->definition);
    count++;
  }
  writer.set16(countAt, count);
}

/// Null: it cannot be.
std::unique_ptr<FlowTemplate> readTemplate(SavedReader& reader, FlowProtocol protocol) {
  const bool isOptions = reader.number<std::uint8_t>() == 1;
  const auto seenMs = reader.number<std::uint64_t>();
  const Use use = readUse(reader);
  const ByteSpan definition = reader.take(reader.number<std::uint16_t>());
  const TemplateSet set = setOf(protocol, isOptions);
  const TemplateRecord record = readTemplateRecord(definition, set);
  if (record.kind != TemplateRecord::Kind::definition || record.bytes.size() != definition.size()) return nullptr;
  std::unique_ptr<FlowTemplate> made = makeTemplate(record, set);
  if (made == nullptr) return nullptr;
  made->seenMs = seenMs;
  made->use = use;
  return made;
}

bool readDomain(SavedReader& reader, FlowDomains& domains) {
  auto domain = std::make_unique<FlowDomain>();
  domain->key.protocol = static_cast<FlowProtocol>(reader.number<std::uint8_t>());
  domain->key.number = reader.number<std::uint32_t>();
  domain->key.port = reader.number<std::uint16_t>();
  for (std::uint16_t& port : domain->otherPorts) port = reader.number<std::uint16_t>();
  domain->seenMs = reader.number<std::uint64_t>();
  domain->use = readUse(reader);
  const auto flags = reader.number<std::uint8_t>();
  domain->hasUptime = (flags & 1) != 0;
  domain->countsRecords = (flags & 2) != 0;
  domain->uptimeMs = reader.number<std::uint32_t>();
  domain->exportMs = reader.number<std::uint64_t>();
  domain->systemInitMs = reader.number<std::uint64_t>();
  domain->ownRate = reader.number<std::uint32_t>();
  domain->isRestored = true;
  const auto count = reader.number<std::uint16_t>();
  if (!reader.isWhole() || !hasTemplates(domain->key.protocol)) return false;
  FlowDomain* const placed = domains.restore(std::move(domain));
  if (placed == nullptr) return false;
  for (std::uint16_t i = 0; i < count; i++) {
    std::unique_ptr<FlowTemplate> one = readTemplate(reader, placed->key.protocol);
    if (one == nullptr || !reader.isWhole()) return false;
    const std::uint64_t usedMs = one->use.lastMs;
    if (domains.store(*placed, std::move(one), usedMs) == FlowDomains::Stored::refused) return false;
  }
  return true;
}

void saveRates(SavedWriter& writer, const SamplingTable& samplings) {
  const std::size_t countAt = writer.size();
  std::uint16_t count = 0;
  writer.number(0, 2);
  samplings.forEachUsed([&](const DomainKey& domain, const SamplingTable::Said& said, std::uint64_t saidMs) {
    if (writer.size() + kRateBytes > kSavedExporterMax) return;
    writer.number(static_cast<std::uint64_t>(domain.protocol), 1);
    writer.number(domain.number, 4);
    writer.number(domain.port, 2);
    writer.number(static_cast<std::uint64_t>(said.scope), 1);
    writer.number(said.id, 8);
    writer.number(said.rate, 4);
    writer.number(saidMs, 8);
    count++;
  });
  writer.set16(countAt, count);
}

bool readRates(SavedReader& reader, SamplingTable& samplings) {
  const auto count = reader.number<std::uint16_t>();
  for (std::uint16_t i = 0; i < count; i++) {
    DomainKey domain;
    domain.protocol = static_cast<FlowProtocol>(reader.number<std::uint8_t>());
    domain.number = reader.number<std::uint32_t>();
    domain.port = reader.number<std::uint16_t>();
    SamplingTable::Said said;
    said.scope = static_cast<SamplingScope>(reader.number<std::uint8_t>());
    said.id = reader.number<std::uint64_t>();
    said.rate = reader.number<std::uint32_t>();
    const auto saidMs = reader.number<std::uint64_t>();
    const bool isScope = said.scope < SamplingScope::anyPart && !isOfSeveral(said.scope);
    const bool canBe = hasTemplates(domain.protocol) && isScope && said.rate != 0;
    if (!reader.isWhole() || !canBe) return false;
    samplings.restore(domain, said, saidMs);
  }
  return reader.isWhole();
}

void saveNames(SavedWriter& writer, const InterfaceNames& names) {
  const std::size_t countAt = writer.size();
  std::uint16_t count = 0;
  writer.number(0, 2);
  names.forEachUsed([&](std::uint32_t index, const std::string& name, std::uint64_t saidMs) {
    if (writer.size() + kNameBytes + name.size() > kSavedExporterMax) return;
    writer.number(index, 4);
    writer.number(saidMs, 8);
    writer.number(name.size(), 1);
    for (const char letter : name) writer.number(static_cast<std::uint8_t>(letter), 1);
    count++;
  });
  writer.set16(countAt, count);
}

bool readNames(SavedReader& reader, InterfaceNames& names) {
  const auto count = reader.number<std::uint16_t>();
  for (std::uint16_t i = 0; i < count; i++) {
    const auto index = reader.number<std::uint32_t>();
    const auto saidMs = reader.number<std::uint64_t>();
    const ByteSpan name = reader.take(reader.number<std::uint8_t>());
    if (!reader.isWhole()) return false;
    static_cast<void>(names.set(index, name, true, saidMs));
    // It was used.
    static_cast<void>(names.of(index));
  }
  return reader.isWhole();
}

}  // namespace

void saveExporter(const ExporterState& state, std::vector<std::uint8_t>& bytes) {
  bytes.clear();
  SavedWriter writer(bytes);
  writer.number(kFormat, 1);
  const std::size_t countAt = writer.size();
  std::uint16_t count = 0;
  writer.number(0, 2);
  for (const auto& domain : state.domains.all()) {
    if (!hasTemplates(domain->key.protocol) || domain->use.lastMs == 0) continue;
    if (writer.size() + kDomainBytes > kSavedExporterMax) break;
    saveDomain(writer, *domain);
    count++;
  }
  writer.set16(countAt, count);
  saveRates(writer, state.samplings);
  saveNames(writer, state.interfaces);
}

bool restoreExporter(ExporterState& state, ByteSpan bytes) {
  SavedReader reader(bytes);
  if (reader.number<std::uint8_t>() != kFormat) return false;
  const auto count = reader.number<std::uint16_t>();
  for (std::uint16_t i = 0; i < count; i++) {
    if (!readDomain(reader, state.domains)) return false;
  }
  return readRates(reader, state.samplings) && readNames(reader, state.interfaces);
}

}  // namespace floodwall
