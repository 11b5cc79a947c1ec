#include "flow/flow_elements.h"

#include <array>
#include <cassert>
#include <initializer_list>

namespace floodwall {
namespace {

constexpr Element slot(Slot slot) { return {.slot = slot}; }
constexpr Element part(Part part) { return {.part = part}; }

/// An element's number behind that of its enterprise.
constexpr std::uint64_t keyOf(std::uint32_t enterprise, std::uint16_t number) noexcept {
  return std::uint64_t{enterprise} << 16 | number;
}
constexpr std::uint64_t reverse(std::uint16_t number) { return keyOf(kReverseEnterprise, number); }
constexpr std::uint64_t cisco(std::uint16_t number) { return keyOf(kCiscoEnterprise, number); }
constexpr std::uint64_t vmware(std::uint16_t number) { return keyOf(kVmwareEnterprise, number); }

class Elements {
 public:
  /// At compile time alone: fails where two fields have one element.
  constexpr void add(const Element& element, std::initializer_list<std::uint64_t> keys) {
    for (const std::uint64_t key : keys) {
      const Element known = of(key);
      assert(known.slot == Slot::none && known.part == Part::none);
      if (key < common_.size()) {
        common_[key] = element;
      } else {
        others_[size_++] = {key, element};
      }
    }
  }
  [[nodiscard]] constexpr Element of(std::uint64_t key) const noexcept {
    if (key < common_.size()) return common_[key];
    for (std::size_t i = 0; i < size_; i++) {
      if (others_[i].key == key) return others_[i].element;
    }
    return {};
  }

 private:
  struct Known {
    std::uint64_t key = 0;
    Element element;
  };
  /// By number; few are not among them: those of enterprises, and what vendors took of NetFlow v9's numbers.
  std::array<Element, 512> common_{};
  std::array<Known, 64> others_{};
  std::size_t size_ = 0;
};

constexpr Elements kElements = [] {
  Elements all;
#define NUMBER(name, ...) all.add(slot(Slot::name), {__VA_ARGS__});
#define PART(name, bytes, ...) all.add(part(Part::name), {__VA_ARGS__});
#define TIME(name, form, ...) all.add({.slot = Slot::name, .time = TimeForm::form}, {__VA_ARGS__});
#include "flow_fields_abi.h"
  return all;
}();

}  // namespace

Element elementOf(std::uint32_t enterprise, std::uint16_t number) noexcept {
  return kElements.of(keyOf(enterprise, number));
}

Element innerOf(const Element& outer) noexcept {
  switch (outer.part) {
    case Part::source4:
      return part(Part::innerSource4);
    case Part::destination4:
      return part(Part::innerDestination4);
    case Part::source6:
      return part(Part::innerSource6);
    case Part::destination6:
      return part(Part::innerDestination6);
    default:
      break;
  }
  switch (outer.slot) {
    case Slot::protocol:
      return slot(Slot::innerProtocol);
    case Slot::sourcePort:
      return slot(Slot::innerSourcePort);
    case Slot::destinationPort:
      return slot(Slot::innerDestinationPort);
    default:
      return {};
  }
}

Element netflow9ScopeOf(std::uint16_t type) noexcept {
  constexpr std::uint16_t kInterface = 2, kLineCard = 3, kTemplate = 5;
  if (type == kInterface) return slot(Slot::scopeInterface);
  if (type == kLineCard) return slot(Slot::lineCard);
  if (type == kTemplate) return slot(Slot::scopeTemplate);
  return {};
}

}  // namespace floodwall
