#include "base/prefix_table.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "packets.h"
#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

bool contains(const PrefixValue& prefix, const Address& address) {
  for (unsigned bit = 0; bit < prefix.length; bit++) {
    const auto mask = static_cast<std::uint8_t>(0x80U >> bit % 8);
    if (((prefix.address.bytes[bit / 8] ^ address.bytes[bit / 8]) & mask) != 0) return false;
  }
  return true;
}
bool isIpv4(const Address& address) { return contains({ipv4(0), 96, 0}, address); }

/// Longest match by looking at all prefixes. Families do not nest: ::/0 holds no IPv4 address.
std::uint32_t naiveMatch(const std::vector<PrefixValue>& prefixes, const Address& address) {
  std::uint32_t best = PrefixTable::kNone;
  int length = -1;
  for (const PrefixValue& prefix : prefixes) {
    if (prefix.length < length || !contains(prefix, address)) continue;
    if (isIpv4(address) && prefix.length < 96) continue;
    best = prefix.value;
    length = prefix.length;
  }
  return best;
}

Address randomAddress(Random& random) {
  if (random.below(2) == 0) return ipv4(static_cast<std::uint32_t>(random.bits()));
  Address address;
  for (auto& byte : address.bytes) byte = static_cast<std::uint8_t>(random.bits());
  return address;
}
void flip(Address& address, unsigned bit) {
  address.bytes[bit / 8] = static_cast<std::uint8_t>(address.bytes[bit / 8] ^ 0x80U >> bit % 8);
}

}  // namespace

TEST_CASE("an empty table matches nothing") {
  const PrefixTable table;
  CHECK(table.match(ipv4(kProtected)) == PrefixTable::kNone);
  CHECK(table.match(ipv6(1, 1)) == PrefixTable::kNone);
}

TEST_CASE("prefixes of length nothing and of full length match") {
  const std::vector<PrefixValue> prefixes = {{Address{}, 0, 1}, {ipv6(1, 7), 128, 2}, {ipv4(kProtected + 7), 128, 3}};
  const PrefixTable table(prefixes);
  CHECK(table.match(ipv6(1, 7)) == 2);
  CHECK(table.match(ipv6(1, 6)) == 1);
  CHECK(table.match(ipv6(1, 8)) == 1);
  CHECK(table.match(ipv4(kProtected + 7)) == 3);
  // All of IPv6 says nothing of IPv4.
  CHECK(table.match(ipv4(kProtected + 6)) == PrefixTable::kNone);
  const std::vector<PrefixValue> all4 = {{ipv4(0), 96, 4}};
  CHECK(PrefixTable(all4).match(ipv4(0xffffffff)) == 4);
  CHECK(PrefixTable(all4).match(ipv6(1, 1)) == PrefixTable::kNone);
}

TEST_CASE("the longest of prefixes nested at every length holds, and ends where it ends") {
  for (const Address& address : {ipv4(0xaaaaaaaa), ipv6(0x5555, 0xaaaaaaaaaaaaaaaa)}) {
    const unsigned least = isIpv4(address) ? 96 : 0;
    std::vector<PrefixValue> prefixes;
    for (unsigned length = least; length <= 128; length++) {
      prefixes.push_back({address, static_cast<std::uint8_t>(length), length});
    }
    const PrefixTable table(prefixes);
    CHECK(table.match(address) == 128);
    for (unsigned bit = least; bit < 128; bit++) {
      // The first bit that differs is `bit`: prefixes up to that length still contain the address.
      Address other = address;
      flip(other, bit);
      CHECK(table.match(other) == bit);
    }
  }
}

TEST_CASE("bits beyond a prefix's length do not count, and of equal prefixes the last holds") {
  const std::vector<PrefixValue> prefixes = {{ipv4(kProtected + 99), 112, 1}, {ipv4(kProtected), 112, 2}};
  CHECK(PrefixTable(prefixes).match(ipv4(kProtected + 5)) == 2);
}

TEST_CASE("agrees with a search through all of a few hundred random prefixes") {
  SHOW_SEED();
  Random random;
  for (int round = 0; round < 6; round++) {
    std::vector<PrefixValue> prefixes;
    for (std::uint32_t i = 0; i < 300; i++) {
      // Half of them lie inside one that is there, so that there is something to nest.
      Address address = randomAddress(random);
      if (!prefixes.empty() && random.below(2) == 0) address = prefixes[random.below(prefixes.size())].address;
      const unsigned least = isIpv4(address) ? 96 : 0;
      prefixes.push_back({address, static_cast<std::uint8_t>(least + random.below(129 - least)), i});
      if (random.below(2) == 0) flip(prefixes.back().address, least + static_cast<unsigned>(random.below(128 - least)));
    }
    const PrefixTable table(prefixes);
    for (int probe = 0; probe < 500; probe++) {
      Address address = random.below(4) == 0 ? randomAddress(random) : prefixes[random.below(prefixes.size())].address;
      if (random.below(2) == 0) flip(address, 96 + static_cast<unsigned>(random.below(32)));
      REQUIRE(table.match(address) == naiveMatch(prefixes, address));
    }
  }
}

TEST_CASE("holds a hundred thousand prefixes in a few megabytes") {
  SHOW_SEED();
  Random random;
  std::vector<PrefixValue> prefixes;
  for (std::uint32_t i = 0; i < 50'000; i++) {
    prefixes.push_back(
        {ipv4(static_cast<std::uint32_t>(random.bits())), static_cast<std::uint8_t>(112 + random.below(17)), i});
    prefixes.push_back({ipv6(static_cast<std::uint16_t>(random.bits()), random.bits()),
                        static_cast<std::uint8_t>(40 + random.below(89)), i + 50'000});
  }
  const PrefixTable table(prefixes);
  CHECK(table.memoryBytes() < std::size_t{64} << 20);
  for (int probe = 0; probe < 6; probe++) {
    const Address address = prefixes[random.below(prefixes.size())].address;
    REQUIRE(table.match(address) == naiveMatch(prefixes, address));
  }
}
