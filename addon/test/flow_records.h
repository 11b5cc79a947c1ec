// Records and rules for tests of what counts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "collector/exporter_rules.h"
#include "count/flow_record.h"
#include "packets.h"

namespace floodwall::test {

inline InterfaceList interfaces(const std::vector<std::string>& texts) { return InterfaceList(texts); }

struct RecordFields {
  std::uint32_t input = 1;
  std::uint32_t output = 2;
  std::uint32_t samplingRate = 1;
  FlowDirection direction = FlowDirection::unknown;
  std::uint32_t ageMs = 0;
};
inline FlowRecord recordOf(const RecordFields& fields) {
  FlowRecord record;
  record.packet.source = ipv4(kForeign + 1);
  record.packet.destination = ipv4(kProtected + 1);
  record.packets = 10;
  record.bytes = 1000;
  record.samplingRate = fields.samplingRate;
  record.input = fields.input;
  record.output = fields.output;
  record.direction = fields.direction;
  record.ageMs = fields.ageMs;
  return record;
}

/// A rule for one address, 198.51.100.<last>.
inline Address exporterAddress(std::uint32_t last) { return ipv4(0xc6336400U + last); }
inline ExporterRule ruleFor(std::uint32_t last) {
  ExporterRule rule;
  rule.address = exporterAddress(last);
  return rule;
}

inline std::shared_ptr<const ExporterRules> rulesOf(std::vector<ExporterRule> rules, SitePresence& presence) {
  return std::make_shared<const ExporterRules>(std::move(rules), presence);
}

}  // namespace floodwall::test
