/** The section `samples`: the sample of its packets that each attack carries, and the files that tell where sources are. */
import { type Static, Type } from "@sinclair/typebox";
import { boolean, integer, text, withDefaults } from "../load/schema-forms.ts";

export const SamplesSection = Type.Object(
  {
    enabled: boolean(true),
    per_attack_flows: integer(0, 1000, 20),
    top: integer(1, 100, 10),
    asn_file: Type.Optional(text("absolutePath")),
    country_file: Type.Optional(text("absolutePath")),
  },
  withDefaults,
);

/** Paths of files in MaxMind's format; null: none. */
export interface OriginFiles {
  readonly asnFile: string | null;
  readonly countryFile: string | null;
}

export interface SamplesConfig extends OriginFiles {
  readonly enabled: boolean;
  readonly perAttackFlows: number;
  readonly top: number;
}

export function buildSamples(file: Static<typeof SamplesSection>): SamplesConfig {
  return {
    enabled: file.enabled,
    perAttackFlows: file.per_attack_flows,
    top: file.top,
    asnFile: file.asn_file ?? null,
    countryFile: file.country_file ?? null,
  };
}
