// What exporters said, over a restart of the service.
#include <doctest/doctest.h>

#include "collector/exporter_table.h"
#include "flow/flow_bounds.h"
#include "flow/saved_exporter.h"
#include "flow_messages.h"
#include "flow_records.h"
#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

const Fields kSampledFields = {{12, 4}, {2, 4}, {10, 4}, {302, 4}};
Bytes sampledRecord(std::uint32_t host, std::uint32_t sampler) { return words({kProtected + host, 10, 7, sampler}); }

/// A message of either protocol; the uptime of NetFlow v9 follows the clock.
Bytes message(bool isIpfix, std::uint32_t sequence, const Bytes& sets, std::uint64_t nowMs) {
  const MessageFields fields{.number = sequence,
                             .uptimeMs = kUptimeMs + static_cast<std::uint32_t>(nowMs - kFlowNowMs),
                             .seconds = static_cast<std::uint32_t>(nowMs / 1000)};
  return isIpfix ? ipfix(fields, sets) : netflow9(fields, sets);
}

/// Templates, a sampling rate and a name, and records that used them; and a template that nothing uses.
Bytes everything(bool isIpfix) {
  const auto define = [&](std::uint16_t id, const Fields& fields) {
    return isIpfix ? ipfixTemplate(id, fields) : netflow9Template(id, fields);
  };
  const auto options = [&](std::uint16_t id, const Fields& fields) {
    return isIpfix ? ipfixOptions(id, {{149, 4}}, fields) : netflow9Options(id, {{1, 4}}, fields);
  };
  return define(256, kSampledFields) + define(257, kPlainFields) + define(258, {{12, 4}, {2, 1}, {82, 65'535}}) +
         define(299, kPlainFields) + options(300, {{302, 4}, {34, 4}}) + options(301, {{10, 4}, {82, 16}}) +
         flowSet(300, words({0, 3, 512})) + flowSet(301, words({0, 7}) + text("et-0/0/7", 16)) +
         flowSet(256, sampledRecord(1, 3)) + flowSet(257, plainRecord()) +
         flowSet(258, words({kProtected + 2}) + number(9, 1) + number(2, 1) + text("ab", 2));
}

Bytes savedOf(const FlowExporter& exporter) {
  Bytes bytes;
  exporter.saveInto(bytes);
  return bytes;
}

/// What it said, saved as it is after its records.
Bytes savedAfter(bool isIpfix) {
  Received received;
  received.feed(message(isIpfix, 0, everything(isIpfix), kFlowNowMs));
  REQUIRE(received.records.size() == 3);
  // A table of interfaces asks for the names of those that records have.
  REQUIRE(received.exporter.interfaceName(7) == "et-0/0/7");
  return savedOf(received.exporter);
}

}  // namespace

TEST_CASE("memory: after a restart records of known templates count at once, with their rates and names") {
  for (const bool isIpfix : {false, true}) {
    CAPTURE(isIpfix);
    Received received;
    REQUIRE(received.exporter.restore(savedAfter(isIpfix)));
    CHECK(received.exporter.interfaceName(7) == "et-0/0/7");
    // An unused template is not kept.
    CHECK(received.status().templates == 5);
    received.feed(
        message(isIpfix, 900, flowSet(256, sampledRecord(1, 3)) + flowSet(257, plainRecord()), kFlowNowMs + 60'000),
        kFlowNowMs + 60'000);
    REQUIRE(received.records.size() == 2);
    CHECK(received.records[0].samplingRate == 512);
    CHECK(received.records[0].input == 7);
    CHECK(received.records[1].packets == 10);
    // And again after the next one, though nothing was said since.
    Received again;
    REQUIRE(again.exporter.restore(savedOf(received.exporter)));
    CHECK(again.status().templates == 5);
    CHECK(again.exporter.interfaceName(7) == "et-0/0/7");
  }
}

TEST_CASE("memory: what the exporter says holds instead of what was kept") {
  Received received;
  REQUIRE(received.exporter.restore(savedAfter(true)));
  const Fields other = {{2, 4}, {12, 4}, {302, 4}};
  received.feed(message(true, 900,
                        ipfixTemplate(256, other) + flowSet(300, words({0, 3, 64})) +
                            flowSet(301, words({0, 7}) + text("xe-9", 16)) +
                            flowSet(256, words({5, kProtected + 9, 3})),
                        kFlowNowMs));
  REQUIRE(received.records.size() == 1);
  CHECK(received.records[0].packet.destination == ipv4(kProtected + 9));
  CHECK(received.records[0].samplingRate == 64);
  CHECK(received.exporter.interfaceName(7) == "xe-9");
}

TEST_CASE("memory: a NetFlow v9 exporter that restarted meanwhile is known by its uptime") {
  const auto countsWith = [](std::uint32_t uptimeMs, std::uint64_t nowMs) {
    Received received;
    REQUIRE(received.exporter.restore(savedAfter(false)));
    received.feed(netflow9({.number = 5, .uptimeMs = uptimeMs, .seconds = static_cast<std::uint32_t>(nowMs / 1000)},
                           flowSet(257, plainRecord())),
                  nowMs);
    return received.records.size();
  };
  constexpr std::uint32_t kLaterMs = 3'000'000;
  CHECK(countsWith(kUptimeMs + kLaterMs, kFlowNowMs + kLaterMs) == 1);
  CHECK(countsWith(1000, kFlowNowMs + 60'000) == 0);
  // Up for longer than before, and yet for less than the time since then would have it.
  CHECK(countsWith(kUptimeMs + 1'000'000, kFlowNowMs + kLaterMs) == 0);
}

TEST_CASE("memory: damaged bytes are taken as far as they go, and do no harm") {
  SHOW_SEED();
  Random random;
  const Bytes whole = savedAfter(true);
  for (std::size_t length = 0; length < whole.size(); length++) {
    Received received;
    // In memory of its exact size, for the address sanitizer.
    const std::vector<std::uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    CHECK_FALSE(received.exporter.restore(cut));
    received.feed(message(true, 900, everything(true), kFlowNowMs));
    CHECK(received.records.size() == 3);
  }
  for (int i = 0; i < 5'000; i++) {
    Bytes changed = whole;
    for (std::size_t flips = 1 + random.below(4); flips > 0; flips--) {
      changed[random.below(changed.size())] = static_cast<std::uint8_t>(random.below(256));
    }
    Received received;
    static_cast<void>(received.exporter.restore(changed));
    const FlowExporterStatus status = received.status();
    REQUIRE(status.templates <= kTemplatesMax);
    received.feed(message(
        true, 900, flowSet(256, Bytes(64, 1)) + flowSet(257, Bytes(64, 1)) + flowSet(258, Bytes(64, 1)), kFlowNowMs));
  }
}

TEST_CASE("memory: an exporter with all tables full is kept within its bound") {
  Received received;
  std::uint32_t sequence = 0;
  for (std::uint32_t domain = 0; domain < 4; domain++) {
    for (std::uint32_t i = 0; i < kDomainTemplatesMax; i++) {
      const std::uint32_t id = 256 + i;
      received.feed(ipfix({.number = sequence++, .domain = domain},
                          ipfixTemplate(static_cast<std::uint16_t>(id), Fields(kTemplateFieldsMax, {12, 4})) +
                              flowSet(id, Bytes(4 * kTemplateFieldsMax, 1))));
    }
  }
  REQUIRE(received.status().templates == kTemplatesMax);
  const Bytes bytes = savedOf(received.exporter);
  CHECK(bytes.size() <= kSavedExporterMax);
  CHECK(bytes.size() > kSavedExporterMax - 4096);
  Received restored;
  CHECK(restored.exporter.restore(bytes));
  CHECK(restored.status().templates > 100);
}

namespace {

/// A table of exporters that all are admitted, and what it remembers.
struct Remembering {
  explicit Remembering(const Bytes& saved = {}, std::uint64_t wallMs = kFlowNowMs) {
    memory.load(saved, 1000, wallMs);
    table.setRules(rulesOf({}, presence));
  }
  std::size_t feed(std::uint32_t host, const Bytes& datagram, std::uint64_t nowMs) {
    Received sink;
    Exporter* const exporter = table.find(exporterAddress(host), nowMs);
    REQUIRE(exporter != nullptr);
    exporter->decode({datagram, 2055}, nowMs, kFlowNowMs + nowMs, sink);
    table.publish(nowMs, kFlowNowMs + nowMs);
    return sink.records.size();
  }
  [[nodiscard]] std::uint16_t numberOf(std::uint32_t host, std::uint64_t nowMs) {
    return table.find(exporterAddress(host), nowMs)->number();
  }
  [[nodiscard]] Bytes saved(std::uint64_t nowMs) const {
    std::vector<SavedExporter> all = table.saved();
    memory.addTo(all, nowMs);
    return packed(std::move(all));
  }

  SitePresence presence;
  ExporterNumbers numbers;
  SavedExporters memory{numbers};
  ExporterTable table{numbers, &memory};
};

}  // namespace

TEST_CASE("memory: exporters keep their numbers, and those without a datagram yet are remembered on") {
  Remembering first;
  for (std::uint32_t host = 1; host <= 5; host++)
    first.feed(host, message(true, 0, everything(true), kFlowNowMs), 2000);
  const Bytes saved = first.saved(2000);
  Remembering second(saved, kFlowNowMs + 3000);
  // Another comes first, and takes none of their numbers.
  second.feed(9, message(true, 0, everything(true), kFlowNowMs), 1000);
  for (const std::uint32_t host : {4U, 1U, 2U}) {
    CHECK(second.feed(host, message(true, 50, flowSet(257, plainRecord()), kFlowNowMs), 1000) == 1);
    CHECK(second.numberOf(host, 1000) == first.numberOf(host, 2000));
  }
  Remembering third(second.saved(1000), kFlowNowMs + 4000);
  for (std::uint32_t host = 1; host <= 5; host++) {
    CHECK(third.feed(host, message(true, 99, flowSet(257, plainRecord()), kFlowNowMs), 1000) == 1);
    CHECK(third.numberOf(host, 1000) == first.numberOf(host, 2000));
  }
}

TEST_CASE("memory: an exporter that was silent for an hour is forgotten") {
  Remembering first;
  first.feed(1, message(true, 0, everything(true), kFlowNowMs), 2000);
  const Bytes saved = first.saved(2000);
  const Bytes data = message(true, 50, flowSet(257, plainRecord()), kFlowNowMs);
  Remembering soon(saved, kFlowNowMs + kSavedMs);
  CHECK(soon.feed(1, data, 1000) == 1);
  Remembering late(saved, kFlowNowMs + 2000 + kSavedMs);
  CHECK(late.feed(1, data, 1000) == 0);
  // Or comes too long after the start.
  Remembering waiting(saved, kFlowNowMs + 2000);
  CHECK(waiting.feed(1, data, 1000 + kSavedMs) == 0);
  CHECK(waiting.saved(1000 + kSavedMs).size() < saved.size());
}

TEST_CASE("memory: of damaged exporters those before the damage are taken") {
  Remembering first;
  for (std::uint32_t host = 1; host <= 3; host++)
    first.feed(host, message(true, 0, everything(true), kFlowNowMs), 2000);
  const Bytes saved = first.saved(2000);
  Remembering cut(Bytes(saved.begin(), saved.end() - 10), kFlowNowMs);
  std::size_t counted = 0;
  for (std::uint32_t host = 1; host <= 3; host++) {
    counted += cut.feed(host, message(true, 50, flowSet(257, plainRecord()), kFlowNowMs), 1000);
  }
  CHECK(counted == 2);
}
