/** The method `scrub` on this machine, by hostgroup, and the profiles of victims. */
import { type Static, Type } from "@sinclair/typebox";
import { PREFIX_SETS_MAX, SCRUB_SERVICES_MAX } from "../../limits.ts";
import { RANGES_MAX } from "../../mitigation/rules/match.ts";
import type { ScrubConfig, ScrubProfile, Selectable } from "../../mitigation/scrub/scrub-config.ts";
import {
  NO_SOURCE_LIMITS,
  PROFILES,
  PROVEN_SOURCE_PACKETS,
  type ScrubFilter,
  type Service,
  type ValidationWay,
} from "../../mitigation/scrub/scrub-filter.ts";
import { closedObject, described, integer, list, oneOf, text, zeroOr } from "../../schema/schema-forms.ts";
import { parsePortRange } from "../../schema/text-forms.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";

/** Profiles of victims in a file. */
const SCRUB_PROFILES_MAX = 64;
/** Profiles that tenants may choose: all, built-in ones too. */
const SELECTABLE_PROFILES_MAX = SCRUB_PROFILES_MAX + 8;

const SERVICE_PROTOCOLS = ["tcp", "udp", "sctp", "icmp", "icmpv6", "gre", "esp", "ah", "ipip", "ipv6"] as const;

const ServiceFile = closedObject({
  protocol: described(oneOf(...SERVICE_PROTOCOLS), "The protocol over IP."),
  ports: described(
    list(text("portRange"), RANGES_MAX),
    "The ports of the victim, each as `443` or `27000-27050`. Only with `tcp`, `udp` and `sctp`; an empty list is any port.",
  ),
  source_ports: described(
    list(text("portRange"), RANGES_MAX),
    "The ports of others that answer the victim, such as `53` for its resolvers. An empty list is any port.",
  ),
  packets_per_second: described(
    Type.Optional(integer(1, 1e9)),
    "Maximum rate to each address from all sources; for a prefix scrubbed as a whole, at most 100 times this.",
    { ifAbsent: "any rate" },
  ),
});

/** A second. */
const rate = zeroOr(1, 1e9);
/** The least is 125 bytes/s. */
const mbps = (most: number) => zeroOr(0.001, most);

const OF_PROFILES = {
  tcp: described(
    Type.Optional(oneOf("off", "transparent", "reset")),
    "How unknown sources of TCP prove their address while a victim is scrubbed. `transparent` answers their SYN with an acknowledgement that they must reset, and lets their SYN pass when they send it again; if the attack passes in this way, the ban goes on with `reset`. `reset` completes their handshake in the victim's place and resets it: they connect again. `off` asks for no proof.",
    { ifAbsent: "as the profile says, else `transparent`" },
  ),
  dns: described(
    Type.Optional(oneOf("off", "truncate")),
    "How unknown sources of DNS queries prove their address. `truncate` answers that they should ask by TCP. For victims that serve DNS over UDP and TCP.",
    { ifAbsent: "as the profile says, else `off`" },
  ),
  answers: described(
    Type.Optional(oneOf("any", "asked")),
    "With `asked`, answers that look like the attack's pass only from sources that the victim has asked in the last minute: sent UDP to one of the ports that the attack's answers come from, and not from a port of its own `services`. This is in place of rules that drop all such answers. Use it only if the traffic of both directions comes in by `dataplane.interfaces`.",
    { ifAbsent: "as the profile says, else `any`" },
  ),
  learned_mbps: described(
    Type.Optional(mbps(1e6)),
    "The traffic that may pass from all sources together that had TCP connections to the victim before the attack and have not proved their address since. For a prefix that is scrubbed as a whole this is multiplied by its addresses, by a hundred at most. 0 sets no limit.",
    { ifAbsent: "as the profile says, else 100" },
  ),
  source_packets_per_second: described(
    Type.Optional(rate),
    "The packets that each source may send. Excess packets are dropped; a source that sends 20 times its limit is dropped entirely. 0 sets no limit. If sources prove their address, the default bounds the traffic of a guessed proof, which takes about 2^30 guesses: with 10 million guesses a second, one source passes every 107 seconds. Raise it if few sources send much, such as the proxies of a CDN.",
    { ifAbsent: "as the profile says, else 20000 with `tcp` or `dns` other than `off`, else 0" },
  ),
  source_mbps: described(Type.Optional(mbps(1e9)), "The same in megabits per second.", {
    ifAbsent: "as the profile says, else 0",
  }),
  source_connections_per_second: described(
    Type.Optional(rate),
    "How many TCP connections each source may open. 0 sets no limit.",
    { ifAbsent: "as the profile says, else 0" },
  ),
  source_ipv4_length: described(
    Type.Optional(integer(8, 32)),
    "How much of an IPv4 address is one source for these limits: 32 for each address, 24 for all 256 together.",
    { ifAbsent: "as the profile says, else 32" },
  ),
  source_ipv6_length: described(Type.Optional(integer(16, 128)), "The same for an IPv6 address.", {
    ifAbsent: "as the profile says, else 64",
  }),
  blocked_sets: described(
    Type.Optional(list(text("setName"), PREFIX_SETS_MAX)),
    "Sets of `prefix_sets` whose sources are dropped while a victim is scrubbed. No effect on scrub nodes, which have sets of their own.",
    { ifAbsent: "as the profile says, else none" },
  ),
  services: described(
    Type.Optional(list(ServiceFile, SCRUB_SERVICES_MAX, { atLeastOne: true })),
    "The services of the victim. While it is scrubbed, all other traffic is dropped, except packets that rules of the attack with `flowspec.action: rate_limit` let pass. Name also traffic that the services depend on: answers of resolvers, `icmp` for errors and echo.",
    { ifAbsent: "as the profile says, else all traffic" },
  ),
};

