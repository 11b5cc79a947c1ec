// The losses on the way from an exporter, by the gaps in its sequence numbers.
#pragma once

#include <array>
#include <cstdint>

namespace floodwall {

enum class Arrival : std::uint8_t {
  inOrder,
  /// After one that was sent later; not a repeated number.
  late,
  /// Numbers begin again: the exporter has restarted.
  restart,
};

/// Numbers that grow by the units that were sent: flows (NetFlow v5), data records (IPFIX, RFC 7011, 3.1), datagrams
/// (NetFlow v9, RFC 3954, 5.1, and sFlow) or samples (sFlow), modulo 2^32.
///
/// A gap counts as lost when what is missing has not come within kReorderMs, so that the count never goes back.
class SequenceTracker {
 public:
  static constexpr std::uint32_t kReorderMs = 1000;

  /// Call it for each number, then advance(). `hasRestarted`: the exporter itself shows that it has.
  Arrival arrive(std::uint32_t number, std::uint64_t nowMs, bool hasRestarted) noexcept;
  /// How much the thing that arrived moves the number on.
  void advance(std::uint32_t units) noexcept;
  /// The same where that is not known: the next number is taken as it is.
  void advanceUnknown() noexcept { isKnown_ = false; }
  /// Units lost since the last call.
  std::uint32_t takeLost(std::uint64_t nowMs) noexcept;
  /// Leaves out the gaps that still wait: they were none.
  void forgetGaps() noexcept;
  /// Whether the number comes next, or at most `later` after it.
  [[nodiscard]] bool isNext(std::uint32_t number, std::uint32_t later) const noexcept {
    return isKnown_ && number - next_ <= later;
  }
  /// The gap before the last number; 0 for one in order.
  [[nodiscard]] std::uint32_t skipped() const noexcept { return skipped_; }

 private:
  struct Gap {
    std::uint32_t first = 0;
    std::uint32_t length = 0;
    /// Numbers among them that have not come.
    std::uint32_t left = 0;
    std::uint32_t sinceMs = 0;
  };
  /// A number so far ahead or behind is no gap and no late datagram.
  static constexpr std::uint32_t kGapMax = 1U << 24, kLateMax = 1U << 16;
  /// A restarted exporter counts from about 0, and datagrams of before may have been lost.
  static constexpr std::uint32_t kNearZero = 1U << 10;
  static constexpr std::uint8_t kNone = 0xff;

  void open(std::uint32_t first, std::uint32_t length, std::uint64_t nowMs) noexcept;
  /// A place in gaps_, or kNone.
  [[nodiscard]] std::uint8_t gapOf(std::uint32_t number) const noexcept;

  std::array<Gap, 4> gaps_{};
  std::uint32_t next_ = 0;
  std::uint32_t current_ = 0;
  std::uint32_t skipped_ = 0;
  std::uint32_t lost_ = 0;
  std::uint8_t filled_ = kNone;
  bool isKnown_ = false;
  bool isLate_ = false;
  bool hasGaps_ = false;
};

/// Digests of the last datagrams, to know one that came twice. A repeated number alone does not show it: some exporters
/// never count theirs.
class RecentDatagrams {
 public:
  /// True if it was already there.
  bool note(std::uint32_t digest) noexcept {
    for (const std::uint32_t known : digests_) {
      if (known == digest) return true;
    }
    digests_[at_++ % digests_.size()] = digest;
    return false;
  }

 private:
  std::array<std::uint32_t, 16> digests_{};
  std::uint32_t at_ = 0;
};

}  // namespace floodwall
