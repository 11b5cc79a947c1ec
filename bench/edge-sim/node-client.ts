/**
 * The service as an edge or a scrub node calls it (docs/interface.md#edge-channel, #scrub-channel): polls, reports, and
 * the ACME calls. Makes no decisions.
 */
import { headerOf, type KeptAnswer, KeptConnection } from "../../test/fixtures/http/kept-connection.ts";

/** As received, in gzip where the service sends it so. */
export interface PolledDocument {
  readonly etag: string;
  readonly body: Buffer;
  readonly isGzipped: boolean;
}

export type AcmeSlot = { readonly granted: true } | { readonly granted: false; readonly retry_after_seconds: number };

export interface NodeClientOptions {
  readonly url: URL;
  readonly kind: "edge" | "scrub";
  readonly node: string;
  readonly secret: string;
}

const PATHS = {
  edge: { poll: "/api/v1/edge/zones", nodes: "/api/v1/edge/nodes" },
  scrub: { poll: "/api/v1/dataplane/rules", nodes: "/api/v1/dataplane/nodes" },
} as const;

/** Every call rejects without an answer, and with what is no success. */
export class NodeClient {
  readonly #options: NodeClientOptions;
  readonly #headers: Readonly<Record<string, string>>;
  /** One for each kind of call, so that calls can run at the same time. */
  readonly #polls: KeptConnection;
  readonly #reports: KeptConnection;
  readonly #acme: KeptConnection;

  constructor(options: NodeClientOptions) {
    this.#options = options;
    this.#headers = { Authorization: `Bearer ${options.secret}` };
    const { url } = options;
    [this.#polls, this.#reports, this.#acme] = [
      new KeptConnection(url),
      new KeptConnection(url),
      new KeptConnection(url),
    ];
  }

  /** With the tag of the current document the answer takes 25 s if nothing changes, and is null then. */
  async poll(etag: string | null): Promise<PolledDocument | null> {
    const { kind, node } = this.#options;
    const target = `${PATHS[kind].poll}?node=${encodeURIComponent(node)}`;
    const condition = etag === null ? {} : { "If-None-Match": etag };
    const answer = await this.#polls.ask("GET", target, { ...this.#headers, "Accept-Encoding": "gzip", ...condition });
    if (answer.status === 304) return null;
    if (answer.status !== 200) throw refusal(answer);
    const { head, body } = answer;
    return { etag: headerOf(head, "etag") ?? "", body, isGzipped: headerOf(head, "content-encoding") === "gzip" };
  }

  async report(report: object | string): Promise<void> {
    await this.#post(this.#reports, "report", report);
  }

  async slot(zone: string): Promise<AcmeSlot> {
    return JSON.parse((await this.#post(this.#acme, "acme/slot", { zone })).toString()) as AcmeSlot;
  }

  async release(zone: string): Promise<void> {
    await this.#post(this.#acme, "acme/slot", { zone, release: true });
  }

  async publish(challenge: { readonly zone: string; readonly token: string; readonly key_authorization: string }) {
    await this.#post(this.#acme, "acme/challenges", challenge);
  }

  close(): void {
    for (const connection of [this.#polls, this.#reports, this.#acme]) connection.close();
  }

  async #post(connection: KeptConnection, call: string, body: object | string): Promise<Buffer> {
    const { kind, node } = this.#options;
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const target = `${PATHS[kind].nodes}/${encodeURIComponent(node)}/${call}`;
    const answer = await connection.ask("POST", target, this.#headers, text);
    if (answer.status !== 200 && answer.status !== 204) throw refusal(answer);
    return answer.body;
  }
}

function refusal({ status, body }: KeptAnswer): Error {
  return new Error(`${status} ${body.toString()}`);
}
