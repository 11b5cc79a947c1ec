/** How tenants share the diversions by a hook, and its calls. */
import { expect, test } from "bun:test";
import { Bench } from "../../test/fixtures/divert/bench.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { ADMINISTRATOR } from "../access/shares.ts";
import type { Prefix } from "../net/prefix.ts";
import { DIVERSIONS_MAX } from "./diversions.ts";

const A = prefix("203.0.113.0/24");
const B = prefix("198.51.100.0/24");

/** Prefixes in 10.0.0.0/8 are wanted by orders of a tenant alone. */
const byTenant = ({ text }: Prefix) =>
  text.startsWith("10.") ? { operator: "mallory", tenant: "acme" } : ADMINISTRATOR;

test("a tenant takes no more than its share, also of those that are being ended, and attacks have the other half #diversions-share", async () => {
  const bench = new Bench();
  bench.callers = { tenants: 2, tokensOf: () => 1 };
  bench.answer = ({ action }) => (action === "end" ? "not_yet" : "done");
  bench.diversions.start();
  const share = DIVERSIONS_MAX / 4;
  const own = Array.from({ length: 2 * share }, (_, i) => prefix(`10.${i >> 8}.${i & 255}.0/24`));
  bench.want(own.slice(0, share), byTenant);
  bench.want([...own.slice(share), A], byTenant);
  await bench.settle();
  expect(bench.diversions.views()).toHaveLength(share + 1);
  expect(bench.diversions.stateOf(A).kind).not.toBe("failed");
  expect(bench.diversions.faultOf(own[share] ?? A)).toContain("your share of the diversions");
  expect(bench.diversions.faultOf(B)).toBeNull();
});

test("the diversions of a tenant hold up no attack: those of both take turns", async () => {
  const bench = new Bench();
  bench.callers = { tenants: 1, tokensOf: () => 1 };
  const waiting: (() => void)[] = [];
  bench.answer = () => new Promise((resolve) => waiting.push(() => resolve("done")));
  bench.diversions.start();
  const own = Array.from({ length: 40 }, (_, i) => prefix(`10.0.${i}.0/24`));
  bench.want(own, byTenant);
  await bench.settle();
  bench.want([...own, A], byTenant);
  await bench.settle();
  for (const go of waiting.splice(0, 2)) go();
  await bench.settle();
  expect(bench.asked.slice(8).map((request) => request.prefix)).toContain(A.text);
});
