#include "exporter_status.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <unordered_map>
#include <utility>

#include "arguments.h"
#include "constants.h"
#include "flow/undecoded.h"

namespace floodwall::binding {
namespace {

std::uint64_t monotonicMs() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count());
}

Napi::Uint8Array addressArray(const Napi::Env& env, const Address& address) {
  auto bytes = Napi::Uint8Array::New(env, address.bytes.size());
  std::copy(address.bytes.begin(), address.bytes.end(), bytes.Data());
  return bytes;
}

Napi::Array protocolsArray(const Napi::Env& env, const FlowExporterStatus& flow) {
  Napi::Array protocols = Napi::Array::New(env);
  for (std::size_t i = 0; i < kFlowProtocols; i++) {
    if (flow.datagramsByProtocol[i] != 0) protocols.Set(protocols.Length(), kFlowProtocolNames[i]);
  }
  return protocols;
}

Napi::Array traitsArray(const Napi::Env& env, const FlowExporterStatus& flow) {
  Napi::Array traits = Napi::Array::New(env);
  for (std::size_t i = 0; i < kFlowTraits; i++) {
    if ((flow.traits >> i & 1) != 0) traits.Set(traits.Length(), kFlowTraitNames[i]);
  }
  return traits;
}

Napi::Array vendorsArray(const Napi::Env& env, const FlowExporterStatus& flow) {
  Napi::Array vendors = Napi::Array::New(env);
  for (const std::uint32_t vendor : flow.vendors) {
    if (vendor != 0) vendors.Set(vendors.Length(), vendor);
  }
  return vendors;
}

bool isForTemplate(UndecodedKind kind) {
  return kind == UndecodedKind::templateUnknown || kind == UndecodedKind::templateRoom;
}

Napi::Array undecodedArray(const Napi::Env& env, const FlowExporterStatus& flow, bool forTemplates) {
  Napi::Array array = Napi::Array::New(env);
  for (const UndecodedReason& reason : flow.undecoded) {
    if (isForTemplate(reason.kind) != forTemplates) continue;
    Napi::Object object = Napi::Object::New(env);
    object.Set("kind", kUndecodedKindNames.at(static_cast<std::size_t>(reason.kind)));
    object.Set("reason", Undecoded::textOf(reason));
    object.Set("count", numberOf(reason.count));
    array.Set(array.Length(), object);
  }
  return array;
}

Napi::Array samplingsArray(const Napi::Env& env, const ExporterStatus& exporter) {
  const auto& samplings = exporter.flow.samplings;
  const bool isConfigured = exporter.configuredRate != 0;
  Napi::Array array = Napi::Array::New(env, samplings.size());
  for (std::uint32_t i = 0; i < samplings.size(); i++) {
    Napi::Object object = Napi::Object::New(env);
    object.Set("domain", samplings[i].domain);
    object.Set("sampler", numberOf(samplings[i].sampler));
    object.Set("rate", isConfigured ? exporter.configuredRate : samplings[i].rate);
    const auto origin = static_cast<std::size_t>(samplings[i].origin);
    object.Set("origin", kSamplingOrigins.at(isConfigured ? kSamplingOrigins.size() - 1 : origin));
    array.Set(i, object);
  }
  return array;
}

Napi::Array interfacesArray(const Napi::Env& env, const ExporterStatus& exporter) {
  std::unordered_map<std::uint32_t, const std::string*> names;
  for (const InterfaceName& name : exporter.flow.interfaces) names[name.index] = &name.name;
  Napi::Array array = Napi::Array::New(env, exporter.interfaces.size());
  for (std::uint32_t i = 0; i < exporter.interfaces.size(); i++) {
    const InterfaceUse& use = exporter.interfaces[i];
    const auto named = names.find(use.index);
    Napi::Object object = Napi::Object::New(env);
    object.Set("index", use.index);
    object.Set("name", named == names.end() ? env.Null() : Napi::Value(Napi::String::New(env, *named->second)));
    object.Set("role", kInterfaceRoleNames.at(static_cast<std::size_t>(use.role)));
    object.Set("recordsIn", numberOf(use.recordsIn));
    object.Set("packetsIn", numberOf(use.packetsIn));
    object.Set("bytesIn", numberOf(use.bytesIn));
    object.Set("recordsOut", numberOf(use.recordsOut));
    object.Set("packetsOut", numberOf(use.packetsOut));
    object.Set("bytesOut", numberOf(use.bytesOut));
    array.Set(i, object);
  }
  return array;
}

