// Reads XDR (RFC 4506) as sFlow v5 uses it. What is read beyond the end is 0, and `isWhole` is false then.
#pragma once

#include <cstddef>
#include <cstdint>

#include "flow/big_endian.h"

namespace floodwall {

class XdrReader {
 public:
  explicit XdrReader(ByteSpan bytes) : left_(bytes) {}

  [[nodiscard]] std::uint32_t u32() noexcept {
    if (left_.size() < 4) {
      isWhole_ = false;
      left_ = {};
      return 0;
    }
    const std::uint32_t value = big32(left_.data());
    left_ = left_.subspan(4);
    return value;
  }
  void skip(std::size_t words) noexcept { static_cast<void>(bytes(words * 4)); }
  /// Opaque bytes, and what fills them up to a word. Those of the last structure may lack the filling.
  [[nodiscard]] ByteSpan bytes(std::size_t count) noexcept {
    if (count > left_.size()) {
      isWhole_ = false;
      left_ = {};
      return {};
    }
    const ByteSpan taken = left_.first(count);
    const std::size_t filled = (count + 3) & ~std::size_t{3};
    left_ = left_.subspan(filled < left_.size() ? filled : left_.size());
    return taken;
  }
  [[nodiscard]] std::size_t left() const noexcept { return left_.size(); }
  [[nodiscard]] bool isWhole() const noexcept { return isWhole_; }

 private:
  ByteSpan left_;
  bool isWhole_ = true;
};

}  // namespace floodwall
