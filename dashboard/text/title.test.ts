import { expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { titleOf } from "./title.ts";

const attack = (target: string) => ({ id: target, scope: "host", target, group: "web" }) as AttackWire;
const quiet = { steps: [], active: [], attack: undefined };

test("the title names the view, and how many attacks are in progress", () => {
  expect(titleOf({ ...quiet, view: "Overview" })).toBe("Overview – Floodwall");
  expect(titleOf({ ...quiet, view: "Bans", active: [attack("192.0.2.1"), attack("192.0.2.2")] })).toBe(
    "(2) 192.0.2.1 – Bans – Floodwall",
  );
});

test("the subject of the page goes before other victims", () => {
  const active = [attack("192.0.2.1")];
  const ended = attack("192.0.2.9");
  expect(titleOf({ view: "Attacks", steps: ["id"], active, attack: ended })).toBe(
    "(1) 192.0.2.9 – Attacks – Floodwall",
  );
  expect(titleOf({ ...quiet, view: "Attacks", steps: ["id"] })).toBe("Attacks – Floodwall");
  expect(titleOf({ ...quiet, view: "Bans", steps: ["192.0.2.3/32", "x"], active })).toBe(
    "(1) 192.0.2.3 – Bans – Floodwall",
  );
  expect(titleOf({ ...quiet, view: "Hosts", steps: ["2001:db8::1"] })).toBe("2001:db8::1 – Hosts – Floodwall");
});
