/** The section `prefix_sets`: named sets of prefixes, by which rules of the data plane distinguish sources. */
import { type Static, Type } from "@sinclair/typebox";
import { PREFIX_SETS_MAX } from "../../limits.ts";
import type { PrefixSetConfig } from "../../prefixset/prefix-set-config.ts";
import { closedObject, described, integer, list, text } from "../../schema/schema-forms.ts";

/** Countries and autonomous systems of one set. */
const SET_ORIGINS_MAX = 4096;

const PrefixSet = closedObject({
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
  shortest_prefix: described(
    Type.Optional(integer(1, 32)),
    "The shortest length of an IPv4 prefix in the file: one that is wider, and not within `bogons`, makes the file unusable.",
    { ifAbsent: "8, with `mmdb` 6" },
  ),
  shortest_prefix6: described(Type.Optional(integer(1, 128)), "The same for an IPv6 prefix.", {
    ifAbsent: "16, with `mmdb` 12",
  }),
  max_change_percent: described(
    integer(1, 100, 50),
    "A newer file is refused if its number of prefixes, or of addresses in them, differs by more than this from that of the file in use, in percent of the larger number. Changes by at most 16 prefixes that cover at most a /16, or an IPv6 /32, always pass. 100 switches it off.",
  ),
  max_users_percent: described(
    integer(0, 100, 10),
    "A newer file is refused if it takes more than this part of the last minute's users into the set or out of it. Users are the sources of samples towards hosts that are not attacked, with TCP in a connection or with UDP; at least 20 of them must be known, and a scrub node knows none. 100 switches it off.",
  ),
  accept: described(
    Type.Optional(text("sha256")),
    "The SHA-256 of a file that is used although it changed by more than `max_change_percent` or `max_users_percent`. The error that refuses a file has it.",
  ),
});

const SETS =
  "Named sets of prefixes, 2000000 prefixes in all. Files are read at the start, at a reload, and within 10 seconds of a change; an update of a set replaces all sets at once, and no packet is judged by half of it. A file that is missing, damaged, without a prefix or refused leaves the last good prefixes, which `state_dir` keeps over restarts,";

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

const SHORTEST = { list: { ipv4: 8, ipv6: 16 }, mmdb: { ipv4: 6, ipv6: 12 }, builtin: { ipv4: 1, ipv6: 1 } } as const;

export function buildPrefixSets(file: readonly PrefixSetFile[]): readonly PrefixSetConfig[] {
  return file.map((set) => {
    const source = sourceOf(set);
    const { ipv4, ipv6 } = SHORTEST[source.kind];
    const checks = {
      shortest: { ipv4: set.shortest_prefix ?? ipv4, ipv6: set.shortest_prefix6 ?? ipv6 },
      changePercentMax: set.max_change_percent,
      usersPercentMax: set.max_users_percent,
      accepted: set.accept?.toLowerCase() ?? null,
    };
    return { name: set.name, source, checks };
  });
}

function sourceOf({ file, mmdb, countries = [], autonomous_systems: autonomousSystems = [] }: PrefixSetFile) {
  if (file !== undefined) return { kind: "list", path: file } as const;
  if (mmdb !== undefined) return { kind: "mmdb", path: mmdb, countries, autonomousSystems } as const;
  return { kind: "builtin", set: "bogons" } as const;
}
