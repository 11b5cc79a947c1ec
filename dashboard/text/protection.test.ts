import { expect, test } from "bun:test";
import type { ProtectionWire } from "../../src/http/wire/protection.ts";
import {
  choiceText,
  chooserText,
  filterFacts,
  maySayWhen,
  protectionOrder,
  protectionPath,
  sourceText,
  whenOf,
  whenText,
} from "./protection.ts";

const choice: NonNullable<ProtectionWire["choice"]> = {
  ...{ prefix: "192.0.2.0/28", profile: "web", chosen_by: "operator", operator: "noc", note: "ticket 7" },
  ...{ chosen_at: "2026-03-01T12:00:00.000Z", active: true },
};

test("who decided", () => {
  expect(sourceText({ source: "configuration" })).toBe("the configuration");
  expect(sourceText({ source: "configuration", choice })).toBe("the configuration");
  expect(sourceText({ source: "operator", choice })).toBe("noc");
  const { operator: _, ...nameless } = choice;
  expect(chooserText(nameless)).toBe("an operator");
  const own = { ...nameless, chosen_by: "tenant", tenant: "acme" } as const;
  expect([chooserText(own), chooserText({ ...own, operator: "web" })]).toEqual(["tenant acme", "web of acme"]);
});

test("when it applies", () => {
  expect((["always", "attack"] as const).map((when) => whenText({ when }))).toEqual(["at all times", "while attacked"]);
  expect([whenText({ when: "never", cause: "no kernel" }), whenText({})]).toEqual(["never: no kernel", "–"]);
  expect([whenOf(undefined), whenOf({}), whenOf({ always: true }), whenOf({ always: false })]).toEqual([
    ...["configured", "configured", "always", "attack"],
  ] as never);
});

test("the filter, part by part", () => {
  const allowed = ["tcp/80", "udp/from 53,123", "udp/443 from 53", "icmp at 100 packets/s"];
  const some = filterFacts({ allowed, validators: ["a", "b"], limits: [], counts_only: true });
  expect(some).toEqual([
    ["Passes", "tcp/80 · udp from port 53,123 · udp/443 from port 53 · icmp at 100 packets/s"],
    ["Proof", "a · b"],
    ["Limits", "none"],
    ["Dry run", "nothing is dropped, only counted"],
  ]);
  expect(filterFacts({ validators: [], limits: [] })[0]).toEqual(["Passes", "any traffic"]);
  expect(filterFacts({ allowed: [], validators: [], limits: [] })[0]).toEqual(["Passes", "nothing"]);
});

test("an order says when only if it was said", () => {
  const order = { profile: "web", note: "" };
  expect(protectionOrder({ ...order, when: "configured" })).toEqual(order);
  expect(protectionOrder({ ...order, when: "always" })).toEqual({ ...order, always: true });
  expect(protectionOrder({ ...order, when: "attack" })).toEqual({ ...order, always: false });
  expect(protectionPath("2001:db8::/48")).toBe("/api/v1/protection/2001%3Adb8%3A%3A%2F48");
  const group = (always: boolean) => ({ name: "a", setting: {} as never, selectable: { profiles: [], always } });
  expect([maySayWhen({ hostgroups: [group(false)] }), maySayWhen({ hostgroups: [group(true)] })]).toEqual([
    false,
    true,
  ]);
  expect(choiceText({ prefix: "192.0.2.0/28", hostgroup: "web", choice })).toContain("web web ticket 7 noc");
});
