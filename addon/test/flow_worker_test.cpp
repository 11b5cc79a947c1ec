// The turns of a receiving thread: bounded by what datagrams cost, with nothing lost between two of them.
#include "collector/flow_worker.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "collector/flow_socket.h"
#include "engine_fixture.h"
#include "flow/flow_work.h"
#include "flow_messages.h"
#include "flow_records.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

/// A worker at a port of the loopback, and one who sends to it.
struct WorkerFixture {
  WorkerFixture() {
    setNetworks(engine, usualNetworks());
    rules.set(rulesOf({}, presence));
    sockaddr_in address{};
    socklen_t length = sizeof address;
    REQUIRE(getsockname(sockets[0].get(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
    REQUIRE(connect(sender.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0);
  }
  void send(const Bytes& datagram) const {
    REQUIRE(::send(sender.get(), datagram.data(), datagram.size(), 0) == static_cast<ssize_t>(datagram.size()));
  }
  unsigned turn() {
    shard->leaveIdle();
    const unsigned datagrams = worker.turn();
    shard->enterIdle();
    return datagrams;
  }

  Engine engine{{.maxHosts = 1000, .windowMs = 1000, .tickMs = 100, .countOutgoing = false, .idleMs = 60'000}};
  std::shared_ptr<Shard> shard = engine.addShard();
  SitePresence presence;
  ExporterNumbers numbers;
  RulesInForce rules;
  FlowThread thread{numbers, rules};
  std::vector<UniqueFd> sockets = openFlowSockets({ipv4(INADDR_LOOPBACK), 0}, 1, 16U << 20);
  UniqueFd sender{socket(AF_INET, SOCK_DGRAM, 0)};
  FlowWorker worker{sockets[0], thread, *shard, 100};
};

}  // namespace

TEST_CASE("a turn ends after so much work, and the next one goes on where it ended") {
  WorkerFixture fixture;
  // Each datagram has as many records as fit, of five bytes: 10 times the work of the same bytes in usual ones.
  fixture.send(ipfix({}, ipfixTemplate(256, {{12, 4}, {2, 1}})));
  CHECK(fixture.turn() == 1);
  constexpr std::uint32_t kRecords = 12'000, kDatagrams = 20;
  Bytes records;
  for (std::uint32_t i = 0; i < kRecords; i++) append(records, words({kProtected}) + number(1, 1));
  for (std::uint32_t i = 0; i < kDatagrams; i++) fixture.send(ipfix({.number = i * kRecords}, flowSet(256, records)));
  constexpr std::uint64_t kWork = kRecords * (kRecordWork + 2);
  constexpr auto kATurn = static_cast<unsigned>(FlowWorker::kWorkATurn / kWork + 1);
  static_assert(kATurn < kDatagrams / 2);
  unsigned decoded = 0;
  while (decoded < kDatagrams) {
    const unsigned now = fixture.turn();
    REQUIRE(now != 0);
    CHECK(now <= kATurn);
    decoded += now;
  }
  CHECK(decoded == kDatagrams);
  CHECK(fixture.turn() == 0);
  CHECK(fixture.thread.datagrams.load() == kDatagrams + 1);
  fixture.thread.table.publish(1'000'000, kFlowNowMs);
  const auto statuses = fixture.thread.table.statuses();
  REQUIRE(statuses.size() == 1);
  CHECK(statuses[0].counted == kDatagrams * kRecords);
  CHECK(statuses[0].flow.counts.lostRecords == 0);
}

TEST_CASE("a turn takes what waits, however many datagrams they are") {
  WorkerFixture fixture;
  constexpr std::uint32_t kDatagrams = 700;
  for (std::uint32_t i = 0; i < kDatagrams; i++) {
    fixture.send(netflow9({.number = i}, netflow9Template(256, kPlainFields) + flowSet(256, plainRecord())));
  }
  CHECK(fixture.turn() == kDatagrams);
  CHECK(fixture.turn() == 0);
}
