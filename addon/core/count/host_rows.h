// The rows in which a worker counts, one for each host it sees, while the fold reads their counters.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/address.h"
#include "base/lazy_array.h"
#include "count/counters.h"
#include "count/wide_rows.h"
#include "parse/packet_parser.h"

namespace floodwall {

/// Epochs count folds in 30 bits and are never 0, so that a row's epoch leaves room for two flags and for "free".
inline constexpr std::uint32_t kEpochMask = 0x3fffffff;
inline constexpr std::uint32_t kFreeRow = 0;

[[nodiscard]] inline std::uint32_t nextEpoch(std::uint32_t epoch) noexcept {
  return epoch == kEpochMask ? 1 : epoch + 1;
}
/// Folds since `then`.
[[nodiscard]] inline std::uint32_t epochsSince(std::uint32_t then, std::uint32_t now) noexcept {
  return (now - then) & kEpochMask;
}

/// The counters that almost every packet needs, in one cache line.
struct alignas(64) HotRow {
  /// Set on hosts whose packets are sampled, and on hosts of which a packet is wanted for their profile; makes `epoch`
  /// differ from the worker's, so that only these pay for it.
  static constexpr std::uint32_t kWatched = 0x80000000, kProfiled = 0x40000000;

  Address key;
  /// The epoch of the last packet, and flags.
  std::uint32_t epoch;
  std::uint32_t packets[kClasses];
  /// tcp, udp, icmp, other.
  std::uint32_t bytes[4];
  std::uint32_t newFlows;
};
static_assert(sizeof(HotRow) == 64);

/// The counters that few packets need. Not written for a new host, so that its memory follows hosts with such packets.
struct ColdRow {
  std::uint32_t synBytes;
  std::uint32_t fragmentBytes;
  /// Where samples of a watched host go; of others without meaning.
  std::uint32_t watchSlot;
};
static_assert(sizeof(ColdRow) == 12);

struct alignas(64) OutgoingRow {
  Counters counters;
};

/// Adds to a counter of which this thread is the only writer; a reader on another thread sees the old or the new value.
inline void bump(std::uint32_t& counter, std::uint32_t by) noexcept {
  std::atomic_ref<std::uint32_t> shared(counter);
  shared.store(shared.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}
/// The same for a counter with another one that was bumped before it: who sees this one sees that one.
inline void publish(std::uint32_t& counter, std::uint32_t by) noexcept {
  std::atomic_ref<std::uint32_t> shared(counter);
  shared.store(shared.load(std::memory_order_relaxed) + by, std::memory_order_release);
}
[[nodiscard]] inline std::uint32_t peek(std::uint32_t& counter) noexcept {
  return std::atomic_ref<std::uint32_t>(counter).load(std::memory_order_relaxed);
}

inline void countPacket(Counters& counters, const Packet& packet, bool isNewFlow) noexcept {
  const auto add = [&](Class counted) {
    bump(counters.packets[static_cast<std::size_t>(counted)], 1);
    bump(counters.bytes[static_cast<std::size_t>(counted)], packet.wire);
  };
  add(packet.transport);
  if (packet.isSyn) add(Class::tcpSyn);
  if (packet.isFragment) add(Class::fragment);
  if (isNewFlow) bump(counters.newFlows, 1);
}

inline void addCounters(Counters& counters, const Counters& delta) noexcept {
  for (std::size_t i = 0; i < kClasses; i++) {
    bump(counters.packets[i], delta.packets[i]);
    bump(counters.bytes[i], delta.bytes[i]);
  }
  bump(counters.newFlows, delta.newFlows);
}

[[nodiscard]] inline Counters peekCounters(Counters& counters) noexcept {
  Counters seen;
  for (std::size_t i = 0; i < kClasses; i++) {
    seen.packets[i] = peek(counters.packets[i]);
    seen.bytes[i] = peek(counters.bytes[i]);
  }
  seen.newFlows = peek(counters.newFlows);
  return seen;
}

/// Only the worker has them other than as `const`. All that a const one gives may be read on any thread while the
/// worker counts.
class HostRows {
 public:
  HostRows(std::uint32_t capacity, bool countOutgoing)
      : hot_(capacity),
        cold_(capacity),
        outgoing_(countOutgoing ? capacity : 0),
        wide_{LazyArray<WideRow>(capacity), LazyArray<WideRow>(countOutgoing ? capacity : 0)} {}

  [[nodiscard]] HotRow& hot(std::uint32_t row) noexcept { return hot_[row]; }
  [[nodiscard]] ColdRow& cold(std::uint32_t row) noexcept { return cold_[row]; }
  [[nodiscard]] Counters& outgoing(std::uint32_t row) noexcept { return outgoing_[row].counters; }
  /// The counters of amounts that stand for more than one packet.
  [[nodiscard]] WideRow& wide(std::size_t direction, std::uint32_t row) noexcept { return wide_[direction][row]; }

  void countIncoming(std::uint32_t row, const Packet& packet, bool isNewFlow) noexcept {
    HotRow& counted = hot_[row];
    const auto transport = static_cast<std::size_t>(packet.transport);
    bump(counted.packets[transport], 1);
    bump(counted.bytes[transport], packet.wire);
    if (isNewFlow) bump(counted.newFlows, 1);
    if (packet.isSyn) {
      bump(cold_[row].synBytes, packet.wire);
      publish(counted.packets[static_cast<std::size_t>(Class::tcpSyn)], 1);
    }
    if (packet.isFragment) {
      bump(cold_[row].fragmentBytes, packet.wire);
      publish(counted.packets[static_cast<std::size_t>(Class::fragment)], 1);
    }
  }

  void addIncoming(std::uint32_t row, const Counters& delta) noexcept {
    HotRow& counted = hot_[row];
    for (std::size_t i = 0; i < 4; i++) bump(counted.bytes[i], delta.bytes[i]);
    bump(cold_[row].synBytes, delta.bytes[4]);
    bump(cold_[row].fragmentBytes, delta.bytes[5]);
    bump(counted.newFlows, delta.newFlows);
    for (std::size_t i = 0; i < kClasses; i++) publish(counted.packets[i], delta.packets[i]);
  }

  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(hot_.size()); }
  /// Address of a row that was handed over; it stays with its host until the fold has taken it.
  [[nodiscard]] const Address& addressOf(std::uint32_t row) const noexcept { return hot_[row].key; }
  /// `before` is what was seen last: bytes of SYNs and fragments change with their packets alone, and the cache line
  /// that holds them is left alone while there are none.
  [[nodiscard]] Counters incomingOf(std::uint32_t row, const Counters& before) const noexcept {
    Counters seen;
    HotRow& counted = hot_[row];
    for (std::size_t i = 0; i < 4; i++) seen.packets[i] = peek(counted.packets[i]);
    for (std::size_t i = 4; i < kClasses; i++) {
      seen.packets[i] = std::atomic_ref<std::uint32_t>(counted.packets[i]).load(std::memory_order_acquire);
    }
    for (std::size_t i = 0; i < 4; i++) seen.bytes[i] = peek(counted.bytes[i]);
    seen.bytes[4] = seen.packets[4] == before.packets[4] ? before.bytes[4] : peek(cold_[row].synBytes);
    seen.bytes[5] = seen.packets[5] == before.packets[5] ? before.bytes[5] : peek(cold_[row].fragmentBytes);
    seen.newFlows = peek(counted.newFlows);
    return seen;
  }
  [[nodiscard]] Counters outgoingOf(std::uint32_t row) const noexcept { return peekCounters(outgoing_[row].counters); }
  [[nodiscard]] Weighed wideOf(std::size_t direction, std::uint32_t row) const noexcept {
    return wide_[direction][row].peek();
  }

  void prefetchHot(std::uint32_t row) const noexcept { __builtin_prefetch(&hot_[row]); }
  void prefetchOutgoing(std::uint32_t row) const noexcept { __builtin_prefetch(&outgoing_[row]); }
  void prefetchWide(std::size_t direction, std::uint32_t row) const noexcept {
    __builtin_prefetch(&wide_[direction][row].often);
    __builtin_prefetch(&wide_[direction][row].seldom);
  }

  void commit(std::size_t mostBytes) const noexcept {
    hot_.commit(mostBytes);
    cold_.commit(mostBytes);
    outgoing_.commit(mostBytes);
  }

  [[nodiscard]] std::size_t residentBytes() const {
    return hot_.residentBytes() + cold_.residentBytes() + outgoing_.residentBytes() + wide_[0].residentBytes() +
           wide_[1].residentBytes();
  }

 private:
  LazyArray<HotRow> hot_;
  LazyArray<ColdRow> cold_;
  /// Empty where outgoing traffic is not counted.
  LazyArray<OutgoingRow> outgoing_;
  /// By direction.
  std::array<LazyArray<WideRow>, 2> wide_;
};

}  // namespace floodwall
