#include "open_source.h"

#include "arguments.h"
#include "capture/af_xdp_source.h"
#include "capture/mirror_tunnel_source.h"
#include "capture/pcap_file_source.h"
#include "capture/pcap_live_source.h"
#include "constants.h"
#include "inline/xdp_inline_source.h"

namespace floodwall::binding {
namespace {

/// SO_RCVBUF has an int, which the kernel doubles.
constexpr std::uint32_t kSocketBytesMost = 1U << 29;

XdpMode xdpModeOf(const Napi::Object& options) { return static_cast<XdpMode>(choiceOf(options, "xdpMode", kXdpModes)); }

std::vector<int> cpusOf(const Napi::Object& options) {
  const auto cpus = uint32sOf(options, "cpus", kCpuMax);
  return {cpus.begin(), cpus.end()};
}

AfXdpOptions afXdpOptions(const Napi::Object& options) {
  AfXdpOptions parsed{.interface = stringOf(options, "interface"),
                      .queues = std::nullopt,
                      .xdpMode = xdpModeOf(options),
                      .zeroCopy = static_cast<ZeroCopy>(choiceOf(options, "zeroCopy", kZeroCopies)),
                      .cpus = cpusOf(options)};
  if (options.Get("queues").IsNull()) return parsed;
  parsed.queues = uint32sOf(options, "queues", kQueueMax);
  if (parsed.queues->empty()) throw Napi::RangeError::New(options.Env(), "queues must be null or name a queue");
  return parsed;
}

MirrorTunnelOptions mirrorTunnelOptions(const Napi::Object& options) {
  MirrorTunnelOptions parsed{.name = stringOf(options, "name"),
                             .address = {},
                             .from = {},
                             .bufferBytes = uint32Of(options, "receiveBuffer"),
                             .cpus = cpusOf(options)};
  const auto address = bytesOf(options, "address"), from = bytesOf(options, "fromAddresses");
  const auto lengths = uint32sOf(options, "fromLengths", 128);
  if (address.size() != 16 || from.size() != lengths.size() * 16 || parsed.bufferBytes > kSocketBytesMost) {
    throw Napi::RangeError::New(options.Env(), "address, fromAddresses, fromLengths or receiveBuffer do not fit");
  }
  std::copy(address.begin(), address.end(), parsed.address.bytes.begin());
  for (std::size_t i = 0; i < lengths.size(); i++) {
    PrefixValue prefix{.address = {}, .length = static_cast<std::uint8_t>(lengths[i]), .value = 0};
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(i * 16), 16, prefix.address.bytes.begin());
    parsed.from.push_back(prefix);
  }
  return parsed;
}

ExternalSenders externalSendersOf(const Napi::Object& options) {
  ExternalSenders senders;
  if (!options.Get("isExternal").IsUndefined()) senders.areAll = booleanOf(options, "isExternal");
  if (options.Get("externalMacs").IsUndefined()) return senders;
  const auto bytes = bytesOf(options, "externalMacs");
  if (bytes.size() % sizeof(MacAddress) != 0 || bytes.size() > kExternalSendersMax * sizeof(MacAddress)) {
    throw Napi::RangeError::New(
        options.Env(), "externalMacs must be at most " + std::to_string(kExternalSendersMax) + " addresses of 6 bytes");
  }
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(MacAddress)) {
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), sizeof(MacAddress),
                senders.macs.emplace_back().begin());
  }
  return senders;
}

/// Its shards remove the configured encapsulations, whatever feeds them, and know the senders outside.
AddShard configured(const AddShard& addShard, const Napi::Object& options) {
  return [addShard, kinds = decapsulationOf(options), ports = vxlanPortsOf(options),
          external = externalSendersOf(options)] {
    std::shared_ptr<Shard> shard = addShard();
    shard->setDecapsulation(kinds, ports);
    shard->setExternalSenders(external);
    return shard;
  };
}

XdpInlineOptions inlineOptions(const Napi::Object& options, const EngineOptions& engine,
                               std::shared_ptr<KernelFilter> filter) {
  std::string interface = stringOf(options, "interface");
  if (filter && !filter->has(interface)) filter.reset();
  return {.interface = std::move(interface),
          .xdpMode = xdpModeOf(options),
          .sampleEvery = uint32Of(options, "sampleEvery"),
          .cpus = cpusOf(options),
          .maxHosts = engine.maxHosts,
          .countOutgoing = engine.countOutgoing && !externalSendersOf(options).areAll,
          .idleMs = engine.idleMs,
          .tickMs = engine.tickMs,
          .decapsulated = decapsulationOf(options),
          .vxlanPorts = vxlanPortsOf(options),
          .filter = std::move(filter)};
}

/// Shards that count each frame as `samplingRate` frames: of a source of sampled frames.
AddShard sampledShards(const Napi::Object& options, AddShard addShard) {
  if (options.Get("samplingRate").IsUndefined()) return addShard;
  const std::uint32_t rate = uint32Of(options, "samplingRate");
  if (rate == 0 || rate > kFrameSamplingRateMax) {
    throw Napi::RangeError::New(options.Env(),
                                "samplingRate must be from 1 to " + std::to_string(kFrameSamplingRateMax));
  }
  return [addShard = std::move(addShard), rate] {
    auto shard = addShard();
    shard->setSamplingRate(rate);
    return shard;
  };
}

}  // namespace

std::unique_ptr<CaptureSource> openSource(const Napi::Object& options, const EngineOptions& engine,
                                          std::shared_ptr<KernelFilter> filter, const AddShard& addAnyShard) {
  const AddShard addShard = configured(addAnyShard, options);
  switch (choiceOf(options, "kind", kSourceKinds)) {
    case 0:
      return openAfXdp(afXdpOptions(options), sampledShards(options, addShard));
    case 1:
      return openXdpInline(inlineOptions(options, engine, std::move(filter)), addShard);
    case 2:
      return openPcapLive({.interface = stringOf(options, "interface"), .cpus = cpusOf(options)},
                          sampledShards(options, addShard));
    case 4:
      return openMirrorTunnel(mirrorTunnelOptions(options), sampledShards(options, addShard));
    default: {
      const auto pace = static_cast<Pace>(choiceOf(options, "pace", kPaces));
      return openPcapFile(stringOf(options, "path"), pace, sampledShards(options, addShard));
    }
  }
}

}  // namespace floodwall::binding
