// The parts of an exporter's datagrams that were not understood, counted by reason, in words that name set or field.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace floodwall {

/// The loss by each is in its comment.
enum class UndecodedKind : std::uint8_t {
  /// A datagram of no known protocol.
  version,
  /// A datagram whose header does not agree with its size.
  datagram,
  /// The rest of a datagram, from a set or sample whose length cannot be.
  length,
  /// A set of a number that is reserved.
  set,
  /// A set whose template did not come in time.
  templateUnknown,
  /// A set that waited for its template when no more could be kept.
  templateRoom,
  /// A template that cannot be used.
  badTemplate,
  /// Templates or domains beyond the bounds; their records are lost.
  bound,
  /// Records of a template whose field has a length that its element cannot have.
  fieldLength,
  /// Records that name no destination address.
  withoutAddress,
  /// A record or a sample that ends before its fields do.
  truncatedRecord,
  /// A sampled header that cannot be parsed, or of a kind that is not IP.
  header,
  /// sFlow samples of another format than those of RFC 3176 and sFlow v5.
  sampleFormat,
};
inline constexpr std::size_t kUndecodedKinds = static_cast<std::size_t>(UndecodedKind::sampleFormat) + 1;

/// Labels of metrics, in the order of UndecodedKind.
inline constexpr std::array<const char*, kUndecodedKinds> kUndecodedKindNames = {
    "version",          "datagram",     "length",        "set",          "template_unknown",
    "template_room",    "bad_template", "bound",         "field_length", "without_address",
    "truncated_record", "header",       "sample_format",
};

/// Different reasons that are kept of an exporter; more are counted by their kind alone.
inline constexpr std::size_t kUndecodedReasonsMax = 32;

struct UndecodedReason {
  UndecodedKind kind{};
  /// The meaning of these depends on the kind; see Undecoded::textOf.
  std::uint32_t domain = 0;
  std::uint32_t number = 0;
  std::uint32_t detail = 0;
  std::uint64_t count = 0;
};

class Undecoded {
 public:
  /// Not for the steady state: an unusual record costs a search through the reasons.
  void count(UndecodedKind kind, std::uint32_t domain, std::uint32_t number, std::uint32_t detail,
             std::uint64_t times = 1);

  [[nodiscard]] const std::array<std::uint64_t, kUndecodedKinds>& byKind() const noexcept { return byKind_; }
  [[nodiscard]] std::span<const UndecodedReason> reasons() const noexcept { return reasons_; }
  /// For people, as "template 256 of domain 0 unknown".
  [[nodiscard]] static std::string textOf(const UndecodedReason& reason);

 private:
  std::array<std::uint64_t, kUndecodedKinds> byKind_{};
  std::vector<UndecodedReason> reasons_;
};

}  // namespace floodwall
