/** The schema of the zone document (docs/interface.md#zone-document); src/edge writes its bytes. */
import { Type } from "@sinclair/typebox";
import { closedObject, oneOf } from "../../../schema/schema-forms.ts";
import { Timestamp } from "../../../schema/timestamp.ts";

const ChallengeOptionsWire = closedObject({
  dry_run: Type.Boolean(),
  exempt_paths: Type.Array(Type.String()),
  difficulty: Type.Integer(),
  cookie_ttl_seconds: Type.Integer(),
  auto: closedObject({ zone_rps: Type.Number(), hold_seconds: Type.Integer() }),
});

const PolicyWire = closedObject({
  mode: oneOf("decide", "none"),
  failure_mode: oneOf("open", "closed"),
  challenge: oneOf("auto", "manual", "off"),
  /** Limit for one source. Absent: no limit. */
  rate: closedObject({ rps: Type.Optional(Type.Number()), concurrency: Type.Optional(Type.Number()) }),
  dry_run: Type.Boolean(),
  challenge_options: ChallengeOptionsWire,
});

const TlsWire = closedObject({
  min_version: Type.String(),
  h3: Type.Optional(Type.Literal(true)),
  /** Absent: advertise is true, with 86400 seconds. */
  h3_options: Type.Optional(closedObject({ advertise: Type.Boolean(), alt_svc_max_age_seconds: Type.Integer() })),
});

const ZoneWire = closedObject({
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
    closedObject({ mode: oneOf("auto", "manual"), until: Timestamp, reason: Type.String() }),
  ),
  /** Keys of yesterday and today, UTC; the secrets are 32 bytes in base64url. */
  clearance_keys: Type.Array(
    closedObject({ id: Type.String(), secret: Type.String(), not_before: Timestamp, not_after: Timestamp }),
  ),
});

export const ZoneDocumentWire = closedObject({
  version: Type.Literal(1),
  zones: Type.Array(ZoneWire),
  acme_challenges: Type.Array(
    closedObject({
      zone: Type.String(),
      token: Type.String(),
      key_authorization: Type.String(),
      expires_at: Timestamp,
    }),
  ),
  issuance_grants: Type.Array(closedObject({ zone: Type.String(), node: Type.String(), expires_at: Timestamp })),
});
