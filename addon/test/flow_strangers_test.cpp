// Who sends in an exporter's name takes nothing from it: what it said stays, and what it says finds room.
#include <doctest/doctest.h>

#include <map>

#include "flow/flow_bounds.h"
#include "flow_messages.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint16_t kOwnPort = 2055;

/// One address from which several send, by NetFlow v9 or IPFIX.
class Senders {
 public:
  explicit Senders(bool isIpfix) : isIpfix_(isIpfix) {}

  void send(std::uint16_t port, std::uint32_t domain, const Bytes& sets, std::uint64_t nowMs) {
    // Numbers far apart: no sender goes on with another's.
    std::uint32_t& number = numbers_.try_emplace({port, domain}, 100'000 * (numbers_.size() + 1)).first->second;
    const MessageFields fields{.number = number, .domain = domain, .seconds = static_cast<std::uint32_t>(nowMs / 1000)};
    received.feed(isIpfix_ ? ipfix(fields, sets) : netflow9(fields, sets), nowMs, port);
    number++;
  }
  [[nodiscard]] Bytes definition(std::uint32_t id, const Fields& fields = kPlainFields) const {
    return isIpfix_ ? ipfixTemplate(static_cast<std::uint16_t>(id), fields)
                    : netflow9Template(static_cast<std::uint16_t>(id), fields);
  }
  [[nodiscard]] Bytes options(std::uint32_t id) const {
    const auto number = static_cast<std::uint16_t>(id);
    return isIpfix_ ? ipfixOptions(number, {{149, 4}}, {{34, 4}}) : netflow9Options(number, {{1, 4}}, {{34, 4}});
  }
  /// Whether records of the exporter's template count, in its domain.
  [[nodiscard]] bool counts(std::uint32_t id, std::uint64_t nowMs, std::uint32_t domain = 0) {
    const std::size_t before = received.records.size();
    send(kOwnPort, domain, flowSet(id, plainRecord()), nowMs);
    return received.records.size() == before + 1;
  }
  [[nodiscard]] std::uint64_t refused() const { return received.status().counts.templatesRefused; }

  Received received;

 private:
  bool isIpfix_;
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::uint32_t> numbers_;
};

/// How a stranger sends: from which port and domain its template comes, and whether it is followed by a record.
struct Flood {
  const char* name;
  std::uint16_t (*port)(std::uint32_t);
  std::uint32_t (*domain)(std::uint32_t);
  bool isOptions = false;
  bool hasRecords = false;
};
std::uint16_t onePort(std::uint32_t) { return 40'000; }
std::uint16_t ownPort(std::uint32_t) { return kOwnPort; }
std::uint16_t manyPorts(std::uint32_t i) { return static_cast<std::uint16_t>(30'000 + i); }
std::uint32_t oneDomain(std::uint32_t) { return 0; }
std::uint32_t otherDomain(std::uint32_t) { return 77; }
std::uint32_t manyDomains(std::uint32_t i) { return 1000 + i; }

constexpr Flood kFloods[] = {
    {"one port", onePort, oneDomain},
    {"options of one port", onePort, oneDomain, true},
    {"another domain of the exporter's port", ownPort, otherDomain},
    {"many ports", manyPorts, oneDomain},
    {"many domains", onePort, manyDomains},
    {"many domains of the exporter's port", ownPort, manyDomains},
    {"many ports and domains", manyPorts, manyDomains},
    {"one port, with records", onePort, oneDomain, false, true},
    {"many domains, with records", onePort, manyDomains, false, true},
};

void flood(Senders& senders, const Flood& way, std::uint32_t from, std::uint32_t count, std::uint64_t nowMs) {
  for (std::uint32_t i = from; i < from + count; i++) {
    const std::uint32_t id = 256 + i % 60'000;
    Bytes sets = way.isOptions ? senders.options(id) : senders.definition(id);
    if (way.hasRecords) append(sets, flowSet(id, plainRecord({.destination = kProtected + 200})));
    senders.send(way.port(i), way.domain(i), sets, nowMs);
  }
}

}  // namespace

TEST_CASE("strangers: templates in an exporter's name before its own do not shut it out") {
  for (const Flood& way : kFloods) {
    for (const bool isIpfix : {false, true}) {
      CAPTURE(std::string(way.name));
      CAPTURE(isIpfix);
      Senders senders(isIpfix);
      flood(senders, way, 0, 2 * kTemplatesMax, kFlowNowMs);
      // Twenty templates of the exporter, in one datagram, and its data.
      Bytes own;
      for (std::uint32_t id = 256; id < 276; id++) append(own, senders.definition(id));
      senders.send(kOwnPort, 0, own, kFlowNowMs + 1000);
      for (std::uint32_t id = 256; id < 276; id++) CHECK(senders.counts(id, kFlowNowMs + 1100));
      CHECK(senders.received.status().templates <= kTemplatesMax);
      CHECK(senders.received.status().domains <= kFlowDomainsMax);
    }
  }
}

TEST_CASE("strangers: templates that decoded records outlast any flood of others") {
  for (const Flood& way : kFloods) {
    for (const bool isIpfix : {false, true}) {
      CAPTURE(std::string(way.name));
      CAPTURE(isIpfix);
      Senders senders(isIpfix);
      std::uint64_t nowMs = kFlowNowMs;
      Bytes own = senders.options(400);
      for (std::uint32_t id = 256; id < 276; id++) append(own, senders.definition(id));
      senders.send(kOwnPort, 0, own + flowSet(400, words({0, 1000})), nowMs);
      for (std::uint32_t id = 256; id < 276; id++) REQUIRE(senders.counts(id, nowMs));
      for (std::uint32_t round = 0; round < 30; round++) {
        nowMs += 60'000;
        flood(senders, way, round * 100, 100, nowMs);
        // It sends its templates every 30 minutes at most, and each of them has data now and then.
        CHECK(senders.counts(256 + round % 20, nowMs));
      }
      for (std::uint32_t id = 256; id < 276; id++) CHECK(senders.counts(id, nowMs));
      CHECK(senders.received.records.back().samplingRate == 1000);
    }
  }
}

TEST_CASE("strangers: those of another port, domain or protocol redefine nothing") {
  const Fields other = {{12, 4}, {8, 4}, {11, 2}, {7, 2}, {4, 1}, {1, 4}, {2, 4}};
  for (const bool isIpfix : {false, true}) {
    Senders senders(isIpfix);
    senders.send(kOwnPort, 0, senders.definition(256), kFlowNowMs);
    senders.send(40'000, 0, senders.definition(256, other), kFlowNowMs);
    senders.send(kOwnPort, 5, senders.definition(256, other), kFlowNowMs);
    senders.received.feed(isIpfix ? netflow9({.number = 5}, netflow9Template(256, other))
                                  : ipfix({.number = 5}, ipfixTemplate(256, other)));
    REQUIRE(senders.counts(256, kFlowNowMs + 1));
    CHECK(senders.received.records[0].packet.destination == ipv4(kProtected + 1));
    CHECK(senders.received.status().counts.templateChanges == 0);
  }
}

TEST_CASE("a template table that is full of what is in use refuses others, and says so") {
  Senders senders(true);
  // Four sources with a full share each, all of it in use for longer than kEstablishedMs.
  constexpr std::size_t kSources = kTemplatesMax / kDomainTemplatesMax;
  for (const std::uint64_t nowMs : {kFlowNowMs, kFlowNowMs + kEstablishedMs}) {
    for (std::uint32_t domain = 1; domain <= kSources; domain++) {
      for (std::uint32_t i = 0; i < kDomainTemplatesMax; i++) {
        senders.send(kOwnPort, domain, senders.definition(256 + i) + flowSet(256 + i, plainRecord()), nowMs);
      }
    }
  }
  CHECK(senders.received.status().templates == kTemplatesMax);
  CHECK(senders.refused() == 0);
  const std::uint64_t nowMs = kFlowNowMs + kEstablishedMs + 1000;
  senders.send(kOwnPort, 9, senders.definition(256), nowMs);
  CHECK(senders.refused() == 1);
  CHECK(senders.received.undecoded() == "no room for template 256 of domain 9 x1");
  // A share is bounded too.
  senders.send(kOwnPort, 1, senders.definition(600), nowMs);
  CHECK(senders.refused() == 2);
  // What is not used any more is replaced.
  const std::uint64_t later = nowMs + kFlowIdleMs + 1;
  senders.send(kOwnPort, 9, senders.definition(256) + flowSet(256, plainRecord()), later);
  CHECK(senders.refused() == 2);
  CHECK(senders.received.status().templates == 1);
}

TEST_CASE("domains of one port take no more than their share from a port that comes later") {
  Senders senders(false);
  for (std::uint32_t domain = 0; domain < kFlowDomainsMax; domain++) {
    senders.send(40'000, domain, senders.definition(256) + flowSet(256, plainRecord()), kFlowNowMs + domain);
  }
  for (std::uint32_t domain = 0; domain < 20; domain++) {
    senders.send(kOwnPort, domain, senders.definition(256), kFlowNowMs + 1000);
    CHECK(senders.counts(256, kFlowNowMs + 1000, domain));
  }
  CHECK(senders.received.status().domains == kFlowDomainsMax);
  // Domains that have been in use for long stay.
  Senders old(false);
  for (const std::uint64_t nowMs : {kFlowNowMs, kFlowNowMs + kEstablishedMs}) {
    for (std::uint32_t domain = 0; domain < kFlowDomainsMax; domain++) {
      old.send(40'000, domain, old.definition(256) + flowSet(256, plainRecord()), nowMs);
    }
  }
  old.send(kOwnPort, 0, old.definition(256), kFlowNowMs + kEstablishedMs);
  CHECK(old.received.status().undecodedByKind[static_cast<std::size_t>(UndecodedKind::bound)] == 1);
}
