// Reads JavaScript arguments into the core's types; what does not fit throws a TypeError or RangeError that names it.
#pragma once

#include <napi.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "count/engine.h"

namespace floodwall::binding {

/// A count as JavaScript has numbers. Exact up to 2^53: 285 years at a billion packets a second.
[[nodiscard]] inline double numberOf(std::uint64_t count) { return static_cast<double>(count); }

/// Each count under its name.
template <std::size_t kCounts>
[[nodiscard]] Napi::Object namedCounts(const Napi::Env& env, const std::array<const char*, kCounts>& names,
                                       const std::array<std::uint64_t, kCounts>& counts) {
  Napi::Object object = Napi::Object::New(env);
  for (std::size_t i = 0; i < kCounts; i++) object.Set(names[i], numberOf(counts[i]));
  return object;
}

/// The argument at `index` as an object; `name` is what the error calls it.
[[nodiscard]] Napi::Object objectArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name);

[[nodiscard]] std::string stringOf(const Napi::Object& object, const char* key);
[[nodiscard]] bool booleanOf(const Napi::Object& object, const char* key);
/// A whole number from 0 to 2^32 - 1.
[[nodiscard]] std::uint32_t uint32Of(const Napi::Object& object, const char* key);
[[nodiscard]] double doubleOf(const Napi::Object& object, const char* key);
/// An array of whole numbers from 0 to `max`.
[[nodiscard]] std::vector<std::uint32_t> uint32sOf(const Napi::Object& object, const char* key, std::uint32_t max);

/// The contents of a Uint8Array, valid while the call lasts.
[[nodiscard]] std::span<std::uint8_t> bytesOf(const Napi::Object& object, const char* key);

/// The numbers of a Float64Array, valid while the call lasts.
[[nodiscard]] std::span<double> doublesOf(const Napi::Object& object, const char* key);

/// The index of the string in `names`.
[[nodiscard]] std::size_t choiceOf(const Napi::Object& object, const char* key, std::span<const char* const> names);

/// A list of such strings as bits by their indexes; none where the key is absent.
[[nodiscard]] std::uint32_t choicesOf(const Napi::Object& object, const char* key, std::span<const char* const> names);

/// `decapsulate`: none where it is absent.
[[nodiscard]] Encapsulations decapsulationOf(const Napi::Object& options);
/// `vxlanPorts`: the usual one where it is absent.
[[nodiscard]] VxlanPorts vxlanPortsOf(const Napi::Object& options);

/// The contents of a typed array, valid while the call lasts. The element type is given by the caller's pointer type.
[[nodiscard]] std::span<std::uint8_t> bytesArgument(const Napi::CallbackInfo& info, std::size_t index,
                                                    const char* name);
[[nodiscard]] std::span<double> doublesArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name);
[[nodiscard]] std::span<std::uint32_t> uint32sArgument(const Napi::CallbackInfo& info, std::size_t index,
                                                       const char* name);
/// A whole number from 0 to 2^32 - 1.
[[nodiscard]] std::uint32_t uint32Argument(const Napi::CallbackInfo& info, std::size_t index, const char* name);
[[nodiscard]] double doubleArgument(const Napi::CallbackInfo& info, std::size_t index, const char* name);
/// Exactly 16 bytes.
[[nodiscard]] Address addressArgument(const Napi::CallbackInfo& info, std::size_t index);
/// Bits of an address, 0 to 128; all of them when it is not given.
[[nodiscard]] std::uint32_t lengthArgument(const Napi::CallbackInfo& info, std::size_t index);

/// A HostRows whose arrays all hold `capacity` rows.
[[nodiscard]] HostColumns hostRowsArgument(const Napi::CallbackInfo& info, std::size_t index);
/// An IntervalRows, as above.
[[nodiscard]] IntervalColumns intervalRowsArgument(const Napi::CallbackInfo& info, std::size_t index);
/// A CountRows whose arrays all hold `capacity` rows.
[[nodiscard]] CountColumns countRowsArgument(const Napi::CallbackInfo& info, std::size_t index);
/// A NetworksTable; the core checks that its columns fit together.
[[nodiscard]] NetworksColumns networksArgument(const Napi::CallbackInfo& info, std::size_t index);

}  // namespace floodwall::binding
