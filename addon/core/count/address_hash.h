// Seeded hashes of addresses and flows. The seed is random in each process, so that a sender cannot choose
// addresses that fall into one place of a table.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <random>

#include "base/address.h"
#include "parse/packet_parser.h"

namespace floodwall {

class AddressHash {
 public:
  AddressHash() {
    std::random_device random;
    for (auto& word : seed_) word = static_cast<std::uint64_t>(random()) << 32 | random();
  }
  /// The same in each process: for runs that are to be repeated, where no attacker can choose addresses that collide.
  explicit AddressHash(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (auto& word : seed_) word = random();
  }

  [[nodiscard]] std::uint64_t of(const Address& address) const noexcept {
    return fold(pair(address, seed_[0], seed_[1]) + seed_[2], kOdd);
  }
  /// `destinationHash` is of(packet.destination), which every caller has at hand.
  [[nodiscard]] std::uint64_t ofFlow(const Packet& packet, std::uint64_t destinationHash) const noexcept {
    const std::uint64_t transport = static_cast<std::uint64_t>(packet.protocol) << 32 |
                                    static_cast<std::uint64_t>(packet.sourcePort) << 16 | packet.destinationPort;
    return fold(pair(packet.source, seed_[3], seed_[4]) + destinationHash, transport + seed_[5]);
  }

 private:
  static constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;

  /// The product of the halves, each shifted by a secret: the NH family of UMAC (RFC 4418, 5.2), folded to one word.
  [[nodiscard]] static std::uint64_t pair(const Address& address, std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t high, low;
    std::memcpy(&high, address.bytes.data(), 8);
    std::memcpy(&low, address.bytes.data() + 8, 8);
    return fold(high + a, low + b);
  }
  [[nodiscard]] static std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
  }

  std::array<std::uint64_t, 6> seed_{};
};

}  // namespace floodwall
