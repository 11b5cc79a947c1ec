// Interfaces of an exporter as an operator names them: by number, by range of numbers, or by a pattern of their names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace floodwall {

/// Numbers, ranges and patterns of one list.
inline constexpr std::size_t kInterfacePatternsMax = 256;

/// `pattern` matches the whole of `text`; its stars stand for any text, also for none.
[[nodiscard]] bool matchesPattern(std::string_view pattern, std::string_view text) noexcept;

class InterfaceList {
 public:
  enum class Answer : std::uint8_t {
    no,
    yes,
    /// It depends on a name that is not known.
    needsName,
  };

  InterfaceList() = default;
  /// "7", "1-10", or a pattern of names. Throws std::out_of_range over the bound, std::invalid_argument on an empty
  /// text or a range that ends before it begins.
  explicit InterfaceList(std::span<const std::string> texts);

  /// `name` is empty where it is not known.
  [[nodiscard]] Answer has(std::uint32_t index, std::string_view name) const noexcept;

 private:
  struct Range {
    std::uint32_t from;
    std::uint32_t to;
  };
  std::vector<Range> ranges_;
  std::vector<std::string> patterns_;
};

}  // namespace floodwall
