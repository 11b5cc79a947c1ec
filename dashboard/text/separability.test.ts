import { expect, test } from "bun:test";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { maybeInvalidText, usersSparedText } from "./separability.ts";

const ban = (separability: BanWire["separability"], flowspec = [{ action: "discard" }]) =>
  ({ separability, flowspec }) as BanWire;

test.each([
  ["yes", { verdict: "yes", users_at_risk: 0, estimated_by: "protocol" }, "yes: no user sends such packets"],
  [
    "no",
    { verdict: "no", users_at_risk: 0.127, estimated_by: "profile" },
    "no: rules match about 13 % of them, by what the host received before the attack",
  ],
  [
    "unknown",
    { verdict: "unknown", users_at_risk: 0.0004, estimated_by: "sample" },
    "not known: rules match less than 0.1 % of them, by the other packets of now",
  ],
  ["unknown by nothing", { verdict: "unknown" }, "not known"],
] as const)("whether users are spared: %s", (_, separability, text) => {
  expect(usersSparedText(ban(separability))).toBe(text);
});

test("a ban without rules says nothing of users", () => {
  expect(usersSparedText(ban(undefined))).toBeNull();
  expect(usersSparedText(ban({ verdict: "unknown" }, []))).toBeNull();
});

test("neighbors that may find rules invalid are named with what to do", () => {
  expect(maybeInvalidText({} as BanWire)).toBeNull();
  expect(maybeInvalidText({ maybe_invalid_at: ["192.0.2.1", "192.0.2.2"] } as BanWire)).toStartWith(
    "192.0.2.1, 192.0.2.2: a router that validates rules",
  );
});
