#include "count/handover.h"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

using namespace floodwall;

namespace {

constexpr std::uint32_t kRows = 4;

/// What a fold that raised `epoch` reads.
std::vector<std::uint32_t> read(HandoverFoldEnd& fold, std::uint32_t epoch) {
  const HandoverFoldEnd::Readable readable = fold.readable(epoch);
  std::vector<std::uint32_t> rows;
  std::uint32_t row;
  while (fold.pop(readable.tail, row)) rows.push_back(row);
  fold.finish(readable);
  return rows;
}
using Rows = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("a fold reads what was touched before the epoch that the worker adopted") {
  Handover handover(kRows);
  HandoverFoldEnd fold(handover);
  handover.adopt(1);
  handover.push(0);
  handover.push(1);
  CHECK_FALSE(fold.isReady(2));
  CHECK(read(fold, 2) == Rows{});
  handover.adopt(2);
  handover.push(1);
  CHECK(fold.isReady(2));
  CHECK(read(fold, 2) == Rows{0, 1});
  CHECK(handover.folded() == 2);
  handover.adopt(3);
  CHECK(read(fold, 3) == Rows{1});
}

TEST_CASE("a fold reads all of an idle worker, that of the epoch in which it went idle too") {
  Handover handover(kRows);
  HandoverFoldEnd fold(handover);
  handover.adopt(1);
  handover.push(3);
  handover.enterIdle(1);
  CHECK(fold.isReady(2));
  CHECK(fold.readable(2).isAll);
  CHECK(read(fold, 2) == Rows{3});
  CHECK(handover.folded() == 2);
  CHECK(read(fold, 3) == Rows{});
}

TEST_CASE("a fold leaves alone what an idle worker touched in the fold's own epoch") {
  // The worker may go on in that epoch, and does not push the row again.
  Handover handover(kRows);
  HandoverFoldEnd fold(handover);
  handover.adopt(2);
  handover.push(3);
  handover.enterIdle(2);
  CHECK(fold.isReady(2));
  CHECK_FALSE(fold.readable(2).isAll);
  CHECK(read(fold, 2) == Rows{});
  CHECK(read(fold, 3) == Rows{3});
}

TEST_CASE("a worker that left idle and went on in its epoch keeps what it touched there") {
  Handover handover(kRows);
  HandoverFoldEnd fold(handover);
  handover.adopt(1);
  handover.push(3);
  handover.enterIdle(1);
  handover.leaveIdle(1);
  CHECK(read(fold, 2) == Rows{});
  handover.adopt(2);
  CHECK(read(fold, 2) == Rows{3});
}

TEST_CASE("a worker between leaving idle and adopting an epoch has nothing to read") {
  Handover handover(kRows);
  HandoverFoldEnd fold(handover);
  handover.adopt(1);
  handover.push(3);
  handover.enterIdle(1);
  CHECK(read(fold, 2) == Rows{3});
  handover.leaveIdle(1);
  CHECK_FALSE(fold.isReady(3));
  CHECK(read(fold, 3) == Rows{});
  handover.adopt(3);
  handover.push(2);
  handover.adopt(4);
  CHECK(read(fold, 4) == Rows{2});
}

TEST_CASE("the lists hold three epochs of all rows, which is the most that can be outstanding") {
  Handover handover(kRows);
  HandoverFoldEnd fold(handover);
  const auto touchAll = [&] {
    for (std::uint32_t row = 0; row < kRows; row++) handover.push(row);
  };
  std::uint32_t epoch = 1;
  handover.adopt(epoch);
  for (int round = 0; round < 10; round++) {
    touchAll();
    // The worker missed this fold, adopts its epoch after it has looked, and the next one before that looks.
    CHECK(read(fold, ++epoch).size() <= 2 * kRows);
    handover.adopt(epoch);
    touchAll();
    handover.adopt(++epoch);
    touchAll();
    CHECK(read(fold, epoch).size() == 2 * kRows);
    handover.adopt(++epoch);
    CHECK(read(fold, epoch).size() == kRows);
  }
}

TEST_CASE("a row's contents reach the fold's thread, and are changed only after it has read them" *
          doctest::test_suite("threads")) {
  constexpr std::uint32_t kFolds = 200;
  Handover handover(kRows);
  HandoverFoldEnd end(handover);
  std::atomic<std::uint32_t> epoch = 1;
  std::atomic<bool> isOver = false;
  // Not atomic: what makes it safe is the handover alone.
  std::array<std::uint64_t, kRows> contents{};
  std::uint64_t written = 0;
  std::thread worker([&] {
    std::uint32_t own = 0;
    std::array<std::uint32_t, kRows> touched{};
    handover.leaveIdle(own);
    while (!isOver.load(std::memory_order_relaxed)) {
      const std::uint32_t now = epoch.load(std::memory_order_acquire);
      if (now != own) handover.adopt(own = now);
      for (std::uint32_t row = 0; row < kRows; row++) {
        const bool isFree = epochsSince(touched[row], own) > epochsSince(handover.folded(), own);
        if (touched[row] != 0 && !isFree) continue;
        contents[row]++;
        written++;
        touched[row] = own;
        handover.push(row);
      }
      std::this_thread::yield();
    }
    handover.enterIdle(own);
  });
  std::array<std::uint64_t, kRows> seen{};
  std::uint64_t read = 0, wrong = 0;
  const auto fold = [&](std::uint32_t raised) {
    const HandoverFoldEnd::Readable readable = end.readable(raised);
    std::uint32_t row;
    while (end.pop(readable.tail, row)) {
      read++;
      if (contents[row] != ++seen[row]) wrong++;
    }
    end.finish(readable);
  };
  std::uint32_t raised = 1;
  while (raised < kFolds || read == 0) {
    epoch.store(++raised, std::memory_order_seq_cst);
    std::this_thread::yield();
    fold(raised);
  }
  isOver = true;
  worker.join();
  fold(++raised);
  CHECK(wrong == 0);
  CHECK(read == written);
}
