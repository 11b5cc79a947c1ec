// Which rule holds for an exporter, which role an interface has, and which exporter of a site counts.
#include "collector/exporter_rules.h"

#include <doctest/doctest.h>

#include <string>

#include "flow_records.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

using Answer = InterfaceList::Answer;

InterfaceRole roleOf(std::optional<InterfaceList> external, std::optional<InterfaceList> internal, std::uint32_t index,
                     const char* name = "") {
  ExporterRule rule;
  rule.external = std::move(external);
  rule.internal = std::move(internal);
  return rule.roleOf(index, name);
}

}  // namespace

TEST_CASE("a pattern matches the whole name, and its stars any text") {
  struct Case {
    const char* pattern;
    const char* text;
    bool matches;
  };
  for (const Case& each : std::vector<Case>{
           {"xe-0/0/1", "xe-0/0/1", true},
           {"xe-0/0/1", "xe-0/0/10", false},
           {"xe-*", "xe-0/0/1", true},
           {"xe-*", "et-0/0/1", false},
           {"*", "", true},
           {"*/1", "xe-0/1/1", true},
           {"*/1", "xe-0/1/2", false},
           {"a*b*c", "a-b-b-c", true},
           {"a*b*c", "a-c-b", false},
           {"a**", "a", true},
           {"", "a", false},
       }) {
    CAPTURE(each.pattern);
    CAPTURE(each.text);
    CHECK(matchesPattern(each.pattern, each.text) == each.matches);
  }
}

TEST_CASE("interfaces are named by number, by range with both ends, or by name") {
  const InterfaceList list = interfaces({"7", "10-12", "xe-*"});
  for (const std::uint32_t index : {7U, 10U, 12U}) CHECK(list.has(index, "") == Answer::yes);
  CHECK(list.has(9, "et-1") == Answer::no);
  CHECK(list.has(13, "xe-1") == Answer::yes);
  CHECK(list.has(13, "") == Answer::needsName);
  CHECK(interfaces({"7"}).has(8, "") == Answer::no);
  CHECK(interfaces({"4294967295"}).has(4294967295U, "") == Answer::yes);
  CHECK_THROWS_AS(interfaces({"12-10"}), std::invalid_argument);
  CHECK_THROWS_AS(interfaces({""}), std::invalid_argument);
  CHECK_NOTHROW(InterfaceList(std::vector<std::string>(kInterfacePatternsMax, "1")));
  CHECK_THROWS_AS(InterfaceList(std::vector<std::string>(kInterfacePatternsMax + 1, "1")), std::out_of_range);
}

TEST_CASE("an interface has the role that the lists of its exporter give it") {
  const InterfaceList one = interfaces({"1"}), two = interfaces({"2"}), named = interfaces({"up*"});
  CHECK(roleOf({}, {}, 1) == InterfaceRole::unset);
  CHECK(roleOf({}, {}, 0) == InterfaceRole::unset);
  CHECK(roleOf(one, {}, 1) == InterfaceRole::external);
  CHECK(roleOf(one, {}, 2) == InterfaceRole::internal);
  CHECK(roleOf({}, two, 1) == InterfaceRole::external);
  CHECK(roleOf({}, two, 2) == InterfaceRole::internal);
  CHECK(roleOf(one, two, 3) == InterfaceRole::other);
  CHECK(roleOf(one, one, 1) == InterfaceRole::external);
  CHECK(roleOf(one, two, 0) == InterfaceRole::unknown);
  CHECK(roleOf(named, two, 2) == InterfaceRole::unknown);
  CHECK(roleOf(named, two, 2, "lan") == InterfaceRole::internal);
  CHECK(roleOf(named, two, 2, "uplink") == InterfaceRole::external);
}

