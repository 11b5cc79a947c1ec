#include "count/handover.h"

#include <doctest/doctest.h>

#include <vector>

using namespace floodwall;

namespace {

constexpr std::uint32_t kRows = 4;

/// What a fold that raised `epoch` reads.
std::vector<std::uint32_t> read(Handover& handover, std::uint32_t epoch) {
  const Handover::Readable readable = handover.readable(epoch);
  std::vector<std::uint32_t> rows;
  std::uint32_t row;
  while (handover.pop(readable.tail, row)) rows.push_back(row);
  handover.finish(readable);
  return rows;
}
using Rows = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("a fold reads what was touched before the epoch that the worker adopted") {
  Handover handover(kRows);
  handover.adopt(1);
  handover.push(0);
  handover.push(1);
  CHECK_FALSE(handover.isReady(2));
  CHECK(read(handover, 2) == Rows{});
  handover.adopt(2);
  handover.push(1);
  CHECK(handover.isReady(2));
  CHECK(read(handover, 2) == Rows{0, 1});
  CHECK(handover.folded() == 2);
  handover.adopt(3);
  CHECK(read(handover, 3) == Rows{1});
}

TEST_CASE("a fold reads all of an idle worker, that of the epoch in which it went idle too") {
  Handover handover(kRows);
  handover.adopt(1);
  handover.push(3);
  handover.enterIdle(1);
  CHECK(handover.isReady(2));
  CHECK(handover.readable(2).isAll);
  CHECK(read(handover, 2) == Rows{3});
  CHECK(handover.folded() == 2);
  CHECK(read(handover, 3) == Rows{});
}

TEST_CASE("a fold leaves alone what an idle worker touched in the fold's own epoch") {
  // The worker may go on in that epoch, and does not push the row again.
  Handover handover(kRows);
  handover.adopt(2);
  handover.push(3);
  handover.enterIdle(2);
  CHECK(handover.isReady(2));
  CHECK_FALSE(handover.readable(2).isAll);
  CHECK(read(handover, 2) == Rows{});
  CHECK(read(handover, 3) == Rows{3});
}

TEST_CASE("a worker that left idle and went on in its epoch keeps what it touched there") {
  Handover handover(kRows);
  handover.adopt(1);
  handover.push(3);
  handover.enterIdle(1);
  handover.leaveIdle(1);
  CHECK(read(handover, 2) == Rows{});
  handover.adopt(2);
  CHECK(read(handover, 2) == Rows{3});
}

TEST_CASE("a worker between leaving idle and adopting an epoch has nothing to read") {
  Handover handover(kRows);
  handover.adopt(1);
  handover.push(3);
  handover.enterIdle(1);
  CHECK(read(handover, 2) == Rows{3});
  handover.leaveIdle(1);
  CHECK_FALSE(handover.isReady(3));
  CHECK(read(handover, 3) == Rows{});
  handover.adopt(3);
  handover.push(2);
  handover.adopt(4);
  CHECK(read(handover, 4) == Rows{2});
}

TEST_CASE("the ring holds three epochs of all rows, which is the most that can be outstanding") {
  Handover handover(kRows);
  const auto touchAll = [&] {
    for (std::uint32_t row = 0; row < kRows; row++) handover.push(row);
  };
  std::uint32_t epoch = 1;
  handover.adopt(epoch);
  for (int round = 0; round < 10; round++) {
    touchAll();
    // The worker missed this fold, adopts its epoch after it has looked, and the next one before that looks.
    CHECK(read(handover, ++epoch).size() <= 2 * kRows);
    handover.adopt(epoch);
    touchAll();
    handover.adopt(++epoch);
    touchAll();
    CHECK(read(handover, epoch).size() == 2 * kRows);
    handover.adopt(++epoch);
    CHECK(read(handover, epoch).size() == kRows);
  }
}
