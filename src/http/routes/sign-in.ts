/** Signing in by an identity provider and signing out, and the browsers that are signed in (docs/interface.md#sign-in). */
import { Type } from "@sinclair/typebox";
import type { SessionView } from "../../access/browser-sessions.ts";
import { isUnscoped, type Principal } from "../../access/principal.ts";
import type { SignIn, SignInFailure } from "../../access/sign-in.ts";
import { CALLBACK_PATH, type SignInConfig } from "../../access/sign-in-config.ts";
import { closedObject } from "../../schema/schema-forms.ts";
import type { Refusal } from "../refusal.ts";
import type { CommandRoute, OpenRoute, ReadRoute, Route } from "../route.ts";
import { emptyAnswer, jsonAnswer } from "../server/answer.ts";
import { clearCookie, cookieOf, isOwnPage, setCookie } from "../server/browser-cookies.ts";
import { readTarget } from "../server/request-target.ts";
import { SAVED_FIELD, savedToWire } from "../wire/saved.ts";
import {
  BrowserSessionsWire,
  browserSessionToWire,
  SignedOutWire,
  SignInWire,
  type SignOutRequest,
  signOutCheck,
} from "../wire/sign-in.ts";

export type SignInSource = Pick<SignIn, "config" | "sessions" | "error" | "signOutUrl" | "begin" | "finish" | "end">;

const PATH = "/api/v1/sign-in";
const BEGIN_PATH = `${PATH}/begin`;
const SESSIONS_PATH = "/api/v1/sign-ins";
const SavedWire = closedObject(SAVED_FIELD);
const NONE: Refusal = { kind: "unknown_path" };
const TO_PAGE = { 302: { text: "To the dashboard, which says how it ended.", schema: null } };

