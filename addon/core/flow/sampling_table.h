// The sampling rates that an exporter reported in options, by what they hold for.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "flow/flow_domain.h"
#include "flow/flow_exporter_status.h"

namespace floodwall {

/// What a rate holds for, within a domain. Sampler: element 48, or 302 (selector) of the same use.
/// `anySampler`: all samplers of the domain, if they have one rate; the table itself keeps it.
enum class SamplingScope : std::uint8_t { domain, sampler, interface, flowTemplate, anySampler };

class SamplingTable {
 public:
  SamplingTable();

  enum class Stored : std::uint8_t { same, changed, refused };
  struct Said {
    SamplingScope scope = SamplingScope::domain;
    std::uint64_t id = 0;
    std::uint32_t rate = 0;
  };
  /// Holds for all records that are decoded from now on. Where there is no room, rates by which no record was made are
  /// replaced, the oldest first. Without `mayChange` only what is known already is taken.
  Stored set(const DomainKey& domain, const Said& said, bool mayChange, std::uint64_t nowMs);

  /// What records may be looked up by; of those that are absent the number is 0.
  struct Asked {
    std::uint64_t sampler = 0;
    std::uint32_t interface = 0;
    std::uint16_t flowTemplate = 0;
    bool hasSampler = false;
  };
  /// The rate of the sampler, else of the interface, of the template, of the domain; 0: not known. What a domain does
  /// not know is looked up in domain 0, where exporters report what is of all of them (RFC 7011, 3.1). Records that
  /// name no sampler have the rate of all samplers of their domain if it is one. Records that name sampler 0, where the
  /// options have other samplers alone, passed none (Cisco's Flexible NetFlow) and have the rate 1.
  ///
  /// Each exporting process behind one address has its own rates, and where it has none the last ones of the others.
  [[nodiscard]] std::uint32_t rateOf(const DomainKey& domain, const Asked& asked) const;

  [[nodiscard]] bool isEmpty() const noexcept { return rates_.empty(); }
  /// Whether there is any rate of this scope.
  [[nodiscard]] bool has(SamplingScope scope) const noexcept { return hasScope_[static_cast<std::size_t>(scope)]; }

  void addTo(std::vector<SamplingStatus>& samplings) const;
  /// Calls `take` with the domain, what was said, and when, of each rate by which a record was made.
  void forEachUsed(const auto& take) const {
    for (const auto& [key, rate] : rates_) {
      if (!rate.isUsed || key.scope == SamplingScope::anySampler) continue;
      const DomainKey domain{.protocol = key.protocol, .number = key.domain, .port = key.port};
      take(domain, Said{key.scope, key.id, rate.rate}, rate.saidMs);
    }
  }
  /// One of those, of its port alone.
  void restore(const DomainKey& domain, const Said& said, std::uint64_t saidMs) {
    if (put(domain, said, saidMs)) rates_.at(keyOf(domain, said.scope, said.id)).isUsed = true;
  }
  [[nodiscard]] std::size_t memoryBytes() const noexcept;

 private:
  struct Key {
    std::uint64_t id;
    std::uint32_t domain;
    /// 0: the last rate from any port.
    std::uint16_t port;
    FlowProtocol protocol;
    SamplingScope scope;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::uint64_t seed;
    std::size_t operator()(const Key& key) const noexcept;
  };
  struct Answer {
    Key key{};
    std::uint32_t rate = 0;
    bool isValid = false;
  };

  struct Rate {
    std::uint32_t rate = 0;
    /// Whether a record was made by it since it was said.
    mutable bool isUsed = false;
    std::uint64_t saidMs = 0;
  };
  using Rates = std::unordered_map<Key, Rate, Hash>;

  /// How many rates the samplers of a domain have, and the sum of these rates.
  struct Distinct {
    std::uint64_t sum = 0;
    std::uint32_t rates = 0;
  };

  explicit SamplingTable(std::uint64_t seed);
  [[nodiscard]] static Key keyOf(const DomainKey& domain, SamplingScope scope, std::uint64_t id) noexcept {
    return {id, domain.number, domain.port, domain.protocol, scope};
  }
  /// Whether this rate is there; then it is as if it were said now.
  bool renew(const Key& key, std::uint32_t rate, std::uint64_t nowMs);
  bool put(const DomainKey& domain, const Said& said, std::uint64_t nowMs);
  bool makeRoom(std::uint64_t nowMs);
  [[nodiscard]] std::uint32_t rateWithin(const DomainKey& domain, const Asked& asked) const;
  /// In a time that does not grow with the samplers: an exporter may change a rate with each three bytes that it sends.
  /// `before`: 0 for a new one; `rate`: 0 for one that goes.
  void noteSampler(const Key& sampler, std::uint32_t before, std::uint32_t rate);
  /// 0: not there.
  [[nodiscard]] std::uint32_t find(const Key& key) const;

  Rates rates_;
  /// By domain and rate (as the number): how many samplers have it. And by domain.
  std::unordered_map<Key, std::uint32_t, Hash> uses_;
  std::unordered_map<Key, Distinct, Hash> distinct_;
  /// The last answers, since one domain's records ask for the same few again and again.
  mutable std::array<Answer, 16> answers_{};
  /// Scopes of which there is any entry.
  std::array<bool, 5> hasScope_{};
  /// When room was last sought and little found; 0: enough was.
  std::uint64_t littleRoomMs_ = 0;
};

}  // namespace floodwall
