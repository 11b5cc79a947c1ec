// Where the fields that count lie in the records of one template: made once when the template comes, so that a record
// of fixed length costs one load, one shift and one store a field.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <vector>

#include "flow/big_endian.h"
#include "flow/flow_elements.h"

namespace floodwall {

/// A number is loaded as the 8 bytes that end where it ends, whatever its length, and what is before it is shifted out.
/// The bytes before a record's first field are those of its set and message, so nothing outside of them is read.
inline constexpr std::size_t kBytesBeforeRecords = 8;

struct NumberField {
  /// Place of these 8 bytes, from the record's start; negative for a field less than 8 bytes from it.
  std::int32_t at;
  Slot slot;
  std::uint8_t shift;
};
struct PartField {
  std::uint16_t offset = 0;
  /// 0: the record has no such part.
  std::uint16_t length = 0;
};

struct RecordLayout {
  std::vector<NumberField> numbers;
  std::array<PartField, kParts> parts{};
  std::bitset<kSlots> present;
  TimeForm start = TimeForm::none;
  TimeForm end = TimeForm::none;

  [[nodiscard]] bool has(Slot slot) const noexcept { return present[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] PartField part(Part part) const noexcept { return parts[static_cast<std::size_t>(part)]; }
  /// Keeps what it has allocated.
  void clear() noexcept;
  /// False if an element that a record cannot do without has a length that it cannot have: then it is left out.
  bool place(const Element& element, std::uint32_t offset, std::uint16_t length);
  /// After the last field. Where records count what initiator and responder sent, and name these as client and server,
  /// they are source and destination: the packet that the record names besides may be of either way.
  void useConnection();

 private:
  void replace(Slot slot, Slot by);
  bool placeInner(const Element& element, std::uint32_t offset, std::uint16_t length);
};

inline constexpr std::uint16_t kVariableLength = 0xffff;

/// A field, or several of fixed length in a row that all are stepped over.
struct TemplateField {
  Element element;
  std::uint16_t length;
};

/// A field that makes all records of its template useless.
struct FieldDefect {
  std::uint32_t number;
  std::uint16_t length;
};

/// When records were decoded by something, ms since 1970; 0: never.
struct Use {
  std::uint64_t firstMs = 0;
  std::uint64_t lastMs = 0;

  void note(std::uint64_t nowMs) noexcept {
    if (lastMs == 0) firstMs = nowMs;
    lastMs = nowMs;
  }
};

struct FlowTemplate {
  std::uint16_t id = 0;
  bool isOptions = false;
  bool isVariable = false;
  /// Whether records have what makes a rate: it is looked up elsewhere if not.
  bool hasRate = false;
  /// It took the place of one that said rates of another scope: these are to be forgotten when its records come.
  bool replacesRates = false;
  /// Records that show that elements 23 and 24 count the way back; see RecordMaker.
  std::uint8_t backProofs = 0;
  /// Enterprise number of the first element of a vendor's own; 0: it has none.
  std::uint32_t vendor = 0;
  /// Length of a record; the least if `isVariable`.
  std::uint32_t length = 0;
  RecordLayout layout;
  /// All of them, for records of variable length; else none.
  std::vector<TemplateField> fields;
  std::optional<FieldDefect> defect;
  /// As it came: the same again changes nothing.
  std::vector<std::uint8_t> definition;
  /// When it came last.
  std::uint64_t seenMs = 0;
  Use use;

  [[nodiscard]] std::size_t memoryBytes() const noexcept;
};

/// Finds the fields of one record of variable length (RFC 7011, 7), and returns its length; 0 if it ends too soon.
/// `layout` is overwritten and keeps its memory.
[[nodiscard]] std::uint32_t resolveLayout(const FlowTemplate& flowTemplate, ByteSpan bytes, RecordLayout& layout);

}  // namespace floodwall
