// The samples of many places in one reading.
#include <doctest/doctest.h>

#include <cstring>

#include <random>
#include "engine_fixture.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint8_t kIncoming = 0, kOutgoing = 1, kEither = 2;

sample_place placeOf(const Address& address, std::uint8_t direction = kIncoming, std::uint8_t length = 128) {
  sample_place place{};
  std::memcpy(place.address, address.bytes.data(), sizeof place.address);
  place.group = RECORD_NO_GROUP;
  place.length = length;
  place.direction = direction;
  return place;
}
sample_place groupPlace(std::uint32_t group) {
  sample_place place = placeOf({});
  place.group = group;
  return place;
}

struct Reading {
  std::vector<std::uint32_t> counts;
  std::vector<sample_record> records;
};
Reading read(const Engine& engine, const std::vector<sample_place>& places, std::uint32_t each = 10'000,
             std::size_t capacity = 100'000) {
  std::vector<std::uint8_t> bytes(capacity * sizeof(sample_record));
  Reading reading{std::vector<std::uint32_t>(places.size()), {}};
  reading.records.resize(engine.readSamplesOf(places, bytes, reading.counts, each));
  if (!reading.records.empty()) {
    std::memcpy(reading.records.data(), bytes.data(), reading.records.size() * sizeof(sample_record));
  }
  return reading;
}
std::vector<std::uint16_t> portsOf(const Reading& reading) {
  std::vector<std::uint16_t> ports;
  for (const sample_record& record : reading.records) ports.push_back(record.source_port);
  return ports;
}

Bytes frameTo(std::uint32_t host, std::uint16_t port) {
  return ethernet(0x0800) + ipv4Packet({.source = kForeign + 1, .destination = kProtected + host}, udp(port, 53));
}
void watch(Engine& engine, std::uint32_t hosts) {
  std::vector<std::uint8_t> bytes;
  for (std::uint32_t i = 0; i < hosts; i++) {
    const Address address = ipv4(kProtected + i);
    bytes.insert(bytes.end(), address.bytes.begin(), address.bytes.end());
  }
  engine.setWatched(bytes);
}

}  // namespace

TEST_CASE("each place has its own packets, in the order of the places, newest last") {
  EngineFixture fixture;
  for (std::uint16_t port = 1; port <= 6; port++) fixture.count(frameTo(port % 2, port));
  fixture.tick();
  const Reading reading =
      read(fixture.engine, {placeOf(ipv4(kProtected + 1)), placeOf(ipv4(kProtected + 7)), placeOf(ipv4(kProtected))});
  CHECK(reading.counts == std::vector<std::uint32_t>{3, 0, 3});
  CHECK(portsOf(reading) == std::vector<std::uint16_t>{1, 3, 5, 2, 4, 6});
}

TEST_CASE("a packet belongs to its host, to prefixes that hold it and to its group") {
  EngineFixture fixture;
  fixture.count(frameTo(1, 1));
  fixture.count(frameTo(300, 2));
  fixture.tick();
  const std::vector<sample_place> places = {placeOf(ipv4(kProtected), kIncoming, 120),
                                            placeOf(ipv4(kProtected + 256), kIncoming, 119),
                                            placeOf(ipv4(kProtected + 1)), groupPlace(0), groupPlace(1)};
  CHECK(read(fixture.engine, places).counts == std::vector<std::uint32_t>{1, 2, 1, 2, 0});
}

TEST_CASE("a direction has only its own packets, and either has each once") {
  EngineFixture fixture({.countOutgoing = true});
  fixture.count(ethernet(0x0800) + ipv4Packet({.source = kForeign, .destination = kProtected + 1}, udp(1, 53)));
  fixture.count(ethernet(0x0800) + ipv4Packet({.source = kProtected + 1, .destination = kForeign}, udp(2, 53)));
  fixture.count(ethernet(0x0800) + ipv4Packet({.source = kProtected + 1, .destination = kProtected + 2}, udp(3, 53)));
  fixture.tick();
  const Address host = ipv4(kProtected + 1);
  CHECK(portsOf(read(fixture.engine, {placeOf(host, kIncoming)})) == std::vector<std::uint16_t>{1});
  // The third goes to another of ours: anyone can send it in the name of this one.
  CHECK(portsOf(read(fixture.engine, {placeOf(host, kOutgoing)})) == std::vector<std::uint16_t>{2});
  CHECK(portsOf(read(fixture.engine, {placeOf(ipv4(kProtected), kEither, 112)})) ==
        std::vector<std::uint16_t>{1, 2, 3});
}

