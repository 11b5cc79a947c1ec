// Sets of fields, as NetFlow v9 and IPFIX have them; and what all records of the sender say.
#pragma once

#include <array>
#include <span>

#include "big_endian.h"

namespace floodwall::telemetry {

inline constexpr std::uint8_t kUdp = 17;
inline constexpr std::uint32_t kInput = 1, kOutput = 2;
inline constexpr std::uint16_t kTemplate = 256, kOptionsTemplate = 257, kExtraTemplate = 300;
inline constexpr std::uint32_t kDomain = 1;
inline constexpr std::size_t kEthernet = 14;

/// An information element and its length.
struct Field {
  std::uint16_t element;
  std::uint16_t length;
};

inline void appendFields(Bytes& bytes, std::span<const Field> fields) {
  for (auto [element, length] : fields) {
    append16(bytes, element);
    append16(bytes, length);
  }
}

/// Sets the length of the set that begins there, padded to 4 bytes.
inline void endSet(Bytes& bytes, std::size_t begin) {
  while (bytes.size() % 4 != 0) append8(bytes, 0);
  put16(bytes.data() + begin + 2, static_cast<std::uint16_t>(bytes.size() - begin));
}

inline std::size_t beginSet(Bytes& bytes, std::uint16_t id) {
  std::size_t begin = bytes.size();
  append16(bytes, id);
  append16(bytes, 0);
  return begin;
}

}  // namespace floodwall::telemetry
