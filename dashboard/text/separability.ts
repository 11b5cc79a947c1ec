/** Texts about users that rules match, and about routers that may not put rules in force. Pure. */
import type { BanWire } from "../../src/http/wire/ban.ts";
import { t } from "../language.ts";
import { percent } from "./format/numbers.ts";

const SOURCES = {
  protocol: t`no user sends such packets`,
  profile: t`by what the host received before the attack`,
  configuration: t`by its services in the configuration`,
  sample: t`by the other packets of now`,
} as const;

/** Less is shown as such. */
const SHARE_SHOWN_MIN = 0.001;

/** `not known: rules match about 30 % of them, by the other packets of now`; null: the ban has no rules. */
export function usersSparedText({ separability, flowspec = [] }: BanWire): string | null {
  if (separability === undefined || flowspec.length === 0) return null;
  const { verdict, users_at_risk: share, estimated_by: source } = separability;
  const word = { yes: t`yes`, no: t`no`, unknown: t`not known` }[verdict];
  if (source === undefined || share === undefined) return word;
  const part =
    share < SHARE_SHOWN_MIN
      ? t`less than ${percent(SHARE_SHOWN_MIN)}`
      : t`about ${Number((100 * share).toPrecision(2))} %`;
  return source === "protocol"
    ? `${word}: ${SOURCES.protocol}`
    : t`${word}: rules match ${part} of them, ${SOURCES[source]}`;
}

/** null: no neighbor may find the rules invalid. */
export function maybeInvalidText({ maybe_invalid_at: neighbors = [] }: BanWire): string | null {
  if (neighbors.length === 0) return null;
  return t`${neighbors.join(", ")}: a router that validates rules (RFC 8955) takes none from an eBGP peer that does not announce the prefix, and does not report it. Use iBGP, or switch validation off there.`;
}
