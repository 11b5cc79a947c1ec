/** The schema of the zone document (docs/interface.md#zone-document); src/edge writes its bytes. */
import { Type } from "@sinclair/typebox";
import { Timestamp } from "../../../schema/timestamp.ts";
import { closed } from "../closed.ts";
import { oneOf } from "../one-of.ts";

const ChallengeOptionsWire = Type.Object(
  {
    dry_run: Type.Boolean(),
    exempt_paths: Type.Array(Type.String()),
    difficulty: Type.Integer(),
    cookie_ttl_seconds: Type.Integer(),
    auto: Type.Object({ zone_rps: Type.Number(), hold_seconds: Type.Integer() }, closed),
  },
  closed,
);

const PolicyWire = Type.Object(
  {
    mode: oneOf("decide", "none"),
    failure_mode: oneOf("open", "closed"),
    challenge: oneOf("auto", "manual", "off"),
    /** Limit for one source. Absent: no limit. */
    rate: Type.Object({ rps: Type.Optional(Type.Number()), concurrency: Type.Optional(Type.Number()) }, closed),
    dry_run: Type.Boolean(),
    challenge_options: ChallengeOptionsWire,
  },
  closed,
);

const TlsWire = Type.Object(
  {
    min_version: Type.String(),
    h3: Type.Optional(Type.Literal(true)),
    /** Absent: advertise is true, with 86400 seconds. */
    h3_options: Type.Optional(
      Type.Object({ advertise: Type.Boolean(), alt_svc_max_age_seconds: Type.Integer() }, closed),
    ),
  },
  closed,
);

const ZoneWire = Type.Object(
  {
    name: Type.String(),
    origins: Type.Array(Type.String()),
    tls: TlsWire,
    policy: PolicyWire,
    /** Absent: the node uses its own. */
    acme_directory: Type.Optional(Type.String()),
    acme_fallback: Type.Optional(Type.String()),
    extra_directives_file: Type.Optional(Type.String()),
    /** While an operator's lever is set. */
    challenge_override: Type.Optional(
      Type.Object({ mode: oneOf("auto", "manual"), until: Timestamp, reason: Type.String() }, closed),
    ),
    /** Keys of yesterday and today, UTC; the secrets are 32 bytes in base64url. */
    clearance_keys: Type.Array(
      Type.Object({ id: Type.String(), secret: Type.String(), not_before: Timestamp, not_after: Timestamp }, closed),
    ),
  },
  closed,
);

export const ZoneDocumentWire = Type.Object(
  {
    version: Type.Literal(1),
    zones: Type.Array(ZoneWire),
    acme_challenges: Type.Array(
      Type.Object(
        { zone: Type.String(), token: Type.String(), key_authorization: Type.String(), expires_at: Timestamp },
        closed,
      ),
    ),
    issuance_grants: Type.Array(
      Type.Object({ zone: Type.String(), node: Type.String(), expires_at: Timestamp }, closed),
    ),
  },
  closed,
);
