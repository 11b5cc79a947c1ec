// Numbers in network byte order.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace floodwall::telemetry {

using Bytes = std::vector<std::uint8_t>;

template <typename Number>
void put(std::uint8_t* at, Number value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    at[i] = static_cast<std::uint8_t>(value >> (8 * (sizeof(Number) - 1 - i)));
  }
}

template <typename Number>
void append(Bytes& bytes, Number value) {
  bytes.resize(bytes.size() + sizeof(Number));
  put(bytes.data() + bytes.size() - sizeof(Number), value);
}

inline std::uint32_t get16(const std::uint8_t* at) { return static_cast<std::uint32_t>(at[0] << 8 | at[1]); }

inline void put16(std::uint8_t* at, std::uint16_t value) { put(at, value); }
inline void put32(std::uint8_t* at, std::uint32_t value) { put(at, value); }
inline void put64(std::uint8_t* at, std::uint64_t value) { put(at, value); }
inline void append8(Bytes& bytes, std::uint8_t value) { bytes.push_back(value); }
inline void append16(Bytes& bytes, std::uint16_t value) { append(bytes, value); }
inline void append32(Bytes& bytes, std::uint32_t value) { append(bytes, value); }
inline void append64(Bytes& bytes, std::uint64_t value) { append(bytes, value); }

}  // namespace floodwall::telemetry