/** A place in the dashboard, behind the #: no other page can be named. */
const PLACE = /^\/[\w.~!$&'()*+,;=:@%/?-]{0,1000}$/;

export function signInRoutes(signIn: SignInSource): readonly Route[] {
  return [
    waysRoute(signIn),
    beginRoute(signIn),
    callbackRoute(signIn),
    signOutRoute(signIn),
    sessionsRoute(signIn),
    endSessionRoute(signIn),
  ];
}

function waysRoute(signIn: SignInSource): OpenRoute {
  return {
    name: "sign_in",
    method: "GET",
    path: PATH,
    access: "open",
    about: {
      summary: "By which identity provider people sign in",
      answers: { 200: { text: "The provider, if there is one.", schema: SignInWire } },
    },
    handle: () => {
      const { config, error } = signIn;
      if (config === null) return jsonAnswer(200, {});
      const url = `${config.publicUrl}${BEGIN_PATH}`;
      return jsonAnswer(200, { provider: { name: config.label, url, available: error === null } });
    },
  };
}

function beginRoute(signIn: SignInSource): OpenRoute {
  return {
    name: "sign_in_begin",
    method: "GET",
    path: BEGIN_PATH,
    access: "open",
    about: {
      summary: "Lead a browser to the identity provider",
      query: {
        place: { text: "Where in the dashboard to return to: what is behind the #.", schema: Type.String() },
      },
      answers: {
        302: { text: "To the provider; to the dashboard if it is away.", schema: null },
        404: { text: "No provider is configured." },
      },
    },
    handle: async (request) => {
      const { config } = signIn;
      if (config === null) return NONE;
      const asked = readTarget(BEGIN_PATH, request.url)?.query.get("place") ?? "/";
      const place = PLACE.test(asked) ? asked : "/";
      // Another site could have its visitors sign in again and again: it may lead to the page, which has the button.
      if (!isOwnPage(request, config)) return redirect(`${config.publicUrl}/#${place}`, []);
      const secret = cookieOf(request, "session", config);
      const present = secret === null ? null : signIn.sessions.of(secret);
      const begun = await signIn.begin(place, present?.id ?? null);
      if (begun.kind === "failed") return failed(begun.failure, config);
      return redirect(begun.url, [setCookie("attempt", begun.attempt, config)]);
    },
  };
}

function callbackRoute(signIn: SignInSource): OpenRoute {
  return {
    name: "sign_in_callback",
    method: "GET",
    path: CALLBACK_PATH,
    access: "open",
    about: {
      summary: "Where the identity provider sends the browser back to",
      answers: { ...TO_PAGE, 404: { text: "No provider is configured." } },
    },
    handle: async (request, peer) => {
      const { config } = signIn;
      if (config === null) return NONE;
      const start = request.url.indexOf("?");
      const answer = start < 0 ? "" : request.url.slice(start);
      const finished = await signIn.finish(answer, cookieOf(request, "attempt", config), peer());
      if (finished.kind === "failed") return failed(finished.failure, config);
      const cookies = [clearCookie("attempt", config), setCookie("session", finished.secret, config)];
      return redirect(`${config.publicUrl}/#${finished.place}`, cookies);
    },
  };
}

function signOutRoute(signIn: SignInSource): CommandRoute<SignOutRequest> {
  return {
    name: "sign_out",
    method: "POST",
    path: "/api/v1/sign-out",
    access: "viewer",
    body: signOutCheck,
    isBodyOptional: true,
    about: {
      summary: "End the session of this browser, or all of its user",
      answers: {
        200: { text: "How many have ended.", schema: SignedOutWire },
        409: { text: "The caller has a token, which is not signed out." },
      },
    },
    handle: async ({ principal }, { everywhere = false }) => {
      const { config, sessions } = signIn;
      if (config === null || principal.session === undefined) return { kind: "no_browser_session" };
      const isMeant = ({ id, principal: other }: SessionView) =>
        id === principal.session || (everywhere && other.subject === principal.subject);
      const meant = sessions.all().filter(isMeant);
      const ends = await Promise.all(meant.map((session) => signIn.end(session, "signed_out", principal)));
      const { signOutUrl } = signIn;
      const saved = savedToWire({ isSaved: ends.every((end) => end?.isSaved !== false) });
      const said = { ended: meant.length, ...(signOutUrl === null ? {} : { provider_url: signOutUrl }), ...saved };
      const answer = jsonAnswer(200, said);
      answer.headers.append("set-cookie", clearCookie("session", config));
      return answer;
    },
  };
}

function sessionsRoute({ sessions }: SignInSource): ReadRoute {
  return {
    name: "sign_ins",
    method: "GET",
    path: SESSIONS_PATH,
    access: "viewer",
    about: {
      summary: "Browsers in which a user is signed in: all for operators without a tenant, for others their own",
      answers: { 200: { text: "Those, the oldest first.", schema: BrowserSessionsWire } },
    },
    handle: ({ principal }) =>
      jsonAnswer(200, {
        sessions: sessions
          .all()
          .filter((session) => mayEnd(principal, session))
          .map((session) => browserSessionToWire(session, principal)),
      }),
  };
}

function endSessionRoute(signIn: SignInSource): CommandRoute {
  return {
    name: "end_sign_in",
    method: "DELETE",
    path: `${SESSIONS_PATH}/:id`,
    access: "viewer",
    body: null,
    about: {
      summary: "Sign a browser out",
      answers: {
        200: { text: "It is signed out, and the disk has not taken that yet.", schema: SavedWire },
        204: { text: "It is signed out.", schema: null },
        404: { text: "Unknown, ended, or another's." },
      },
    },
    handle: async ({ principal, params }) => {
      const session = signIn.sessions.get(params["id"] ?? "");
      if (session === null || !mayEnd(principal, session)) return { kind: "unknown_browser_session" };
      const ended = await signIn.end(session, "revoked", principal);
      if (ended === null) return { kind: "unknown_browser_session" };
      return ended.isSaved ? emptyAnswer() : jsonAnswer(200, savedToWire(ended));
    },
  };
}

/** Users see and end their own, operators without a tenant all. */
function mayEnd(caller: Principal, { principal }: SessionView): boolean {
  if (caller.role === "operator" && isUnscoped(caller)) return true;
  return caller.session !== undefined && caller.subject === principal.subject;
}

/** The page has the words. */
function failed(failure: SignInFailure, config: SignInConfig): Response {
  return redirect(`${config.publicUrl}/#/?sign_in=${failure}`, [clearCookie("attempt", config)]);
}

function redirect(location: string, cookies: readonly string[]): Response {
  const headers = new Headers({ location, "cache-control": "no-store", "referrer-policy": "no-referrer" });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: 302, headers });
}
