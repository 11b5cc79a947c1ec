// Names of an exporter's interfaces, as it told them.
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
  /// Ends at the first zero byte; control characters become "?". A name that is too long is cut, one too many is left
  /// out (kInterfaceNamesMax).
  void set(std::uint32_t index, ByteSpan name);
  /// Empty: not known.
  [[nodiscard]] const std::string& of(std::uint32_t index) const noexcept;
  [[nodiscard]] std::uint32_t version() const noexcept { return version_; }
  void copyTo(std::vector<InterfaceName>& names) const;
  [[nodiscard]] std::size_t memoryBytes() const noexcept;

 private:
  std::unordered_map<std::uint32_t, std::string> names_;
  std::uint32_t version_ = 0;
};

}  // namespace floodwall
