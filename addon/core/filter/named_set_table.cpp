#include "filter/named_set_table.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <unordered_map>

namespace floodwall {
namespace {

/// An address of either family from its highest bit on: of IPv4 the first 32 bits, the rest is 0.
__extension__ using Bits = unsigned __int128;

constexpr std::uint32_t kAddressBytes = 16, kAddressBits = 128, kIpv4At = 96, kPieceBits = 16;

struct Prefix {
  Bits first;
  std::uint32_t length;
  std::uint32_t bit;
};

/// From its first address up to the next boundary all addresses are of one class.
struct Boundary {
  Bits first;
  std::uint32_t ofClass;
};

struct Families {
  std::vector<Prefix> ipv4, ipv6;
};

Bits lastOf(const Prefix& prefix) {
  return prefix.length == 0 ? ~Bits{0} : prefix.first | ~(~Bits{0} << (kAddressBits - prefix.length));
}

Prefix prefixOf(const std::uint8_t* address, std::uint32_t length, std::uint32_t bit) {
  Bits bits = 0;
  for (std::uint32_t i = 0; i < kAddressBytes; i++) bits = bits << 8 | address[i];
  bits = length == 0 ? 0 : bits >> (kAddressBits - length) << (kAddressBits - length);
  return {.first = bits, .length = length, .bit = bit};
}

bool isIpv4(const Prefix& prefix) { return prefix.length >= kIpv4At && prefix.first >> 32 == 0xffff; }

/// Appends the prefixes of a set to those of their families.
void take(const NamedPrefixes& set, Families& families) {
  if (set.bit >= NAMED_SETS_MAX) throw std::invalid_argument("set " + set.name + " has no bit of 64");
  if (set.addresses.size() != set.lengths.size() * kAddressBytes) {
    throw std::invalid_argument("set " + set.name + " does not have 16 bytes of address for each length");
  }
  for (std::size_t i = 0; i < set.lengths.size(); i++) {
    if (set.lengths[i] > kAddressBits) throw std::invalid_argument("set " + set.name + " has a length above 128");
    Prefix prefix = prefixOf(&set.addresses[i * kAddressBytes], set.lengths[i], set.bit);
    if (!isIpv4(prefix)) {
      families.ipv6.push_back(prefix);
      continue;
    }
    prefix.first <<= kIpv4At;
    prefix.length -= kIpv4At;
    families.ipv4.push_back(prefix);
  }
}

/// Bitmaps of sets, numbered as they come.
class Classes {
 public:
  std::uint32_t numberOf(std::uint64_t sets) {
    const auto [found, isNew] = numbers_.try_emplace(sets, static_cast<std::uint32_t>(bitmaps_.size()));
    if (isNew) bitmaps_.push_back(sets);
    return found->second;
  }
  [[nodiscard]] const std::vector<std::uint64_t>& bitmaps() const { return bitmaps_; }

 private:
  std::vector<std::uint64_t> bitmaps_{0};
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_{{0, 0}};
};

/// Two prefixes are apart, or one contains the other: so those that are open at an address are a stack.
class Sweep {
 public:
  explicit Sweep(Classes& classes) : classes_(classes) {}

  std::vector<Boundary> over(std::vector<Prefix> prefixes) {
    std::sort(prefixes.begin(), prefixes.end(), [](const Prefix& one, const Prefix& other) {
      return one.first != other.first ? one.first < other.first : one.length < other.length;
    });
    for (const Prefix& prefix : prefixes) {
      while (!open_.empty() && open_.back().last < prefix.first) leave();
      const std::uint64_t outer = open_.empty() ? 0 : open_.back().sets;
      const Bits last = lastOf(prefix);
      const std::uint64_t sets = outer | std::uint64_t{1} << prefix.bit;
      // Most repetitions change nothing.
      if (sets == outer) continue;
      open_.push_back({.last = last, .sets = sets});
      begin(prefix.first, sets);
    }
    while (!open_.empty()) leave();
    return std::move(boundaries_);
  }

