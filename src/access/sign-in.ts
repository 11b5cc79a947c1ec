/**
 * The sign-in of people: to the identity provider and back, and then a session of the browser
 * (docs/interface.md#sign-in). Knows the provider as an interface, and no requests.
 */
import type { IpAddress } from "../net/address.ts";
import { AttemptsAtOnce } from "./attempts-at-once.ts";
import type { BrowserSessions, Client, SessionEnd, SessionView } from "./browser-sessions.ts";
import { type Claims, isTooLarge, userName } from "./claims.ts";
import type { Principal } from "./principal.ts";
import type { AttemptSeal, SignInAttempt } from "./sign-in-attempt.ts";
import type { SignInConfig } from "./sign-in-config.ts";

/** Why there is no session, also for the page that says so. */
export type SignInFailure =
  /** The browser has not begun this sign-in, or longer ago, or with another provider, or it was answered before. */
  | "not_begun"
  | "busy"
  | "provider_away"
  /** By the provider or its user. */
  | "denied"
  /** The provider's message is not an answer to this sign-in, or not from it. */
  | "invalid_answer"
  | "no_role"
  | "no_name"
  | "full"
  | "over_share";

export type SignInResult = "ok" | SignInFailure;

/** Why the provider gave no claims. */
export class ProviderFault extends Error {
  readonly failure: "provider_away" | "denied" | "invalid_answer";

