#include "datagram_maker.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace floodwall::fuzz {
namespace {

/// Templates of few numbers, so that data meets them, and templates change while they are in use.
constexpr std::uint16_t kFirstTemplate = 256, kTemplates = 8;
constexpr std::uint16_t kVariable = 0xffff;

void put(Datagram& to, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = bytes; i-- > 0;) to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void setAt(Datagram& to, std::size_t at, std::uint32_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes && at + i < to.size(); i++) {
    to[at + i] = static_cast<std::uint8_t>(value >> (8 * (bytes - 1 - i)));
  }
}

/// Where the header has its place in the sequence.
std::size_t numberAt(FlowProtocol protocol) {
  switch (protocol) {
    case FlowProtocol::netflow5:
      return 16;
    case FlowProtocol::netflow9:
      return 12;
    case FlowProtocol::ipfix:
      return 8;
    default:
      // Behind an agent's IPv4 address.
      return 16;
  }
}

void putField(Datagram& to, Random& random, bool isIpfix) {
  // Elements in use, with some of their neighbours; lengths of numbers, addresses, frames and of nothing.
  static constexpr std::array<std::uint16_t, 16> kLengths = {1, 2, 4, 4, 8, 4, 2, 1, 16, 16, 3, 6, 0, 64, 128, 300};
  const std::uint32_t number = random.oneIn(16) ? random.below(0x8000) : 1 + random.below(400);
  const bool hasEnterprise = isIpfix && random.oneIn(12);
  put(to, number | (hasEnterprise ? 0x8000U : 0U), 2);
  put(to, isIpfix && random.oneIn(8) ? kVariable : kLengths.at(random.below(kLengths.size())), 2);
  if (hasEnterprise) put(to, random.oneIn(2) ? 29305 : random.bits(), 4);
}

/// The template's addresses, counts and ports as most have them, or random fields alone.
void putFields(Datagram& to, Random& random, std::uint32_t fields, bool isIpfix) {
  static constexpr std::array<std::array<std::uint16_t, 2>, 7> kUsual = {
      {{8, 4}, {12, 4}, {2, 4}, {1, 4}, {4, 1}, {7, 2}, {11, 2}}};
  const std::uint32_t usual = random.oneIn(4) ? 0 : std::min<std::uint32_t>(fields, kUsual.size());
  for (std::uint32_t i = 0; i < usual; i++) {
    put(to, kUsual.at(i)[0], 2);
    put(to, kUsual.at(i)[1], 2);
  }
  for (std::uint32_t i = usual; i < fields; i++) putField(to, random, isIpfix);
}

}  // namespace

bool DatagramMaker::hasTemplates() const {
  return protocol_ == FlowProtocol::netflow9 || protocol_ == FlowProtocol::ipfix;
}

const Datagram& DatagramMaker::next(Random& random, std::uint32_t number) {
  const std::uint32_t kind = random.below(8);
  if (hasTemplates() && kind == 0) {
    makeTemplates(random);
  } else if ((hasTemplates() && kind < 4) || recorded_.empty()) {
    makeData(random);
  } else {
    made_ = recorded_[random.below(recorded_.size())];
  }
  if (made_.size() > kBytesMax) made_.resize(kBytesMax);
  setNumber(number);
  mutate(random);
  return made_;
}

