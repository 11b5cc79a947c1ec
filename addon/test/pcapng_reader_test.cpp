// pcapng files as mergecap and captures of several interfaces write them, cut and spoiled.
#include "capture/pcapng_reader.h"

#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "packets.h"

namespace floodwall::test {
namespace {

constexpr std::uint32_t kSection = 0x0a0d0d0a, kByteOrder = 0x1a2b3c4d;

/// Writes blocks in either byte order.
class Writer {
 public:
  explicit Writer(bool isBigEndian = false) : isBigEndian_(isBigEndian) { section(); }

  Writer& section() { return block(kSection, word(kByteOrder) + half(1) + half(0) + word(~0U) + word(~0U)); }
  Writer& interface(std::uint32_t linktype, std::uint32_t snapLength, const Bytes& options = {}) {
    return block(1, half(linktype) + half(0) + word(snapLength) + options);
  }
  Writer& packet(std::uint32_t interface, std::uint64_t time, const Bytes& data, std::uint32_t wire = 0) {
    return block(6, word(interface) + timeAndLengths(time, data, wire) + data);
  }
  /// The obsolete block, with a count of drops.
  Writer& oldPacket(std::uint32_t interface, std::uint64_t time, const Bytes& data) {
    return block(2, half(interface) + half(7) + timeAndLengths(time, data, 0) + data);
  }
  Writer& simplePacket(const Bytes& data, std::uint32_t wire) { return block(3, word(wire) + data); }
  Writer& block(std::uint32_t type, Bytes body) {
    body.resize((body.size() + 3) / 4 * 4);
    const Bytes length = word(static_cast<std::uint32_t>(body.size()) + 12);
    append(bytes_, word(type) + length + body + length);
    return *this;
  }
  [[nodiscard]] Bytes option(std::uint32_t code, Bytes value) const {
    const Bytes head = half(code) + half(static_cast<std::uint32_t>(value.size()));
    value.resize((value.size() + 3) / 4 * 4);
    return head + value;
  }
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

  [[nodiscard]] Bytes word(std::uint32_t value) const {
    return isBigEndian_ ? half(value >> 16) + half(value & 0xffff) : half(value & 0xffff) + half(value >> 16);
  }
  [[nodiscard]] Bytes half(std::uint32_t value) const {
    const auto high = static_cast<std::uint8_t>(value >> 8), low = static_cast<std::uint8_t>(value);
    return isBigEndian_ ? Bytes{high, low} : Bytes{low, high};
  }

 private:
  [[nodiscard]] Bytes timeAndLengths(std::uint64_t time, const Bytes& data, std::uint32_t wire) const {
    const auto size = static_cast<std::uint32_t>(data.size());
    return word(static_cast<std::uint32_t>(time >> 32)) + word(static_cast<std::uint32_t>(time)) + word(size) +
           word(wire == 0 ? size : wire);
  }

  bool isBigEndian_;
  Bytes bytes_;
};

struct Read {
  Bytes data;
  std::uint32_t wire;
  std::uint64_t timeNs;
  std::uint16_t linktype;
};
struct All {
  std::vector<Read> packets;
  std::string error;
};

All readAll(const Bytes& bytes) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  Bytes copy = bytes;
  copy.reserve(1);
  const std::unique_ptr<std::FILE, Close> file(fmemopen(copy.data(), copy.size(), "rb"));
  REQUIRE(file);
  PcapngReader reader(file.get());
  All all;
  while (const auto packet = reader.next()) {
    all.packets.push_back(
        {Bytes(packet->data.begin(), packet->data.end()), packet->wire, packet->timeNs, packet->linktype});
  }
  all.error = reader.error();
  CHECK_FALSE(reader.next().has_value());
  return all;
}

const Bytes kData = {1, 2, 3, 4, 5};
constexpr std::uint64_t kMicros = 1'600'000'000'000'000;

}  // namespace

TEST_CASE("pcapng: interfaces may have different snapshot lengths, linktypes and resolutions of time") {
  for (const bool isBigEndian : {false, true}) {
    CAPTURE(isBigEndian);
    Writer file(isBigEndian);
    file.interface(1, 65535).interface(101, 262144, file.option(9, {9}) + file.option(0, {}));
    file.packet(0, kMicros, kData, 1500).packet(1, kMicros * 1000 + 7, {0x45});
    const All all = readAll(file.bytes());
    CHECK(all.error.empty());
    REQUIRE(all.packets.size() == 2);
    CHECK(all.packets[0].data == kData);
    CHECK(all.packets[0].wire == 1500);
    CHECK(all.packets[0].timeNs == kMicros * 1000);
    CHECK(all.packets[0].linktype == 1);
    CHECK(all.packets[1].data == Bytes{0x45});
    CHECK(all.packets[1].timeNs == kMicros * 1000 + 7);
    CHECK(all.packets[1].linktype == 101);
  }
}