TEST_CASE("of each place the newest come where not all may, and no more than there is room for") {
  EngineFixture fixture;
  for (std::uint16_t port = 1; port <= 4; port++) {
    fixture.count(frameTo(1, port));
    fixture.count(frameTo(2, port));
    fixture.tick();
  }
  const std::vector<sample_place> places = {placeOf(ipv4(kProtected + 1)), placeOf(ipv4(kProtected + 2))};
  CHECK(portsOf(read(fixture.engine, places, 2)) == std::vector<std::uint16_t>{3, 4, 3, 4});
  const Reading cut = read(fixture.engine, places, 4, 5);
  CHECK(cut.counts == std::vector<std::uint32_t>{4, 1});
  CHECK(portsOf(cut) == std::vector<std::uint16_t>{1, 2, 3, 4, 4});
}

TEST_CASE("a record says what the headers of its frame say") {
  EngineFixture fixture;
  fixture.count(ethernet(0x0800) + ipv4Packet({.source = kForeign + 9, .destination = kProtected + 1, .protocol = 6},
                                              tcp(4000, 443, 0x12)));
  fixture.count(ethernet(0x0800) + ipv4Packet({.fragment = 100}, Bytes(8)));
  fixture.count(ethernet(0x0800) + ipv4Packet({.fragment = 0x2000}, udp(0, 0)));
  fixture.tick();
  const Reading reading = read(fixture.engine, {placeOf(ipv4(kProtected + 1))});
  REQUIRE(reading.records.size() == 3);
  const sample_record& segment = reading.records[0];
  CHECK(segment.protocol == 6);
  CHECK(segment.header_bits == (RECORD_PORTS | RECORD_TCP_FLAGS));
  CHECK(segment.tcp_flags == 0x12);
  CHECK(segment.source_port == 4000);
  CHECK(segment.destination_port == 443);
  CHECK(segment.packet_bytes == segment.wire_bytes - 14);
  CHECK(segment.ttl == 64);
  const Address source = ipv4(kForeign + 9);
  CHECK(std::memcmp(segment.source, source.bytes.data(), 16) == 0);
  CHECK(reading.records[1].header_bits == RECORD_LATER_FRAGMENT);
  CHECK(reading.records[2].header_bits == (RECORD_FIRST_FRAGMENT | RECORD_PORTS));
}

TEST_CASE("places that there are not are refused") {
  EngineFixture fixture;
  CHECK_THROWS_AS(read(fixture.engine, {placeOf({}, kIncoming, 129)}), std::invalid_argument);
  CHECK_THROWS_AS(read(fixture.engine, {placeOf({}, 3)}), std::invalid_argument);
}

TEST_CASE("the same packets give the same records for all of 1,024 watched hosts") {
  const auto run = [] {
    EngineFixture fixture;
    watch(fixture.engine, kWatchedMax);
    std::mt19937_64 random(7);
    std::vector<sample_place> places;
    for (std::uint32_t i = 0; i < kWatchedMax; i++) places.push_back(placeOf(ipv4(kProtected + i)));
    for (int tick = 0; tick < 3; tick++) {
      for (int i = 0; i < 20'000; i++) {
        fixture.count(
            frameTo(static_cast<std::uint32_t>(random() % kWatchedMax), static_cast<std::uint16_t>(random() % 60'000)));
      }
      fixture.tick();
    }
    return read(fixture.engine, places, 64);
  };
  const Reading first = run(), second = run();
  CHECK(first.counts == second.counts);
  REQUIRE(first.records.size() == second.records.size());
  CHECK(std::memcmp(first.records.data(), second.records.data(), first.records.size() * sizeof(sample_record)) == 0);
  for (const std::uint32_t count : first.counts) CHECK(count > 16);
}