void DatagramMaker::makeHeader(Random& random) {
  made_.clear();
  const std::uint32_t domain = random.oneIn(16) ? random.below(300) : 0;
  if (protocol_ == FlowProtocol::ipfix) {
    put(made_, 10, 2);
    put(made_, 0, 2);
    for (const std::uint32_t word : {1'700'000'000U, 0U, domain}) put(made_, word, 4);
  } else {
    for (const std::uint32_t word : {0x00090001U, 100'000U, 1'700'000'000U, 0U, domain}) put(made_, word, 4);
  }
}

void DatagramMaker::makeTemplates(Random& random) {
  const bool isIpfix = protocol_ == FlowProtocol::ipfix;
  makeHeader(random);
  for (std::uint32_t sets = 1 + random.below(3); sets > 0; sets--) {
    const bool isOptions = random.oneIn(4);
    const std::size_t setAtByte = made_.size();
    put(made_, (isIpfix ? 2 : 0) + (isOptions ? 1 : 0), 2);
    put(made_, 0, 2);
    put(made_, kFirstTemplate + random.below(kTemplates), 2);
    // No fields: a withdrawal (RFC 7011, 8.1).
    const std::uint32_t fields = random.oneIn(16) ? 0 : 1 + random.below(random.oneIn(32) ? 300 : 24);
    const std::uint32_t scopes = std::min(fields, 1 + random.below(2));
    put(made_, !isOptions ? fields : isIpfix ? fields : 4 * scopes, 2);
    if (isOptions) put(made_, isIpfix ? scopes : 4 * (fields - scopes), 2);
    putFields(made_, random, fields, isIpfix);
    setAt(made_, setAtByte + 2, static_cast<std::uint32_t>(made_.size() - setAtByte), 2);
  }
  if (isIpfix) setAt(made_, 2, static_cast<std::uint32_t>(made_.size()), 2);
}

void DatagramMaker::makeData(Random& random) {
  makeHeader(random);
  for (std::uint32_t sets = 1 + random.below(3); sets > 0; sets--) {
    const std::uint32_t bytes = random.below(random.oneIn(8) ? 1200 : 200);
    put(made_, kFirstTemplate + random.below(kTemplates), 2);
    put(made_, 4 + bytes, 2);
    for (std::uint32_t i = 0; i < bytes; i += 8) put(made_, random.bits(), std::min(8U, bytes - i));
  }
  if (protocol_ == FlowProtocol::ipfix) setAt(made_, 2, static_cast<std::uint32_t>(made_.size()), 2);
}

void DatagramMaker::setNumber(std::uint32_t number) { setAt(made_, numberAt(protocol_), number, 4); }

void DatagramMaker::mutate(Random& random) {
  static constexpr std::array<std::uint32_t, 12> kEdges = {0,    1,    2,      3,          4,          0x7f,
                                                           0x80, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff};
  for (std::uint32_t left = random.below(6); left > 0 && !made_.empty(); left--) {
    const std::size_t at = random.below(made_.size());
    switch (random.below(8)) {
      case 0:
        made_[at] ^= static_cast<std::uint8_t>(1U << random.below(8));
        break;
      case 1:
        made_[at] = static_cast<std::uint8_t>(random.bits());
        break;
      case 2:
        setAt(made_, at & ~std::size_t{1}, kEdges.at(random.below(kEdges.size())), 2);
        break;
      case 3:
        setAt(made_, at & ~std::size_t{3}, kEdges.at(random.below(kEdges.size())), 4);
        break;
      case 4:
        setAt(made_, at & ~std::size_t{1}, random.below(made_.size() + 8), 2);
        break;
      case 5: {
        // A piece of it over another.
        const std::size_t from = random.below(made_.size());
        const std::size_t length = std::min<std::size_t>(1 + random.below(64), made_.size() - std::max(from, at));
        std::memmove(&made_[at], &made_[from], length);
        break;
      }
      case 6:
        if (random.oneIn(4)) made_.resize(at);
        break;
      default:
        if (made_.size() + 4 <= kBytesMax && random.oneIn(4)) put(made_, random.bits(), 4);
    }
  }
}

std::vector<Datagram> recordedIn(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const Datagram bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (bytes.empty()) throw std::runtime_error("cannot read datagrams of " + path);
  std::vector<Datagram> datagrams;
  for (std::size_t at = 0; at + 2 <= bytes.size();) {
    const std::size_t length = std::min<std::size_t>(big16(&bytes[at]), bytes.size() - at - 2);
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at + 2);
    datagrams.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(length));
    at += 2 + length;
  }
  return datagrams;
}

FlowProtocol protocolOf(const Datagram& datagram) {
  if (datagram.size() < 4) throw std::runtime_error("a recorded datagram of less than four bytes");
  switch (big16(datagram.data())) {
    case 5:
      return FlowProtocol::netflow5;
    case 9:
      return FlowProtocol::netflow9;
    case 10:
      return FlowProtocol::ipfix;
    default:
      return FlowProtocol::sflow5;
  }
}

}  // namespace floodwall::fuzz