  constructor(failure: ProviderFault["failure"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

/** To the provider. */
export interface Way {
  readonly url: string;
  readonly client: Client;
}

/** Claims, and the provider that said them. */
export interface SaidClaims {
  readonly claims: Claims;
  readonly client: Client;
}

export type AttemptSecrets = Pick<SignInAttempt, "state" | "nonce" | "verifier">;

export interface IdentityProvider {
  /** Why no one can sign in now; null: they can. */
  readonly error: string | null;
  /** Where the browser goes to sign in; null: the provider is not known yet. Never waits for the provider. */
  urlFor(secrets: AttemptSecrets): Promise<Way | null>;
  /** The provider's claims about the user. Rejects with a ProviderFault. @param answer parameters of the callback */
  claims(answer: string, secrets: AttemptSecrets): Promise<SaidClaims>;
  /** Where the user ends the session with the provider itself; null: it has no such page. */
  readonly signOutUrl: string | null;
}

interface SignInOptions {
  /** In force; null: no one signs in by a provider. */
  readonly config: () => SignInConfig | null;
  readonly provider: IdentityProvider;
  readonly sessions: BrowserSessions;
  readonly seal: AttemptSeal;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly monotonicMs: () => number;
  /** Keeps it for the audit trail. Never rejects. */
  readonly record: (row: SignInRecord) => Promise<void>;
  readonly metrics: { signIn(result: SignInResult): void };
  /** Called for what is worth a line in the log: not for what any stranger can cause at will. */
  readonly onFailure: (failure: SignInFailure, error: string) => void;
}

/** A sign-in, or the end of a session. */
export interface SignInRecord {
  /** null: a user who was refused. */
  readonly by: Principal | null;
  /** Name of the user whose session it is. */
  readonly user: string;
  readonly result: "ok" | "rejected" | "cleared";
  readonly reason: string;
}

type BeginAnswer =
  | { readonly kind: "to_provider"; readonly url: string; readonly attempt: string }
  | { readonly kind: "failed"; readonly failure: SignInFailure };

type FinishAnswer =
  | { readonly kind: "signed_in"; readonly secret: string; readonly place: string }
  | { readonly kind: "failed"; readonly failure: SignInFailure };

/** For how long a user may be at the provider, ms. */
const ATTEMPT_MS = 10 * 60_000;
/** For state, nonce and verifier: 43 characters, the least that RFC 7636 takes. */
const SECRET_BYTES = 32;

export class SignIn {
  readonly #options: SignInOptions;
  readonly #attempts = new AttemptsAtOnce();

  constructor(options: SignInOptions) {
    this.#options = options;
  }

  get config(): SignInConfig | null {
    return this.#options.config();
  }

  get sessions(): Pick<BrowserSessions, "all" | "get" | "of" | "renew"> {
    return this.#options.sessions;
  }

  /** Why no one can sign in now; null: they can. */
  get error(): string | null {
    return this.#options.provider.error;
  }

  get signOutUrl(): string | null {
    return this.#options.provider.signOutUrl;
  }

  /** @param replaces id of the session that the browser has; null: none */
  async begin(place: string, replaces: string | null): Promise<BeginAnswer> {
    const { provider, seal, monotonicMs } = this.#options;
    const secrets = { state: this.#random(), nonce: this.#random(), verifier: this.#random() };
    const way = await provider.urlFor(secrets);
    if (way === null) return this.#failed("provider_away", provider.error ?? "not known yet");
    const { issuer, clientId } = way.client;
    const attempt = { ...secrets, place, issuer, clientId, replaces, expiresAt: monotonicMs() + ATTEMPT_MS };
    return { kind: "to_provider", url: way.url, attempt: seal.seal(attempt) };
  }

  /**
   * @param answer parameters of the callback. @param sealed what the browser kept; null: nothing. @param peer address that
   * the browser comes from; null: not known
   */
  async finish(answer: string, sealed: string | null, peer: IpAddress | null): Promise<FinishAnswer> {
    const { seal, config, monotonicMs } = this.#options;
    const [attempt, now] = [sealed === null ? null : seal.open(sealed), monotonicMs()];
    if (attempt === null || attempt.expiresAt <= now || !isOfClient(attempt, config())) {
      return this.#failed("not_begun");
    }
    // Any stranger can send one of another browser: it takes no place, uses no attempt and is not worth a line in the log.
    if (new URLSearchParams(answer).get("state") !== attempt.state) return this.#failed("invalid_answer");
    if (this.#attempts.isUsed(attempt.state, { expiresAt: attempt.expiresAt, now })) return this.#failed("not_begun");
    return (await this.#attempts.run(peer, () => this.#ask(answer, attempt))) ?? this.#failed("busy");
  }

  async #ask(answer: string, attempt: SignInAttempt): Promise<FinishAnswer> {
    try {
      const { claims, client } = await this.#options.provider.claims(answer, attempt);
      // A reload meanwhile may have put another provider in its place.
      if (!isOfClient(attempt, client)) return this.#failed("not_begun");
      return await this.#open(claims, client, attempt);
    } catch (cause) {
      if (cause instanceof ProviderFault) return this.#failed(cause.failure, cause.message);
      throw cause;
    }
  }

  /** null: there is none of this id. Otherwise whether its end is on disk. */
  async end(session: SessionView, why: SessionEnd, by: Principal): Promise<{ readonly isSaved: boolean } | null> {
    const { sessions } = this.#options;
    if (!sessions.end(session.id, why)) return null;
    const isSaved = await sessions.isEndKept(session.id);
    await this.#options.record({
      by,
      user: session.principal.operator,
      result: "cleared",
      reason: END_WORDS[why] ?? "",
    });
    return { isSaved };
  }

  async #open(claims: Claims, client: Client, { place, replaces }: SignInAttempt): Promise<FinishAnswer> {
    const { sessions, config: configNow, metrics, record } = this.#options;
    const config = configNow();
    if (isTooLarge(claims))
      return this.#failed("invalid_answer", "the provider says too much of the user: limit its groups");
    const opened = sessions.open(claims, client);
    if (opened.kind === "refused") {
      if (opened.refusal === "other_client") return this.#failed("not_begun");
      const user = (config === null ? null : userName(claims, config)) ?? "";
      const reason = REFUSED_WORDS[opened.refusal];
      await record({ by: null, user, result: "rejected", reason });
      return this.#failed(opened.refusal, `${user}: ${reason}`);
    }
    const { session, secret } = opened;
    if (replaces !== null) sessions.end(replaces, "replaced");
    await record({ by: session.principal, user: session.principal.operator, result: "ok", reason: "" });
    metrics.signIn("ok");
    return { kind: "signed_in", secret, place };
  }

  #failed(failure: SignInFailure, error?: string): { readonly kind: "failed"; readonly failure: SignInFailure } {
    this.#options.metrics.signIn(failure);
    if (error !== undefined) this.#options.onFailure(failure, error);
    return { kind: "failed", failure };
  }

  #random(): string {
    return Buffer.from(this.#options.randomBytes(SECRET_BYTES)).toString("base64url");
  }
}

function isOfClient({ issuer, clientId }: Client, other: Client | null): boolean {
  return other !== null && issuer === other.issuer && clientId === other.clientId;
}

const END_WORDS: Partial<Readonly<Record<SessionEnd, string>>> = {
  signed_out: "signed out",
  revoked: "ended by another",
};

const REFUSED_WORDS = {
  no_role: "no line of api.oidc.roles fits the user",
  no_name: "the provider names the user by nothing that can be shown",
  full: "too many browsers are signed in: end some of them",
  over_share: "the tenant's share of signed-in browsers is taken: end one of them",
};
