// Recent headers: which packets are kept, and rings that a worker writes while others read. Knows nothing of hosts;
// who reads looks into the headers.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/lazy_array.h"
#include "parse/frame.h"
#include "record_abi.h"

namespace floodwall {

inline constexpr std::size_t kHeaderBytes = RECORD_FRAME_BYTES;

/// Its bytes are what a slot of a ring holds.
struct Sample {
  /// Number of the packet in its shard, by which two rings' records of one packet are known.
  std::uint64_t serial = 0;
  /// The worker's epoch when it came.
  std::uint32_t epoch = 0;
  /// Packets that it stands for, of the network: those of the shard that it was drawn from, each times the number of
  /// packets that it stood for itself.
  std::uint32_t standsFor = 1;
  std::uint32_t wire = 0;
  /// Bytes of `data` that were captured, at most kHeaderBytes.
  std::uint8_t captured = 0;
  /// A filter_verdict; FILTER_VERDICTS: nothing here judged it.
  std::uint8_t verdict : 7 = FILTER_VERDICTS;
  /// Made of a flow record, which has no more of a header than addresses, protocol, ports, TCP flags and length.
  bool isMade : 1 = false;
  /// Fields that the exporter reported; 0: not known.
#define IN_SAMPLE(name, bits, ...) std::uint##bits##_t name = 0;
#include "flow_fields_abi.h"
  /// From the start of the Ethernet frame; a packet without one gets a header of zeros and its type.
  std::array<std::uint8_t, kHeaderBytes> data{};
};

/// Copies what the exporter reported: from a flow record to its sample, from there to what TypeScript reads.
template <typename From, typename To>
void copyReported(const From& from, To& to) noexcept {
#define IN_SAMPLE(name, ...) to.name = from.name;
#include "flow_fields_abi.h"
}

/// Chooses one packet in N at random, with N such that `target` packets are chosen in about a second. What stands for
/// several packets is chosen when one of them is: with a chance in proportion to them, and surely from N on (systematic
/// sampling with probabilities proportional to size; Madow, 1949).
class Sampler {
 public:
  explicit Sampler(std::uint32_t target = 1) : target_(target) {}

  [[nodiscard]] bool takes(std::uint64_t packets = 1) noexcept {
    seen_ += packets;
    if (packets <= skip_) {
      skip_ -= static_cast<std::uint32_t>(packets);
      return false;
    }
    choose(packets - skip_ - 1);
    return true;
  }
  /// One packet in this number is chosen.
  [[nodiscard]] std::uint32_t every() const noexcept { return every_; }
  /// The chance that one is chosen of what stands for this number of packets.
  [[nodiscard]] double chanceOf(std::uint64_t packets) const noexcept {
    return packets >= every_ ? 1 : static_cast<double>(packets) / every_;
  }
  /// Call at each epoch; `epochsPerSecond` is their nominal rate.
  void adapt(std::uint32_t epochsPerSecond) noexcept;

 private:
  /// `rest` packets follow at once on the one that is chosen.
  void choose(std::uint64_t rest) noexcept;

  std::uint32_t target_;
  std::uint32_t every_ = 1;
  std::uint32_t skip_ = 0;
  std::uint32_t taken_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t random_ = 0x9e3779b97f4a7c15;
};

/// A slot that one thread writes and others read without a lock: `version` is odd while it is written, and a reader
/// whose copy began and ended with the same even one has a whole record.
class SampleSlot {
 public:
  void write(const Sample& sample) noexcept;
  /// False for a slot that is empty or was written meanwhile.
  [[nodiscard]] bool read(Sample& sample) const noexcept;

 private:
  static constexpr std::size_t kWords = sizeof(Sample) / 8;
  static_assert(sizeof(Sample) % 8 == 0 && std::is_trivially_copyable_v<Sample>);
  std::atomic<std::uint64_t> version_;
  std::array<std::atomic<std::uint64_t>, kWords> words_;
};

/// `count` rings of `capacity` records each.
class SampleRings {
 public:
  SampleRings(std::uint32_t count, std::uint32_t capacity)
      : capacity_(capacity), written_(count), slots_(std::size_t{count} * capacity) {}

  /// The worker only. Fills into `sample` what the frame says.
  void write(std::uint32_t ring, const Frame& frame, Link link, Sample sample) noexcept;
  /// Any thread. Appends what the ring holds, in no order.
  void read(std::uint32_t ring, std::vector<Sample>& out) const;
  /// Any thread. Calls `visit(slot, sample)` for what the ring holds, in no order.
  template <typename Visit>
  void visit(std::uint32_t ring, Visit&& visit) const {
    Sample sample;
    for (std::uint32_t slot = 0; slot < capacity_; slot++) {
      if (readSlot(ring, slot, sample)) visit(slot, sample);
    }
  }
  /// Any thread. False for a slot that is empty or was written meanwhile.
  [[nodiscard]] bool readSlot(std::uint32_t ring, std::uint32_t slot, Sample& sample) const noexcept {
    return slots_[std::size_t{ring} * capacity_ + slot].read(sample);
  }

  /// The first ring's memory; the others' is committed as they are written.
  void commitFirst() const noexcept { slots_.commit(std::size_t{capacity_} * sizeof(SampleSlot)); }
  [[nodiscard]] std::size_t residentBytes() const { return slots_.residentBytes() + written_.residentBytes(); }

 private:
  std::uint32_t capacity_;
  LazyArray<std::uint32_t> written_;
  LazyArray<SampleSlot> slots_;
};

}  // namespace floodwall
