// Numbers and bytes as they are kept over a restart, big endian. What is read beyond the end is 0, and `isWhole` is
// false then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "flow/big_endian.h"

namespace floodwall {

class SavedWriter {
 public:
  explicit SavedWriter(std::vector<std::uint8_t>& to) : to_(to) {}

  void number(std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = bytes; i-- > 0;) to_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  void bytes(ByteSpan content) { to_.insert(to_.end(), content.begin(), content.end()); }
  [[nodiscard]] std::size_t size() const noexcept { return to_.size(); }
  /// Sets two bytes that are known later.
  void set16(std::size_t at, std::uint16_t value) noexcept {
    to_[at] = static_cast<std::uint8_t>(value >> 8);
    to_[at + 1] = static_cast<std::uint8_t>(value);
  }

 private:
  std::vector<std::uint8_t>& to_;
};

class SavedReader {
 public:
  explicit SavedReader(ByteSpan from) : left_(from) {}

  [[nodiscard]] std::uint64_t number(std::size_t bytes) noexcept {
    std::uint64_t value = 0;
    for (const std::uint8_t byte : take(bytes)) value = value << 8 | byte;
    return value;
  }
  template <typename Number>
  [[nodiscard]] Number number() noexcept {
    return static_cast<Number>(number(sizeof(Number)));
  }
  [[nodiscard]] ByteSpan take(std::size_t bytes) noexcept {
    if (bytes > left_.size()) {
      isWhole_ = false;
      left_ = {};
      return {};
    }
    const ByteSpan taken = left_.first(bytes);
    left_ = left_.subspan(bytes);
    return taken;
  }
  [[nodiscard]] bool isWhole() const noexcept { return isWhole_; }

 private:
  ByteSpan left_;
  bool isWhole_ = true;
};

}  // namespace floodwall
