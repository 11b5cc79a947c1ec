#include "filter/forward_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "program/xdp_attach.h"

namespace floodwall {
namespace {

struct MapForm {
  bpf_map_type type;
  std::size_t keyBytes;
  std::size_t valueBytes;
  std::uint32_t entries;
  std::uint32_t flags = 0;
};

constexpr std::array<MapForm, ForwardMaps::kMaps> kForms = {
    {{BPF_MAP_TYPE_ARRAY, sizeof(std::uint32_t), sizeof(forward_head), 1, BPF_F_MMAPABLE},
     {BPF_MAP_TYPE_ARRAY, sizeof(std::uint32_t), sizeof(forward_tunnel), FORWARD_TUNNELS_MAX, BPF_F_MMAPABLE},
     {BPF_MAP_TYPE_LPM_TRIE, sizeof(inline_prefix4), sizeof(std::uint32_t), FORWARD_PREFIXES_MAX, BPF_F_NO_PREALLOC},
     {BPF_MAP_TYPE_LPM_TRIE, sizeof(inline_prefix6), sizeof(std::uint32_t), FORWARD_PREFIXES_MAX, BPF_F_NO_PREALLOC},
     {BPF_MAP_TYPE_HASH, sizeof(std::uint32_t), sizeof(forward_port), FORWARD_PORTS_MAX},
     {BPF_MAP_TYPE_DEVMAP_HASH, sizeof(std::uint32_t), sizeof(std::uint32_t), FORWARD_PORTS_MAX},
     {BPF_MAP_TYPE_PERCPU_ARRAY, sizeof(std::uint32_t), sizeof(forward_stats), 1},
     {BPF_MAP_TYPE_PERCPU_ARRAY, sizeof(std::uint32_t), sizeof(forward_route_set), FORWARD_ROUTE_SETS}}};

UniqueFd made(const MapForm& form, const char* name) {
  LIBBPF_OPTS(bpf_map_create_opts, options);
  options.map_flags = form.flags;
  UniqueFd fd(bpf_map_create(form.type, name, static_cast<std::uint32_t>(form.keyBytes),
                             static_cast<std::uint32_t>(form.valueBytes), form.entries, &options));
  if (fd) return fd;
  if (errno == EPERM)
    throw FilterError("no permission to make the maps of forwarding: " + std::string(kPermissionRemedy));
  throw FilterError("cannot make the map " + std::string(name) + ": " + strerror(errno) +
                    "; free memory, or set dataplane.forward: kernel");
}

UniqueFd copyOf(const UniqueFd& fd) {
  UniqueFd copy(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) throw FilterError(std::string("cannot hold a map of forwarding twice: ") + strerror(errno));
  return copy;
}

}  // namespace

ForwardMaps::ForwardMaps() {
  for (std::size_t i = 0; i < kMaps; i++) maps_.at(i) = made(kForms.at(i), kNames.at(i));
  headRows_ = RowMap(copyOf(maps_[head]), true);
  tunnelRows_ = RowMap(copyOf(maps_[tunnels]), true);
  headRow() = {};
  headRow().schema = FORWARD_SCHEMA;
}

void ForwardMaps::use(bpf_object* program) const {
  for (std::size_t i = 0; i < kMaps; i++) {
    bpf_map* map = bpf_object__find_map_by_name(program, kNames.at(i));
    const int error = map == nullptr ? -ENOENT : bpf_map__reuse_fd(map, maps_.at(i).get());
    if (error == 0) continue;
    throw FilterError(std::string("cannot give the forwarding program its map ") + kNames.at(i) + ": " +
                      strerror(-error));
  }
}

forward_stats ForwardMaps::statsOf(int statsFd) {
  constexpr std::size_t kWords = sizeof(forward_stats) / sizeof(__u64);
  std::vector<forward_stats> ofCpus(static_cast<std::size_t>(std::max(1, libbpf_num_possible_cpus())));
  const __u32 slot = 0;
  forward_stats sum{};
  if (bpf_map_lookup_elem(statsFd, &slot, ofCpus.data()) != 0) return sum;
  auto* to = reinterpret_cast<__u64*>(&sum);
  for (const forward_stats& one : ofCpus) {
    const auto* from = reinterpret_cast<const __u64*>(&one);
    for (std::size_t i = 0; i < kWords; i++) to[i] += from[i];
  }
  return sum;
}

}  // namespace floodwall
