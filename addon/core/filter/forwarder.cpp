#include "filter/forwarder.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/address.h"
#include "device/neighbor_use.h"

namespace floodwall {
namespace {

/// Without a word of the owner, who comes by once a second, routes are no longer kept.
constexpr std::uint64_t kKeepingNs = 3'000'000'000;
constexpr std::uint32_t kIpv4PrefixBits = 96;
constexpr std::uint8_t kIpv4Bytes = 20, kIpv6Bytes = 40, kGreBytes = 4, kGreKeyBytes = 4, kVxlanBytes = 8 + 8 + 14;

/// As the kernel has it: bits, then the address.
std::vector<std::uint8_t> keyOf(const SetPrefix& prefix, bool isIpv4) {
  const std::uint32_t length = isIpv4 ? prefix.length - kIpv4PrefixBits : prefix.length;
  const std::size_t skipped = isIpv4 ? 12 : 0;
  std::vector<std::uint8_t> key(sizeof length + sizeof prefix.address - skipped);
  std::memcpy(key.data(), &length, sizeof length);
  std::memcpy(key.data() + sizeof length, std::begin(prefix.address.bytes) + skipped, sizeof prefix.address - skipped);
  return key;
}

/// Those that every address of a family lies in.
SetPrefix wholeFamily(bool isIpv4) {
  SetPrefix all;
  if (!isIpv4) return all;
  all.address.bytes[10] = all.address.bytes[11] = 0xff;
  all.length = kIpv4PrefixBits;
  return all;
}

void pinAt(int fd, const std::string& path) {
  const int error = bpf_obj_pin(fd, path.c_str());
  if (error != 0) throw FilterError("cannot pin " + path + ": " + strerror(-error));
}

std::uint64_t monotonicNs() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::string callPath(const std::string& directory, bool hasFragments) {
  return directory + (hasFragments ? "/forward_call_pieces" : "/forward_call");
}

}  // namespace

forward_tunnel completed(forward_tunnel tunnel) {
  tunnel.is_ipv4 = isIpv4Mapped(tunnel.local.bytes) ? 1 : 0;
  if (isIpv4Mapped(tunnel.remote.bytes) != (tunnel.is_ipv4 != 0)) {
    throw FilterError("a tunnel has addresses of two families: local and remote must both be IPv4 or IPv6");
  }
  std::uint8_t headers = tunnel.is_ipv4 != 0 ? kIpv4Bytes : kIpv6Bytes;
  if (tunnel.kind == FORWARD_GRE) headers += kGreBytes;
  if (tunnel.kind == FORWARD_GRE && tunnel.has_key != 0) headers += kGreKeyBytes;
  if (tunnel.kind == FORWARD_VXLAN) headers += kVxlanBytes;
  tunnel.headers = headers;
  // A MAC address that is locally administered, and the same after each start.
  tunnel.source_mac[0] = 0x02;
  tunnel.source_mac[1] = 0xf1;
  std::copy(std::begin(tunnel.local.bytes) + 12, std::end(tunnel.local.bytes), std::begin(tunnel.source_mac) + 2);
  return tunnel;
}

Forwarder::Forwarder(std::vector<std::string> interfaces, const std::vector<ForwardTunnel>& tunnels,
                     const ForwardProgramOptions& program)
    : ports_(maps_, std::move(interfaces)), program_(program) {
  if (tunnels.size() > FORWARD_TUNNELS_MAX) {
    throw FilterError("at most " + std::to_string(FORWARD_TUNNELS_MAX) + " tunnels, not " +
                      std::to_string(tunnels.size()));
  }
  tunnels_ = static_cast<std::uint32_t>(tunnels.size());
  for (std::uint32_t i = 0; i < tunnels_; i++) {
    maps_.tunnelRows()[i] = completed(tunnels[i].form);
    for (const SetPrefix& prefix : tunnels[i].networks) tunnelPrefixes_.emplace_back(prefix, i + 1);
  }
  setNetworks(std::nullopt);
}

void Forwarder::write(ForwardMaps::Map map, Entries& now, Entries next) const {
  for (const auto& [key, value] : next) {
    const auto found = now.find(key);
    if (found != now.end() && found->second == value) continue;
    if (bpf_map_update_elem(maps_.fd(map), key.data(), &value, BPF_ANY) == 0) {
      now[key] = value;
      continue;
    }
    throw FilterError(std::string("cannot put a network into the table of forwarding: ") + strerror(errno) +
                      "; it has room for " + std::to_string(FORWARD_PREFIXES_MAX) + " of each family");
  }
  for (const auto& [key, value] : now) {
    if (!next.contains(key)) bpf_map_delete_elem(maps_.fd(map), key.data());
  }
  now = std::move(next);
}

void Forwarder::setNetworks(const std::optional<std::vector<SetPrefix>>& networks) {
  const std::lock_guard lock(mutex_);
  const bool hasPrefixes = networks || !tunnelPrefixes_.empty();
  Entries next4, next6;
  const auto add = [&](const SetPrefix& prefix, std::uint32_t value) {
    const bool isIpv4 = isIpv4Prefix(prefix);
    (isIpv4 ? next4 : next6)[keyOf(prefix, isIpv4)] = value;
  };
  if (networks) {
    for (const SetPrefix& prefix : *networks) add(prefix, FORWARD_NO_TUNNEL);
  } else if (hasPrefixes) {
    for (const bool isIpv4 : {true, false}) add(wholeFamily(isIpv4), FORWARD_NO_TUNNEL);
  }
  // A tunnel takes the place of a network of the same prefix.
  for (const auto& [prefix, number] : tunnelPrefixes_) add(prefix, number);
  write(ForwardMaps::prefixes4, entries4_, std::move(next4));
  write(ForwardMaps::prefixes6, entries6_, std::move(next6));
  __atomic_store_n(&maps_.headRow().has_prefixes, hasPrefixes ? 1U : 0U, __ATOMIC_RELEASE);
  voidKeptRoutes();
}

int Forwarder::callFd(bool hasFragments) {
  const std::lock_guard lock(mutex_);
  auto& program = hasFragments ? pieces_ : whole_;
  if (program) return program->callFd();
  ForwardProgramOptions options = program_;
  options.hasFragments = hasFragments;
  program.emplace(maps_, options);
  if (!pinnedIn_.empty()) pinAt(program->callFd(), callPath(pinnedIn_, hasFragments));
  return program->callFd();
}

void Forwarder::follow() {
  const std::lock_guard lock(mutex_);
  ports_.follow();
  const std::uint64_t until = choice_.isByDestination() ? monotonicNs() + kKeepingNs : 0;
  __atomic_store_n(&maps_.headRow().keeping_until_ns, until, __ATOMIC_RELEASE);
  voidKeptRoutes();
  // The kernel does not see packets that are sent into a tunnel.
  for (std::uint32_t i = 0; i < tunnels_; i++) {
    const forward_tunnel& tunnel = maps_.tunnelRows()[i];
    useNeighborTowards(std::span(tunnel.remote.bytes).subspan(tunnel.is_ipv4 != 0 ? 12 : 0));
  }
}

void Forwarder::voidKeptRoutes() { __atomic_add_fetch(&maps_.headRow().generation, 1U, __ATOMIC_RELEASE); }

void Forwarder::pin(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  pinAt(maps_.fd(ForwardMaps::stats), directory + "/" + kStatsName);
  // The kernel empties such a map once only programs hold it.
  if (whole_) pinAt(whole_->callFd(), callPath(directory, false));
  if (pieces_) pinAt(pieces_->callFd(), callPath(directory, true));
  pinnedIn_ = directory;
}

ForwardStatus Forwarder::status() const {
  const std::lock_guard lock(mutex_);
  return {.stats = ForwardMaps::statsOf(maps_.fd(ForwardMaps::stats)),
          .egress = ports_.egress(),
          .keepsRoutes = __atomic_load_n(&maps_.headRow().keeping_until_ns, __ATOMIC_ACQUIRE) > monotonicNs()};
}

}  // namespace floodwall
