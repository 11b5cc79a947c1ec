// Names of an exporter's interfaces, as it reported them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "flow/big_endian.h"
#include "flow/flow_exporter_status.h"

namespace floodwall {

class InterfaceNames {
 public:
  InterfaceNames();

  enum class Stored : std::uint8_t { same, changed, refused };
  /// Ends at the first zero byte; control characters become "?". A name that is too long is cut. Over
  /// kInterfaceNamesMax names of interfaces that no record named are removed, the oldest first. Without `mayChange`
  /// nothing new is taken.
  Stored set(std::uint32_t index, ByteSpan name, bool mayChange, std::uint64_t nowMs);
  /// Empty: not known.
  [[nodiscard]] const std::string& of(std::uint32_t index) const noexcept;
  [[nodiscard]] std::uint32_t version() const noexcept { return version_; }
  /// Calls `take` with index, name, and when it was said, of each that was used.
  void forEachUsed(const auto& take) const {
    for (const auto& [index, name] : names_) {
      if (name.isUsed) take(index, name.text, name.saidMs);
    }
  }
  void copyTo(std::vector<InterfaceName>& names) const;
  [[nodiscard]] std::size_t memoryBytes() const noexcept;

 private:
  /// Seeded, so that an exporter cannot choose numbers of one bucket.
  struct Hash {
    std::uint64_t seed;
    std::size_t operator()(std::uint32_t index) const noexcept {
      const std::uint64_t mixed = (index ^ seed) * 0x9e3779b97f4a7c15;
      return static_cast<std::size_t>((mixed ^ mixed >> 32) * (seed | 1));
    }
  };

  struct Name {
    std::string text;
    std::uint64_t saidMs = 0;
    /// Whether it was read by of().
    mutable bool isUsed = false;
  };

  bool makeRoom(std::uint64_t nowMs);

  std::unordered_map<std::uint32_t, Name, Hash> names_;
  std::uint32_t version_ = 0;
  /// When room was last sought and little found; 0: enough was.
  std::uint64_t littleRoomMs_ = 0;
};

}  // namespace floodwall
