// Bounds of flow telemetry that those outside must know, and the names of what it reports.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace floodwall {

/// Threads of one source.
inline constexpr std::uint32_t kFlowThreadsMax = 64;
/// Exporters of a source, and those of a source without rules.
inline constexpr std::uint32_t kExportersMax = 4096;
inline constexpr std::uint32_t kUnlistedExportersMax = 64;
/// Interfaces of an exporter that are counted one by one.
inline constexpr std::uint32_t kExporterInterfacesMax = 512;
/// Bytes of the kernel's buffer of a socket.
inline constexpr std::uint32_t kReceiveBufferMin = 1U << 16;
inline constexpr std::uint32_t kReceiveBufferMax = 1U << 30;

/// Why a record that was decoded does not count.
enum class LeftOut : std::uint8_t {
  /// It is of the direction that the exporter's rule leaves out.
  direction,
  /// It neither came in nor went out by an external interface.
  interface,
  /// Its interfaces have no role, since they are not known.
  unknownInterface,
  /// Another exporter of the site counts.
  site,
  /// Its last packet was long ago when it was exported.
  late,
  /// Its packets are shorter than an IP header, or longer than any packet, on average.
  impossibleLength,
  /// A counter has a value that none can have, as -1.
  impossibleCount,
  /// It has more bytes than the fastest interface carries in its time.
  impossibleSpeed,
};
inline constexpr std::size_t kLeftOuts = 8;
inline constexpr std::array<const char*, kLeftOuts> kLeftOutNames = {
    "direction", "interface",         "unknown_interface", "site",
    "late",      "impossible_length", "impossible_count",  "impossible_speed"};

}  // namespace floodwall
