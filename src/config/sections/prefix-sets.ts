/** The section `prefix_sets`: named sets of prefixes, by which rules of the data plane tell sources apart. */
import { type Static, Type } from "@sinclair/typebox";
import { PREFIX_SETS_MAX, SET_ORIGINS_MAX } from "../../limits.ts";
import { closed, described, integer, list, text } from "../load/schema-forms.ts";

/** Sets that need no file. */
export const BUILT_IN_SETS = ["bogons"] as const;
export type BuiltInSet = (typeof BUILT_IN_SETS)[number];

const PrefixSet = Type.Object(
  {
    name: described(
      text("prefixSetName"),
      "The name by which rules refer to the set, unique. `bogons` alone, without a file, is built in: the sources that no packet from the Internet has (IANA's special-purpose registries, multicast, IPv6 that is not given out).",
    ),
    file: described(
      Type.Optional(text("absolutePath")),
      "A plain list: an address or a prefix a line, comments after `#` or `;`. At most 128 MiB. Not allowed beside `mmdb`.",
    ),
    mmdb: described(
      Type.Optional(text("absolutePath")),
      "A file in MaxMind's format (`.mmdb`), of countries, cities or autonomous systems. At most 512 MiB. Not allowed beside `file`.",
    ),
    countries: described(
      Type.Optional(list(text("countryCode"), SET_ORIGINS_MAX, { atLeastOne: true })),
      "The countries whose prefixes in `mmdb` are the set.",
    ),
    autonomous_systems: described(
      Type.Optional(list(integer(1, 0xffff_ffff), SET_ORIGINS_MAX, { atLeastOne: true })),
      "The autonomous systems whose prefixes in `mmdb` are the set.",
    ),
  },
  closed,
);

const SETS =
  "Named sets of prefixes, 2000000 prefixes in all. Files are read at the start, at a reload, and within 10 seconds of a change; an update of a set replaces all sets at once, and no packet is judged by half of it. A file that is missing, damaged or without a prefix is an error at the start; later the set keeps its last good prefixes,";

export const NodePrefixSetsSection = described(
  list(PrefixSet, PREFIX_SETS_MAX),
  `${SETS} and the log and the metrics of the node say so.`,
  { examples: [[{ name: "drop", file: "/var/lib/floodwall/drop.txt" }, { name: "bogons" }]] },
);

export const PrefixSetsSection = described(
  list(PrefixSet, PREFIX_SETS_MAX),
  `${SETS} and the log, \`GET /api/v1/prefix-sets\` and the metrics say so.`,
  {
    examples: [
      [
        { name: "drop", file: "/var/lib/floodwall/drop.txt" },
        { name: "abroad", mmdb: "/var/lib/GeoIP/GeoLite2-Country.mmdb", countries: ["NL", "DE"] },
        { name: "peers", mmdb: "/var/lib/GeoIP/GeoLite2-ASN.mmdb", autonomous_systems: [64_500, 64_501] },
        { name: "bogons" },
      ],
    ],
  },
);
export type PrefixSetFile = Static<typeof PrefixSet>;

export type PrefixSetSource =
  | { readonly kind: "list"; readonly path: string }
  | {
      readonly kind: "mmdb";
      readonly path: string;
      readonly countries: readonly string[];
      readonly autonomousSystems: readonly number[];
    }
  | { readonly kind: "builtin"; readonly set: BuiltInSet };

export interface PrefixSetConfig {
  readonly name: string;
  readonly source: PrefixSetSource;
}

export function buildPrefixSets(file: readonly PrefixSetFile[]): readonly PrefixSetConfig[] {
  return file.map((set) => ({ name: set.name, source: sourceOf(set) }));
}

function sourceOf({ file, mmdb, countries = [], autonomous_systems: autonomousSystems = [] }: PrefixSetFile) {
  if (file !== undefined) return { kind: "list", path: file } as const;
  if (mmdb !== undefined) return { kind: "mmdb", path: mmdb, countries, autonomousSystems } as const;
  return { kind: "builtin", set: "bogons" } as const;
}