TEST_CASE("pcapng: obsolete and simple packets, blocks of others, and a second section in the other byte order") {
  Writer file, second(true);
  file.interface(1, 4).block(0x0bad, Bytes(100)).oldPacket(0, kMicros, kData).simplePacket({1, 2, 3, 4}, 900);
  second.interface(113, 0).packet(0, kMicros + 1, kData).simplePacket(kData, 5);
  const All all = readAll(file.bytes() + second.bytes());
  CHECK(all.error.empty());
  REQUIRE(all.packets.size() == 4);
  CHECK(all.packets[0].data == kData);
  // A simple packet has no time, and as many bytes as the snapshot length lets it have.
  CHECK(all.packets[1].data == Bytes{1, 2, 3, 4});
  CHECK(all.packets[1].wire == 900);
  CHECK(all.packets[1].timeNs == kMicros * 1000);
  CHECK(all.packets[2].linktype == 113);
  CHECK(all.packets[3].data == kData);
}

TEST_CASE("pcapng: times in every resolution that 64 bits can have") {
  const auto timeOf = [](Bytes resolution, std::uint64_t units, Bytes offset = {}) {
    Writer file;
    Bytes options = file.option(9, std::move(resolution));
    if (!offset.empty()) append(options, file.option(14, std::move(offset)));
    const All all = readAll(file.interface(1, 0, options).packet(0, units, kData).bytes());
    return all.packets.size() == 1 ? all.packets[0].timeNs : 1;
  };
  CHECK(timeOf({0}, 1'600'000'000) == 1'600'000'000'000'000'000);
  CHECK(timeOf({3}, 1'600'000'000'123) == 1'600'000'000'123'000'000);
  CHECK(timeOf({12}, 5'123'456'789'012) == 5'123'456'789);
  CHECK(timeOf({0x80}, 7) == 7'000'000'000);
  CHECK(timeOf({0x80 | 20}, (7U << 20) + (1U << 19)) == 7'500'000'000);
  CHECK(timeOf({0x80 | 63}, (std::uint64_t{1} << 63) + (std::uint64_t{1} << 62)) == 1'500'000'000);
  CHECK(timeOf({0}, ~std::uint64_t{0}) == std::uint64_t{1} << 63);
  CHECK(timeOf({6}, 1'000'000, {10, 0, 0, 0, 0, 0, 0, 0}) == 11'000'000'000);
  CHECK(timeOf({6}, 1'000'000, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) == 0);
  // Finer ones end the file.
  CHECK(timeOf({20}, 1) == 1);
  CHECK(timeOf({0x80 | 64}, 1) == 1);
}

TEST_CASE("pcapng: what cannot be ends the file after what came before, with a reason") {
  struct Fault {
    const char* error;
    Writer file;
  };
  const auto begun = [] { return Writer().interface(1, 65535).packet(0, kMicros, kData); };
  const std::vector<Fault> faults = {
      {"a packet is of an interface that is not there", begun().packet(1, kMicros, kData)},
      {"a packet is of an interface that is not there", begun().section().simplePacket(kData, 5)},
      {"a packet is longer than its block", begun().block(6, Bytes(8) + Bytes(4) + Bytes{5, 0, 0, 0} + Bytes(4))},
      {"a packet is cut", begun().block(6, Bytes(16))},
      {"a packet is cut", begun().block(3, {})},
      {"an interface is cut", begun().block(1, Bytes(4))},
      {"a section begins without its byte order", begun().block(kSection, Bytes(16))},
  };
  for (const Fault& fault : faults) {
    const All all = readAll(fault.file.bytes());
    CHECK(all.packets.size() == 1);
    CHECK(all.error == fault.error);
  }
  Bytes length = begun().bytes();
  append(length, {6, 0, 0, 0, 0xfc, 0xff, 0xff, 0xff});
  CHECK(readAll(length).error == "a block has an impossible length");
  Writer many;
  for (std::size_t i = 0; i <= PcapngReader::kInterfacesMax; i++) many.interface(1, 0);
  CHECK(readAll(many.bytes()).error == "it has too many interfaces");
}

TEST_CASE("pcapng: a file that is cut anywhere gives the packets before the cut, and says when it was cut in a block") {
  Writer file;
  std::vector<std::size_t> ends{file.bytes().size()};
  ends.push_back(file.interface(1, 65535).bytes().size());
  for (int i = 0; i < 3; i++) ends.push_back(file.packet(0, kMicros, kData).bytes().size());
  for (std::size_t length = 1; length <= file.bytes().size(); length++) {
    const All all = readAll(Bytes(file.bytes().begin(), file.bytes().begin() + static_cast<std::ptrdiff_t>(length)));
    std::size_t packets = 0;
    for (std::size_t i = 2; i < ends.size(); i++) packets += length >= ends[i] ? 1U : 0U;
    CHECK(all.packets.size() == packets);
    CHECK(all.error.empty() == (std::find(ends.begin(), ends.end(), length) != ends.end()));
  }
}

TEST_CASE("pcapng: spoiled files end, and do no harm") {
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  Writer file;
  file.interface(1, 65535, file.option(9, {9})).interface(101, 4);
  file.packet(0, kMicros, kData).oldPacket(1, kMicros, kData).simplePacket(kData, 5).section().interface(1, 0);
  file.packet(0, kMicros, Bytes(70'000));
  for (int round = 0; round < 2000; round++) {
    Bytes bytes = file.bytes();
    for (int i = 0; i < 3; i++)
      bytes[random() % std::min<std::size_t>(bytes.size(), 300)] = static_cast<std::uint8_t>(random());
    const All all = readAll(bytes);
    for (const Read& packet : all.packets) CHECK(packet.data.size() <= PcapngReader::kPacketBytesKept);
  }
}

}  // namespace floodwall::test
