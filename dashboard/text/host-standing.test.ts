import { expect, test } from "bun:test";
import { banWire as ban } from "../../test/fixtures/ban-wire.ts";
import { hostStanding } from "./host-standing.ts";

const refused = { kind: "failed", failure: { kind: "refused", status: 403, text: "", body: null } } as const;
const ready = (state: "active" | "rejected") =>
  ({ kind: "ready", atMs: 0, data: { ban: ban({ state, reason: "whitelisted" }), refresh: false } }) as const;

test("of a host that is not a tenant's, nothing is said but that", () => {
  expect(hostStanding(refused, false)).toEqual({ kind: "foreign" });
  expect(hostStanding({ kind: "loading" }, false)).toEqual({ kind: "unknown" });
});

test("of the caller's own it is known whether it may be banned", () => {
  expect(hostStanding(ready("active"), false)).toEqual({ kind: "own", refusal: null });
  expect(hostStanding(ready("rejected"), true)).toEqual({ kind: "own", refusal: "whitelisted" });
});

test("a service that does not answer makes no host a foreign one", () => {
  expect(hostStanding({ kind: "failed", failure: { kind: "unreachable" } }, false)).toEqual({
    kind: "own",
    refusal: null,
  });
  expect(hostStanding({ kind: "loading" }, true)).toEqual({ kind: "own", refusal: null });
});
