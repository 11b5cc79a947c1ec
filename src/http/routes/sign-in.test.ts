/** A user's session that another caller ends. */
import { expect, test } from "bun:test";
import type { CommandRoute } from "../route.ts";
import { type SignInSource, signInRoutes } from "./sign-in.ts";

test("the end of a session that the disk has not taken says so #sign-in-sessions", async () => {
  const principal = { kind: "principal", operator: "noc", subject: "s", role: "operator", tenant: null, node: null };
  const ended = async (isSaved: boolean) => {
    const source = { sessions: { get: () => ({ id: "id1", principal }) }, end: async () => ({ isSaved }) };
    const routes = signInRoutes(source as unknown as SignInSource);
    const route = routes.find(({ name }) => name === "end_sign_in") as CommandRoute;
    const answer = (await route.handle({ principal, params: { id: "id1" } } as never, null)) as Response;
    return [answer.status, await answer.text()];
  };
  expect(await ended(true)).toEqual([204, ""]);
  expect(await ended(false)).toEqual([200, '{"saved":false}']);
});
