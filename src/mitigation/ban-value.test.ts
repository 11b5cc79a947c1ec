import { expect, test } from "bun:test";
import { ban } from "../../test/fixtures/views.ts";
import { mostValuableFirst } from "./ban-value.ts";

test("orders of the administrator come first, those of tenants among the bans of attacks, by the attack that they are for", () => {
  const ordered = { manual: true, metric: null, rate: 0 } as const;
  const bans = [
    ban({ id: "tenant", ...ordered, tenant: "acme" }),
    ban({ id: "small", rate: 1000 }),
    ban({ id: "tenant on an attack", manual: true, tenant: "acme", rate: 2000 }),
    ban({ id: "large", rate: 3000 }),
    ban({ id: "administrator", ...ordered }),
  ];
  expect(bans.sort(mostValuableFirst).map(({ id }) => id)).toEqual([
    "administrator",
    "large",
    "tenant on an attack",
    "small",
    "tenant",
  ]);
});
