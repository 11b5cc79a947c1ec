// Named sets of prefixes: flattened, looked up as the kernel does, and by the kernel itself.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "filter/filter_program.h"
#include "filter/named_sets.h"
#include "filter_box.h"
#include "random.h"
// The skeleton needs the structs of the ABI.
#include "sets_of_source.skel.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

/// Sets by bit, with what they are found by one prefix after the other.
class Model {
 public:
  void add(std::uint32_t bit, const Address& address, std::uint32_t length) {
    if (sets_.size() <= bit) sets_.resize(bit + 1);
    Set& set = sets_[bit];
    set.addresses.insert(set.addresses.end(), address.bytes.begin(), address.bytes.end());
    set.lengths.push_back(static_cast<std::uint8_t>(length));
  }
  /// An IPv4 prefix with its own length.
  void add4(std::uint32_t bit, std::uint32_t address, std::uint32_t length) { add(bit, ipv4(address), length + 96); }

  [[nodiscard]] std::vector<NamedPrefixes> prefixes() const {
    std::vector<NamedPrefixes> made;
    for (std::uint32_t bit = 0; bit < sets_.size(); bit++) {
      made.push_back({.name = "set" + std::to_string(bit),
                      .bit = bit,
                      .addresses = sets_[bit].addresses,
                      .lengths = sets_[bit].lengths});
    }
    return made;
  }
  [[nodiscard]] NamedSetTable table() const { return NamedSetTable(prefixes()); }

  [[nodiscard]] std::uint64_t setsOf(const Address& address) const {
    std::uint64_t found = 0;
    for (std::uint32_t bit = 0; bit < sets_.size(); bit++) {
      const Set& set = sets_[bit];
      for (std::size_t i = 0; i < set.lengths.size(); i++) {
        if (contains(&set.addresses[16 * i], set.lengths[i], address)) found |= std::uint64_t{1} << bit;
      }
    }
    return found;
  }

  /// The first and last address of each prefix, and those next to them.
  [[nodiscard]] std::vector<Address> edges() const {
    std::vector<Address> found;
    for (const Set& set : sets_) {
      for (std::size_t i = 0; i < set.lengths.size(); i++) {
        Address first, last;
        for (std::uint32_t bit = 0; bit < 128; bit++) {
          const auto mask = static_cast<std::uint8_t>(0x80U >> bit % 8);
          const bool isSet = (set.addresses[16 * i + bit / 8] & mask) != 0;
          if (bit < set.lengths[i] ? isSet : false) first.bytes.at(bit / 8) |= mask;
          if (bit < set.lengths[i] ? isSet : true) last.bytes.at(bit / 8) |= mask;
        }
        found.insert(found.end(), {first, last, next(first, -1), next(last, 1)});
      }
    }
    return found;
  }

 private:
  struct Set {
    std::vector<std::uint8_t> addresses, lengths;
  };

  static bool isIpv4(const std::uint8_t* bytes) {
    return std::all_of(bytes, bytes + 10, [](std::uint8_t byte) { return byte == 0; }) && bytes[10] == 0xff &&
           bytes[11] == 0xff;
  }
  static bool contains(const std::uint8_t* prefix, std::uint32_t length, const Address& address) {
    if (isIpv4(address.bytes.data()) != (length >= 96 && isIpv4(prefix))) return false;
    for (std::uint32_t bit = 0; bit < length; bit++) {
      if (((prefix[bit / 8] ^ address.bytes.at(bit / 8)) & 0x80U >> bit % 8) != 0) return false;
    }
    return true;
  }
  static Address next(Address address, int step) {
    for (std::size_t at = 16; at-- > 0;) {
      address.bytes.at(at) = static_cast<std::uint8_t>(address.bytes.at(at) + step);
      if (address.bytes.at(at) != (step > 0 ? 0 : 0xff)) break;
    }
    return address;
  }

  std::deque<Set> sets_;
};

Address randomIpv4(Random& random) {
  // Near to one another, so that prefixes overlap and share their pieces.
  const std::uint64_t bits = random.bits();
  return ipv4(static_cast<std::uint32_t>(random.below(3) == 0 ? bits : 0xc6120000 | (bits & 0x3ffff)));
}

Address randomIpv6(Random& random) {
  Address made = ipv6(static_cast<std::uint8_t>(random.below(2)), static_cast<std::uint32_t>(random.below(4)));
  for (std::size_t i = 0; i < 16; i++) {
    if (random.below(4) == 0) made.bytes.at(i) = static_cast<std::uint8_t>(random.bits());
  }
  return made;
}