 private:
  struct Open {
    Bits last;
    std::uint64_t sets;
  };

  void leave() {
    const Bits last = open_.back().last;
    open_.pop_back();
    if (last != ~Bits{0}) begin(last + 1, open_.empty() ? 0 : open_.back().sets);
  }

  void begin(Bits first, std::uint64_t sets) {
    if (boundaries_.back().first == first && boundaries_.size() > 1) boundaries_.pop_back();
    const std::uint32_t number = classes_.numberOf(sets);
    if (boundaries_.back().first == first) {
      boundaries_.back().ofClass = number;
    } else if (boundaries_.back().ofClass != number) {
      boundaries_.push_back({.first = first, .ofClass = number});
    }
  }

  Classes& classes_;
  std::vector<Open> open_;
  std::vector<Boundary> boundaries_{{.first = 0, .ofClass = 0}};
};

struct Target {
  std::uint16_t key;
  std::uint32_t target;
};

/// Writes lines of targets for boundaries, and returns the targets of the first piece.
class Tree {
 public:
  Tree(std::vector<sets_line>& lines, std::uint32_t linesMax) : lines_(lines), linesMax_(linesMax) {}

  /// Targets of one piece. All boundaries have the pieces before it in common; `before` is the class up to the first.
  std::vector<Target> targetsOf(std::span<const Boundary> boundaries, std::uint32_t piece, std::uint32_t before) {
    std::vector<Target> targets{{.key = 0, .target = before}};
    for (std::size_t from = 0, to = 0; from < boundaries.size(); from = to) {
      const std::uint16_t key = pieceOf(boundaries[from], piece);
      while (to < boundaries.size() && pieceOf(boundaries[to], piece) == key) to++;
      const auto group = boundaries.subspan(from, to - from);
      const std::uint32_t after = group.back().ofClass;
      if (group.size() == 1 && endsAt(group[0], piece)) {
        add(targets, key, after);
      } else {
        add(targets, key, SETS_NEXT_PIECE | linesOf(targetsOf(group, piece + 1, before)));
        if (key != UINT16_MAX) add(targets, static_cast<std::uint16_t>(key + 1), after);
      }
      before = after;
    }
    return targets;
  }

 private:
  static std::uint16_t pieceOf(const Boundary& boundary, std::uint32_t piece) {
    return static_cast<std::uint16_t>(boundary.first >> (kAddressBits - kPieceBits * (piece + 1)));
  }

  /// Whether all pieces after this one are 0.
  static bool endsAt(const Boundary& boundary, std::uint32_t piece) {
    return piece + 1 == SETS_ADDRESS_PIECES || boundary.first << (kPieceBits * (piece + 1)) == 0;
  }

  /// A later target for the same key replaces the one before.
  static void add(std::vector<Target>& targets, std::uint16_t key, std::uint32_t target) {
    if (targets.back().key == key && targets.size() > 1) targets.pop_back();
    if (targets.back().key == key) {
      targets.back().target = target;
    } else if (targets.back().target != target) {
      targets.push_back({.key = key, .target = target});
    }
  }

  /// A B-tree, from its leaves up; the target that leads to its root.
  std::uint32_t linesOf(std::vector<Target> targets) {
    do {
      const std::size_t count = (targets.size() + SETS_LINE_TARGETS - 1) / SETS_LINE_TARGETS;
      std::vector<Target> above;
      for (std::size_t i = 0; i < count; i++) {
        const std::size_t from = i * targets.size() / count, to = (i + 1) * targets.size() / count;
        above.push_back({.key = targets[from].key, .target = line(std::span(targets).subspan(from, to - from))});
      }
      targets = std::move(above);
    } while (targets.size() > 1);
    return targets[0].target;
  }

