// Plays a capture file into a shard, once, from a thread of its own.
#pragma once

#include <memory>
#include <string>

#include "capture/supervised_source.h"

namespace floodwall {

enum class Pace : std::uint8_t {
  /// At the capture's own times.
  real,
  /// As fast as it can be read.
  max,
};

/// Throws SourceError. The source is `ended` once all is counted, `failed` when the file turned out to be damaged.
[[nodiscard]] std::unique_ptr<CaptureSource> openPcapFile(std::string path, Pace pace, const AddShard& addShard);

}  // namespace floodwall
