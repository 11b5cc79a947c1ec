import type { ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { setCookie } from "../server/browser-cookies.ts";
import { SessionWire, sessionToWire } from "../wire/session.ts";
import type { SignInSource } from "./sign-in.ts";

/** For a browser that is signed in, it also replaces the secret when it is time. */
export function sessionRoute(signIn: Pick<SignInSource, "config" | "sessions">): ReadRoute {
  return {
    name: "session",
    method: "GET",
    path: "/api/v1/session",
    access: "viewer",
    about: {
      summary: "Who the caller is: the name of its token or user, its role and tenant",
      answers: { 200: { text: "The caller.", schema: SessionWire } },
    },
    handle: ({ principal }) => {
      const { config, sessions } = signIn;
      const session = principal.session === undefined ? null : sessions.get(principal.session);
      const answer = jsonAnswer(200, sessionToWire(principal, session));
      const secret = session === null ? null : sessions.renew(session.id);
      if (config !== null && secret !== null) answer.headers.append("set-cookie", setCookie("session", secret, config));
      return answer;
    },
  };
}
