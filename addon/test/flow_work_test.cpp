// What decoding costs, in steps (flow_work.h): no datagram takes more than its bytes allow, whatever it says.
#include "flow/flow_work.h"

#include <doctest/doctest.h>

#include "flow/flow_bounds.h"
#include "flow_messages.h"
#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

/// Adds what a datagram says, and checks what that took.
class Worked {
 public:
  void feed(const Bytes& datagram, std::uint64_t nowMs = kFlowNowMs, std::uint16_t port = 2055) {
    const std::uint64_t before = received_.exporter.work();
    const std::size_t waited = received_.status().waitingBytes;
    received_.feed(datagram, nowMs, port);
    received_.records.clear();
    received_.headers.clear();
    last = received_.exporter.work() - before;
    const std::size_t waits = received_.status().waitingBytes, decoded = waited > waits ? waited - waits : 0;
    const std::uint64_t most = kWorkPerDatagram + kWorkPerByte * (datagram.size() + decoded);
    CAPTURE(datagram.size());
    CHECK(last <= most);
    worst = std::max(worst, static_cast<double>(last) / static_cast<double>(most));
  }

  std::uint64_t last = 0;
  double worst = 0;

 private:
  Received received_;
};

/// Elements that each have a way of their own through the decoder.
constexpr std::uint16_t kElements[] = {1,  2,  4,  7,  8,  10, 11,  12,  14,  21,  22,  27,  28,  34,  35,  48,  49,
                                       50, 82, 83, 85, 86, 99, 104, 145, 152, 160, 231, 233, 302, 305, 306, 313, 500};

Fields drawFields(Random& random, std::size_t most) {
  Fields fields;
  const std::size_t kind = random.below(4);
  for (std::size_t count = 1 + random.below(most); fields.size() < count;) {
    const std::uint16_t element = kElements[random.below(std::size(kElements))];
    std::uint16_t length = static_cast<std::uint16_t>(1 + random.below(4));
    if (kind == 0) length = static_cast<std::uint16_t>(random.below(3) == 0 ? 65'535 : random.below(2));
    if (kind == 1) length = 65'535;
    if (kind == 2 && random.below(8) != 0) length = 0;
    // Addresses of a right length have records made of them.
    if ((element == 8 || element == 12) && random.below(2) == 0) length = 4;
    fields.push_back({element, length, 0});
  }
  return fields;
}

Bytes drawRecords(Random& random, std::size_t bytes) {
  Bytes records(bytes);
  const std::size_t kind = random.below(3);
  for (std::uint8_t& byte : records) {
    byte = static_cast<std::uint8_t>(kind == 0 ? 0 : kind == 1 ? random.below(2) : random.below(256));
  }
  return records;
}

}  // namespace

TEST_CASE("work: datagrams of generated templates take no more than their bytes allow") {
  SHOW_SEED();
  Random random;
  double worst = 0;
  for (int exporter = 0; exporter < 60; exporter++) {
    Worked worked;
    const bool isIpfix = random.below(2) == 0;
    std::uint32_t sequence = 1;
    std::uint64_t nowMs = kFlowNowMs;
    const auto send = [&](const Bytes& sets) {
      const MessageFields fields{.number = sequence++, .domain = static_cast<std::uint32_t>(random.below(3))};
      worked.feed(isIpfix ? ipfix(fields, sets) : netflow9(fields, sets), nowMs,
                  static_cast<std::uint16_t>(2055 + random.below(2)));
      nowMs += random.below(50);
    };
    for (int i = 0; i < 60; i++) {
      const auto id = static_cast<std::uint16_t>(256 + random.below(8));
      const Fields scopes = {
          {static_cast<std::uint16_t>(isIpfix ? 149 : 1), static_cast<std::uint16_t>(random.below(2))}};
      const Fields fields = drawFields(random, random.below(4) == 0 ? kTemplateFieldsMax - 1 : 6);
      if (random.below(2) == 0) {
        send(isIpfix ? ipfixTemplate(id, fields) : netflow9Template(id, fields));
      } else {
        send(isIpfix ? ipfixOptions(id, scopes, fields) : netflow9Options(id, scopes, fields));
      }
      Bytes sets;
      for (std::size_t count = 1 + random.below(3); count > 0; count--) {
        append(sets,
               flowSet(256 + static_cast<std::uint32_t>(random.below(8)), drawRecords(random, random.below(1400))));
      }
      send(sets);
    }
    worst = std::max(worst, worked.worst);
  }
  MESSAGE("at most ", static_cast<int>(100 * worst), " % of what is allowed");
  // The bound is one that is met.
  CHECK(worst > 0.1);
}

