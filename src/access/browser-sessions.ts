/**
 * Browsers in which a user has signed in by the identity provider (docs/interface.md#sign-in). Keeps the digests of their
 * secrets alone. A restart keeps those that the configuration still allows, and none lasts longer for it. Does not know
 * requests, cookies or the provider.
 */
import { SESSIONS_MAX, SESSIONS_PER_USER } from "../limits.ts";
import type { RecordTable } from "../system/record-table.ts";
import { type Claims, rightsOf, subjectOf, userName } from "./claims.ts";
import type { KeptSession } from "./kept-session.ts";
import type { Principal } from "./principal.ts";
import { type Callers, type Overrun, Shares } from "./shares.ts";
import type { SignInConfig } from "./sign-in-config.ts";

export type SessionEnd = "signed_out" | "revoked" | "expired" | "replaced" | "reused_secret" | "configuration";

interface BrowserSessionsOptions {
  /** In force; null: no one signs in. */
  readonly config: () => SignInConfig | null;
  readonly callers: () => Callers;
  readonly newId: () => string;
  readonly randomBytes: (count: number) => Uint8Array;
  /** The age of a session is by the monotonic one: the other may be set while it lasts. */
  readonly clock: { wallMs(): number; monotonicMs(): number };
  readonly onEnd: (id: string, end: SessionEnd) => void;
  readonly store: Pick<RecordTable<KeptSession>, "queue" | "save">;
  /** The sessions of an earlier process. */
  readonly kept: readonly KeptSession[];
}

/** The client of an identity provider. */
export type Client = Pick<SignInConfig, "issuer" | "clientId">;

export interface SessionView {
  readonly id: string;
  readonly principal: Principal;
  /** Wall clock, ms. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly seenAt: number;
}

type OpenAnswer =
  | { readonly kind: "opened"; readonly session: SessionView; readonly secret: string }
  | { readonly kind: "refused"; readonly refusal: Overrun | "no_role" | "no_name" | "other_client" };

/** A secret is replaced after this time, and the one before works for this long after the new one was used, ms. */
export const RENEW_MS = 15 * 60_000;
export const GRACE_MS = 60_000;
const SECRET_BYTES = 32;

interface Session {
  readonly id: string;
  readonly claims: Claims;
  readonly issuer: string;
  readonly clientId: string;
  /** Wall clock, ms: to be shown. */
  readonly createdAt: number;
  seenAt: number;
  /** From an earlier process: its age is by the wall clock too, which may have been wrong at the start. */
  readonly isRestored: boolean;
  /** Monotonic clock, ms. */
  readonly openedMs: number;
  renewedMs: number;
  /** Digests of secrets. `next` was sent, and is not in use yet. */
  current: string;
  next: string | null;
  before: { readonly digest: string; readonly untilMs: number } | null;
  /** Its meaning by a configuration. */
  meant: Meaning;
}

interface Meaning {
  /** null: of none yet. */
  readonly of: SignInConfig | null;
  /** null: its user may not sign in any more. */
  readonly principal: Principal | null;
}

const NOT_MEANT_YET: Meaning = { of: null, principal: null };

export class BrowserSessions {
  readonly #options: BrowserSessionsOptions;
  readonly #byId = new Map<string, Session>();
  readonly #byDigest = new Map<string, Session>();

