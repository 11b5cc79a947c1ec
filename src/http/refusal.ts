/** Every expected no of the interface, its status and its text, in one table (interface, section 7; choices, 3). */
import { jsonAnswer } from "./answer.ts";

export type Refusal =
  | { readonly kind: "unknown_path" }
  | { readonly kind: "insufficient_role" }
  | { readonly kind: "starting" }
  | { readonly kind: "wrong_media_type" }
  | { readonly kind: "body_too_large"; readonly limitBytes: number }
  | { readonly kind: "body_cut_short" }
  /** Not JSON, or not the fields that the route takes. */
  | { readonly kind: "invalid_body"; readonly detail: string }
  | { readonly kind: "invalid_ip"; readonly text: string }
  | { readonly kind: "no_active_ban"; readonly target: string }
  | { readonly kind: "too_many_holds" };

interface Description {
  readonly status: number;
  readonly error: string;
  readonly retryAfterSeconds?: number;
}

/** A caller's own words are given back up to this length. */
const ECHO_CHARACTERS = 100;

export function refuse(refusal: Refusal): Response {
  const { status, error, retryAfterSeconds } = describe(refusal);
  const answer = jsonAnswer(status, { error });
  if (retryAfterSeconds !== undefined) answer.headers.set("retry-after", String(retryAfterSeconds));
  return answer;
}

function describe(refusal: Refusal): Description {
  switch (refusal.kind) {
    case "unknown_path":
      return { status: 404, error: "not found" };
    case "insufficient_role":
      return { status: 403, error: "this token's role may not perform this action" };
    case "starting":
      return { status: 503, error: "the service is starting" };
    case "wrong_media_type":
      return { status: 415, error: "Content-Type must be application/json" };
    case "body_too_large":
      return { status: 413, error: `request body exceeds ${refusal.limitBytes / 1024} KiB` };
    case "body_cut_short":
      return { status: 400, error: "request body ended early" };
    case "invalid_body":
      return { status: 400, error: `invalid JSON body: ${echo(refusal.detail)}` };
    case "invalid_ip":
      return { status: 400, error: `invalid ip: ${echo(refusal.text)}` };
    case "no_active_ban":
      return { status: 404, error: `no active ban for ${refusal.target}` };
    case "too_many_holds":
      // The interface's words, for the scrub nodes' channel too.
      return { status: 429, error: "too many concurrent zone holds", retryAfterSeconds: 1 };
    default:
      return refusal satisfies never;
  }
}

function echo(text: string): string {
  return text.length <= ECHO_CHARACTERS ? text : `${text.slice(0, ECHO_CHARACTERS).toWellFormed()}…`;
}