  std::uint32_t line(std::span<const Target> targets) {
    if (lines_.size() >= linesMax_) {
      throw std::length_error("the named sets need more than " +
                              std::to_string(std::uint64_t{linesMax_} * sizeof(sets_line) >> 20) +
                              " MiB in the kernel: use fewer prefixes, above all fewer single IPv6 addresses");
    }
    sets_line& made = lines_.emplace_back();
    for (std::size_t i = 0; i < SETS_LINE_TARGETS; i++) {
      const Target& target = targets[std::min(i, targets.size() - 1)];
      made.keys[i] = target.key;
      made.targets[i] = target.target;
    }
    return SETS_IS_LINE | static_cast<std::uint32_t>(lines_.size() - 1);
  }

  std::vector<sets_line>& lines_;
  std::uint32_t linesMax_;
};

void fillIndex(std::span<sets_line> index, std::span<const Target> targets) {
  std::size_t at = 0;
  for (std::uint32_t piece = 0; piece < SETS_PIECES; piece++) {
    if (at + 1 < targets.size() && targets[at + 1].key == piece) at++;
    index[piece / SETS_INDEX_TARGETS].index[piece % SETS_INDEX_TARGETS] = targets[at].target;
  }
}

std::uint32_t pieceOf(const ip_address& address, std::uint32_t piece) {
  return static_cast<std::uint32_t>(address.bytes[2 * piece] << 8 | address.bytes[2 * piece + 1]);
}

}  // namespace

NamedSetTable::NamedSetTable(std::span<const NamedPrefixes> sets, std::uint32_t linesMax) {
  Families families;
  for (const NamedPrefixes& set : sets) {
    take(set, families);
    prefixes_ += static_cast<std::uint32_t>(set.lengths.size());
  }
  Classes classes;
  const std::vector<Boundary> ipv4 = Sweep(classes).over(std::move(families.ipv4));
  const std::vector<Boundary> ipv6 = Sweep(classes).over(std::move(families.ipv6));
  ranges_ = static_cast<std::uint32_t>(ipv4.size() + ipv6.size());
  const std::vector<std::uint64_t>& bitmaps = classes.bitmaps();
  lines_.resize(SETS_BITMAPS + bitmaps.size() / SETS_LINE_BITMAPS + 1);
  for (std::size_t i = 0; i < bitmaps.size(); i++) {
    lines_[SETS_BITMAPS + i / SETS_LINE_BITMAPS].bitmaps[i % SETS_LINE_BITMAPS] = bitmaps[i];
  }
  Tree tree(lines_, linesMax);
  const auto addFamily = [&](std::uint32_t at, const std::vector<Boundary>& boundaries) {
    const std::vector<Target> targets = tree.targetsOf(boundaries, 0, 0);
    fillIndex(std::span(lines_).subspan(at, SETS_INDEX_LINES), targets);
  };
  addFamily(SETS_INDEX_IPV4, ipv4);
  addFamily(SETS_INDEX_IPV6, ipv6);
}

std::uint64_t NamedSetTable::setsOf(const ip_address& address) const {
  const bool isOfIpv4 = address.halves[0] == 0 && address.words[2] == __builtin_bswap32(0xffff);
  std::uint32_t at = isOfIpv4 ? SETS_FIRST_PIECE_IPV4 : 0;
  std::uint32_t piece = pieceOf(address, at);
  const std::uint32_t index = isOfIpv4 ? SETS_INDEX_IPV4 : SETS_INDEX_IPV6;
  std::uint32_t target = lines_[index + piece / SETS_INDEX_TARGETS].index[piece % SETS_INDEX_TARGETS];
  for (std::uint32_t step = 0; step < SETS_STEPS_MAX && (target & SETS_IS_LINE) != 0; step++) {
    at += target >> SETS_NEXT_PIECE_BIT & 1;
    piece = pieceOf(address, at);
    const sets_line& line = lines_[target & SETS_NUMBER_MASK];
    target = line.targets[sets_target_of(line.keys, piece)];
  }
  return lines_[SETS_BITMAPS + target / SETS_LINE_BITMAPS].bitmaps[target % SETS_LINE_BITMAPS];
}

}  // namespace floodwall
