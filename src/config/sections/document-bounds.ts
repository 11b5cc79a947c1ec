/** The section `bounds` of a scrub node's file: what the node accepts from the service at most. */
import { type Static, Type } from "@sinclair/typebox";
import { BAN_SECONDS_MAX, DYNAMIC_RULES_MAX, PREFIXES_MAX } from "../../limits.ts";
import { type Prefix, parsePrefix } from "../../net/prefix.ts";
import { defaultedObject, described, integer, list, text } from "../../schema/schema-forms.ts";
import type { DocumentBounds } from "../../scrub/agent/agent-config.ts";

export const DocumentBoundsSection = described(
  defaultedObject({
    networks: described(
      Type.Optional(list(text("prefix"), PREFIXES_MAX, { atLeastOne: true })),
      "The destinations that rules may concern: the networks that are protected here.",
      { ifAbsent: "every destination; `floodwall check` warns" },
    ),
    shortest_prefix: described(
      integer(0, 32, 8),
      "The shortest IPv4 destination prefix of a rule. With 32 each rule concerns a single address. Not above `carpet.widest_v4` of a service that diverts whole prefixes.",
    ),
    shortest_prefix6: described(integer(0, 128, 16), "The same for IPv6."),
    max_seconds: described(
      integer(60, BAN_SECONDS_MAX, BAN_SECONDS_MAX),
      "How long from now a rule may last, seconds. Not below the longest ban of the service.",
    ),
    max_rules: described(
      integer(1, DYNAMIC_RULES_MAX, DYNAMIC_RULES_MAX),
      "The number of rules in one document; it also bounds the memory that reading a document takes.",
    ),
  }),
  "Bounds of the documents that the node accepts, so that an attacker who controls the service cannot make it drop other traffic. A document beyond a bound is refused as a whole and reported; the last good one stays in force until its bans expire.",
  {
    examples: [
      {
        networks: ["192.0.2.0/24", "2001:db8::/32"],
        shortest_prefix: 32,
        shortest_prefix6: 128,
        max_seconds: 86_400,
        max_rules: 4096,
      },
    ],
  },
);

export function buildDocumentBounds(file: Static<typeof DocumentBoundsSection>): DocumentBounds {
  return {
    // The schema accepts only valid texts.
    networks: file.networks?.map((network) => parsePrefix(network) as Prefix) ?? null,
    shortestPrefix: { 4: file.shortest_prefix, 6: file.shortest_prefix6 },
    maxSeconds: file.max_seconds,
    maxRules: file.max_rules,
  };
}
