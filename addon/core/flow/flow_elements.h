// The place of an information element in records here, by the table of fields (abi/flow_fields_abi.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace floodwall {

/// A number of a record, of at most 8 bytes whatever its element's usual length (RFC 7011, 6.2).
enum class Slot : std::uint8_t {
  none,
#define NUMBER(name, ...) name,
#include "flow_fields_abi.h"
  count,
};
inline constexpr std::size_t kSlots = static_cast<std::size_t>(Slot::count);

/// Bytes of a record that are no number.
enum class Part : std::uint8_t {
  none,
#define PART(name, ...) name,
#include "flow_fields_abi.h"
  count,
};
inline constexpr std::size_t kParts = static_cast<std::size_t>(Part::count);
/// The length that each must have; 0: any.
inline constexpr std::array<std::uint16_t, kParts> kPartBytes = {
    0,
#define PART(name, bytes, ...) bytes,
#include "flow_fields_abi.h"
};

/// How `start` and `end` give the time; a later one is preferred to an earlier where a template has several.
enum class TimeForm : std::uint8_t { none, deltaUs, seconds, uptimeMs, eventMs, ms, us, ns };

/// The place of an element; at most one of slot and part is set.
struct Element {
  Slot slot = Slot::none;
  Part part = Part::none;
  TimeForm time = TimeForm::none;
};

inline constexpr std::uint32_t kNoEnterprise = 0;
/// Elements of a flow's other direction (RFC 5103, 6.1).
inline constexpr std::uint32_t kReverseEnterprise = 29305;
/// VMware's elements of the packet within a tunnel, beside the usual ones of the packet around it (NSX and the
/// distributed switch: elements 880 to 887 of VMware's document on IPFIX templates).
inline constexpr std::uint32_t kVmwareEnterprise = 6876;
/// Cisco's elements of connections, of IOS XE's Application Visibility and Control ("connection client ipv4 address"
/// and so on; Catalyst switches have no others in their records of applications).
inline constexpr std::uint32_t kCiscoEnterprise = 9;

[[nodiscard]] Element elementOf(std::uint32_t enterprise, std::uint16_t number) noexcept;
/// The meaning of an element that a template has once more: it is of the packet within a tunnel, since occurrences are
/// in the order of the layers (RFC 7011, 8). Nothing for an element that has one meaning however often it is there.
[[nodiscard]] Element innerOf(const Element& outer) noexcept;
/// A scope of NetFlow v9, whose types are not elements (RFC 3954, 6.1).
[[nodiscard]] Element netflow9ScopeOf(std::uint16_t type) noexcept;

}  // namespace floodwall
