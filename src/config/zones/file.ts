/** The zones file: its schema with defaults and descriptions, and the zones built from a valid file. */
import { type Static, Type } from "@sinclair/typebox";
import { ALT_SVC_MAX_AGE_SECONDS, type ChallengeOptions, type Zone, type ZonePolicy } from "../../edge/zones/zone.ts";
import { ZONES_MAX } from "../../limits.ts";
import {
  boolean,
  closedObject,
  defaultedObject,
  described,
  integer,
  list,
  oneOf,
  text,
} from "../../schema/schema-forms.ts";
import { canonicalOrigin } from "../../schema/zone-forms.ts";

/** Origins of one zone, and its paths that are never challenged. */
export const ORIGINS_MAX = 64;
export const EXEMPT_PATHS_MAX = 64;
/** The maximum of rates (requests per second) and bursts in a zone's policy. */
const ZONE_RATE_MAX = 100_000_000;
/**
 * The longest life of a clearance cookie, seconds: a cookie signed at the end of a key's day is valid for one more day.
 */
const CLEARANCE_COOKIE_SECONDS_MAX = 86_400;

/** A year. */
const MAX_AGE_SECONDS_MAX = 31_536_000;
const HOLD_SECONDS_MAX = 86_400;

/** Unquoted, YAML reads 1.2 as a number. */
const MinVersion = Type.Unsafe<"1.2" | "1.3" | 1.2 | 1.3>(
  Type.Union([Type.Literal("1.2"), Type.Literal("1.3"), Type.Literal(1.2), Type.Literal(1.3)]),
);

const Tls = defaultedObject({
  min_version: described({ ...MinVersion, default: "1.2" }, "The lowest TLS version that nodes accept."),
  h3: described(boolean(false), "Whether nodes also serve HTTP/3."),
  h3_options: described(
    Type.Optional(
      closedObject({
        advertise: described(boolean(true), "Whether nodes advertise HTTP/3 to browsers (Alt-Svc)."),
        alt_svc_max_age_seconds: described(
          integer(0, MAX_AGE_SECONDS_MAX, ALT_SVC_MAX_AGE_SECONDS),
          "How long browsers may remember it.",
        ),
      }),
    ),
    "How HTTP/3 is advertised. Allowed with `h3: true` only.",
  ),
});

const ChallengeOptionsFile = defaultedObject({
  dry_run: described(boolean(true), "While true, nodes only count the visitors that they would challenge."),
  exempt_paths: described(list(text("urlPath"), EXEMPT_PATHS_MAX), "Paths that are never challenged."),
  difficulty: described(integer(12, 22, 18), "How much work a challenge is for a browser; higher is more."),
  cookie_ttl_seconds: described(
    integer(60, CLEARANCE_COOKIE_SECONDS_MAX, 1800),
    "How long a browser that passed a challenge is not challenged again.",
  ),
  auto: described(
    defaultedObject({
      zone_rps: described(
        integer(0, ZONE_RATE_MAX, 0),
        "Requests to the whole zone above which visitors are challenged. 0 switches it off.",
      ),
      hold_seconds: described(
        integer(1, HOLD_SECONDS_MAX, 300),
        "How long visitors are challenged after the rate has fallen again.",
      ),
    }),
    "When challenge `auto` challenges visitors.",
  ),
});

const Policy = defaultedObject({
  mode: described(
    Type.Unsafe<ZonePolicy["mode"]>({ ...oneOf("decide", "none"), default: "decide" }),
    "`decide` checks each request by this policy, `none` passes requests on unchecked.",
  ),
  failure_mode: described(
    Type.Unsafe<ZonePolicy["failureMode"]>({ ...oneOf("open", "closed"), default: "open" }),
    "The decision about requests that cannot be checked: `open` passes them on, `closed` refuses them.",
  ),
  challenge: described(
    Type.Unsafe<ZonePolicy["challenge"]>({ ...oneOf("auto", "manual", "off"), default: "off" }),
    "Which visitors are challenged: `manual` every one, `auto` every one while the zone is busy, `off` none.",
  ),
  dry_run: described(boolean(true), "While true, nodes only count the requests that they would refuse or challenge."),
  rate: described(
    defaultedObject({
      rps: described(integer(0, ZONE_RATE_MAX, 0), "The requests that one source may send. 0 sets no bound."),
      concurrency: described(
        integer(0, ZONE_RATE_MAX, 0),
        "The requests of one source that may be in progress at once. 0 sets no bound.",
      ),
    }),
    "Bounds for each source.",
  ),
  challenge_options: described(ChallengeOptionsFile, "How visitors are challenged."),
});

