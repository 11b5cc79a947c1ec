import { describe, expect, test } from "bun:test";
import type { IncidentRowWire } from "../../src/http/wire/incident.ts";
import {
  attacksText,
  byText,
  byWeight,
  incidentText,
  incidentTitle,
  severityText,
  stoppedOf,
  sumMark,
  victimsText,
} from "./incidents.ts";

const AT = "2026-03-01T12:00:00.000Z";

function incident(changes: Partial<IncidentRowWire> = {}): IncidentRowWire {
  return {
    id: "i1",
    state: "active",
    tenant: "acme",
    group: "web",
    direction: "incoming",
    kind: "udp_flood",
    started_at: AT,
    attacks: 3,
    active_attacks: 3,
    victims: 3,
    prefixes: [{ prefix: "203.0.113.0/24", victims: 3 }],
    prefix_count: 1,
    peak_pps: 1000,
    peak_mbps: 10,
    note_count: 0,
    open_handovers: 0,
    ...changes,
  };
}

describe("an incident", () => {
  test("is named by its kind and customer", () => {
    expect(incidentTitle(incident())).toBe("UDP flood on acme, web");
    const { kind: _, tenant: __, ...unknown } = incident({ direction: "outgoing" });
    expect(incidentTitle(unknown)).toBe("Kind not known, outgoing on web");
  });

  test("says how many victims it has, and where", () => {
    expect(victimsText(incident())).toBe("3 victims (203.0.113.0/24)");
    expect(victimsText(incident({ victims: 1 }))).toBe("1 victim (203.0.113.0/24)");
    const many = incident({ victims: 1000, victims_at_least: true, prefix_count: 4 });
    expect(victimsText(many)).toMatch(/^at least 1\s000 victims \(4 networks\)$/);
    expect(victimsText(incident({ victims: 0, prefixes: [], prefix_count: 0 }))).toBe("the hostgroup as a whole");
  });

  test("says how many of its attacks last", () => {
    expect(attacksText(incident())).toBe("3");
    expect(attacksText(incident({ active_attacks: 1 }))).toBe("1 of 3 active");
    expect(attacksText(incident({ active_attacks: 0 }))).toBe("3, all over");
    expect(attacksText(incident({ attacks: 1, active_attacks: 0 }))).toBe("1, over");
  });

  test("says what share was stopped only where that is known", () => {
    expect(stoppedOf(incident({ packets: 200, dropped_packets: 150 }))).toBe(0.75);
    expect(stoppedOf(incident({ packets: 200 }))).toBeUndefined();
    expect(stoppedOf(incident({ packets: 0, dropped_packets: 0 }))).toBeUndefined();
    expect(sumMark(incident())).toBe("");
    expect(sumMark(incident({ attacks_estimated: 1 }))).toBe("≈ ");
  });

  test("has a severity where the link is known, for a tenant without its share", () => {
    expect(severityText(incident())).toBeUndefined();
    expect(severityText(incident({ severity: "high", link_share: 0.7 }))).toBe("high, peak 70 % of the link");
    expect(severityText(incident({ severity: "high" }))).toBe("high");
  });

  test("is found by customer, network, owner and kind", () => {
    const text = incidentText(incident({ owner: { at: AT, of: "operator", by: "noc" } }));
    for (const word of ["UDP", "acme", "web", "203.0.113.0/24", "noc"]) expect(text).toContain(word);
  });
});

test("a deed is of a token, or of one whose name the reader may not see", () => {
  expect(byText({ at: AT, of: "operator", by: "noc" }, false)).toBe("noc");
  expect(byText({ at: AT, of: "operator" }, true)).toBe("an operator");
  expect(byText({ at: AT, of: "operator" }, false)).toBe("no sign-in");
});

test("incidents with most attacks that last come first, then the newest", () => {
  const rows = [
    incident({ id: "i1", active_attacks: 0 }),
    incident({ id: "i2", active_attacks: 9 }),
    incident({ id: "i3", active_attacks: 0 }),
  ];
  expect(rows.sort(byWeight).map(({ id }) => id)).toEqual(["i2", "i3", "i1"]);
});
