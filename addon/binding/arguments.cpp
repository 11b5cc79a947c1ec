#include "arguments.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace floodwall::binding {
namespace {

constexpr std::size_t kAddressBytes = 16;

[[noreturn]] void throwType(const Napi::Env& env, const std::string& name, const std::string& expected) {
  throw Napi::TypeError::New(env, name + " must be " + expected);
}

[[noreturn]] void throwRange(const Napi::Env& env, const std::string& name, const std::string& expected) {
  throw Napi::RangeError::New(env, name + " must be " + expected);
}

std::uint32_t uint32From(const Napi::Value& value, const std::string& name, std::uint32_t max) {
  const std::string expected = "a whole number from 0 to " + std::to_string(max);
  if (!value.IsNumber()) throwType(value.Env(), name, expected);
  const double number = value.As<Napi::Number>().DoubleValue();
  // Written so that NaN fails.
  if (!(number >= 0 && number <= max) || std::floor(number) != number) throwRange(value.Env(), name, expected);
  return static_cast<std::uint32_t>(number);
}

double doubleFrom(const Napi::Value& value, const std::string& name) {
  if (!value.IsNumber()) throwType(value.Env(), name, "a number");
  return value.As<Napi::Number>().DoubleValue();
}

template <typename Element>
constexpr napi_typedarray_type kArrayType = napi_uint8_array;
template <>
constexpr napi_typedarray_type kArrayType<std::uint32_t> = napi_uint32_array;
template <>
constexpr napi_typedarray_type kArrayType<double> = napi_float64_array;

template <typename Element>
constexpr const char* kArrayName = "a Uint8Array";
template <>
constexpr const char* kArrayName<std::uint32_t> = "a Uint32Array";
template <>
constexpr const char* kArrayName<double> = "a Float64Array";

template <typename Element>
std::span<Element> elementsOf(const Napi::Value& value, const std::string& name) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != kArrayType<Element>) {
    throwType(value.Env(), name, kArrayName<Element>);
  }
  auto array = value.As<Napi::TypedArrayOf<Element>>();
  return {array.Data(), array.ElementLength()};
}

template <typename Element>
std::span<Element> columnOf(const Napi::Object& rows, const char* key, std::size_t elements) {
  const auto column = elementsOf<Element>(rows.Get(key), key);
  if (column.size() < elements) throwRange(rows.Env(), key, "of at least " + std::to_string(elements) + " elements");
  return column.first(elements);
}

}  // namespace

Napi::Object objectArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name) {
  if (!info[index].IsObject()) throwType(info.Env(), name, "an object");
  return info[index].As<Napi::Object>();
}

std::string stringOf(const Napi::Object& object, const char* key) {
  const Napi::Value value = object.Get(key);
  if (!value.IsString()) throwType(object.Env(), key, "a string");
  std::string text = value.As<Napi::String>().Utf8Value();
  // The kernel reads a name up to its first zero byte, and would take another interface or file.
  if (text.find('\0') != std::string::npos) throwType(object.Env(), key, "a string without zero bytes");
  return text;
}

bool booleanOf(const Napi::Object& object, const char* key) {
  const Napi::Value value = object.Get(key);
  if (!value.IsBoolean()) throwType(object.Env(), key, "a boolean");
  return value.As<Napi::Boolean>().Value();
}

std::uint32_t uint32Of(const Napi::Object& object, const char* key) {
  return uint32From(object.Get(key), key, UINT32_MAX);
}

double doubleOf(const Napi::Object& object, const char* key) { return doubleFrom(object.Get(key), key); }

std::vector<std::uint32_t> uint32sOf(const Napi::Object& object, const char* key, std::uint32_t max) {
  const Napi::Value value = object.Get(key);
  if (!value.IsArray()) throwType(object.Env(), key, "an array");
  const auto array = value.As<Napi::Array>();
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Value element = array[i];
    numbers.push_back(uint32From(element, std::string(key) + "[" + std::to_string(i) + "]", max));
  }
  return numbers;
}

std::span<std::uint8_t> bytesOf(const Napi::Object& object, const char* key) {
  return elementsOf<std::uint8_t>(object.Get(key), key);
}

std::span<double> doublesOf(const Napi::Object& object, const char* key) {
  return elementsOf<double>(object.Get(key), key);
}

namespace {

std::size_t choiceIn(const Napi::Value& value, const char* key, std::span<const char* const> names) {
  const std::string text = value.IsString() ? value.As<Napi::String>().Utf8Value() : std::string();
  const auto found = std::find(names.begin(), names.end(), text);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::string expected = "one of";
  for (const char* name : names) expected += std::string(" ") + name;
  throwType(value.Env(), key, expected);
}

}  // namespace

std::size_t choiceOf(const Napi::Object& object, const char* key, std::span<const char* const> names) {
  return choiceIn(object.Get(key), key, names);
}

std::uint32_t choicesOf(const Napi::Object& object, const char* key, std::span<const char* const> names) {
  const Napi::Value value = object.Get(key);
  if (value.IsUndefined()) return 0;
  if (!value.IsArray()) throwType(object.Env(), key, "a list");
  const auto list = value.As<Napi::Array>();
  std::uint32_t bits = 0;
  for (std::uint32_t i = 0; i < list.Length(); i++) bits |= 1U << choiceIn(list.Get(i), key, names);
  return bits;
}

