/** How tenants share the diversions by a hook, and its calls. */
import { afterAll, expect, test } from "bun:test";
import { Bench } from "../../test/fixtures/divert/bench.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { Undo } from "../../test/fixtures/undo.ts";
import { ADMINISTRATOR, type Holder } from "../access/shares.ts";
import type { Diversion } from "../mitigation/diversion.ts";
import type { Prefix } from "../net/prefix.ts";
import { diversionFile } from "./diversion-file.ts";
import { DIVERSIONS_MAX } from "./diversions.ts";

const undo = new Undo();
afterAll(() => undo.all());
const A = prefix("203.0.113.0/24");
const B = prefix("198.51.100.0/24");

/** Prefixes in 10.0.0.0/8 are wanted by orders of a tenant alone. */
const acme: Holder = { operator: "mallory", tenant: "acme" };
const byTenant = ({ text }: Prefix) => (text.startsWith("10.") ? acme : ADMINISTRATOR);

const TENANTS = 64;
const share = DIVERSIONS_MAX / 2 / TENANTS;
const own = Array.from({ length: 2 * share }, (_, i) => prefix(`10.1.${i}.0/24`));
const beyond = own[share] ?? A;

/** Of many tenants, with a hook that ends nothing. */
function shared(disk: readonly Diversion[] = []): Bench {
  const bench = new Bench(disk);
  bench.callers = { tenants: TENANTS, tokensOf: () => 1 };
  bench.answer = ({ action }) => (action === "end" ? "not_yet" : "done");
  return bench;
}

test("a tenant takes no more than its share, also of those that are being ended, over a restart too, and attacks have the other half #diversions-share", async () => {
  const bench = shared();
  bench.diversions.start();
  bench.want(own.slice(0, share), byTenant);
  bench.want([...own.slice(share), A], byTenant);
  await bench.settle();
  const file = diversionFile(undo.folder("diversion-shares"));
  await file.save(bench.disk);
  const next = shared(file.load((error) => expect.unreachable(error)));
  next.want([...own.slice(share), A], byTenant);
  next.diversions.start();
  await next.settle();
  for (const { diversions } of [bench, next]) {
    expect(diversions.views()).toHaveLength(share + 1);
    expect(diversions.stateOf(A).kind).not.toBe("failed");
    expect(diversions.faultOf(beyond, acme)).toContain("your share of the diversions");
    expect(diversions.faultOf(B, ADMINISTRATOR)).toBeNull();
    // The hook is well: nothing is notified.
    expect(diversions.faults()).toEqual([]);
  }
});

test("an attack is diverted at once where an order was beyond the share of its tenant", async () => {
  const bench = shared();
  bench.diversions.start();
  bench.want(own, byTenant);
  expect(bench.diversions.faultOf(beyond, ADMINISTRATOR)).toBeNull();
  bench.want([...own.slice(0, share), beyond]);
  await bench.settle();
  expect(bench.diversions.views().map((view) => view.prefix)).toContain(beyond.text);
});

test("the diversions of a tenant hold up no attack: those of both take turns", async () => {
  const bench = new Bench();
  bench.callers = { tenants: 1, tokensOf: () => 1 };
  const waiting: (() => void)[] = [];
  bench.answer = () => new Promise((resolve) => waiting.push(() => resolve("done")));
  bench.diversions.start();
  const some = Array.from({ length: 40 }, (_, i) => prefix(`10.0.${i}.0/24`));
  bench.want(some, byTenant);
  await bench.settle();
  bench.want([...some, A], byTenant);
  await bench.settle();
  for (const go of waiting.splice(0, 2)) go();
  await bench.settle();
  expect(bench.asked.slice(8).map((request) => request.prefix)).toContain(A.text);
});
