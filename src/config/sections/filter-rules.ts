/** The lists `filter_rules` of the service and of a scrub node: rules of the operator for the data plane of the machine. */
import { FilterRuleFile } from "../../mitigation/operator/rule-file.ts";
import { described, list } from "../../schema/schema-forms.ts";

const FILTER_RULES_MAX = 100;

const EXAMPLES = [
  [
    {
      name: "handshakes",
      action: "limit",
      handshake: "tls",
      per: "source",
      packets_per_second: 20,
      when: "attacked",
    },
    { name: "no-chargen", action: "drop", protocol: "udp", source_ports: ["19"] },
  ],
  [{ name: "queries", action: "drop", protocol: "udp", ports: ["27015"], payload: [{ bytes: "ffffffff 54" }] }],
];

export const FilterRules = described(
  list(FilterRuleFile, FILTER_RULES_MAX),
  "Rules of your own for the data plane of this machine. They are tried in their order, after `dataplane.allowlist`, `protected_whitelist` and source blocks, and before the rules of bans. All that a rule has must match.",
  { examples: EXAMPLES },
);

export const NodeFilterRules = described(
  list(FilterRuleFile, FILTER_RULES_MAX),
  "Rules of your own on this node. They are tried in their order, after `dataplane.allowlist` and `protected_whitelist`, and before the rules of the service's bans. All that a rule has must match. `when: attacked` is for addresses with a ban in the rule document.",
  { examples: EXAMPLES },
);