const Acme = defaultedObject({
  directory: described(
    Type.Optional(text("httpsUrl")),
    "The directory URL of the certificate authority that the nodes order the certificate from.",
    { ifAbsent: "the default of the node" },
  ),
  fallback: described(
    Type.Optional(text("httpsUrl")),
    "The directory URL of another authority, which is used when the first one fails.",
    { ifAbsent: "the default of the node" },
  ),
});

const ZoneEntry = closedObject({
  name: described(text("hostname"), "The hostname, unique; it is converted to lower case. Wildcards are not allowed."),
  tenant: described(
    Type.Optional(text("tenantName")),
    "The tenant that sees the zone and may change its challenge, besides tokens without a tenant.",
  ),
  hostgroup: described(
    Type.Optional(text("groupName")),
    "The zone is served by the edge nodes that list this hostgroup.",
    { ifAbsent: "all edge nodes serve the zone" },
  ),
  origins: described(
    list(text("origin"), ORIGINS_MAX, { atLeastOne: true }),
    "The servers that requests are passed on to.",
  ),
  tls: described(Tls, "Connections of visitors."),
  acme: described(Acme, "Where the certificate comes from."),
  policy: described(Policy, "How nodes decide on requests."),
  extra_directives_file: described(
    Type.Optional(text("absolutePath")),
    "A file on the node with further directives for its reverse proxy.",
  ),
});
type ZoneEntry = Static<typeof ZoneEntry>;

/** `zones` is required: a truncated file must not remove all zones from the nodes. An empty list is allowed. */
export const ZonesFile = described(
  closedObject({
    zones: described(
      Type.Array(ZoneEntry, { maxItems: ZONES_MAX }),
      "The hostnames that edge nodes serve. An empty list is valid; a file without the key is not.",
      {
        examples: [
          [
            {
              name: "www.example.net",
              origins: ["192.0.2.10:443"],
              policy: { challenge: "auto", dry_run: false, rate: { rps: 50 } },
            },
          ],
          [
            {
              name: "www.example.net",
              origins: ["192.0.2.10:443"],
              tls: { h3: true, h3_options: { advertise: false } },
            },
          ],
        ],
      },
    ),
  }),
  "The zones file is the file that `edge.zones_file` names.",
);
export type ZonesFile = Static<typeof ZonesFile>;

/** Sorted by name. */
export function buildZones({ zones }: ZonesFile): Zone[] {
  return zones.map(buildZone).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function buildZone({ tls, acme, policy, ...zone }: ZoneEntry): Zone {
  return {
    name: zone.name.toLowerCase(),
    tenant: zone.tenant ?? null,
    hostgroup: zone.hostgroup ?? null,
    origins: zone.origins.map((origin) => canonicalOrigin(origin) ?? origin),
    tls: {
      minVersion: `${tls.min_version}`,
      h3: tls.h3,
      advertise: tls.h3_options?.advertise ?? true,
      altSvcMaxAgeSeconds: tls.h3_options?.alt_svc_max_age_seconds ?? ALT_SVC_MAX_AGE_SECONDS,
    },
    acme: { directory: acme.directory ?? null, fallback: acme.fallback ?? null },
    policy: {
      mode: policy.mode,
      failureMode: policy.failure_mode,
      challenge: policy.challenge,
      dryRun: policy.dry_run,
      rate: { rps: policy.rate.rps, concurrency: policy.rate.concurrency },
      challengeOptions: buildChallengeOptions(policy.challenge_options),
    },
    extraDirectivesFile: zone.extra_directives_file ?? null,
  };
}

function buildChallengeOptions(file: Static<typeof ChallengeOptionsFile>): ChallengeOptions {
  return {
    dryRun: file.dry_run,
    exemptPaths: [...file.exempt_paths].sort(),
    difficulty: file.difficulty,
    cookieTtlSeconds: file.cookie_ttl_seconds,
    auto: { zoneRps: file.auto.zone_rps, holdSeconds: file.auto.hold_seconds },
  };
}