TEST_CASE("the rule with the longest prefix holds, and of two with one prefix the later") {
  SitePresence presence;
  ExporterRule wide = ruleFor(0);
  wide.length = 120;
  const auto rules = rulesOf({wide, ruleFor(1), ruleFor(2), ruleFor(2)}, presence);
  CHECK(rules->match(exporterAddress(1)) == 1);
  CHECK(rules->match(exporterAddress(2)) == 3);
  CHECK(rules->match(exporterAddress(3)) == 0);
  CHECK(rules->match(ipv4(kForeign)) == ExporterRules::kNone);
  CHECK(rulesOf({}, presence)->isEmpty());
  CHECK_NOTHROW(rulesOf(std::vector<ExporterRule>(kExporterRulesMax, wide), presence));
  CHECK_THROWS_AS(rulesOf(std::vector<ExporterRule>(kExporterRulesMax + 1, wide), presence), std::out_of_range);
}

TEST_CASE("of a site the first counts that is not silent, whichever source received it") {
  SitePresence presence;
  std::vector<ExporterRule> list = {ruleFor(1), ruleFor(2), ruleFor(3), ruleFor(4)};
  for (const std::size_t member : {std::size_t{0}, std::size_t{2}, std::size_t{3}}) list[member].site = "fra1";
  list[0].silentAfterMs = 1000;
  const auto rules = rulesOf(list, presence), ofOtherSource = rulesOf(list, presence);
  const auto active = [&](std::uint64_t nowMs) {
    std::string numbers;
    for (std::uint32_t i = 0; i < list.size(); i++) {
      if (rules->isActive(i, nowMs)) numbers += std::to_string(i);
    }
    return numbers;
  };
  // An exporter without a datagram is silent.
  CHECK(active(5000) == "0123");
  rules->reported(2, 5000);
  CHECK(active(5000) == "012");
  ofOtherSource->reported(0, 5000);
  CHECK(active(5999) == "01");
  CHECK(active(6000) == "012");
  rules->reported(1, 7000);
  CHECK(active(7000) == "012");
  // The next rules know what was reported, as long as those before are there.
  const auto next = rulesOf({list[2], list[3]}, presence);
  CHECK_FALSE(next->isActive(1, 7000));
}

TEST_CASE("of a site a few records of an exporter that usually sends many keep the next one out no longer") {
  std::vector<ExporterRule> list = {ruleFor(1), ruleFor(2)};
  for (ExporterRule& each : list) each.site = "fra1";
  SitePresence presence;
  const ExporterRules rules(list, presence);
  std::uint64_t nowMs = 1000;
  for (int second = 0; second < 600; second++, nowMs += 1000) rules.reported(0, nowMs, 1000);
  CHECK_FALSE(rules.isActive(1, nowMs));
  // It is gone, and an attacker sends a record a second with its address, for an hour. The last period has its own
  // records.
  for (int second = 0; second < 76; second++, nowMs += 1000) rules.reported(0, nowMs);
  for (int second = 0; second < 3600; second++, nowMs += 1000) {
    rules.reported(0, nowMs);
    CHECK(rules.isActive(1, nowMs));
  }
  // It is back, with a tenth of its records.
  for (int second = 0; second < 20; second++, nowMs += 1000) rules.reported(0, nowMs, 100);
  CHECK_FALSE(rules.isActive(1, nowMs));
  // At night it sends less and less.
  for (std::uint64_t each = 100; each > 0; each--) {
    for (int second = 0; second < 120; second++, nowMs += 1000) rules.reported(0, nowMs, each);
    CHECK_FALSE(rules.isActive(1, nowMs));
  }
}

TEST_CASE("a site has a bounded number of rules") {
  SitePresence presence;
  ExporterRule rule = ruleFor(1);
  rule.site = "fra1";
  CHECK_NOTHROW(rulesOf(std::vector<ExporterRule>(kSiteRulesMax, rule), presence));
  CHECK_THROWS_AS(rulesOf(std::vector<ExporterRule>(kSiteRulesMax + 1, rule), presence), std::out_of_range);
}