export const SCRUB_KEYS = {
  profile: described(
    Type.Optional(text("profileName")),
    `The kind of victims: one of ${Object.keys(PROFILES).join(", ")}, or one of \`scrub_profiles\`. The other keys take precedence over it. In a hostgroup it replaces the top-level \`scrub\` as a whole.`,
    { ifAbsent: "none" },
  ),
  ...OF_PROFILES,
  always: described(
    Type.Optional(Type.Boolean()),
    "Whether this is done at all times, and not only while a victim is under attack. It needs `dataplane`; `answers` acts only under attack. A hostgroup within another one has its own keys alone.",
    { ifAbsent: "false" },
  ),
  on_nodes: described(
    Type.Optional(Type.Boolean()),
    "Whether scrub nodes do this too with the traffic of bans that divert, beside the rules in their document. `answers` and `always` have no effect there.",
    { ifAbsent: "false" },
  ),
  dry_run: described(
    Type.Optional(Type.Boolean()),
    "Whether the kernel only counts the packets that it would drop or answer: bans then have `would_drop_packets`.",
    { ifAbsent: "false" },
  ),
  selectable_profiles: described(
    Type.Optional(list(text("profileName"), SELECTABLE_PROFILES_MAX)),
    "The profiles that tenants may choose for their own addresses by the API and the dashboard, each built in or one of `scrub_profiles`. Operators without a tenant may choose any.",
    { ifAbsent: "none" },
  ),
  selectable_always: described(
    Type.Optional(Type.Boolean()),
    "Whether tenants may choose as well that a profile applies at all times, or only under attack.",
    { ifAbsent: "false" },
  ),
};

const ScrubFile = closedObject(SCRUB_KEYS);
export type ScrubFile = Static<typeof ScrubFile>;

const ProfileFile = closedObject({
  name: described(text("profileName"), "The name, unique among the profiles, and none of the built-in ones."),
  ...OF_PROFILES,
});

export const ScrubProfiles = described(
  list(ProfileFile, SCRUB_PROFILES_MAX),
  "Profiles of your own for `scrub.profile`.",
  {
    examples: [
      [
        {
          name: "voice",
          services: [{ protocol: "udp", ports: ["5060", "10000-20000"] }, { protocol: "icmp" }],
          source_packets_per_second: 500,
        },
      ],
    ],
  },
);
export type ProfilesFile = readonly Partial<Static<typeof ProfileFile>>[];

const LEARNED_MBPS = 100;

