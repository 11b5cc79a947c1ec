import { describe, expect, test } from "bun:test";
import { ADMINISTRATOR, callersOf, type Holder, Shares } from "./shares.ts";

const callers = callersOf([{ tenant: null }, { tenant: "acme" }, { tenant: "acme" }, { tenant: "other" }]);
const acme: Holder = { operator: "acme-a", tenant: "acme" };
const second: Holder = { operator: "acme-b", tenant: "acme" };
const other: Holder = { operator: "other", tenant: "other" };
const room = { capacity: 16 };

function fill(shares: Shares, holder: Holder): number {
  let taken = 0;
  for (; shares.refusal(holder, room) === null; taken++) shares.take(holder);
  return taken;
}

describe("of 16 places", () => {
  test("a token takes half of its tenant's share, a tenant half of what is for tenants, the administrator the rest", () => {
    const shares = new Shares(() => callers);
    expect(fill(shares, acme)).toBe(3);
    expect(fill(shares, second)).toBe(3);
    expect(shares.refusal(acme, room)).toBe("over_share");
    expect(fill(shares, other)).toBe(6);
    expect(fill(shares, ADMINISTRATOR)).toBe(4);
    expect(shares.refusal(ADMINISTRATOR, room)).toBe("full");
    shares.giveBack(acme);
    expect(shares.refusal(acme, room)).toBeNull();
  });

  test("the administrator takes all where no tenant took any", () => {
    expect(fill(new Shares(() => callers), ADMINISTRATOR)).toBe(16);
  });

  test("several are taken together or not at all", () => {
    const shares = new Shares(() => callers);
    expect(shares.refusal(other, room, 6)).toBeNull();
    expect(shares.refusal(other, room, 7)).toBe("over_share");
    expect(shares.refusal(ADMINISTRATOR, room, 17)).toBe("full");
  });

  test("a tenant has no more than the bound of its own", () => {
    expect(new Shares(() => callers).refusal(other, { ...room, perTenantMax: 1 }, 2)).toBe("over_share");
  });
});

test("with more tenants than places, each has one while there is room for tenants", () => {
  const many = callersOf(Array.from({ length: 100 }, (_, i) => ({ tenant: `t${i}` })));
  const shares = new Shares(() => many);
  for (let i = 0; i < 12; i++) {
    const holder = { operator: `o${i}`, tenant: `t${i}` };
    expect(shares.refusal(holder, room)).toBeNull();
    shares.take(holder);
    expect(shares.refusal(holder, room)).toBe("over_share");
  }
  expect(shares.refusal({ operator: "o12", tenant: "t12" }, room)).toBe("over_share");
  expect(shares.refusal(ADMINISTRATOR, room, 4)).toBeNull();
});