void setCounts(Napi::Object& object, const ExporterStatus& exporter) {
  const FlowCounts& counts = exporter.flow.counts;
  for (const auto& [name, count] : {
           std::pair{"datagrams", counts.datagrams},
           {"bytes", counts.bytes},
           {"records", counts.records},
           {"events", counts.events},
           {"otherRecords", counts.otherRecords},
           {"estimatedRecords", counts.estimatedRecords},
           {"lateRecords", counts.lateRecords},
           {"countedLate", exporter.countedLate},
           {"impossibleRates", counts.impossibleRates},
           {"untrackedFlows", exporter.flow.untrackedFlows},
           {"unknownRateRecords", exporter.configuredRate == 0 ? counts.unknownRateRecords : 0},
           {"lostRecords", counts.lostRecords},
           {"lostDatagrams", counts.lostDatagrams},
           {"reordered", counts.reordered},
           {"duplicates", counts.duplicates},
           {"restarts", counts.restarts},
           {"droppedSamples", counts.droppedSamples},
           {"templatesRefused", counts.templatesRefused},
           {"templatesDisplaced", counts.templatesDisplaced},
           {"templateChanges", counts.templateChanges},
           {"keptSets", counts.keptSets},
           {"recoveredSets", counts.recoveredSets},
       }) {
    object.Set(name, numberOf(count));
  }
}

Napi::Object exporterObject(const Napi::Env& env, const ExporterStatus& exporter, std::uint64_t nowMs) {
  const FlowExporterStatus& flow = exporter.flow;
  Napi::Object object = Napi::Object::New(env);
  object.Set("address", addressArray(env, exporter.address));
  object.Set("number", exporter.number);
  const bool hasRule = exporter.rule != ExporterRules::kNone;
  object.Set("rule", hasRule ? Napi::Value(Napi::Number::New(env, exporter.rule)) : env.Null());
  object.Set("protocols", protocolsArray(env, flow));
  setCounts(object, exporter);
  object.Set("counted", numberOf(exporter.counted));
  object.Set("leftOut", namedCounts(env, kLeftOutNames, exporter.leftOut));
  object.Set("traits", traitsArray(env, flow));
  object.Set("vendors", vendorsArray(env, flow));
  object.Set("reportIntervalMs", exporter.reportIntervalMs);
  object.Set("notForUs", namedCounts(env, kNotForUsNames, flow.counts.notForUs));
  object.Set("isActive", exporter.isActive);
  object.Set("undecodedByKind", namedCounts(env, kUndecodedKindNames, flow.undecodedByKind));
  object.Set("undecoded", undecodedArray(env, flow, false));
  object.Set("missingTemplates", undecodedArray(env, flow, true));
  const auto ofKind = [&](UndecodedKind kind) { return flow.undecodedByKind.at(static_cast<std::size_t>(kind)); };
  object.Set("withoutTemplate", numberOf(ofKind(UndecodedKind::templateUnknown) + ofKind(UndecodedKind::templateRoom)));
  object.Set("waitingForTemplate", flow.waitingBytes);
  object.Set("templates", flow.templates);
  object.Set("domains", flow.domains);
  object.Set("memoryBytes", numberOf(flow.memoryBytes));
  const auto skew = static_cast<double>(flow.clockSkewMs);
  object.Set("clockSkewMs", flow.isClockKnown ? Napi::Value(Napi::Number::New(env, skew)) : env.Null());
  object.Set("silentMs", numberOf(nowMs > exporter.lastDatagramMs ? nowMs - exporter.lastDatagramMs : 0));
  object.Set("samplings", samplingsArray(env, exporter));
  const std::string error = exporter.error();
  object.Set("error", error.empty() ? env.Null() : Napi::Value(Napi::String::New(env, error)));
  return object;
}

}  // namespace

Napi::Array exporterArray(const Napi::Env& env, const std::vector<ExporterStatus>& exporters, bool withInterfaces) {
  const std::uint64_t nowMs = monotonicMs();
  Napi::Array array = Napi::Array::New(env, exporters.size());
  for (std::uint32_t i = 0; i < exporters.size(); i++) {
    const Napi::HandleScope scope(env);
    Napi::Object object = exporterObject(env, exporters[i], nowMs);
    object.Set("interfaces", withInterfaces ? interfacesArray(env, exporters[i]) : Napi::Array::New(env));
    array.Set(i, object);
  }
  return array;
}

Napi::Object receiverObject(const Napi::Env& env, const FlowReceiverStatus& receiver) {
  Napi::Array refused = Napi::Array::New(env, receiver.refusedAddresses.size());
  for (std::uint32_t i = 0; i < receiver.refusedAddresses.size(); i++) {
    refused.Set(i, addressArray(env, receiver.refusedAddresses[i].address));
  }
  Napi::Object object = Napi::Object::New(env);
  object.Set("datagrams", numberOf(receiver.datagrams));
  object.Set("bytes", numberOf(receiver.bytes));
  object.Set("overruns", numberOf(receiver.overruns));
  object.Set("receiveBuffer", numberOf(receiver.receiveBuffer));
  object.Set("receiveBufferUsed", numberOf(receiver.receiveBufferUsed));
  object.Set("refused", numberOf(receiver.refused));
  object.Set("refusedAddresses", refused);
  object.Set("withoutRoom", numberOf(receiver.withoutRoom));
  object.Set("clampedRecords", numberOf(receiver.records.clamped));
  object.Set("unspreadRecords", numberOf(receiver.records.unspread));
  return object;
}

}  // namespace floodwall::binding
