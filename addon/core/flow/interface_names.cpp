#include "flow/interface_names.h"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/flow_bounds.h"

namespace floodwall {

InterfaceNames::InterfaceNames()
    : names_(0, Hash{static_cast<std::uint64_t>(std::random_device{}()) << 32 | std::random_device{}()}) {}

InterfaceNames::Stored InterfaceNames::set(std::uint32_t index, ByteSpan name, bool mayChange, std::uint64_t nowMs) {
  std::array<char, kInterfaceNameBytesMax> text;
  std::size_t length = 0;
  while (length < std::min(name.size(), text.size()) && name[length] != 0) {
    const std::uint8_t byte = name[length];
    text[length++] = byte < 0x20 || byte >= 0x7f ? '?' : static_cast<char>(byte);
  }
  while (length > 0 && text[length - 1] == ' ') length--;
  const std::string_view said(text.data(), length);
  if (said.empty()) return Stored::same;
  auto known = names_.find(index);
  if (known != names_.end() && known->second.text == said) {
    known->second.saidMs = nowMs;
    return Stored::same;
  }
  if (!mayChange) return Stored::refused;
  if (known == names_.end()) {
    if (names_.size() >= kInterfaceNamesMax && !makeRoom(nowMs)) return Stored::refused;
    known = names_.emplace(index, Name{}).first;
  }
  known->second.text = said;
  known->second.saidMs = nowMs;
  version_++;
  return Stored::changed;
}

/// Goes through all names, and is done again at once only where it found enough.
bool InterfaceNames::makeRoom(std::uint64_t nowMs) {
  constexpr std::uint64_t kLittleRoomMs = 100;
  constexpr std::size_t kEnough = kInterfaceNamesMax / 32, kMost = kInterfaceNamesMax / 8;
  if (littleRoomMs_ != 0 && nowMs - littleRoomMs_ < kLittleRoomMs) return false;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> going;
  for (const auto& [index, name] : names_) {
    const bool isIdle = nowMs > name.saidMs && nowMs - name.saidMs > kFlowIdleMs;
    if (isIdle || !name.isUsed) going.emplace_back(name.saidMs, index);
  }
  std::sort(going.begin(), going.end());
  going.resize(std::min(going.size(), kMost));
  for (const auto& [saidMs, index] : going) names_.erase(index);
  littleRoomMs_ = going.size() < kEnough ? nowMs : 0;
  return !going.empty();
}

const std::string& InterfaceNames::of(std::uint32_t index) const noexcept {
  static const std::string kNone;
  const auto known = names_.find(index);
  if (known == names_.end()) return kNone;
  known->second.isUsed = true;
  return known->second.text;
}

void InterfaceNames::copyTo(std::vector<InterfaceName>& names) const {
  names.resize(names_.size());
  std::size_t i = 0;
  for (const auto& [index, name] : names_) {
    names[i].index = index;
    names[i++].name = name.text;
  }
}

std::size_t InterfaceNames::memoryBytes() const noexcept {
  std::size_t bytes = names_.bucket_count() * sizeof(void*);
  for (const auto& [index, name] : names_) {
    bytes += sizeof index + sizeof(Name) + 3 * sizeof(void*) + (name.text.capacity() > 15 ? name.text.capacity() : 0);
  }
  return bytes;
}

}  // namespace floodwall
