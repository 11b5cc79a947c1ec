/** The zone document as a simulated node reads it (docs/interface.md#zone-document). */
import { gunzipSync } from "node:zlib";
import type { PolledDocument } from "./node-client.ts";

export type ChallengeMode = "auto" | "manual" | "off";

export interface NodeZone {
  readonly name: string;
  readonly tls: { readonly h3?: boolean };
  readonly policy: {
    /** `none`: nothing is decided, requests pass. */
    readonly mode: "decide" | "none";
    readonly challenge: ChallengeMode;
    readonly dry_run: boolean;
    /** For one source; 0 or absent: no bound. */
    readonly rate: { readonly rps?: number };
    readonly challenge_options: { readonly dry_run: boolean };
  };
  /** An operator's lever while it is set. */
  readonly challenge_override?: { readonly mode: ChallengeMode; readonly until: string };
}

export interface NodeDocument {
  readonly zones: readonly NodeZone[];
  readonly acme_challenges: readonly {
    readonly zone: string;
    readonly token: string;
    readonly key_authorization: string;
  }[];
  readonly issuance_grants: readonly { readonly zone: string; readonly node: string }[];
}

export const NO_DOCUMENT: NodeDocument = { zones: [], acme_challenges: [], issuance_grants: [] };

/** Enough for all scopes of a fleet and the previous revision. */
const KEPT_MAX = 512;

/**
 * Parsed documents shared by all nodes of a process, so that nodes with the same document parse it once. A node uses one
 * only if its own bytes are the same, so that each node has really received its document.
 */
export class SharedDocuments {
  readonly #byTag = new Map<string, { readonly bytes: Buffer; readonly document: NodeDocument }>();

  read({ etag, body, isGzipped }: PolledDocument): NodeDocument {
    const known = this.#byTag.get(etag);
    if (known?.bytes.equals(body) === true) return known.document;
    const document = JSON.parse((isGzipped ? gunzipSync(body) : body).toString()) as NodeDocument;
    this.#byTag.set(etag, { bytes: body, document });
    const [oldest] = this.#byTag.keys();
    if (this.#byTag.size > KEPT_MAX && oldest !== undefined) this.#byTag.delete(oldest);
    return document;
  }
}

/** The setting that applies to a zone now: the operator's lever until it expires, else its file's. */
export function appliedChallenge({ policy, challenge_override: lever }: NodeZone, nowMs: number): ChallengeMode {
  return lever !== undefined && Date.parse(lever.until) > nowMs ? lever.mode : policy.challenge;
}
