/** The sign-in of people by an identity provider, of the configuration in force. */
import { randomBytes } from "node:crypto";
import { randomUUIDv7 } from "bun";
import { BrowserSessions, type SessionEnd } from "../access/browser-sessions.ts";
import { callersNow, NO_TENANTS } from "../access/shares.ts";
import { SignIn, type SignInFailure, type SignInRecord } from "../access/sign-in.ts";
import { AttemptSeal } from "../access/sign-in-attempt.ts";
import type { AuditEvent, AuditTrail } from "../audit/audit-event.ts";
import type { ApiConfig } from "../http/api-config.ts";
import type { SignInMetrics } from "../observability/sign-in-metrics.ts";
import { OpenIdProvider } from "../oidc/openid-provider.ts";
import type { StateStore } from "../storage/state-store.ts";
import type { Clock } from "../system/clock.ts";
import { forgettingTable } from "../system/record-table.ts";
import type { Timers } from "../system/timers.ts";
import type { FileFaults } from "./file-faults.ts";

export interface SignInParts {
  /** By the configuration in force. */
  readonly api: () => Pick<ApiConfig, "oidc" | "callers">;
  readonly isDryRun: () => boolean;
  readonly state: Pick<StateStore, "table" | "stored">;
  readonly environment: { read(name: string): string | null };
  /** null: audit events are not recorded. */
  readonly audit: AuditTrail | null;
  readonly faults: Pick<FileFaults, "replace">;
  readonly metrics: { readonly signIn: SignInMetrics; beforeScrape(read: () => void): void };
  readonly clock: Pick<Clock, "wallMs" | "monotonicMs">;
  readonly timers: Timers;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  readonly limiter: { pass(key: string, say: (suppressed: number) => void): void };
}

export interface OpenedSignIn {
  readonly signIn: SignIn;
  readonly provider: OpenIdProvider;
  /** Begins to read the provider's document. */
  start(): void;
  /** With the configuration in force now. */
  reloaded(): void;
  stop(): void;
}

export function openSignIn(parts: SignInParts): OpenedSignIn {
  const { api, isDryRun, state, environment, audit, faults, metrics, clock, timers, log, limiter } = parts;
  const wallMs = () => clock.wallMs();
  const config = () => api().oidc;
  const provider = new OpenIdProvider({
    readVariable: (name) => environment.read(name),
    timers,
    onRead: (error) =>
      faults.replace(
        "identity_provider",
        error === null
          ? []
          : [{ key: "api.oidc.issuer", error, effect: "people sign in by tokens until it can be read" }],
      ),
  });
  const sessions = new BrowserSessions({
    config,
    callers: callersNow(() => api().callers),
    newId: () => randomUUIDv7(),
    randomBytes,
    clock,
    store: state.table("browser_sessions"),
    kept: state.stored.browser_sessions,
    onEnd: (id: string, reason: SessionEnd) => {
      metrics.signIn.ended(reason);
      if (reason === "reused_secret")
        log.warn({ session: id }, "the replaced secret of a signed-in browser was used again: its session has ended");
    },
  });
  metrics.beforeScrape(() => metrics.signIn.setSessions(sessions.all().length));
  const signIn = new SignIn({
    ...{ config, provider, sessions, randomBytes, metrics: metrics.signIn },
    monotonicMs: () => clock.monotonicMs(),
    seal: new AttemptSeal(randomBytes),
    record: async (row) => audit?.recordAudit(signInEvent(row, { wallMs: wallMs(), dryRun: isDryRun() })),
    onFailure: (failure: SignInFailure, error: string) =>
      limiter.pass(`sign-in: ${failure}`, (suppressed) => log.warn({ failure, error, suppressed }, "a sign-in failed")),
  });
  const follow = () => provider.follow(config());
  const stop = () => {
    provider.follow(null);
    sessions.keepAll();
  };
  return { signIn, provider, start: follow, reloaded: follow, stop };
}

function signInEvent(
  { by, user, result, reason }: SignInRecord,
  at: Pick<AuditEvent, "wallMs" | "dryRun">,
): AuditEvent {
  const caller = { operator: by?.operator ?? "", role: by?.role ?? "", tenant: by?.tenant ?? "" };
  const always = { action: "sign_in", targetType: "user", source: "api", banState: "" } as const;
  return { ...always, ...at, ...caller, target: user, result, reason };
}

/** For a service without a provider. */
export function noSignIn(): SignIn {
  const nothing = { config: () => null, randomBytes: (count: number) => new Uint8Array(count) };
  const clock = { wallMs: () => 0, monotonicMs: () => 0 };
  const sessions = new BrowserSessions({
    ...{ ...nothing, clock, store: forgettingTable(), kept: [] },
    ...{ callers: () => NO_TENANTS, newId: () => "", onEnd: () => {} },
  });
  return new SignIn({
    ...{ ...nothing, sessions, seal: new AttemptSeal(randomBytes), monotonicMs: clock.monotonicMs },
    provider: {
      error: "",
      signOutUrl: null,
      urlFor: async () => null,
      claims: () => Promise.reject(new Error("none")),
    },
    record: async () => {},
    metrics: { signIn: () => {} },
    onFailure: () => {},
  });
}