TEST_CASE("work: fields of no length cost a record nothing") {
  for (const bool isVariable : {false, true}) {
    CAPTURE(isVariable);
    Fields none(kTemplateFieldsMax - 1, {99, 0});
    none.push_back({99, static_cast<std::uint16_t>(isVariable ? 65'535 : 1)});
    Worked worked;
    worked.feed(ipfix({}, ipfixTemplate(256, none) + ipfixTemplate(257, {none.back()})));
    worked.feed(ipfix({}, flowSet(256, Bytes(1400, 0))));
    const std::uint64_t withThem = worked.last;
    worked.feed(ipfix({}, flowSet(257, Bytes(1400, 0))));
    CHECK(withThem == worked.last);
  }
}

TEST_CASE("work: what is stepped over costs a record of variable length one step") {
  Fields many = {{12, 4}, {2, 4}, {82, 65'535}};
  for (int i = 0; i < 200; i++) many.push_back({99, 1});
  Worked one, other;
  one.feed(ipfix({}, ipfixTemplate(256, many)));
  other.feed(ipfix({}, ipfixTemplate(256, {{12, 4}, {2, 4}, {82, 65'535}, {99, 200}})));
  const Bytes record = words({kProtected, 7}) + number(3, 1) + text("abc", 3) + Bytes(200, 'x');
  one.feed(ipfix({.number = 1}, flowSet(256, record + record)));
  other.feed(ipfix({.number = 1}, flowSet(256, record + record)));
  CHECK(one.last == other.last);
}

TEST_CASE("work: floods that make something new with every few bytes stay within the bound") {
  const auto each = [](std::size_t bytes, std::size_t size, const auto& make) {
    Bytes made;
    for (std::uint32_t i = 0; made.size() + size <= bytes; i++) append(made, make(i));
    return made;
  };
  Worked rates;
  rates.feed(ipfix({}, ipfixOptions(300, {{302, 2}}, {{34, 1}}) + ipfixOptions(301, {{149, 1}}, {{34, 1}}) +
                           ipfixOptions(302, {{10, 2}}, {{82, 2}})));
  for (std::uint32_t round = 0; round < 20; round++) {
    const auto next = [&](std::uint32_t i) { return number(i + 500 * round, 2) + number(1 + (i + round) % 200, 1); };
    rates.feed(ipfix({.number = 3 * round}, flowSet(300, each(1400, 3, next))));
    rates.feed(ipfix({.number = 3 * round + 1}, flowSet(301, drawRecords(*std::make_unique<Random>(), 1400))));
    rates.feed(ipfix({.number = 3 * round + 2}, flowSet(302, each(1400, 4, [&](std::uint32_t i) {
                                                          return number(i, 2) + text(std::to_string(round), 2);
                                                        }))));
  }
  Worked templates;
  for (std::uint32_t round = 0; round < 100; round++) {
    const auto next = [&](std::uint32_t i) {
      return templateRecord(static_cast<std::uint16_t>(256 + (i + 170 * round) % 65'000), {{99, 4}});
    };
    templates.feed(ipfix({.number = round, .domain = round % 9}, flowSet(2, each(1400, 8, next))));
    // Data that waits for none of them.
    templates.feed(ipfix({.number = 5000 + round, .domain = 99},
                         each(1400, 5, [&](std::uint32_t i) { return flowSet(65'400 + i % 100, Bytes(1, 1)); })));
  }
  Worked domains;
  for (std::uint32_t i = 0; i < 3 * kFlowDomainsMax; i++) {
    domains.feed(netflow9({.domain = i}, netflow9Template(256, kPlainFields) + flowSet(256, plainRecord())));
  }
}

TEST_CASE("work: sFlow samples with as many records as fit") {
  const auto sflow = [](std::uint32_t sequence, std::uint32_t samples, const Bytes& content) {
    return words({5, 1, 0x0a0a0a0a, 0, sequence, kUptimeMs, samples}) + content;
  };
  Worked worked;
  const Bytes head = words({1, 7, 1000, 1, 0, 1, 2});
  for (const std::uint32_t format : {1U, 3U, 1003U, 4096U}) {
    for (const std::uint32_t length : {0U, 16U, 20U}) {
      Bytes records;
      std::uint32_t count = 0;
      for (; records.size() < 1200; count++) append(records, words({format, length}) + Bytes(length, 1));
      const Bytes sample = head + words({count}) + records;
      worked.feed(sflow(format + length, 1, words({1, static_cast<std::uint32_t>(sample.size())}) + sample));
    }
  }
  // Samples of nothing, of kinds that are known and unknown.
  for (const std::uint32_t format : {1U, 2U, 5U, 77U, 0x123001U}) {
    Bytes samples;
    for (int i = 0; i < 150; i++) append(samples, words({format, 0}));
    worked.feed(sflow(1000 + format, 150, samples));
  }
}
