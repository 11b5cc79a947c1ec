// A received frame as a source hands it to a shard. Owned by the source, valid only during the call.
#pragma once

#include <cstdint>

namespace floodwall {

struct Frame {
  const std::uint8_t* data;
  /// Bytes that can be read.
  std::uint32_t captured;
  /// Bytes on the wire; at least `captured`. This is what is counted.
  std::uint32_t wire;
};

/// The first header of a frame: Ethernet or IP.
enum class Link : std::uint8_t { ethernet, rawIp };

/// Frames that a shard takes at once; small enough that the batch's table rows stay in the first-level cache.
inline constexpr std::uint32_t kBatch = 64;

}  // namespace floodwall
