/**
 * Asks the hook of `scrubbing.hook`, as a program with the request on its standard input, or as a web service by a signed
 * POST. docs/operations/cloud-scrubbing.md has the requests and the answers.
 */
import { runProgram } from "../notify/exec.ts";
import { secretOf, urlOf } from "../notify/secret.ts";
import { signature } from "../notify/webhook.ts";
import type { Environment } from "../system/environment.ts";
import { messageOf } from "../system/error-message.ts";
import type { Timers } from "../system/timers.ts";
import type { HookConfig } from "./divert-config.ts";

export interface HookRequest {
  readonly action: "begin" | "confirm" | "end";
  /** UUIDs: of the diversion, and of this request in all of its attempts. */
  readonly id: string;
  readonly request_id: string;
  readonly prefix: string;
  readonly dry_run: boolean;
  /** To begin and to confirm: when the last ban that wants it ends, if nothing prolongs it. RFC 3339. */
  readonly expires_at?: string;
}

/** `not_yet`: it goes on with it, and is called to confirm it. */
export type HookAnswer = "done" | "not_yet";

interface HookSurroundings {
  readonly environment: Environment;
  /** Wall clock, ms. */
  readonly wallMs: () => number;
  readonly timers: Pick<Timers, "after">;
}

/** Its message is shown to callers. */
class HookFault extends Error {}

/** EX_TEMPFAIL of sysexits.h. */
const NOT_YET_CODE = 75;
const NOT_YET_STATUS = 202;

/** Rejects with an Error whose message says why, without secrets. */
export async function askHook(
  { target, timeoutSeconds }: HookConfig,
  request: HookRequest,
  { environment, wallMs, timers }: HookSurroundings,
): Promise<HookAnswer> {
  const aborter = new AbortController();
  const cancel = timers.after(timeoutSeconds * 1000, () => aborter.abort());
  const { signal } = aborter;
  try {
    if (target.kind === "command") return codeAnswer(await ended(target.command, request, signal));
    const url = urlOf(environment, target.urlEnv);
    const secret = target.secretEnv === null ? null : secretOf(environment, target.secretEnv);
    return await posted(url, request, { secret, unixSeconds: Math.floor(wallMs() / 1000), signal });
  } catch (cause) {
    if (signal.aborted) throw new HookFault(`no answer within ${timeoutSeconds} s`, { cause });
    throw cause;
  } finally {
    cancel();
  }
}

async function ended(command: string, request: HookRequest, signal: AbortSignal): Promise<number> {
  try {
    return await runProgram(command, `${JSON.stringify(request)}\n`, signal);
  } catch (cause) {
    throw new HookFault(`the program could not be run: ${messageOf(cause)}`, { cause });
  }
}

function codeAnswer(code: number): HookAnswer {
  if (code === 0) return "done";
  if (code === NOT_YET_CODE) return "not_yet";
  throw new HookFault(`the program ended with code ${code}`);
}

interface Posting {
  /** null: not signed. */
  readonly secret: string | null;
  readonly unixSeconds: number;
  readonly signal: AbortSignal;
}

async function posted(url: URL, request: HookRequest, { secret, unixSeconds, signal }: Posting): Promise<HookAnswer> {
  const body = JSON.stringify(request);
  const response = await fetch(url, {
    method: "POST",
    headers: {
      ...{ "content-type": "application/json", "user-agent": "Floodwall", "idempotency-key": request.request_id },
      ...(secret !== null && { "x-floodwall-signature": signature(body, secret, unixSeconds) }),
    },
    ...{ body, signal, redirect: "manual", keepalive: false, decompress: false },
  }).catch((cause: unknown) => {
    throw new HookFault(`the request failed: ${codeOf(cause)}`);
  });
  await response.body?.cancel().catch(() => {});
  if (!response.ok) throw new HookFault(`the hook answered ${response.status}`);
  return response.status === NOT_YET_STATUS ? "not_yet" : "done";
}

/** The code alone: the message may contain the URL. */
function codeOf(cause: unknown): string {
  const code = cause instanceof Error && "code" in cause ? cause.code : null;
  return typeof code === "string" && /^[A-Za-z][A-Za-z0-9_]{1,48}$/.test(code) ? code : "no connection";
}
