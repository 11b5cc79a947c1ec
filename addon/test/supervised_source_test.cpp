// How a source lives through its sessions: what is lost is opened again, counts only grow.
#include "capture/supervised_source.h"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "count/engine.h"

namespace floodwall {
namespace {

using Kind = SessionHealth::Kind;

/// The world that the sessions of one source see; the test turns it.
struct World {
  std::atomic<Kind> health = Kind::good;
  std::atomic<bool> canOpen = true;
  std::atomic<int> opened = 0;
  std::atomic<int> alive = 0;
};

class FakeSession final : public CaptureSession {
 public:
  FakeSession(World& world, QueueShards& shards) : world_(world) {
    static constexpr std::array<std::uint8_t, 14> kNotIp{};
    const Frame frame{kNotIp.data(), kNotIp.size(), kNotIp.size()};
    Shard& shard = shards.forQueue("fake0", 0);
    shard.leaveIdle();
    shard.countFrames({&frame, 1}, Link::ethernet);
    shard.enterIdle();
    world_.opened++;
    world_.alive++;
  }
  ~FakeSession() override { world_.alive--; }

  [[nodiscard]] std::string mode() const override { return "session " + std::to_string(world_.opened); }
  [[nodiscard]] SessionHealth health() override {
    const Kind kind = world_.health;
    return {kind, kind == Kind::good ? "" : "fake0 is unwell"};
  }
  [[nodiscard]] std::vector<QueueStats> drops() const override {
    return {{.interface = "fake0",
             .queue = 0,
             .shard = {},
             .droppedRingFull = 1,
             .droppedFillEmpty = 2,
             .droppedKernel = 3,
             .lostSamples = 4}};
  }

 private:
  World& world_;
};

struct Setup {
  World world;
  Engine engine{EngineOptions{.maxHosts = 16}};
  SupervisedSource source{[this] { return engine.addShard(); },
                          [this](QueueShards& shards) -> std::unique_ptr<CaptureSession> {
                            if (!world.canOpen) throw SourceError("fake0 cannot be opened");
                            return std::make_unique<FakeSession>(world, shards);
                          },
                          std::chrono::milliseconds(1)};

  /// Waits until it holds; a check interval is a millisecond.
  [[nodiscard]] bool comesTrue(const std::function<bool(const SourceStatus&)>& wanted) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < deadline) {
      if (wanted(source.status())) return true;
      std::this_thread::yield();
    }
    return false;
  }
};

TEST_CASE("a source whose first session does not open throws what went wrong") {
  Engine engine(EngineOptions{.maxHosts = 16});
  const auto open = [](QueueShards&) -> std::unique_ptr<CaptureSession> { throw SourceError("no such interface"); };
  CHECK_THROWS_WITH_AS(SupervisedSource([&] { return engine.addShard(); }, open), "no such interface", SourceError);
}

TEST_CASE("an impaired session is kept and reported, and good again without being opened again") {
  Setup setup;
  setup.world.health = Kind::impaired;
  CHECK(setup.comesTrue([](const SourceStatus& status) {
    return status.state == SourceState::failed && status.error == "fake0 is unwell";
  }));
  setup.world.health = Kind::good;
  CHECK(setup.comesTrue([](const SourceStatus& status) { return status.state == SourceState::running; }));
  CHECK(setup.world.opened == 1);
}

TEST_CASE("a lost session is closed, and opening is tried until it works") {
  Setup setup;
  setup.world.canOpen = false;
  setup.world.health = Kind::lost;
  CHECK(setup.comesTrue([](const SourceStatus& status) { return status.error == "fake0 cannot be opened"; }));
  CHECK(setup.world.alive == 0);
  CHECK(setup.source.status().mode == "session 1");
  setup.world.health = Kind::good;
  setup.world.canOpen = true;
  CHECK(setup.comesTrue(
      [](const SourceStatus& status) { return status.state == SourceState::running && status.mode == "session 2"; }));
}

TEST_CASE("counts and drops of a queue go on over its sessions") {
  Setup setup;
  setup.world.canOpen = false;
  setup.world.health = Kind::lost;
  CHECK(setup.comesTrue([&](const SourceStatus&) { return setup.world.alive == 0; }));
  setup.world.health = Kind::good;
  setup.world.canOpen = true;
  CHECK(setup.comesTrue([](const SourceStatus& status) { return status.mode == "session 2"; }));
  const SourceStatus status = setup.source.status();
  REQUIRE(status.queues.size() == 1);
  CHECK(status.queues[0].shard.receivedPackets == 2);
  CHECK(status.queues[0].droppedRingFull == 2);
  CHECK(status.queues[0].droppedFillEmpty == 4);
  CHECK(status.queues[0].droppedKernel == 6);
  CHECK(status.queues[0].lostSamples == 8);
}

TEST_CASE("a source that goes closes its session") {
  World world;
  {
    Engine engine(EngineOptions{.maxHosts = 16});
    const SupervisedSource source([&] { return engine.addShard(); },
                                  [&](QueueShards& shards) { return std::make_unique<FakeSession>(world, shards); });
    CHECK(world.alive == 1);
  }
  CHECK(world.alive == 0);
}

}  // namespace
}  // namespace floodwall
