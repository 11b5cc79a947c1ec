// Encapsulations of packets, and sets of them: the kinds that are removed from an interface's traffic, and by which
// ports.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "encapsulation_abi.h"

namespace floodwall {

/// By enum encapsulation.
enum class Encapsulation : std::uint8_t {
  mpls = ENCAPSULATION_MPLS,
  pppoe = ENCAPSULATION_PPPOE,
  gre = ENCAPSULATION_GRE,
  erspan = ENCAPSULATION_ERSPAN,
  ipip = ENCAPSULATION_IPIP,
  sixInFour = ENCAPSULATION_6IN4,
  vxlan = ENCAPSULATION_VXLAN,
  geneve = ENCAPSULATION_GENEVE,
  gtpU = ENCAPSULATION_GTP_U,
  none = ENCAPSULATION_NONE,
};
inline constexpr std::size_t kEncapsulations = ENCAPSULATIONS;

/// Words of the configuration, in the order of Encapsulation.
inline constexpr std::array<const char*, kEncapsulations> kEncapsulationNames = {
    "mpls", "pppoe", "gre", "erspan", "ipip", "6in4", "vxlan", "geneve", "gtp_u"};

class Encapsulations {
 public:
  constexpr Encapsulations() = default;
  constexpr explicit Encapsulations(std::uint16_t bits) : bits_(bits & kAll) {}
  constexpr Encapsulations(std::initializer_list<Encapsulation> kinds) {
    for (const Encapsulation kind : kinds) add(kind);
  }
  [[nodiscard]] static constexpr Encapsulations all() { return Encapsulations(kAll); }

  constexpr void add(Encapsulation kind) { bits_ |= static_cast<std::uint16_t>(1U << static_cast<unsigned>(kind)); }
  [[nodiscard]] constexpr bool has(Encapsulation kind) const {
    return (bits_ >> static_cast<unsigned>(kind) & 1U) != 0;
  }
  [[nodiscard]] constexpr bool isEmpty() const { return bits_ == 0; }
  [[nodiscard]] constexpr std::uint16_t bits() const { return bits_; }

 private:
  static constexpr std::uint16_t kAll = (1U << kEncapsulations) - 1;
  std::uint16_t bits_ = 0;
};

/// The UDP ports that VXLAN goes to: the usual one, or others that an operator names.
class VxlanPorts {
 public:
  constexpr VxlanPorts() = default;
  /// If there are more than VXLAN_PORTS_MAX, the first ones.
  constexpr explicit VxlanPorts(std::span<const std::uint16_t> ports) : ports_{} {
    std::copy_n(ports.begin(), std::min(ports.size(), ports_.size()), ports_.begin());
  }

  /// Port 0 stands for none: no packet is sent to it.
  [[nodiscard]] constexpr bool has(std::uint16_t port) const {
    return port != 0 && std::find(ports_.begin(), ports_.end(), port) != ports_.end();
  }
  [[nodiscard]] constexpr bool isUsual() const { return ports_ == VxlanPorts().ports_; }
  [[nodiscard]] constexpr const std::array<std::uint16_t, VXLAN_PORTS_MAX>& all() const { return ports_; }

 private:
  std::array<std::uint16_t, VXLAN_PORTS_MAX> ports_{PORT_VXLAN};
};

}  // namespace floodwall
