/**
 * Sends one request to the API, with the token or the cookie of the sign-in, and returns how it ended. Never throws for a failure of the service or
 * the network.
 */

import { signal } from "@preact/signals";
import { answered, unanswered } from "./contact.ts";
import { inSlices } from "./in-slices.ts";
import { readShownInSteps } from "./shown-json.ts";
import { token } from "./token.ts";

export type Failure =
  | { readonly kind: "unreachable" }
  /** `text` is the service's message; `body` is the answer's body if it is JSON. */
  | { readonly kind: "refused"; readonly status: number; readonly text: string; readonly body: unknown };

export type Answer<T> = { readonly kind: "answer"; readonly data: T } | Failure;

/** How often the API has refused a token. The session checks the token again each time. */
export const tokensRefused = signal(0);

/** Longer than any answer of the service except for a held poll, which the dashboard does not use. */
const DEADLINE_MS = 10_000;

export function read<T>(path: string): Promise<Answer<T>> {
  return send<T>(path, { method: "GET", headers: {} });
}

export function command<T>(
  path: string,
  fields: object = {},
  method: "POST" | "PUT" | "DELETE" = "POST",
): Promise<Answer<T>> {
  const json = { "content-type": "application/json" };
  return send<T>(path, { method, headers: json, body: JSON.stringify(fields) });
}

/** A file, for the user to keep. */
export async function download(path: string): Promise<Answer<Blob>> {
  const answer = await reach(path, { headers: authorization() });
  if (answer === null) return { kind: "unreachable" };
  if (!answer.ok) return refused(answer, await bodyOf(answer));
  try {
    return { kind: "answer", data: await answer.blob() };
  } catch {
    return { kind: "unreachable" };
  }
}

/** By the secret of a shared link in place of the token. */
export async function readAs<T>(path: string, secret: string): Promise<Answer<T>> {
  const answer = await reach(path, { headers: authorization(secret) });
  if (answer === null) return { kind: "unreachable" };
  const body = await bodyOf(answer);
  if (answer.ok) return body === null ? { kind: "unreachable" } : { kind: "answer", data: body.json as T };
  return { kind: "refused", status: answer.status, text: refusalText(body?.json, answer), body: body?.json };
}

export function authorization(secret = token.peek()): Record<string, string> {
  return secret === null ? {} : { authorization: `Bearer ${secret}` };
}

interface Order {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

async function send<T>(path: string, init: Order): Promise<Answer<T>> {
  const used = token.peek();
  const headers = { ...init.headers, ...authorization(used) };
  const answer = await reach(path, { ...init, headers });
  if (answer === null) return { kind: "unreachable" };
  const body = await bodyOf(answer);
  if (answer.ok) return body === null ? { kind: "unreachable" } : { kind: "answer", data: body.json as T };
  return refused(answer, body);
}

function refused(answer: Response, body: { readonly json: unknown } | null): Failure {
  if (answer.status === 401) tokensRefused.value++;
  return { kind: "refused", status: answer.status, text: refusalText(body?.json, answer), body: body?.json };
}

async function reach(path: string, init: RequestInit): Promise<Response | null> {
  try {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const answer = await fetch(path, {
      ...init,
      signal,
      cache: "no-store",
      credentials: "same-origin",
      redirect: "error",
    });
    answered(answer.headers.get("date"));
    return answer;
  } catch {
    unanswered();
    return null;
  }
}

/** null: the transfer broke off, or the body is not JSON. */
async function bodyOf(answer: Response): Promise<{ readonly json: unknown } | null> {
  try {
    const text = await answer.text();
    return { json: text === "" ? null : await inSlices(readShownInSteps(text)) };
  } catch {
    return null;
  }
}

/** The API answers a refused ban with the ban, its reason and what can be done about it, everything else with an error. */
function refusalText(body: unknown, { status, statusText }: Response): string {
  if (typeof body === "object" && body !== null) {
    if ("error" in body && typeof body.error === "string") return body.error;
    if ("reason" in body && typeof body.reason === "string") {
      return "remedy" in body && typeof body.remedy === "string" ? `${body.reason}: ${body.remedy}` : body.reason;
    }
  }
  return `${status} ${statusText}`.trim();
}
