// Template records of NetFlow v9 (RFC 3954, 5.2 and 6.1) and IPFIX (RFC 7011, 3.4), and what is made of them.
#pragma once

#include <cstdint>
#include <memory>

#include "flow/big_endian.h"
#include "flow/record_layout.h"

namespace floodwall {

enum class TemplateSet : std::uint8_t { netflow9, netflow9Options, ipfix, ipfixOptions };
[[nodiscard]] inline bool isOptionsSet(TemplateSet set) noexcept {
  return set == TemplateSet::netflow9Options || set == TemplateSet::ipfixOptions;
}

/// One template record at the start of a set's content.
struct TemplateRecord {
  enum class Kind : std::uint8_t {
    definition,
    withdrawal,
    /// The rest of the set is filling.
    padding,
    /// It ends before its fields do, or has more than kTemplateFieldsMax.
    bad,
  };
  Kind kind = Kind::bad;
  std::uint16_t id = 0;
  std::uint16_t fields = 0;
  std::uint16_t scopes = 0;
  /// The whole record.
  ByteSpan bytes;
  /// The fields alone.
  ByteSpan specifiers;
};

[[nodiscard]] TemplateRecord readTemplateRecord(ByteSpan content, TemplateSet set) noexcept;
[[nodiscard]] std::uint64_t digestOf(ByteSpan bytes) noexcept;
/// Null for a template by which no record could be separated from the next: without any length, or of more than 64 KiB.
[[nodiscard]] std::unique_ptr<FlowTemplate> makeTemplate(const TemplateRecord& record, TemplateSet set);

}  // namespace floodwall
