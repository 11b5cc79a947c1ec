import { beforeEach, expect, test } from "bun:test";
import type { SignedOutWire } from "../../src/http/wire/sign-in.ts";
import type { Answer } from "./client.ts";
import { endBrowserSession, type SignOutState, signOutState } from "./sign-out.ts";

beforeEach(() => {
  signOutState.value = { kind: "none" };
});

const UNREACHABLE = { kind: "unreachable" } as const;
const refused = (status: number) => ({ kind: "refused", status, text: "", body: undefined }) as const;
const ended = (provider_url?: string): Answer<SignedOutWire> => ({
  kind: "answer",
  data: { ended: 1, ...(provider_url === undefined ? {} : { provider_url }) },
});

/** The states after each answer. @param signedInAfter answers after which someone signs in again */
async function states(answers: readonly Answer<SignedOutWire>[], signedInAfter = Number.POSITIVE_INFINITY) {
  const seen: SignOutState[] = [];
  let sent = 0;
  await endBrowserSession({
    send: async () => answers[sent++] ?? UNREACHABLE,
    pause: async () => void seen.push(signOutState.value),
    isOver: () => sent >= signedInAfter,
  });
  return { seen: [...seen, signOutState.value], sent };
}

test("says that the browser is signed in still, and tries until the service has ended the session", async () => {
  const waits = { kind: "waits" } as const;
  expect(await states([UNREACHABLE, refused(403), refused(503), ended("https://login.example.net/end")])).toEqual({
    seen: [waits, waits, waits, { kind: "done", providerUrl: "https://login.example.net/end" }],
    sent: 4,
  });
});

test("a session that has ended before is ended, and the provider may have no page", async () => {
  const done = { kind: "done", providerUrl: null } as const;
  expect((await states([refused(401)])).seen).toEqual([done]);
  expect((await states([ended()])).seen).toEqual([done]);
  expect((await states([ended("javascript:alert(1)")])).seen).toEqual([done]);
});

test("ends no session that someone begins meanwhile", async () => {
  expect(await states([UNREACHABLE, UNREACHABLE], 2)).toEqual({
    seen: [{ kind: "waits" }, { kind: "none" }],
    sent: 2,
  });
});