Model randomSets(Random& random, std::uint32_t sets, std::uint32_t prefixes) {
  Model model;
  for (std::uint32_t i = 0; i < prefixes; i++) {
    const auto bit = static_cast<std::uint32_t>(random.below(sets));
    if (random.below(2) == 0) {
      model.add(bit, randomIpv4(random), 96 + static_cast<std::uint32_t>(8 + random.below(25)));
    } else {
      model.add(bit, randomIpv6(random), static_cast<std::uint32_t>(12 + random.below(117)));
    }
  }
  return model;
}

/// The program of the test, with the filter's map.
class Lookup {
 public:
  Lookup() : maps(FilterMaps::create({})), skeleton_(sets_of_source_bpf__open()) {
    REQUIRE(skeleton_);
    REQUIRE(bpf_map__reuse_fd(skeleton_->maps.filter_named_sets, maps.namedSetsFd()) == 0);
    REQUIRE(sets_of_source_bpf__load(skeleton_.get()) == 0);
  }
  [[nodiscard]] std::uint64_t of(const Bytes& frame) const {
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = frame.data();
    options.data_size_in = static_cast<std::uint32_t>(frame.size());
    options.repeat = 1;
    REQUIRE(bpf_prog_test_run_opts(bpf_program__fd(skeleton_->progs.sets_of_frame), &options) == 0);
    REQUIRE(options.retval == XDP_PASS);
    return skeleton_->bss->found_sets;
  }
  [[nodiscard]] std::uint64_t of(const Address& source) const {
    Bytes frame = inKernel(source).halves[0] == 0 && source.bytes[10] == 0xff ? udpFrame(0, kProtected) : udp6Frame();
    const bool isIpv4 = frame[12] == 0x08;
    std::copy(source.bytes.begin() + (isIpv4 ? 12 : 0), source.bytes.end(), frame.begin() + (isIpv4 ? 26 : 22));
    return of(frame);
  }
  [[nodiscard]] std::uint32_t verifiedInstructions() const {
    bpf_prog_info info{};
    __u32 length = sizeof info;
    REQUIRE(bpf_obj_get_info_by_fd(bpf_program__fd(skeleton_->progs.sets_of_frame), &info, &length) == 0);
    return info.verified_insns;
  }

  FilterMaps maps;

 private:
  static Bytes udp6Frame() {
    Bytes frame(62);
    frame[12] = 0x86;
    frame[13] = 0xdd;
    frame[14] = 0x60;
    frame[19] = 8;
    frame[20] = 17;
    return frame;
  }
  struct Close {
    void operator()(sets_of_source_bpf* skeleton) const { sets_of_source_bpf__destroy(skeleton); }
  };
  std::unique_ptr<sets_of_source_bpf, Close> skeleton_;
};

}  // namespace

TEST_CASE("named sets: of random prefixes, an address is in the sets that one prefix after the other says") {
  SHOW_SEED();
  Random random;
  for (std::uint32_t round = 0; round < 5; round++) {
    const Model model = randomSets(random, 1 + static_cast<std::uint32_t>(random.below(64)), 200);
    const NamedSetTable table = model.table();
    std::vector<Address> asked = model.edges();
    for (int i = 0; i < 200; i++) asked.insert(asked.end(), {randomIpv4(random), randomIpv6(random)});
    for (const Address& address : asked) REQUIRE(table.setsOf(inKernel(address)) == model.setsOf(address));
  }
}

TEST_CASE("named sets: all of a family, single addresses, and repetitions") {
  Model model;
  model.add4(0, 0, 0);
  model.add(1, Address{}, 0);
  model.add4(2, kForeign, 32);
  model.add4(2, kForeign, 32);
  model.add(3, ipv6(1, 7), 128);
  model.add4(4, 0xffffffff, 32);
  model.add4(5, 0, 32);
  model.add4(6, kForeign, 24);
  model.add4(6, kForeign, 25);
  model.add(7, ipv6(0xff, 0xffffffff), 128);
  const NamedSetTable table = model.table();
  CHECK(table.setsOf(inKernel(ipv4(kForeign))) == 0b1000101);
  CHECK(table.setsOf(inKernel(ipv4(kForeign + 1))) == 0b1000001);
  CHECK(table.setsOf(inKernel(ipv4(0xffffffff))) == 0b10001);
  CHECK(table.setsOf(inKernel(ipv4(0))) == 0b100001);
  // ::/0 does not contain IPv4, nor 0.0.0.0/0 IPv6.
  CHECK(table.setsOf(inKernel(ipv6(1, 7))) == 0b1010);
  for (const Address& address : model.edges()) CHECK(table.setsOf(inKernel(address)) == model.setsOf(address));
  CHECK(table.prefixes() == 10);
}

