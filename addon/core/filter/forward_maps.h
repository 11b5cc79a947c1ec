// The maps of forwarding: made by each process that forwards, read by each process that reports what is in the kernel.
// The filter's programs and the forwarding program hold them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "filter/filter_maps.h"
#include "forward_abi.h"

struct bpf_object;

namespace floodwall {

class ForwardMaps {
 public:
  enum Map : std::uint8_t { head, tunnels, prefixes4, prefixes6, ports, egress, stats, routes, kMaps };
  /// As forward_tables.h names them.
  static constexpr std::array<const char*, kMaps> kNames = {"forward_head",      "forward_tunnels", "forward_prefixes4",
                                                            "forward_prefixes6", "forward_ports",   "forward_egress",
                                                            "forward_stats",     "forward_routes"};
  /// Throws FilterError.
  ForwardMaps();

  [[nodiscard]] int fd(Map map) const { return maps_.at(map).get(); }
  /// Mapped into memory.
  [[nodiscard]] forward_head& headRow() const { return headRows_.rows<forward_head>()[0]; }
  [[nodiscard]] std::span<forward_tunnel> tunnelRows() const { return tunnelRows_.rows<forward_tunnel>(); }
  /// Puts them into a program that was opened and not loaded. Throws FilterError.
  void use(bpf_object* program) const;

  /// Sum of all CPUs.
  [[nodiscard]] static forward_stats statsOf(int statsFd);

 private:
  std::array<UniqueFd, kMaps> maps_;
  RowMap headRows_, tunnelRows_;
};

}  // namespace floodwall
