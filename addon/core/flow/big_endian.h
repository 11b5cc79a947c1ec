// Numbers in network order, as datagrams have them. Callers check bounds first.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

namespace floodwall {

using ByteSpan = std::span<const std::uint8_t>;

[[nodiscard]] inline std::uint16_t big16(const std::uint8_t* at) noexcept {
  return static_cast<std::uint16_t>(at[0] << 8 | at[1]);
}
[[nodiscard]] inline std::uint32_t big32(const std::uint8_t* at) noexcept {
  std::uint32_t value;
  std::memcpy(&value, at, 4);
  return std::endian::native == std::endian::little ? __builtin_bswap32(value) : value;
}
[[nodiscard]] inline std::uint64_t big64(const std::uint8_t* at) noexcept {
  std::uint64_t value;
  std::memcpy(&value, at, 8);
  return std::endian::native == std::endian::little ? __builtin_bswap64(value) : value;
}

}  // namespace floodwall
