/**
 * The HTTP client of a scrub node (docs/interface.md#scrub-channel): polls the service for rules and sends reports. It
 * always verifies certificates, never follows redirects, and bounds every answer in time and size. Contains no
 * decisions.
 */
import { isUtf8 } from "node:buffer";
import { messageOf } from "../../system/error-message.ts";
import type { Cancel, Timers } from "../../system/timers.ts";
import { RULE_DOCUMENT_BYTES_MAX } from "./rule-document.ts";

interface ControllerOptions {
  readonly url: URL;
  readonly node: string;
  /** Called for each request; null: the service has no tokens. */
  readonly token: () => string | null;
  /** Called for each request: the certificate authority that replaces the system's, PEM. Throws when there is none. null: the system's. */
  readonly authority: (() => string) | null;
  readonly timers: Pick<Timers, "after">;
}

export type PollAnswer =
  | {
      readonly kind: "document";
      readonly text: string;
      /** Including its quotes; null: none. */
      readonly etag: string | null;
      /** The service's wall clock, in whole seconds; null: not in the answer. */
      readonly sentAtMs: number | null;
    }
  | { readonly kind: "unchanged" }
  | Failure;

export type Failure =
  /** `detail` is the service's error text, truncated; empty: none. */
  | { readonly kind: "refused"; readonly status: number; readonly detail: string }
  /** Larger than RULE_DOCUMENT_BYTES_MAX, not UTF-8, or with a faulty ETag. */
  | { readonly kind: "unusable"; readonly reason: string }
  | { readonly kind: "unreachable"; readonly reason: string };

export type ReportAnswer = { readonly kind: "stored" } | Failure;

export interface Controller {
  /** Never rejects. With the ETag of the current document, the answer takes 30 s if nothing changes. */
  poll(etag: string | null): Promise<PollAnswer>;
  report(body: object): Promise<ReportAnswer>;
  /** Ends requests in progress, and all later ones, as unreachable. */
  close(): void;
}

/** Time until the answer starts: a poll is held for 30 s. */
const HELD_MS = 45_000;
const ANSWER_MS = 10_000;
/** Time from then to the end of the answer: enough for the largest document at 10 Mbit/s. */
const BODY_MS = 30_000;
const DETAIL_BYTES_MAX = 4096;
const DETAIL_CHARACTERS_MAX = 200;
/** An ETag goes into every poll and report, into the log and onto the disk. */
const ETAG = /^[\x20-\x7e]{1,260}$/;

export class HttpController implements Controller {
  readonly #options: ControllerOptions;
  readonly #rules: URL;
  readonly #report: URL;
  readonly #open = new Set<AbortController>();
  #isClosed = false;

  constructor(options: ControllerOptions) {
    this.#options = options;
    const node = encodeURIComponent(options.node);
    this.#rules = new URL(`/api/v1/dataplane/rules?node=${node}`, options.url);
    this.#report = new URL(`/api/v1/dataplane/nodes/${node}/report`, options.url);
  }

  poll(etag: string | null): Promise<PollAnswer> {
    const headers: Record<string, string> = etag === null ? {} : { "if-none-match": etag };
    return this.#ask(this.#rules, { headers }, etag === null ? ANSWER_MS : HELD_MS, async (response) => {
      if (response.status === 304) return { kind: "unchanged" };
      if (response.status !== 200) return refusal(response);
      const etag = etagIn(response.headers);
      const text = await boundedText(response, RULE_DOCUMENT_BYTES_MAX);
      return { kind: "document", text, etag, sentAtMs: timeIn(response.headers.get("date")) };
    });
  }

  report(body: object): Promise<ReportAnswer> {
    const headers = { "content-type": "application/json" };
    const request = { method: "POST", headers, body: JSON.stringify(body) };
    return this.#ask(this.#report, request, ANSWER_MS, async (response) =>
      response.ok ? { kind: "stored" } : refusal(response),
    );
  }

  close(): void {
    this.#isClosed = true;
    for (const request of this.#open) request.abort();
  }

  async #ask<Answer>(
    url: URL,
    request: { readonly headers: Record<string, string>; readonly method?: string; readonly body?: string },
    answerMs: number,
    take: (response: Response) => Promise<Answer>,
  ): Promise<Answer | Failure> {
    if (this.#isClosed) return { kind: "unreachable", reason: "this node is stopping" };
    const { authority, timers } = this.#options;
    const abort = new AbortController();
    const deadline = new Deadline(timers, () => abort.abort());
    this.#open.add(abort);
    try {
      deadline.set(answerMs);
      const response = await fetch(url, {
        ...request,
        headers: { ...request.headers, ...this.#authorization(), "user-agent": "Floodwall" },
        signal: abort.signal,
        redirect: "manual",
        decompress: false,
        tls: { rejectUnauthorized: true, ...(authority === null ? {} : { ca: authority() }) },
      });
      deadline.set(BODY_MS);
      const answer = await take(response);
      await response.body?.cancel().catch(() => {});
      return answer;
    } catch (cause) {
      if (cause instanceof UnusableText) return { kind: "unusable", reason: cause.message };
      return { kind: "unreachable", reason: deadline.isOver ? "no answer in time" : reasonOf(cause) };
    } finally {
      deadline.cancel();
      this.#open.delete(abort);
    }
  }

  #authorization(): Record<string, string> {
    const token = this.#options.token();
    return token === null ? {} : { authorization: `Bearer ${token}` };
  }
}

/** A deadline that can be set again; only one at a time. */
class Deadline {
  readonly #timers: Pick<Timers, "after">;
  readonly #onEnd: () => void;
  #cancel: Cancel = () => {};
  isOver = false;

  constructor(timers: Pick<Timers, "after">, onEnd: () => void) {
    this.#timers = timers;
    this.#onEnd = onEnd;
  }

  set(ms: number): void {
    this.#cancel();
    this.#cancel = this.#timers.after(ms, () => {
      this.isOver = true;
      this.#onEnd();
    });
  }

  cancel(): void {
    this.#cancel();
  }
}

async function refusal(response: Response): Promise<Failure> {
  const text = await boundedText(response, DETAIL_BYTES_MAX).catch(() => "");
  return { kind: "refused", status: response.status, detail: detailIn(text).slice(0, DETAIL_CHARACTERS_MAX) };
}

/** The text in `{"error": …}`; text of other servers is not repeated. */
function detailIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    // Control characters could change what a terminal shows of the log.
    return typeof error === "string" ? error.replaceAll(/\p{Cc}/gu, "?") : "";
  } catch {
    return "";
  }
}

class UnusableText extends Error {}

/** Throws UnusableText. */
function etagIn(headers: Headers): string | null {
  const etag = headers.get("etag");
  if (etag !== null && !ETAG.test(etag)) throw new UnusableText("its ETag is too long, or has more than visible ASCII");
  return etag;
}

/** Throws UnusableText. */
async function boundedText(response: Response, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const body = response.body as ReadableStream<Uint8Array> | null;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    // Leaving the loop cancels the response.
    if (bytes > bytesMax) throw new UnusableText(`it has more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  const whole = Buffer.concat(chunks);
  if (!isUtf8(whole)) throw new UnusableText("it is not UTF-8");
  return whole.toString("utf8");
}

function timeIn(date: string | null): number | null {
  const ms = date === null ? Number.NaN : Date.parse(date);
  return Number.isNaN(ms) ? null : ms;
}

/** The system's error code if there is one: the library's messages contain the URL. */
function reasonOf(cause: unknown): string {
  const code = cause instanceof Error && "code" in cause ? cause.code : null;
  return typeof code === "string" && code !== "" ? code : messageOf(cause);
}
