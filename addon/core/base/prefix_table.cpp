#include "base/prefix_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace floodwall {
namespace {

/// Where the IPv4 address begins in the mapped form.
constexpr unsigned kMappedBits = 96;

struct Halves {
  std::uint64_t high;
  std::uint64_t low;
};

std::uint64_t bigEndian(const std::uint8_t* bytes) noexcept {
  std::uint64_t word;
  std::memcpy(&word, bytes, 8);
  return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
}

Halves halvesOf(const Address& address) noexcept {
  return {bigEndian(address.bytes.data()), bigEndian(address.bytes.data() + 8)};
}

bool isMapped(const Halves& address) noexcept { return address.high == 0 && address.low >> 32 == 0xffff; }

/// `count` bits from bit `start` on; zeros follow the last bit of the address.
unsigned bitsAt(const Halves& address, unsigned start, unsigned count) noexcept {
  std::uint64_t word;
  if (start >= 64) {
    word = address.low << (start - 64);
  } else {
    word = address.high << start;
    if (start != 0) word |= address.low >> (64 - start);
  }
  return static_cast<unsigned>(word >> (64 - count));
}

Address masked(Address address, unsigned length) noexcept {
  for (unsigned i = 0; i < 16; i++) {
    const unsigned bits = length <= i * 8 ? 0 : std::min(length - i * 8, 8U);
    address.bytes[i] = static_cast<std::uint8_t>(address.bytes[i] & (0xff00U >> bits));
  }
  return address;
}

bool isBefore(const PrefixValue& a, const PrefixValue& b) noexcept {
  const int order = std::memcmp(a.address.bytes.data(), b.address.bytes.data(), 16);
  return order != 0 ? order < 0 : a.length < b.length;
}

/// The contents of one slot of a table that covers bits [depth, depth + width) of the address.
struct Slot {
  std::uint32_t value;
  /// Prefixes that are longer than the slot.
  std::span<const PrefixValue> longer;
};

/// Spreads sorted prefixes longer than `depth` that share the bits before it over 2^width slots. A prefix that ends
/// inside covers a run of slots, and sorted order puts the shorter, outer one first.
std::vector<Slot> slotsOf(std::span<const PrefixValue> prefixes, unsigned depth, unsigned width,
                          std::uint32_t inherited) {
  std::vector<Slot> slots(std::size_t{1} << width, Slot{inherited, {}});
  for (std::size_t i = 0; i < prefixes.size(); i++) {
    const unsigned length = prefixes[i].length;
    const unsigned first = bitsAt(halvesOf(prefixes[i].address), depth, width);
    if (length > depth + width) {
      Slot& slot = slots[first];
      slot.longer = slot.longer.empty() ? prefixes.subspan(i, 1) : std::span(slot.longer.data(), &prefixes[i] + 1);
      continue;
    }
    const std::size_t run = std::size_t{1} << (depth + width - length);
    for (std::size_t j = first; j < first + run; j++) slots[j].value = prefixes[i].value;
  }
  return slots;
}

}  // namespace

PrefixTable::PrefixTable(std::span<const PrefixValue> prefixes) {
  std::vector<PrefixValue> sorted(prefixes.begin(), prefixes.end());
  for (auto& prefix : sorted) prefix.address = masked(prefix.address, std::min<unsigned>(prefix.length, 128));
  std::stable_sort(sorted.begin(), sorted.end(), isBefore);

  // The mapped prefix ::ffff:0:0/96 and what is longer inside it belong to the IPv4 table; what is shorter and covers
  // it (::/0) is of IPv6 alone, because families do not nest.
  std::vector<PrefixValue> four, six;
  std::uint32_t all4 = kNone, all6 = kNone;
  for (const auto& prefix : sorted) {
    if (prefix.length >= kMappedBits && isMapped(halvesOf(prefix.address))) {
      if (prefix.length == kMappedBits) {
        all4 = prefix.value;
      } else {
        four.push_back(prefix);
      }
    } else if (prefix.length == 0) {
      all6 = prefix.value;
    } else {
      six.push_back(prefix);
    }
  }
  root4_ = buildRoot(four, kMappedBits, all4);
  root6_ = buildRoot(six, 0, all6);
}

std::vector<std::uint32_t> PrefixTable::buildRoot(Sorted prefixes, unsigned start, std::uint32_t inherited) {
  const std::vector<Slot> slots = slotsOf(prefixes, start, kRootBits, inherited);
  std::vector<std::uint32_t> root(slots.size());
  for (std::size_t i = 0; i < slots.size(); i++) {
    root[i] = slots[i].value;
    if (slots[i].longer.empty()) continue;
    const auto node = static_cast<std::uint32_t>(nodes_.size());
    nodes_.emplace_back();
    fillNode(node, slots[i].longer, start + kRootBits, slots[i].value);
    root[i] = node | kIsNode;
  }
  return root;
}

void PrefixTable::fillNode(std::uint32_t node, Sorted prefixes, unsigned depth, std::uint32_t inherited) {
  // The last node of a path reaches past bit 128: its unused low bits read as zeros on both sides.
  const std::vector<Slot> slots = slotsOf(prefixes, depth, kStride, inherited);
  Node built;
  built.firstChild = static_cast<std::uint32_t>(nodes_.size());
  built.firstLeaf = static_cast<std::uint32_t>(leaves_.size());
  for (unsigned i = 0; i < kSlots; i++) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (!slots[i].longer.empty()) {
      built.children |= bit;
    } else if (built.leaves == 0 || leaves_.back() != slots[i].value) {
      built.leaves |= bit;
      leaves_.push_back(slots[i].value);
    }
  }
  nodes_[node] = built;
  nodes_.resize(nodes_.size() + static_cast<std::size_t>(std::popcount(built.children)));
  std::uint32_t child = built.firstChild;
  for (const Slot& slot : slots) {
    if (!slot.longer.empty()) fillNode(child++, slot.longer, depth + kStride, slot.value);
  }
}

std::uint32_t PrefixTable::match(const Address& address) const noexcept {
  const Halves halves = halvesOf(address);
  const bool is4 = isMapped(halves);
  unsigned depth = (is4 ? kMappedBits : 0) + kRootBits;
  std::uint32_t entry = (is4 ? root4_ : root6_)[bitsAt(halves, depth - kRootBits, kRootBits)];
  if ((entry & kIsNode) == 0) return entry;
  const Node* node = &nodes_[entry & ~kIsNode];
  for (;; depth += kStride) {
    const unsigned slot = bitsAt(halves, depth, kStride);
    // Bits up to and including the slot.
    const std::uint64_t upTo = ~std::uint64_t{0} >> (kSlots - 1 - slot);
    if ((node->children >> slot & 1) == 0) {
      return leaves_[node->firstLeaf + static_cast<std::uint32_t>(std::popcount(node->leaves & upTo)) - 1];
    }
    node = &nodes_[node->firstChild + static_cast<std::uint32_t>(std::popcount(node->children & upTo)) - 1];
  }
}

std::size_t PrefixTable::memoryBytes() const noexcept {
  return nodes_.capacity() * sizeof(Node) + (leaves_.capacity() + root4_.capacity() + root6_.capacity()) * 4;
}

}  // namespace floodwall