  constructor(options: BrowserSessionsOptions) {
    this.#options = options;
    for (const kept of options.kept.toSorted((a, b) => a.createdAt - b.createdAt)) this.#restore(kept);
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Those in force, the oldest first. */
  all(): SessionView[] {
    return [...this.#byId.values()].flatMap((session) => this.#checked(session) ?? []);
  }

  /** null: it has ended, or there was none of this id. */
  get(id: string): SessionView | null {
    const session = this.#byId.get(id);
    return session === undefined ? null : this.#checked(session);
  }

  /**
   * By the secret of a browser; null: unknown, or ended. A secret that was replaced longer ago is in the hands of two: it
   * ends the session of both. By its digest, so that the time depends on no part of the secret.
   */
  of(secret: string): SessionView | null {
    const digest = digestOf(secret);
    const session = this.#byDigest.get(digest);
    if (session === undefined) return null;
    const view = this.#checked(session);
    if (view === null) return null;
    const { clock } = this.#options;
    const now = clock.monotonicMs();
    if (digest === session.before?.digest && now > session.before.untilMs) {
      this.#end(session, "reused_secret");
      return null;
    }
    if (digest === session.next) this.#confirm(session, digest, now);
    session.seenAt = clock.wallMs();
    return { ...view, seenAt: session.seenAt };
  }

  /** For a user whom the provider has just named. The oldest session of a user with too many ends. */
  open(claims: Claims, { issuer, clientId }: Client): OpenAnswer {
    const { config: configNow, newId, clock } = this.#options;
    const config = configNow();
    if (config === null || config.issuer !== issuer || config.clientId !== clientId) {
      return { kind: "refused", refusal: "other_client" };
    }
    const principal = principalOf(claims, config);
    if (principal === null) return { kind: "refused", refusal: "no_role" };
    if (principal === "no_name") return { kind: "refused", refusal: "no_name" };
    const own = this.all().filter((other) => other.principal.subject === principal.subject);
    for (const { id } of own.slice(0, Math.max(0, own.length + 1 - SESSIONS_PER_USER))) this.end(id, "replaced");
    const refusal = this.#refusal(principal);
    if (refusal !== null) return { kind: "refused", refusal };
    const { secret, digest } = this.#newSecret();
    const [now, wallMs] = [clock.monotonicMs(), clock.wallMs()];
    const id = newId();
    const times = { createdAt: wallMs, seenAt: wallMs, openedMs: now, renewedMs: now };
    const meant = { of: config, principal: { ...principal, session: id } };
    const session: Session = {
      id,
      claims,
      issuer,
      clientId,
      isRestored: false,
      ...times,
      current: digest,
      next: null,
      before: null,
      meant,
    };
    this.#byId.set(id, session);
    this.#byDigest.set(digest, session);
    this.#keep(session);
    return { kind: "opened", session: viewOf(session, meant), secret };
  }

  /** A secret to replace the browser's, when it is time; null: it is not, or the session has ended. */
  renew(id: string): string | null {
    const session = this.#byId.get(id);
    const now = this.#options.clock.monotonicMs();
    if (session === undefined || this.#checked(session) === null) return null;
    if (now - session.renewedMs < RENEW_MS) return null;
    if (session.next !== null) this.#byDigest.delete(session.next);
    const { secret, digest } = this.#newSecret();
    session.next = digest;
    session.renewedMs = now;
    this.#byDigest.set(digest, session);
    this.#keep(session);
    return secret;
  }

  /** After end(). Resolves with whether the disk has taken it, so that no restart brings the session back. */
  isEndKept(id: string): Promise<boolean> {
    return this.#options.store.save(id, null);
  }

  /** @returns false: there is none of this id */
  end(id: string, why: SessionEnd): boolean {
    const session = this.#byId.get(id);
    if (session === undefined) return false;
    this.#end(session, why);
    return true;
  }

  /** The answer to the browser with the new secret has arrived. */
  #confirm(session: Session, digest: string, now: number): void {
    if (session.before !== null) this.#byDigest.delete(session.before.digest);
    session.before = { digest: session.current, untilMs: now + GRACE_MS };
    session.current = digest;
    session.next = null;
    this.#keep(session);
  }

  /** Call this before the store is closed: what was seen of them since their last change is kept too. */
  keepAll(): void {
    for (const session of this.#byId.values()) this.#keep(session);
  }

  #keep(session: Session): void {
    const { store, clock } = this.#options;
    store.queue(session.id, keptOf(session, { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() }));
  }

  /** By the wall clock it is as much older as the restart took. Without that, as after the clock was set back, it ends. */
  #restore(kept: KeptSession): void {
    const { clock } = this.#options;
    const [now, passedMs] = [clock.monotonicMs(), clock.wallMs() - kept.keptAt];
    const { id, claims, issuer, clientId, createdAt, seenAt, current, next, before } = kept;
    const known = { id, claims, issuer, clientId, createdAt, seenAt, current, next };
    const leftMs = (before?.leftMs ?? 0) - passedMs;
    const session: Session = {
      ...known,
      isRestored: true,
      openedMs: now - kept.ageMs - passedMs,
      // Each browser gets a new secret at its next request.
      renewedMs: Number.NEGATIVE_INFINITY,
      before: before === null ? null : { digest: before.digest, untilMs: now + leftMs },
      meant: NOT_MEANT_YET,
    };
    this.#byId.set(id, session);
    for (const digest of digestsOf(session)) this.#byDigest.set(digest, session);
    if (passedMs < 0) this.#end(session, "expired");
    else this.#checked(session);
  }

  /** Ends it when it has expired, or when the configuration in force gives its user nothing. */
  #checked(session: Session): SessionView | null {
    const { config: configNow, clock } = this.#options;
    const config = configNow();
    if (config === null || config.issuer !== session.issuer || config.clientId !== session.clientId) {
      this.#end(session, "configuration");
      return null;
    }
    if (session.meant.of !== config) session.meant = meaningOf(session, config);
    const { principal } = session.meant;
    if (principal === null) {
      this.#end(session, "configuration");
      return null;
    }
    const ageMs = clock.monotonicMs() - session.openedMs;
    const mostMs = session.isRestored ? Math.max(ageMs, clock.wallMs() - session.createdAt) : ageMs;
    if (mostMs < 1000 * config.sessionSeconds) {
      return viewOf(session, { of: config, principal });
    }
    this.#end(session, "expired");
    return null;
  }

