#include "inline/inline_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/source_error.h"
#include "filter/filter_program.h"
#include "filter/forward_program.h"
#include "inline/inline_networks.h"
// The skeleton needs the structs of inline_abi.h and filter_abi.h.
#include "xdp_inline.skel.h"

namespace floodwall {
namespace {

/// Flow sets of all CPUs together, 16 MiB: receive-side scaling gives each CPU its share of the flows.
constexpr std::uint32_t kFlowSetsTotal = 1U << 20;
constexpr std::uint32_t kFlowSetsMost = 1U << 19, kFlowSetsLeast = 1U << 14;

/// Ways of a full table that are taken, of 16: then 4 hosts in 1,000 find their bucket full.
constexpr std::uint32_t kWaysTaken = 8;

std::uint32_t possibleCpus() { return static_cast<std::uint32_t>(std::max(1, libbpf_num_possible_cpus())); }

void check(int error, const char* what) {
  if (error >= 0) return;
  throw SourceError(std::string("cannot ") + what + ": " + strerror(-error));
}

}  // namespace

void InlineProgram::Close::operator()(xdp_inline_bpf* skeleton) const { xdp_inline_bpf__destroy(skeleton); }

InlineProgram::InlineProgram(const InlineProgramOptions& options) : options_(options) {
  options_.maxHosts = std::min(options_.maxHosts, std::uint32_t{INLINE_ROWS_MAX});
  prepareBpf();
  skeleton_.reset(xdp_inline_bpf__open());
  if (!skeleton_) throw SourceError(std::string("cannot open the XDP counter: ") + strerror(errno));
  configure();
  load();
  if (!options_.isTrial) openTable();
}

void InlineProgram::configure() {
  // The skeleton declares .rodata const because it is so once loaded; before that it is ours to fill in.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  inline_settings& settings = const_cast<inline_settings&>(skeleton_->rodata->settings);
  std::random_device random;
  for (__u32& word : settings.flow_seed) word = random();
  for (__u32& word : settings.host_seed) word = random();
  settings.cpus = possibleCpus();
  const std::uint32_t buckets = std::bit_ceil((options_.maxHosts + kWaysTaken - 1) / kWaysTaken);
  settings.near_buckets = std::min(buckets, std::uint32_t{INLINE_NEAR_BUCKETS});
  settings.far_buckets = buckets > INLINE_NEAR_BUCKETS ? buckets : 0;
  settings.chunks = (options_.maxHosts + INLINE_CHUNK_ROWS - 1) / INLINE_CHUNK_ROWS;
  settings.flow_sets = std::clamp(std::bit_floor(kFlowSetsTotal / possibleCpus()), kFlowSetsLeast, kFlowSetsMost);
  settings.sample_every = options_.sampleEvery;
  settings.counts_outgoing = options_.countOutgoing ? 1 : 0;
  settings.has_fragments = options_.hasFragments ? 1 : 0;
  settings.filters = options_.filter != nullptr ? 1 : 0;
  settings.decapsulated = options_.decapsulated.bits();
  std::copy_n(options_.vxlanPorts.all().begin(), VXLAN_PORTS_MAX, settings.vxlan_ports);
  settings.forwards = options_.forwardCall >= 0 ? 1 : 0;
  if (options_.hasFragments) bpf_program__set_flags(skeleton_->progs.xdp_inline, BPF_F_XDP_HAS_FRAGS);

  auto& maps = skeleton_->maps;
  // The verifier looks at the sizes of values, and not at how many there are.
  const auto entries = [&](std::uint32_t count) { return options_.isTrial ? 1 : count; };
  bpf_map__set_max_entries(maps.flow_sets, entries(settings.flow_sets * settings.cpus));
  bpf_map__set_max_entries(maps.lanes, lanes());
  bpf_map__set_max_entries(maps.buckets, entries(lanes() * (settings.near_buckets + settings.far_buckets)));
  bpf_map__set_max_entries(maps.row_chunks, entries(lanes() * settings.chunks));
  // Shown to libbpf as a map: libbpf 1.5 crashes when the size of an inner map is set.
  rowsModel_ = InlineNetworks({}, 0, lanes()).counts;
  check(bpf_map__set_inner_map_fd(maps.network_rows, rowsModel_.get()), "size the counts of networks");
  if (options_.filter != nullptr) useFilterMaps(skeleton_->obj, *options_.filter);
  if (options_.forwardCall >= 0) useForwardCall(skeleton_->obj, options_.forwardCall);
}

void InlineProgram::load() {
  std::string name = "the XDP counter (xdp_inline";
  if (options_.filter != nullptr) name += ", filtering";
  if (options_.countOutgoing) name += ", counting what hosts send";
  if (!options_.decapsulated.isEmpty()) name += ", taking tunnels apart";
  if (skeleton_->rodata->settings.far_buckets > 0) name += ", many hosts";
  const auto refusal = loadProgram(skeleton_->skeleton, {.name = name + fragmentsText(options_.hasFragments),
                                                         .alternative = "capture a mirror port with backend pcap",
                                                         .lessMemory = "lower capture.max_hosts",
                                                         .size = options_.size});
  if (refusal) throw SourceError(*refusal);
}

void InlineProgram::openTable() {
  const inline_settings& settings = skeleton_->rodata->settings;
  const auto& maps = skeleton_->maps;
  table_.emplace(InlineTable::Maps{.lanes = bpf_map__fd(maps.lanes),
                                   .buckets = bpf_map__fd(maps.buckets),
                                   .chunks = bpf_map__fd(maps.row_chunks)},
                 InlineTable::Shape{.lanes = lanes(),
                                    .maxRows = options_.maxHosts,
                                    .nearBuckets = settings.near_buckets,
                                    .farBuckets = settings.far_buckets,
                                    .chunks = settings.chunks,
                                    .seed = settings.host_seed});
}

std::uint32_t InlineProgram::lanes() const noexcept { return possibleCpus() * (options_.countOutgoing ? 2 : 1); }

void InlineProgram::setNetworks(std::span<const PrefixValue> prefixes, std::uint32_t networkCount) {
  InlineNetworks made(prefixes, networkCount, lanes());
  inline_filter& live = skeleton_->bss->network_filter;
  // While the tries change over, what either of them may hold gets through the filter.
  made.addTo(live);
  const __u32 slot = 0;
  auto put = [&](bpf_map* outer, const UniqueFd& inner) {
    const int fd = inner.get();
    check(bpf_map_update_elem(bpf_map__fd(outer), &slot, &fd, BPF_ANY), "replace the networks in the kernel");
  };
  put(skeleton_->maps.network_rows, made.counts);
  put(skeleton_->maps.networks4, made.trie4);
  put(skeleton_->maps.networks6, made.trie6);
  made.writeTo(live);
  networkCounts_ = std::move(made.counts);
}

void InlineProgram::setFlowEpoch(std::uint32_t epoch) noexcept {
  __atomic_store_n(&skeleton_->bss->flow_epoch, epoch, __ATOMIC_RELAXED);
}

int InlineProgram::programFd() const { return bpf_program__fd(skeleton_->progs.xdp_inline); }

int InlineProgram::samplesFd() const { return bpf_map__fd(skeleton_->maps.samples); }

inline_stats InlineProgram::stats() const {
  constexpr std::size_t kWords = sizeof(inline_stats) / sizeof(__u64);
  std::vector<inline_stats> ofCpus(possibleCpus());
  const __u32 slot = 0;
  inline_stats sum{};
  if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.stats), &slot, ofCpus.data()) != 0) return sum;
  auto* to = reinterpret_cast<__u64*>(&sum);
  for (const inline_stats& one : ofCpus) {
    const auto* from = reinterpret_cast<const __u64*>(&one);
    for (std::size_t i = 0; i < kWords; i++) to[i] += from[i];
  }
  return sum;
}

}  // namespace floodwall
