// Feeds several datagrams to one exporter and asserts what holds for every record. A byte says what of a datagram is
// sound, so that the fuzzer need not find headers and lengths first: all of it, the message, or nothing. Each datagram
// is in memory of its exact size, so that the address sanitizer sees each read beyond it.
#include <algorithm>
#include <memory>
#include <vector>

#include "checked_records.h"

namespace {

using namespace floodwall;

/// What the fuzzer gave, from the front; zeros after its end.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : left_(data, size) {}
  std::uint8_t byte() {
    if (left_.empty()) return 0;
    const std::uint8_t value = left_[0];
    left_ = left_.subspan(1);
    return value;
  }
  ByteSpan bytes(std::size_t count) {
    const ByteSpan taken = left_.first(std::min(count, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }
  [[nodiscard]] bool isEmpty() const { return left_.empty(); }

 private:
  ByteSpan left_;
};

using Bytes = std::vector<std::uint8_t>;

void put(Bytes& to, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = bytes; i-- > 0;) to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

/// Sets of sound length: a byte for the id, one for the length.
Bytes sets(Input& input, bool isIpfix) {
  Bytes to;
  for (int count = input.byte() % 4; count >= 0; count--) {
    const std::uint8_t kind = input.byte();
    const ByteSpan content = input.bytes(input.byte());
    const unsigned templates = kind % 2 + (isIpfix ? 2U : 0U);
    put(to, kind % 3 == 0 ? 256 + kind % 4 : templates, 2);
    put(to, 4 + content.size(), 2);
    to.insert(to.end(), content.begin(), content.end());
  }
  return to;
}

Bytes samples(Input& input) {
  Bytes to;
  for (int count = 3; count >= 0; count--) {
    const std::uint8_t kind = input.byte();
    ByteSpan content = input.bytes(input.byte());
    put(to, 1 + kind % 4, 4);
    put(to, (content.size() + 3) & ~std::size_t{3}, 4);
    to.insert(to.end(), content.begin(), content.end());
    to.resize((to.size() + 3) & ~std::size_t{3});
  }
  return to;
}

Bytes message(Input& input, std::uint8_t kind, std::uint32_t number) {
  Bytes body;
  Bytes to;
  switch (kind % 5) {
    case 0: {
      const ByteSpan content = input.bytes(input.byte());
      put(to, 5, 2);
      put(to, content.size() / 48, 2);
      for (const std::uint32_t word : {100'000U, 1'700'000'000U, 0U, number, 100U}) put(to, word, 4);
      to.insert(to.end(), content.begin(), content.end());
      return to;
    }
    case 1:
      body = sets(input, false);
      for (const std::uint32_t word : {0x00090001U, 100'000U, 1'700'000'000U, number, kind / 64U}) put(to, word, 4);
      break;
    case 2:
      body = sets(input, true);
      put(to, 10, 2);
      put(to, 16 + body.size(), 2);
      for (const std::uint32_t word : {1'700'000'000U, number, kind / 64U}) put(to, word, 4);
      break;
    case 3:
      body = samples(input);
      for (const std::uint32_t word : {5U, 1U, 0x0a000001U, kind / 64U, number, 100'000U, 4U}) put(to, word, 4);
      break;
    default: {
      const ByteSpan content = input.bytes(input.byte() * std::size_t{4});
      return {content.begin(), content.end()};
    }
  }
  to.insert(to.end(), body.begin(), body.end());
  return to;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FlowExporter exporter;
  fuzz::CheckedRecords sink;
  Input input(data, size);
  std::uint64_t nowMs = 1'700'000'000'000;
  for (std::uint32_t number = 0; number < 8 && !input.isEmpty(); number++) {
    const Bytes made = message(input, input.byte(), number);
    const auto exact = std::make_unique<std::uint8_t[]>(made.size());
    std::copy(made.begin(), made.end(), exact.get());
    exporter.decode(ByteSpan(exact.get(), made.size()), nowMs, sink);
    nowMs += number == 5 ? kWaitingMs + 1 : 10;
  }
  fuzz::checkStatus(exporter, sink.taken);
  return 0;
}