Encapsulations decapsulationOf(const Napi::Object& options) {
  return Encapsulations(static_cast<std::uint16_t>(choicesOf(options, "decapsulate", kEncapsulationNames)));
}

VxlanPorts vxlanPortsOf(const Napi::Object& options) {
  if (options.Get("vxlanPorts").IsUndefined()) return {};
  const auto numbers = uint32sOf(options, "vxlanPorts", 65'535);
  if (numbers.empty() || numbers.size() > VXLAN_PORTS_MAX) {
    throw Napi::RangeError::New(options.Env(), "vxlanPorts must be 1 to " + std::to_string(VXLAN_PORTS_MAX) + " ports");
  }
  std::vector<std::uint16_t> ports;
  ports.reserve(numbers.size());
  for (const std::uint32_t number : numbers) ports.push_back(static_cast<std::uint16_t>(number));
  return VxlanPorts(ports);
}

std::span<std::uint8_t> bytesArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name) {
  return elementsOf<std::uint8_t>(info[index], name);
}

std::span<double> doublesArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name) {
  return elementsOf<double>(info[index], name);
}

std::span<std::uint32_t> uint32sArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name) {
  return elementsOf<std::uint32_t>(info[index], name);
}

std::uint32_t uint32Argument(const Napi::CallbackInfo& info, std::size_t index, const char* name) {
  return uint32From(info[index], name, UINT32_MAX);
}

double doubleArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name) {
  return doubleFrom(info[index], name);
}

Address addressArgument(const Napi::CallbackInfo& info, std::size_t index) {
  const auto bytes = bytesArgument(info, index, "address");
  if (bytes.size() != kAddressBytes) throwRange(info.Env(), "address", "of 16 bytes");
  Address address;
  std::copy(bytes.begin(), bytes.end(), address.bytes.begin());
  return address;
}

std::uint32_t lengthArgument(const Napi::CallbackInfo& info, std::size_t index) {
  constexpr std::uint32_t kBits = 8 * kAddressBytes;
  return info[index].IsUndefined() ? kBits : uint32From(info[index], "length", kBits);
}

HostColumns hostRowsArgument(const Napi::CallbackInfo& info, std::size_t index) {
  const Napi::Object rows = objectArgument(info, index, "out");
  // As many as an array of addresses could hold; the columns' own lengths decide.
  const std::size_t capacity = uint32From(rows.Get("capacity"), "capacity", UINT32_MAX / kAddressBytes);
  return {.addresses = columnOf<std::uint8_t>(rows, "addresses", capacity * kAddressBytes),
          .groups = columnOf<std::uint32_t>(rows, "groups", capacity),
          .networks = columnOf<std::uint32_t>(rows, "networks", capacity),
          .idleMs = columnOf<double>(rows, "idleMs", capacity),
          .incoming = columnOf<double>(rows, "incoming", capacity * kMetrics),
          .outgoing = columnOf<double>(rows, "outgoing", capacity * kMetrics),
          .weights = columnOf<double>(rows, "weights", capacity * kWeights)};
}

IntervalColumns intervalRowsArgument(const Napi::CallbackInfo& info, std::size_t index) {
  const Napi::Object rows = objectArgument(info, index, "out");
  const std::size_t capacity = uint32From(rows.Get("capacity"), "capacity", UINT32_MAX / kAddressBytes);
  return {.addresses = columnOf<std::uint8_t>(rows, "addresses", capacity * kAddressBytes),
          .groups = columnOf<std::uint32_t>(rows, "groups", capacity),
          .incoming = columnOf<double>(rows, "incoming", capacity * kIntervalValues),
          .outgoing = columnOf<double>(rows, "outgoing", capacity * kIntervalValues)};
}

CountColumns countRowsArgument(const Napi::CallbackInfo& info, std::size_t index) {
  const Napi::Object rows = objectArgument(info, index, "out");
  const std::size_t capacity = uint32From(rows.Get("capacity"), "capacity", UINT32_MAX / kAddressBytes);
  return {.addresses = columnOf<std::uint8_t>(rows, "addresses", capacity * kAddressBytes),
          .agesMs = columnOf<double>(rows, "agesMs", capacity),
          .spansMs = columnOf<double>(rows, "spansMs", capacity),
          .isBefore = columnOf<std::uint8_t>(rows, "isBefore", capacity),
          .incoming = columnOf<double>(rows, "incoming", capacity * kMetrics),
          .outgoing = columnOf<double>(rows, "outgoing", capacity * kMetrics),
          .weights = columnOf<double>(rows, "weights", capacity * kWeights)};
}

NetworksColumns networksArgument(const Napi::CallbackInfo& info, std::size_t index) {
  const Napi::Object table = objectArgument(info, index, "table");
  return {.addresses = elementsOf<std::uint8_t>(table.Get("addresses"), "addresses"),
          .lengths = elementsOf<std::uint8_t>(table.Get("lengths"), "lengths"),
          .networks = elementsOf<std::uint32_t>(table.Get("networks"), "networks"),
          .groups = elementsOf<std::uint32_t>(table.Get("groups"), "groups"),
          .networkCount = uint32Of(table, "networkCount"),
          .groupCount = uint32Of(table, "groupCount")};
}

}  // namespace floodwall::binding
