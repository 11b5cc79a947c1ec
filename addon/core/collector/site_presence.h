// When the exporters of each rule were last heard, whatever source heard them: within a site, which sees the same
// packets several times, an exporter counts only while those listed before it are silent.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/address.h"

namespace floodwall {

/// Milliseconds of the monotonic clock; 0: never.
using HeardMs = std::atomic<std::uint64_t>;

/// Shared by the sources of an engine. Any thread.
class SitePresence {
 public:
  /// The same for the same prefix, as long as anybody holds it.
  [[nodiscard]] std::shared_ptr<HeardMs> of(const Address& address, std::uint8_t length) {
    const std::lock_guard lock(mutex_);
    std::erase_if(heard_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<HeardMs>& known = heard_[{address.bytes, length}];
    std::shared_ptr<HeardMs> heard = known.lock();
    if (!heard) known = heard = std::make_shared<HeardMs>(0);
    return heard;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::array<std::uint8_t, 16>, std::uint8_t>, std::weak_ptr<HeardMs>> heard_;
};

}  // namespace floodwall
