// Forwarding as a whole: the networks and tunnels in the kernel's tables, the program, and the interfaces. Any thread
// may call. Pinned beside the filter's maps, so that it goes on without this process; not adopted by the next one,
// which makes its own.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/route_choice.h"
#include "filter/forward_maps.h"
#include "filter/forward_ports.h"
#include "filter/forward_program.h"
#include "filter/prefix_sets.h"

namespace floodwall {

struct ForwardTunnel {
  /// Without `headers` and `is_ipv4`, which follow from the rest.
  forward_tunnel form{};
  std::vector<SetPrefix> networks;
};

struct ForwardStatus {
  forward_stats stats{};
  std::vector<std::string> egress;
  /// Routes are kept for a moment, since they depend on the destination alone.
  bool keepsRoutes = false;
};

/// The tunnel with what follows from its addresses and kind. Throws FilterError for addresses of two families.
[[nodiscard]] forward_tunnel completed(forward_tunnel tunnel);

class Forwarder {
 public:
  /// Throws FilterError. `program`: hasFragments is not used.
  Forwarder(std::vector<std::string> interfaces, const std::vector<ForwardTunnel>& tunnels,
            const ForwardProgramOptions& program = {});

  /// Networks that are forwarded beside those of the tunnels; absent: everything. New ones are added before others go.
  /// Throws FilterError; then some of the new ones may be there.
  void setNetworks(const std::optional<std::vector<SetPrefix>>& networks);
  /// The map by which a program of the filter calls; loads what it calls at the first use. Throws
  /// FilterError.
  [[nodiscard]] int callFd(bool hasFragments);
  /// To be called about once a second.
  void follow();
  /// Into an empty directory on a BPF file system. Throws FilterError.
  void pin(const std::string& directory);
  [[nodiscard]] ForwardStatus status() const;
  [[nodiscard]] const ForwardMaps& maps() const noexcept { return maps_; }

  static constexpr const char* kStatsName = ForwardMaps::kNames[ForwardMaps::stats];

 private:
  /// The bytes of a key of a trie, and its value.
  using Entries = std::map<std::vector<std::uint8_t>, std::uint32_t>;
  void write(ForwardMaps::Map map, Entries& now, Entries next) const;
  void voidKeptRoutes();

  mutable std::mutex mutex_;
  ForwardMaps maps_;
  ForwardPorts ports_;
  RouteChoice choice_;
  ForwardProgramOptions program_;
  std::optional<ForwardProgram> whole_, pieces_;
  std::uint32_t tunnels_ = 0;
  std::vector<std::pair<SetPrefix, std::uint32_t>> tunnelPrefixes_;
  Entries entries4_, entries6_;
  /// Once programs are pinned, another one is pinned as soon as it is loaded.
  std::string pinnedIn_;
};

}  // namespace floodwall