const ANY_VICTIM: ScrubFilter = {
  tcp: "transparent",
  dns: false,
  askedOnly: false,
  learnedBytesPerSecond: bytesPerSecond(LEARNED_MBPS),
  sourceLimits: NO_SOURCE_LIMITS,
  services: null,
  countsOnly: false,
};

/** @param profiles those of the file; its `scrub.profile` is one of them, or a built-in one. */
export function buildScrub(file: ScrubFile, profiles: ProfilesFile): ScrubConfig {
  const { profile = null, always: isAlways = false, on_nodes: isOnNodes = false, dry_run: countsOnly = false } = file;
  const own = profiles.find(({ name }) => name === profile);
  const builtIn = own === undefined && profile !== null ? PROFILES[profile] : undefined;
  const kind = own === undefined ? { ...ANY_VICTIM, ...builtIn } : filterOf(own, ANY_VICTIM);
  const filter = filterOf(file, kind);
  const said = file.source_packets_per_second ?? own?.source_packets_per_second;
  return { profile, isAlways, isOnNodes, ...(said === undefined ? boundProofs(filter) : filter), countsOnly };
}

function boundProofs(filter: ScrubFilter): ScrubFilter {
  const { tcp, dns, sourceLimits } = filter;
  if ((tcp === null && !dns) || sourceLimits.packets > 0) return filter;
  return { ...filter, sourceLimits: { ...sourceLimits, packets: PROVEN_SOURCE_PACKETS } };
}

/** The built-in ones first. */
export function buildProfiles(profiles: ProfilesFile): ScrubProfile[] {
  return [
    ...Object.entries(PROFILES).map(([name, kind]) => ({ name, isBuiltIn: true, filter: { ...ANY_VICTIM, ...kind } })),
    ...profiles.map((own) => ({ name: own.name ?? "", isBuiltIn: false, filter: filterOf(own, ANY_VICTIM) })),
  ];
}

export function buildSelectable({ selectable_profiles: names, selectable_always: isAlways }: ScrubFile): Selectable {
  return { profiles: [...new Set(names)], isAlways: isAlways ?? false };
}

function filterOf(file: Omit<ScrubFile, "profile">, otherwise: ScrubFilter): ScrubFilter {
  const { tcp, dns, answers, learned_mbps: learned, services } = file;
  const { sourceLimits: limits } = otherwise;
  return {
    tcp: tcp === undefined ? otherwise.tcp : wayOf(tcp),
    dns: dns === undefined ? otherwise.dns : dns === "truncate",
    askedOnly: answers === undefined ? otherwise.askedOnly : answers === "asked",
    learnedBytesPerSecond: learned === undefined ? otherwise.learnedBytesPerSecond : bytesPerSecond(learned),
    sourceLimits: {
      packets: file.source_packets_per_second ?? limits.packets,
      bytes: file.source_mbps === undefined ? limits.bytes : bytesPerSecond(file.source_mbps),
      connections: file.source_connections_per_second ?? limits.connections,
      ipv4Length: file.source_ipv4_length ?? limits.ipv4Length,
      ipv6Length: file.source_ipv6_length ?? limits.ipv6Length,
    },
    services: services === undefined ? otherwise.services : services.map(serviceOf),
    ...blocked(file.blocked_sets ?? otherwise.blockedSets ?? []),
    countsOnly: otherwise.countsOnly,
  };
}

function blocked(blockedSets: readonly string[]): Pick<ScrubFilter, "blockedSets"> {
  return blockedSets.length === 0 ? {} : { blockedSets };
}

function wayOf(tcp: "off" | ValidationWay): ValidationWay | null {
  return tcp === "off" ? null : tcp;
}

/** A megabit is 10^6 bits, as in all rates. */
function bytesPerSecond(mbps: number): number {
  return (mbps * 1e6) / 8;
}

function serviceOf(file: Static<typeof ServiceFile>): Service {
  const { protocol, ports, source_ports: sourcePorts, packets_per_second: packetsPerSecond } = file;
  const ranges = (texts: readonly string[]) => texts.map(parsePortRange).filter((range) => range !== null);
  const rate = packetsPerSecond === undefined ? {} : { packetsPerSecond };
  return { protocol: IP_PROTOCOL[protocol], ports: ranges(ports), sourcePorts: ranges(sourcePorts), ...rate };
}
