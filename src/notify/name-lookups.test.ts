import { expect, test } from "bun:test";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { LOOKUP_MS, LOOKUPS_MAX, NameLookups } from "./name-lookups.ts";

/** Names are answered when the test says so. */
function setup() {
  const clock = new ManualClock();
  const timers = new ManualTimers(clock);
  const asked = new Map<string, PromiseWithResolvers<readonly string[]>>();
  const lookup = (name: string) => {
    asked.set(name, Promise.withResolvers());
    return (asked.get(name) as PromiseWithResolvers<readonly string[]>).promise;
  };
  const lookups = new NameLookups({ lookup, timers, callers: () => ({ tenants: 2, tokensOf: () => 1 }) });
  const resolve = (name: string, tenant: string | null) =>
    lookups.resolve(name, tenant).then(
      (found) => found.join(),
      (cause: Error) => cause.message,
    );
  return { asked, resolve, clock };
}

test("a name that is not answered is given up in time, and keeps its place until the system gives it up", async () => {
  const { asked, resolve, clock } = setup();
  const share = (LOOKUPS_MAX * 3) / 4 / 2;
  const hanging = Array.from({ length: share }, (_, i) => resolve(`${i}.acme.example`, "acme"));
  expect(await resolve("more.acme.example", "acme")).toBe("too many lookups");
  clock.advance(LOOKUP_MS);
  expect(new Set(await Promise.all(hanging))).toEqual(new Set(["its addresses are not known in time"]));
  expect(await resolve("more.acme.example", "acme")).toBe("too many lookups");
  // Others have their own places.
  const other = resolve("hook.beta.example", "beta");
  const own = resolve("db.example.net", null);
  for (const name of ["hook.beta.example", "db.example.net"]) asked.get(name)?.resolve(["192.0.2.1"]);
  expect([await other, await own]).toEqual(["192.0.2.1", "192.0.2.1"]);
  asked.get("0.acme.example")?.reject(new Error("ETIMEOUT"));
  await Promise.resolve();
  const later = resolve("more.acme.example", "acme");
  asked.get("more.acme.example")?.resolve(["192.0.2.2"]);
  expect(await later).toBe("192.0.2.2");
});

test("one lookup of a name is for all who wait", async () => {
  const { asked, resolve } = setup();
  const first = resolve("hook.example.net", "acme");
  const begun = asked.get("hook.example.net");
  const second = resolve("hook.example.net", "beta");
  expect(asked.get("hook.example.net")).toBe(begun);
  begun?.resolve(["192.0.2.1"]);
  expect([await first, await second]).toEqual(["192.0.2.1", "192.0.2.1"]);
});
