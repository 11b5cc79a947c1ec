// The sampling rates that an exporter reported in options, by what they hold for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "flow/flow_domain.h"
#include "flow/flow_exporter_status.h"

namespace floodwall {

/// The scope of a rate within a domain. Sampler: element 48, or 302 (selector) of the same use. Part: a line card or
/// a metering process. `anySampler`: all samplers of the domain, if they have one rate; `anyPart`: all parts, the
/// lowest of their rates. These two the table itself keeps.
enum class SamplingScope : std::uint8_t { domain, sampler, interface, flowTemplate, anySampler, part, anyPart };
inline constexpr std::size_t kSamplingScopes = static_cast<std::size_t>(SamplingScope::anyPart) + 1;
[[nodiscard]] constexpr bool isOfSeveral(SamplingScope scope) noexcept {
  return scope == SamplingScope::anySampler || scope == SamplingScope::anyPart;
}

class SamplingTable {
 public:
  SamplingTable();

  enum class Stored : std::uint8_t { same, changed, refused };
  struct Said {
    SamplingScope scope = SamplingScope::domain;
    std::uint64_t id = 0;
    std::uint32_t rate = 0;
    /// The options template that said it: a number; 0: not known.
    std::uint64_t by = 0;
  };
  /// Holds for all records that are decoded from now on. A rate of the whole domain takes the place of nearer ones that
  /// were not said for kFlowIdleMs. Where there is no room, rates by which no record was made are
  /// replaced, the oldest first. Without `mayChange` only what is known already is taken.
  Stored set(const DomainKey& domain, const Said& said, bool mayChange, std::uint64_t nowMs);
  /// Forgets what an options template said until now. At most every 100 ms; else false.
  bool forgetSaidBy(std::uint64_t by, std::uint64_t nowMs);

  /// The keys by which records may be looked up; an absent one is 0.
  struct Asked {
    std::uint64_t sampler = 0;
    std::uint64_t part = 0;
    std::uint32_t interface = 0;
    std::uint16_t flowTemplate = 0;
    bool hasSampler = false;
  };
  /// The rate of the sampler, else of the interface, of the template, of the part, of the domain; 0: not known. What a
  /// domain does not know is looked up in domain 0, where exporters report what is of all of them (RFC 7011, 3.1).
  /// Records that name no part have the lowest rate of all parts of their domain: more would be a guess. Those that
  /// name no sampler have the rate of all samplers if it is one. Records that name sampler 0, where the options have
  /// other samplers alone, passed none (Cisco's Flexible NetFlow) and have the rate 1.
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
      if (!rate.isUsed || isOfSeveral(key.scope)) continue;
      const DomainKey domain{.protocol = key.protocol, .number = key.domain, .port = key.port};
      take(domain, Said{.scope = key.scope, .id = key.id, .rate = rate.rate}, rate.saidMs);
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
    std::uint64_t by = 0;
  };
  using Rates = std::unordered_map<Key, Rate, Hash>;

  /// How many have each rate.
  using Uses = std::map<std::uint32_t, std::uint32_t>;

  explicit SamplingTable(std::uint64_t seed);
  [[nodiscard]] static Key keyOf(const DomainKey& domain, SamplingScope scope, std::uint64_t id) noexcept {
    return {id, domain.number, domain.port, domain.protocol, scope};
  }
  /// Whether this rate is there; then it is as if it were said now.
  bool renew(const Key& key, const Said& said, std::uint64_t nowMs);
  bool put(const DomainKey& domain, const Said& said, std::uint64_t nowMs);
  bool makeRoom(std::uint64_t nowMs);
  void forgetNearer(const Key& wide, std::uint64_t nowMs);
  void erase(std::span<const Key> keys);
  [[nodiscard]] std::uint32_t rateWithin(const DomainKey& domain, const Asked& asked) const;
  /// Notes the rate of a sampler or a part, in a time that hardly grows with their number: an exporter may change a
  /// rate with each three bytes that it sends. `before`: 0 for a new one; `rate`: 0 for one that goes.
  void noteOneOfSeveral(const Key& one, std::uint32_t before, std::uint32_t rate);
  /// 0: not there.
  [[nodiscard]] std::uint32_t find(const Key& key) const;

  Rates rates_;
  /// The use of anySampler and anyPart, by domain.
  std::unordered_map<Key, Uses, Hash> uses_;
  /// The last answers, since one domain's records ask for the same few again and again.
  mutable std::array<Answer, 16> answers_{};
  /// Scopes of which there is any entry.
  std::array<bool, kSamplingScopes> hasScope_{};
  /// When room was last sought and little found; 0: enough was.
  std::uint64_t littleRoomMs_ = 0;
  /// When something was last forgotten, and when nearer rates last were.
  std::uint64_t forgotMs_ = 0;
  std::uint64_t forgotNearerMs_ = 0;
};

}  // namespace floodwall
