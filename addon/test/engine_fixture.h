// An engine with networks, a clock that the test turns, and readers that return values instead of columns.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "count/engine.h"
#include "count/screens.h"
#include "packets.h"

namespace floodwall::test {

struct Prefix {
  Address address;
  std::uint8_t length;
  std::uint32_t network = 0;
  std::uint32_t group = 0;
};

struct HostRow {
  Address address;
  std::uint32_t group;
  std::uint32_t network;
  double idleMs;
  HostRates rates;
  RowWeights weights;

  [[nodiscard]] double incoming(Metric metric) const { return rates[static_cast<std::size_t>(metric)]; }
  [[nodiscard]] double outgoing(Metric metric) const { return rates[kMetrics + static_cast<std::size_t>(metric)]; }
};

class Columns {
 public:
  explicit Columns(std::size_t rows)
      : addresses_(rows * 16),
        groups_(rows),
        networks_(rows),
        idleMs_(rows),
        incoming_(rows * kMetrics),
        outgoing_(rows * kMetrics),
        weights_(rows * kWeights) {}
  HostColumns spans() { return {addresses_, groups_, networks_, idleMs_, incoming_, outgoing_, weights_}; }
  [[nodiscard]] HostRow row(std::size_t i) const {
    HostRow row{{}, groups_[i], networks_[i], idleMs_[i], {}, {}};
    std::copy_n(&addresses_[i * 16], 16, row.address.bytes.begin());
    std::copy_n(&incoming_[i * kMetrics], kMetrics, row.rates.begin());
    std::copy_n(&outgoing_[i * kMetrics], kMetrics, row.rates.begin() + kMetrics);
    std::copy_n(&weights_[i * kWeights], kWeights, row.weights.begin());
    return row;
  }

 private:
  std::vector<std::uint8_t> addresses_;
  std::vector<std::uint32_t> groups_, networks_;
  std::vector<double> idleMs_, incoming_, outgoing_, weights_;
};

inline void setNetworks(Engine& engine, const std::vector<Prefix>& prefixes) {
  std::vector<std::uint8_t> addresses, lengths;
  std::vector<std::uint32_t> networks, groups;
  std::uint32_t networkCount = 0, groupCount = 0;
  for (const Prefix& prefix : prefixes) {
    addresses.insert(addresses.end(), prefix.address.bytes.begin(), prefix.address.bytes.end());
    lengths.push_back(prefix.length);
    networks.push_back(prefix.network);
    groups.push_back(prefix.group);
    networkCount = std::max(networkCount, prefix.network + 1);
    groupCount = std::max(groupCount, prefix.group + 1);
  }
  engine.setNetworks({addresses, lengths, networks, groups, networkCount, groupCount});
}

/// 10.1.0.0/16 as network 0 in group 0, and 2001:db8:1::/48 as network 1 in group 1.
inline std::vector<Prefix> usualNetworks() { return {{ipv4(kProtected), 112, 0, 0}, {ipv6(1, 0), 48, 1, 1}}; }

class EngineFixture {
 public:
  static constexpr std::uint64_t kMs = 1'000'000;

  explicit EngineFixture(EngineOptions options = {}) : engine(options), tickNs_(options.tickMs * kMs) {
    setNetworks(engine, usualNetworks());
    shard = engine.addShard();
  }

  /// Counts the frame this number of times on the one shard, which is idle before and after.
  void count(const Bytes& bytes, std::uint64_t times = 1, Link link = Link::ethernet) {
    const std::vector<Frame> frames(1, frameOf(bytes));
    shard->leaveIdle();
    for (; times != 0; times--) shard->countFrames(frames, link);
    shard->enterIdle();
  }
  TickSummary tick(unsigned times = 1) {
    TickSummary summary;
    for (; times != 0; times--) summary = engine.fold(nowNs += tickNs_);
    return summary;
  }

  [[nodiscard]] std::optional<HostRow> host(const Address& address) const {
    Columns columns(1);
    if (!engine.readHost(address, columns.spans())) return std::nullopt;
    return columns.row(0);
  }
  [[nodiscard]] double pps(const Address& address) const {
    const auto row = host(address);
    return row ? row->incoming(Metric::pps) : -1;
  }
  [[nodiscard]] HostRow group(std::uint32_t number) const {
    Columns columns(number + 1);
    engine.readGroups(columns.spans());
    return columns.row(number);
  }
  [[nodiscard]] std::vector<HostRow> screened(std::size_t capacity = 10'000) const {
    Columns columns(capacity);
    const std::uint32_t count = engine.readScreened(columns.spans());
    std::vector<HostRow> rows;
    for (std::size_t i = 0; i < std::min<std::size_t>(count, capacity); i++) rows.push_back(columns.row(i));
    return rows;
  }
  [[nodiscard]] std::vector<HostRow> hosts(std::size_t chunk = 1000) const {
    std::vector<HostRow> rows;
    Columns columns(chunk);
    for (std::int64_t cursor = 0; cursor >= 0;) {
      const HostChunk read = engine.readHosts(cursor, columns.spans());
      for (std::size_t i = 0; i < read.count; i++) rows.push_back(columns.row(i));
      cursor = read.next;
    }
    return rows;
  }

  Engine engine;
  std::shared_ptr<Shard> shard;
  std::uint64_t nowNs = 1'000'000'000'000;

 private:
  std::uint64_t tickNs_;
};

}  // namespace floodwall::test
