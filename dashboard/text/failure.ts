/** Failures and their remedies, in words. Pure. */
import type { Failure } from "../api/client.ts";
import { t } from "../language.ts";
import { said } from "./service-words.ts";

/** `Hosts could not be read`. */
export function failedTitle(what: string): string {
  return t`${what.charAt(0).toUpperCase()}${what.slice(1)} could not be read`;
}

/** The service's message, and what to do about it. It promises nothing of what the page does. */
export function failureText(failure: Failure): string {
  if (failure.kind === "unreachable") return t`Floodwall does not answer.`;
  const { status } = failure;
  const text = said(failure.text.replace(/^invalid JSON body: /, ""));
  switch (status) {
    case 401:
      return t`${text}. Sign in again.`;
    case 403:
      return t`${text}. Ask the administrator of Floodwall for a token with the right to do this.`;
    case 429:
      return t`${text}. Try again in a moment.`;
    case 502:
      return t`${text}. The database does not answer: see Floodwall's log.`;
    case 503:
      return t`${text}. If this lasts, see Floodwall's log.`;
    default:
      return text;
  }
}

export interface FieldFault {
  /** The key of the order's body: `source_ports`. */
  readonly field: string;
  readonly rule: string;
}

/** `invalid JSON body: source_ports.0: must be …`. */
const IN_BODY = /^invalid JSON body: ([a-z_]+)(?:\.[\w.]*)?(?:: | (?=must ))(.+)$/;
/** `invalid ip: 999.1.1.1`, `invalid prefix: 10.0.0.0/33: …`. */
const OF_VALUE = /^invalid (ip|prefix): ([^\s]*?)(?:: (.+))?$/;

/** The field of a form that the service refused; null: it is about the order as a whole. */
export function fieldFault(failure: Failure): FieldFault | null {
  if (failure.kind !== "refused" || failure.status !== 400) return null;
  const [, field, rule] = IN_BODY.exec(failure.text) ?? [];
  if (field !== undefined && rule !== undefined) return { field, rule: sentence(said(rule)) };
  const [, kind, value, why] = OF_VALUE.exec(failure.text) ?? [];
  if (kind === undefined) return null;
  const what = value === "" ? t`Nothing` : value;
  return { field: kind, rule: why === undefined ? t`${what} is no address.` : `${what}: ${said(why)}.` };
}

function sentence(rule: string): string {
  const text = rule.charAt(0).toUpperCase() + rule.slice(1);
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
