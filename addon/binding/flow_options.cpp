#include "flow_options.h"

#include <algorithm>
#include <string>

#include "arguments.h"
#include "collector/flow_limits.h"
#include "constants.h"

namespace floodwall::binding {
namespace {

constexpr std::uint32_t kUdpPortMax = 65'535;
constexpr std::uint32_t kAddressBits = 128;

Address addressOf(const Napi::Object& object) {
  const auto bytes = bytesOf(object, "address");
  Address address;
  if (bytes.size() != address.bytes.size()) throw Napi::RangeError::New(object.Env(), "address must be of 16 bytes");
  std::copy(bytes.begin(), bytes.end(), address.bytes.begin());
  return address;
}

std::uint32_t boundedOf(const Napi::Object& object, const char* key, std::uint32_t max) {
  const std::uint32_t number = uint32Of(object, key);
  if (number <= max) return number;
  throw Napi::RangeError::New(object.Env(), std::string(key) + " must be at most " + std::to_string(max));
}

std::vector<std::string> stringsOf(const Napi::Object& object, const char* key) {
  const Napi::Value value = object.Get(key);
  if (!value.IsArray()) throw Napi::TypeError::New(object.Env(), std::string(key) + " must be an array");
  const auto array = value.As<Napi::Array>();
  std::vector<std::string> texts;
  for (std::uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Value element = array[i];
    if (!element.IsString()) throw Napi::TypeError::New(object.Env(), std::string(key) + " must be strings");
    texts.push_back(element.As<Napi::String>().Utf8Value());
  }
  return texts;
}

std::optional<InterfaceList> interfacesOf(const Napi::Object& rule, const char* key) {
  if (rule.Get(key).IsNull()) return std::nullopt;
  return InterfaceList(stringsOf(rule, key));
}

ExporterRule ruleOf(const Napi::Object& object) {
  return {.address = addressOf(object),
          .length = static_cast<std::uint8_t>(boundedOf(object, "length", kAddressBits)),
          .name = stringOf(object, "name"),
          .samplingRate = object.Get("samplingRate").IsNull() ? 0 : uint32Of(object, "samplingRate"),
          .fastestMbps = object.Get("fastestInterfaceMbps").IsNull() ? 0 : uint32Of(object, "fastestInterfaceMbps"),
          .direction = static_cast<ExporterRule::Direction>(choiceOf(object, "direction", kRuleDirections)),
          .external = interfacesOf(object, "external"),
          .internal = interfacesOf(object, "internal"),
          .site = object.Get("site").IsNull() ? std::string() : stringOf(object, "site"),
          .silentAfterMs = uint32Of(object, "silentAfterMs"),
          .decapsulated = decapsulationOf(object)};
}

}  // namespace

FlowOptions flowOptions(const Napi::Object& options) {
  const auto cpus = uint32sOf(options, "cpus", kCpuMax);
  std::vector<std::uint8_t> saved;
  if (!options.Get("saved").IsNull()) {
    const auto bytes = bytesOf(options, "saved");
    saved.assign(bytes.begin(), bytes.end());
  }
  return {.at = {.address = addressOf(options),
                 .port = static_cast<std::uint16_t>(boundedOf(options, "port", kUdpPortMax))},
          .threads = uint32Of(options, "threads"),
          .receiveBuffer = uint32Of(options, "receiveBuffer"),
          .cpus = {cpus.begin(), cpus.end()},
          .saved = std::move(saved)};
}

std::vector<ExporterRule> exporterRules(const Napi::Value& value) {
  if (!value.IsArray()) throw Napi::TypeError::New(value.Env(), "exporters must be an array");
  const auto array = value.As<Napi::Array>();
  std::vector<ExporterRule> rules;
  for (std::uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Value element = array[i];
    if (!element.IsObject()) throw Napi::TypeError::New(value.Env(), "exporters must be objects");
    rules.push_back(ruleOf(element.As<Napi::Object>()));
  }
  return rules;
}

}  // namespace floodwall::binding
