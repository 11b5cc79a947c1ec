/**
 * The service as an edge node sees it (docs/interface.md#edge-channel): the poll for zones, the report, and the two
 * ACME calls. Makes no decisions.
 */
import type { Timers } from "../../src/system/timers.ts";
import { type HttpAnswer, HttpConnection, Unreachable } from "./http-connection.ts";

export type Failure =
  | { readonly kind: "refused"; readonly status: number; readonly error: string }
  | { readonly kind: "unreachable"; readonly reason: string };

/** As received. */
export interface PolledDocument {
  readonly etag: string | null;
  readonly body: Buffer;
  /** In gzip. */
  readonly isGzipped: boolean;
}

export type PollAnswer = ({ readonly kind: "document" } & PolledDocument) | { readonly kind: "unchanged" } | Failure;

export type SlotAnswer =
  | { readonly kind: "granted"; readonly expiresAt: string }
  | { readonly kind: "held"; readonly holder: string; readonly retryAfterSeconds: number }
  | Failure;

export type Done = { readonly kind: "done" } | Failure;

export interface EdgeChannel {
  /** With the tag of the current document, the answer takes 25 s if nothing changes. None of these calls rejects. */
  poll(etag: string | null): Promise<PollAnswer>;
  report(body: string): Promise<Done>;
  slot(zone: string): Promise<SlotAnswer>;
  release(zone: string): Promise<Done>;
  publish(challenge: {
    readonly zone: string;
    readonly token: string;
    readonly keyAuthorization: string;
  }): Promise<Done>;
  /** Calls in progress end as unreachable, and so do all later calls. */
  close(): void;
}

/** A poll is held for 25 s. */
const POLL_MS = 40_000;
const ANSWER_MS = 10_000;

export class HttpEdgeChannel implements EdgeChannel {
  readonly #headers: Readonly<Record<string, string>>;
  readonly #node: string;
  /** One connection for each kind of call, so that calls can run at the same time. */
  readonly #polls: HttpConnection;
  readonly #reports: HttpConnection;
  readonly #acme: HttpConnection;

  constructor(options: {
    readonly url: URL;
    readonly node: string;
    readonly secret: string;
    readonly timers: Pick<Timers, "after">;
  }) {
    const { url, node, secret, timers } = options;
    this.#node = encodeURIComponent(node);
    this.#headers = { Authorization: `Bearer ${secret}` };
    this.#polls = new HttpConnection(url, timers);
    this.#reports = new HttpConnection(url, timers);
    this.#acme = new HttpConnection(url, timers);
  }

  async poll(etag: string | null): Promise<PollAnswer> {
    const target = `/api/v1/edge/zones?node=${this.#node}`;
    const headers = {
      ...this.#headers,
      "Accept-Encoding": "gzip",
      ...(etag !== null && { "If-None-Match": etag }),
    };
    const answer = await outcome(this.#polls.ask({ method: "GET", target, headers, deadlineMs: POLL_MS }));
    if ("kind" in answer) return answer;
    if (answer.status === 304) return { kind: "unchanged" };
    if (answer.status !== 200) return refusal(answer);
    const isGzipped = answer.headers.get("content-encoding") === "gzip";
    return { kind: "document", etag: answer.headers.get("etag") ?? null, body: answer.body, isGzipped };
  }

  report(body: string): Promise<Done> {
    return this.#post(this.#reports, "report", body);
  }

  async slot(zone: string): Promise<SlotAnswer> {
    const answer = await outcome(this.#send(this.#acme, "acme/slot", JSON.stringify({ zone })));
    if ("kind" in answer) return answer;
    if (answer.status !== 200) return refusal(answer);
    const answered = JSON.parse(answer.body.toString()) as Record<string, unknown>;
    if (answered["granted"] === true) return { kind: "granted", expiresAt: String(answered["expires_at"]) };
    return {
      kind: "held",
      holder: String(answered["holder"]),
      retryAfterSeconds: Number(answered["retry_after_seconds"]),
    };
  }

  release(zone: string): Promise<Done> {
    return this.#post(this.#acme, "acme/slot", JSON.stringify({ zone, release: true }));
  }

  publish({ zone, token, keyAuthorization }: Parameters<EdgeChannel["publish"]>[0]): Promise<Done> {
    const body = JSON.stringify({ zone, token, key_authorization: keyAuthorization });
    return this.#post(this.#acme, "acme/challenges", body);
  }

  close(): void {
    for (const connection of [this.#polls, this.#reports, this.#acme]) connection.close();
  }

  async #post(connection: HttpConnection, call: string, body: string): Promise<Done> {
    const answer = await outcome(this.#send(connection, call, body));
    if ("kind" in answer) return answer;
    return answer.status === 204 ? { kind: "done" } : refusal(answer);
  }

  #send(connection: HttpConnection, call: string, body: string): Promise<HttpAnswer> {
    const target = `/api/v1/edge/nodes/${this.#node}/${call}`;
    return connection.ask({ method: "POST", target, headers: this.#headers, body, deadlineMs: ANSWER_MS });
  }
}

async function outcome(answer: Promise<HttpAnswer>): Promise<HttpAnswer | Failure> {
  try {
    return await answer;
  } catch (cause) {
    if (cause instanceof Unreachable) return { kind: "unreachable", reason: cause.message };
    throw cause;
  }
}

function refusal({ status, body }: HttpAnswer): Failure {
  return { kind: "refused", status, error: errorIn(body.toString()) };
}

function errorIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === "string" ? error : text;
  } catch {
    return text;
  }
}
