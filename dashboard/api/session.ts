/** The user of the page: not known yet, signed out, or signed in with a role. */
import { effect, signal } from "@preact/signals";
import type { SessionWire } from "../../src/http/wire/session.ts";
import type { SignedOutWire } from "../../src/http/wire/sign-in.ts";
import { t } from "../language.ts";
import { command, type Failure, read, tokensRefused } from "./client.ts";
import { contact } from "./contact.ts";
import { answerTabs, askTabs, sendSignedOut } from "./other-tabs.ts";
import { endBrowserSession } from "./sign-out.ts";
import { forgetToken, keepToken, token } from "./token.ts";

type Session =
  | { readonly kind: "unknown" }
  /** `why`: why the token was refused; null: no token was given yet. */
  | { readonly kind: "signed_out"; readonly why: string | null }
  | { readonly kind: "signed_in"; readonly who: SessionWire };

export const session = signal<Session>({ kind: "unknown" });

const UNKNOWN_TOKEN = t`Floodwall does not know this token, or two of its tokens with different rights have this secret. Ask its administrator.`;
const ENDED = t`The token is not valid any more: it was changed or taken out of the configuration. Sign in with the new one.`;
const SIGN_IN_ENDED = t`Your sign-in has ended. Sign in again.`;
const NODE_TOKEN = t`This is the token of a node. Nodes cannot read: sign in with a viewer's or an operator's token.`;

const RETRY_MS = 2000;
/** How often a browser that is signed in asks for its session, by which the service replaces its cookie. */
const RENEW_MS = 5 * 60_000;

/** With the token of this tab, of another one, or without one if the API is open. */
export async function beginSession(): Promise<void> {
  answerTabs({
    secret: () => (session.peek().kind === "signed_in" ? token.peek() : null),
    onSignedOut: () => {
      signOuts++;
      if (token.peek() !== null || isByProvider()) signOut();
    },
  });
  await tryToBegin();
}

/** Sign-outs in other tabs, also while this one begins. */
let signOuts = 0;

async function tryToBegin(): Promise<void> {
  const before = signOuts;
  let answer = await read<SessionWire>("/api/v1/session");
  if (answer.kind === "refused" && token.peek() === null) {
    const secret = await askTabs();
    if (secret !== null && signOuts === before) {
      keepToken(secret);
      answer = await read<SessionWire>("/api/v1/session");
    }
  }
  if (answer.kind === "unreachable") {
    setTimeout(() => void tryToBegin(), RETRY_MS);
    return;
  }
  if (signOuts !== before) signOut();
  else if (answer.kind === "answer") session.value = { kind: "signed_in", who: answer.data };
  else signOut(token.peek() === null ? null : explain(answer));
  watch();
}

/** Returns null if the user is signed in, else the reason why not. */
export async function signIn(secret: string): Promise<string | null> {
  keepToken(secret);
  const answer = await read<SessionWire>("/api/v1/session");
  if (answer.kind === "answer") {
    session.value = { kind: "signed_in", who: answer.data };
    return null;
  }
  forgetToken();
  return answer.kind === "unreachable" ? t`Floodwall does not answer. Try again when it does.` : explain(answer);
}

function signOut(why: string | null = null): void {
  forgetToken();
  session.value = { kind: "signed_out", why };
}

/** By the user: of all tabs, which would else give the token on to the next one. */
export function signOutAll(): void {
  // The token of this tab would count in place of the cookie.
  const isOfBrowser = isByProvider();
  signOut();
  sendSignedOut();
  if (!isOfBrowser) return;
  void endBrowserSession({
    send: () => command<SignedOutWire>("/api/v1/sign-out"),
    pause: () => new Promise((resolve) => setTimeout(resolve, RETRY_MS)),
    isOver: () => session.peek().kind === "signed_in",
  });
}

/** Whether the user has signed in by the identity provider. */
function isByProvider(): boolean {
  const value = session.peek();
  return value.kind === "signed_in" && value.who.signed_in_until !== undefined;
}

/** A token may be removed or get other rights at any time, and a service that comes back may have other tokens. */
function watch(): void {
  effect(() => {
    // Read both first: an effect only depends on the signals that it has read.
    const [isInTouch, isRefused] = [contact.value.kind === "in_touch", tokensRefused.value > 0];
    if ((isInTouch || isRefused) && session.peek().kind === "signed_in") void checkSession();
  });
  setInterval(() => {
    if (isByProvider()) void checkSession();
  }, RENEW_MS);
}

let isChecking = false;

async function checkSession(): Promise<void> {
  if (isChecking) return;
  isChecking = true;
  const answer = await read<SessionWire>("/api/v1/session");
  isChecking = false;
  // The user may have signed out in the meantime.
  if (session.peek().kind !== "signed_in") return;
  if (answer.kind === "answer") session.value = { kind: "signed_in", who: answer.data };
  if (answer.kind !== "refused" || answer.status !== 401) return;
  if (token.peek() !== null) signOut(ENDED);
  else signOut(isByProvider() ? SIGN_IN_ENDED : null);
}

export function mayAct(): boolean {
  const { value } = session;
  return value.kind === "signed_in" && value.who.role === "operator";
}

/** Whether the caller may see and do what only a token without a tenant may. */
export function isUnscoped(): boolean {
  const { value } = session;
  return value.kind === "signed_in" && value.who.unscoped;
}

function explain({ status, text }: Failure & { readonly kind: "refused" }): string {
  if (status === 401) return UNKNOWN_TOKEN;
  return status === 403 ? NODE_TOKEN : t`Floodwall answered: ${text}`;
}
