#include "flow/interface_names.h"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>

#include "flow/flow_bounds.h"

namespace floodwall {

InterfaceNames::InterfaceNames()
    : names_(0, Hash{static_cast<std::uint64_t>(std::random_device{}()) << 32 | std::random_device{}()}) {}

void InterfaceNames::set(std::uint32_t index, ByteSpan name) {
  std::array<char, kInterfaceNameBytesMax> text;
  std::size_t length = 0;
  while (length < std::min(name.size(), text.size()) && name[length] != 0) {
    const std::uint8_t byte = name[length];
    text[length++] = byte < 0x20 || byte >= 0x7f ? '?' : static_cast<char>(byte);
  }
  while (length > 0 && text[length - 1] == ' ') length--;
  const std::string_view said(text.data(), length);
  if (said.empty()) return;
  const auto known = names_.find(index);
  if (known == names_.end()) {
    if (names_.size() >= kInterfaceNamesMax) return;
    names_.emplace(index, said);
  } else {
    if (known->second == said) return;
    known->second = said;
  }
  version_++;
}

const std::string& InterfaceNames::of(std::uint32_t index) const noexcept {
  static const std::string kNone;
  const auto known = names_.find(index);
  return known == names_.end() ? kNone : known->second;
}

void InterfaceNames::copyTo(std::vector<InterfaceName>& names) const {
  names.resize(names_.size());
  std::size_t i = 0;
  for (const auto& [index, name] : names_) {
    names[i].index = index;
    names[i++].name = name;
  }
}

std::size_t InterfaceNames::memoryBytes() const noexcept {
  std::size_t bytes = names_.bucket_count() * sizeof(void*);
  for (const auto& [index, name] : names_) {
    bytes += sizeof index + sizeof(std::string) + 3 * sizeof(void*) + (name.capacity() > 15 ? name.capacity() : 0);
  }
  return bytes;
}

}  // namespace floodwall