  #end(session: Session, why: SessionEnd): void {
    this.#byId.delete(session.id);
    for (const digest of digestsOf(session)) this.#byDigest.delete(digest);
    this.#options.store.queue(session.id, null);
    this.#options.onEnd(session.id, why);
  }

  #refusal(principal: Principal): Overrun | null {
    const shares = new Shares(this.#options.callers);
    for (const other of this.all()) shares.take(other.principal);
    return shares.refusal(principal, { capacity: SESSIONS_MAX });
  }

  #newSecret(): { readonly secret: string; readonly digest: string } {
    const secret = Buffer.from(this.#options.randomBytes(SECRET_BYTES)).toString("base64url");
    return { secret, digest: digestOf(secret) };
  }
}

function digestsOf({ current, next, before }: Session): readonly string[] {
  return [current, next, before?.digest ?? null].filter((digest) => digest !== null);
}

function keptOf(
  { id, claims, issuer, clientId, createdAt, seenAt, openedMs, current, next, before }: Session,
  { wallMs, monotonicMs }: { readonly wallMs: number; readonly monotonicMs: number },
): KeptSession {
  const age = { keptAt: wallMs, ageMs: monotonicMs - openedMs };
  const replaced = before === null ? null : { digest: before.digest, leftMs: before.untilMs - monotonicMs };
  return { id, claims, issuer, clientId, createdAt, seenAt, ...age, current, next, before: replaced };
}

function principalOf(claims: Claims, config: SignInConfig): Principal | "no_name" | null {
  const rights = rightsOf(claims, config);
  if (rights === null) return null;
  const operator = userName(claims, config);
  const subject = subjectOf(claims);
  if (operator === null || subject === null) return "no_name";
  return { kind: "principal", operator, subject, ...rights, node: null };
}

function meaningOf({ id, claims }: Session, of: SignInConfig): Meaning {
  const found = principalOf(claims, of);
  return { of, principal: found === null || found === "no_name" ? null : { ...found, session: id } };
}

/** A change of the configured length holds for sessions that there are. */
function viewOf(
  { id, createdAt, seenAt }: Session,
  { of, principal }: { readonly of: SignInConfig; readonly principal: Principal },
): SessionView {
  return { id, principal, createdAt, expiresAt: createdAt + 1000 * of.sessionSeconds, seenAt };
}

function digestOf(secret: string): string {
  return new Bun.CryptoHasher("sha256").update(secret).digest("hex");
}
