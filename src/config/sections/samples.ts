/** The section `samples`: the packet samples of attacks, and the files with the origins of sources. */
import { type Static, Type } from "@sinclair/typebox";
import type { SamplesConfig } from "../../detection/attack/samples-config.ts";
import type { OriginFiles } from "../../geo/origin-config.ts";
import { boolean, defaultedObject, described, integer, text } from "../../schema/schema-forms.ts";

export const SamplesSection = described(
  defaultedObject({
    enabled: described(boolean(true), "Whether attacks carry a sample of their packets."),
    per_attack_flows: described(integer(0, 1000, 20), "The number of sampled packets that are listed one by one."),
    top: described(integer(1, 100, 10), "The number of largest sources, ports and protocols that are listed."),
    asn_file: described(
      Type.Optional(text("absolutePath")),
      "A file in MaxMind's format (`.mmdb`) that gives the autonomous system of a source. At most 512 MiB, kept in memory; a reload reads it again.",
    ),
    country_file: described(
      Type.Optional(text("absolutePath")),
      "The same for the country of a source; a file of cities is accepted as well.",
    ),
  }),
  "The sample of packets that each attack carries.",
  { examples: [{ per_attack_flows: 50, asn_file: "/var/lib/GeoIP/GeoLite2-ASN.mmdb" }] },
);

export function buildSamples(file: Static<typeof SamplesSection>): SamplesConfig & OriginFiles {
  return {
    enabled: file.enabled,
    perAttackFlows: file.per_attack_flows,
    top: file.top,
    asnFile: file.asn_file ?? null,
    countryFile: file.country_file ?? null,
  };
}
