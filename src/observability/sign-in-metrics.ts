/** The sign-in of people by an identity provider. */
import type { SessionEnd } from "../access/browser-sessions.ts";
import type { SignInResult } from "../access/sign-in.ts";
import { MetricGroup } from "./metric-group.ts";

const RESULTS: Readonly<Record<SignInResult, true>> = {
  ok: true,
  not_begun: true,
  busy: true,
  provider_away: true,
  denied: true,
  invalid_answer: true,
  no_role: true,
  no_name: true,
  full: true,
  over_share: true,
};

const ENDS: Readonly<Record<SessionEnd, true>> = {
  signed_out: true,
  revoked: true,
  expired: true,
  replaced: true,
  reused_secret: true,
  configuration: true,
};

export class SignInMetrics extends MetricGroup {
  readonly signIn = this.countingOf(
    "svc_sign_ins_total",
    "Sign-ins by the identity provider, by how they ended.",
    "result",
    Object.keys(RESULTS),
  );
  readonly #sessions = this.gauge("svc_browser_sessions", "Browsers in which a user is signed in.");
  readonly ended = this.countingOf(
    "svc_browser_sessions_ended_total",
    "Sessions of browsers that ended, by why.",
    "reason",
    Object.keys(ENDS),
  );

  setSessions(sessions: number): void {
    this.#sessions.set(sessions);
  }
}
