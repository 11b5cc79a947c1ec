/** The section `carpet`: attacks spread over hosts that are each below their own thresholds. */
import { type Static, Type } from "@sinclair/typebox";
import type { Action } from "../../mitigation/escalation.ts";
import type { CarpetMitigation } from "../../mitigation/mitigation-config.ts";
import { closedObject, described, integer, oneOf } from "../../schema/schema-forms.ts";
import { METRICS } from "../../traffic/rates.ts";
import { AnyThresholds } from "../load/threshold-forms.ts";

export const CarpetSection = described(
  closedObject({
    prefix_v4: described(
      integer(8, 32, 24),
      "The length of the IPv4 prefixes whose hosts are added up, separately for each hostgroup. A smaller network counts as a whole.",
    ),
    prefix_v6: described(integer(16, 52, 48), "The same for IPv6."),
    min_hosts: described(
      integer(2, 65_536, 10),
      "The number of hosts that an attack must be spread over. A host with nearly all of the traffic counts as one.",
    ),
    thresholds: described(
      AnyThresholds,
      "The rates of one prefix above which it is under attack, judged once a second; at least one must be above 0.",
      { valueIfAbsent: 0 },
    ),
    mitigation: described(
      Type.Unsafe<Action>({ ...oneOf("none", "scrub", "flowspec", "divert", "blackhole"), default: "none" }),
      "The action for the whole prefix; `none` only raises the attack, and `scrub` filters as the prefix's hostgroup says. `escalation` and `ban.fallback` do not apply to it. A ban is refused where the prefix is not within one network and one hostgroup, or contains an address of `protected_whitelist` or one that the service itself needs.",
    ),
    widest_v4: described(
      Type.Optional(integer(8, 32)),
      "With a mitigation, no attack on IPv4 is wider than this length: a wider flood is several attacks. At most `prefix_v4`.",
      { ifAbsent: "4 less than `prefix_v4`, at least 8" },
    ),
    widest_v6: described(Type.Optional(integer(16, 52)), "The same for IPv6. At most `prefix_v6`.", {
      ifAbsent: "4 less than `prefix_v6`, at least 16",
    }),
  }),
  "Detects attacks that are spread over a prefix, so that each host stays below its own thresholds. Without this section they are not detected.",
  { examples: [{ thresholds: { pps: 300_000, mbps: 3000 }, mitigation: "flowspec" }] },
);

/** Sixteen adjacent prefixes. */
const WIDER_BITS = 4;

export function buildCarpet(file: Static<typeof CarpetSection>): CarpetMitigation {
  return {
    prefixV4: file.prefix_v4,
    prefixV6: file.prefix_v6,
    minHosts: file.min_hosts,
    thresholds: METRICS.map((metric) => file.thresholds[metric] ?? 0),
    mitigation: file.mitigation,
    widestV4: file.widest_v4 ?? Math.max(8, file.prefix_v4 - WIDER_BITS),
    widestV6: file.widest_v6 ?? Math.max(16, file.prefix_v6 - WIDER_BITS),
  };
}