TEST_CASE("named sets: bits beyond a prefix are not read") {
  Model model;
  model.add4(0, kForeign + 77, 24);
  const NamedSetTable table = model.table();
  CHECK(table.setsOf(inKernel(ipv4(kForeign))) == 1);
  CHECK(table.setsOf(inKernel(ipv4(kForeign - 1))) == 0);
}

TEST_CASE("named sets: prefixes that are next to one another are one range") {
  Model model;
  for (std::uint32_t i = 0; i < 256; i++) model.add4(3, 0x0a000000 + (i << 16), 16);
  // Before, within, after; and one for IPv6.
  CHECK(model.table().ranges() == 4);
}

TEST_CASE("named sets: a /16 of which every other address is in a set takes the deepest tree that there is") {
  Model model;
  for (std::uint32_t i = 0; i < 65'536; i += 2) model.add4(0, 0xc6120000 + i, 32);
  const NamedSetTable table = model.table();
  for (std::uint32_t i = 0; i < 65'536; i++) REQUIRE(table.setsOf(inKernel(ipv4(0xc6120000 + i))) == (i + 1) % 2);
}

TEST_CASE("named sets: beyond their memory they are refused, and so is what is not a set") {
  Model model;
  for (std::uint32_t i = 0; i < 1000; i++) model.add(0, ipv6(static_cast<std::uint8_t>(i), i * 7919), 128);
  const std::vector<NamedPrefixes> sets = model.prefixes();
  const auto lines = static_cast<std::uint32_t>(NamedSetTable(sets).lines().size());
  CHECK_NOTHROW(NamedSetTable(sets, lines));
  CHECK_THROWS_AS(NamedSetTable(sets, lines - 1), std::length_error);
  const std::vector<std::uint8_t> address(16), long16(16, 129), one(1, 129);
  const auto refused = [](const NamedPrefixes& set) { return NamedSetTable(std::vector{set}); };
  CHECK_THROWS_AS(refused({.name = "a", .bit = 64, .addresses = {}, .lengths = {}}), std::invalid_argument);
  CHECK_THROWS_AS(refused({.name = "a", .bit = 0, .addresses = address, .lengths = {}}), std::invalid_argument);
  CHECK_THROWS_AS(refused({.name = "a", .bit = 0, .addresses = address, .lengths = one}), std::invalid_argument);
}

TEST_CASE("named sets: the kernel finds what the table says, of IPv4 and IPv6") {
  if (cannotRunXdp("named sets: the kernel finds")) return;
  SHOW_SEED();
  Random random;
  const Lookup lookup;
  CHECK(lookup.of(ipv4(kForeign)) == 0);
  for (std::uint32_t round = 0; round < 5; round++) {
    const Model model = randomSets(random, 64, 300);
    const NamedSets sets(model.prefixes());
    putNamedSets(lookup.maps, sets);
    for (const Address& address : model.edges()) REQUIRE(lookup.of(address) == model.setsOf(address));
  }
  CHECK(lookup.verifiedInstructions() < 100'000);
}

TEST_CASE("named sets: the names of those in force are pinned with them, and bits must differ") {
  if (cannotRunXdp("named sets: the names")) return;
  const FilterMaps maps = FilterMaps::create({});
  const auto named = [](const char* name, std::uint32_t bit) {
    return NamedPrefixes{.name = name, .bit = bit, .addresses = {}, .lengths = {}};
  };
  putNamedSets(maps, NamedSets(std::vector{named("one", 3), named("two", 63)}));
  putNamedSets(maps, NamedSets(std::vector{named("one", 3), named("three", 0)}));
  const SetNames names = namesInForce(maps);
  CHECK(names[0] == "three");
  CHECK(names[3] == "one");
  CHECK(names[63].empty());
  CHECK_THROWS_AS(NamedSets(std::vector{named("one", 3), named("two", 3)}), std::invalid_argument);
  CHECK_THROWS_AS(NamedSets(std::vector{named("", 3)}), std::invalid_argument);
  CHECK_THROWS_AS(NamedSets(std::vector{named(std::string(64, 'x').c_str(), 3)}), std::invalid_argument);
}
