// Headers copied out of a reader that reuses its buffer for each frame, so that a shard can take a batch at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "parse/frame.h"

namespace floodwall {

/// Bytes that a batch keeps of each frame at most: extension headers of IPv6 may fill all of a packet of the usual MTU.
inline constexpr std::uint32_t kKeptBytes = 2048;

class FrameBatch {
 public:
  /// Whether one more frame that begins so fits. A batch has frames of one beginning, as a shard takes them.
  [[nodiscard]] bool takes(Link link) const { return count_ == 0 || (count_ < kBatch && link == link_); }
  void add(const Frame& frame, Link link) {
    link_ = link;
    std::uint8_t* kept = bytes_.data() + used_;
    const std::uint32_t captured = std::min(frame.captured, kKeptBytes);
    std::memcpy(kept, frame.data, captured);
    used_ += captured;
    frames_[count_++] = {kept, captured, std::max(frame.wire, captured)};
  }
  [[nodiscard]] std::span<const Frame> frames() const { return {frames_.data(), count_}; }
  [[nodiscard]] Link link() const { return link_; }
  [[nodiscard]] bool isEmpty() const { return count_ == 0; }
  void clear() { count_ = used_ = 0; }

 private:
  std::array<Frame, kBatch> frames_;
  std::array<std::uint8_t, std::size_t{kBatch} * kKeptBytes> bytes_;
  std::uint32_t count_ = 0;
  Link link_ = Link::ethernet;
  /// Bytes of all of them.
  std::uint32_t used_ = 0;
};

}  // namespace floodwall
