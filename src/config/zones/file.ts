/** The zones file: the shape of its keys and their defaults, and the zones that a valid one makes. What they mean: README. */
import { type Static, Type } from "@sinclair/typebox";
import { ALT_SVC_MAX_AGE_SECONDS, type ChallengeOptions, type Zone, type ZonePolicy } from "../../edge/zone.ts";
import { CLEARANCE_COOKIE_SECONDS_MAX, EXEMPT_PATHS_MAX, ORIGINS_MAX, ZONE_RATE_MAX, ZONES_MAX } from "../../limits.ts";
import { boolean, closed, integer, list, oneOf, text, withDefaults } from "../load/schema-forms.ts";
import { canonicalOrigin } from "./forms.ts";

/** A year. */
const MAX_AGE_SECONDS_MAX = 31_536_000;
const HOLD_SECONDS_MAX = 86_400;

/** Unquoted, YAML takes 1.2 for a number. */
const MinVersion = Type.Unsafe<"1.2" | "1.3" | 1.2 | 1.3>(
  Type.Union([Type.Literal("1.2"), Type.Literal("1.3"), Type.Literal(1.2), Type.Literal(1.3)]),
);

const Tls = Type.Object(
  {
    min_version: { ...MinVersion, default: "1.2" },
    h3: boolean(false),
    h3_options: Type.Optional(
      Type.Object(
        {
          advertise: boolean(true),
          alt_svc_max_age_seconds: integer(0, MAX_AGE_SECONDS_MAX, ALT_SVC_MAX_AGE_SECONDS),
        },
        closed,
      ),
    ),
  },
  withDefaults,
);

const ChallengeOptionsFile = Type.Object(
  {
    dry_run: boolean(true),
    exempt_paths: list(text("urlPath"), EXEMPT_PATHS_MAX),
    difficulty: integer(12, 22, 18),
    cookie_ttl_seconds: integer(60, CLEARANCE_COOKIE_SECONDS_MAX, 1800),
    auto: Type.Object(
      { zone_rps: integer(0, ZONE_RATE_MAX, 0), hold_seconds: integer(1, HOLD_SECONDS_MAX, 300) },
      withDefaults,
    ),
  },
  withDefaults,
);

const Policy = Type.Object(
  {
    mode: Type.Unsafe<ZonePolicy["mode"]>({ ...oneOf("decide", "none"), default: "decide" }),
    failure_mode: Type.Unsafe<ZonePolicy["failureMode"]>({ ...oneOf("open", "closed"), default: "open" }),
    challenge: Type.Unsafe<ZonePolicy["challenge"]>({ ...oneOf("auto", "manual", "off"), default: "off" }),
    dry_run: boolean(true),
    rate: Type.Object({ rps: integer(0, ZONE_RATE_MAX, 0), concurrency: integer(0, ZONE_RATE_MAX, 0) }, withDefaults),
    challenge_options: ChallengeOptionsFile,
  },
  withDefaults,
);

const Acme = Type.Object(
  { directory: Type.Optional(text("httpsUrl")), fallback: Type.Optional(text("httpsUrl")) },
  withDefaults,
);

const ZoneEntry = Type.Object(
  {
    name: text("hostname"),
    tenant: Type.Optional(text("tenantName")),
    hostgroup: Type.Optional(text("groupName")),
    origins: list(text("origin"), ORIGINS_MAX, { atLeastOne: true }),
    tls: Tls,
    acme: Acme,
    policy: Policy,
    extra_directives_file: Type.Optional(text("absolutePath")),
  },
  closed,
);
type ZoneEntry = Static<typeof ZoneEntry>;

/** `zones` is required: a file that was cut short must not take all zones off the nodes. An empty list does as it says. */
export const ZonesFile = Type.Object({ zones: Type.Array(ZoneEntry, { maxItems: ZONES_MAX }) }, closed);
export type ZonesFile = Static<typeof ZonesFile>;

/** By name. */
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
