// Parts of the filter that are in the kernel now, whether or not a process keeps them. Only reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "filter/filter_maps.h"
#include "filter/named_sets.h"
#include "forward_abi.h"

namespace floodwall {

struct PinnedFilter {
  enum class State : std::uint8_t {
    /// Maps of this schema, and a program on every interface that has a link.
    healthy,
    /// Maps without a link, or a link whose interface is gone.
    detached,
    missing,
    wrongSchema,
  } state = State::missing;
  /// As their directories are called.
  std::vector<std::string> schemas;
  /// Names of interfaces, and the program on each: 0 when the link is attached to nothing.
  struct Link {
    std::string interface;
    std::uint32_t program = 0;
  };
  std::vector<Link> links;
  /// Those that have not expired.
  std::uint32_t pairs = 0;
  std::uint32_t rules = 0;
  filter_stats stats{};
  SetNames setNames;
  /// Absent: the kernel forwards.
  std::optional<forward_stats> forward;
  /// Whether a process holds the lock.
  bool isOwned = false;
};

/// Throws FilterError when it may not look.
[[nodiscard]] PinnedFilter readPinned(const std::string& pinPath);

}  // namespace floodwall
