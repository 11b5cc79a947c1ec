import { expect, test } from "bun:test";
import type { AuditEventWire } from "../../src/http/wire/audit.ts";
import {
  actionOf,
  actorText,
  auditCsv,
  auditPath,
  auditReason,
  auditTarget,
  eventMs,
  fromLocalText,
  localText,
} from "./audit.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const event = (changes: Partial<AuditEventWire> = {}): AuditEventWire => ({
  event_time: "2026-03-01 11:59:00",
  action: "ban",
  result: "active",
  operator: "noc",
  role: "operator",
  tenant: "",
  target: "192.0.2.1",
  target_type: "host",
  reason: "",
  source: "api",
  ban_state: "active",
  dry_run: 0,
  ...changes,
});

test("asks for what is filtered, and for nothing else", () => {
  const span = { kind: "last", seconds: 3600 } as const;
  expect(auditPath({ action: null, target: null, span }, NOW)).toBe("/api/v1/audit?from=2026-03-01T11%3A00%3A00.000Z");
  const between = { kind: "between", from: null, to: "2026-03-01T00:00:00.000Z" } as const;
  expect(auditPath({ action: "unban", target: "2001:db8::1", span: between }, NOW)).toBe(
    "/api/v1/audit?to=2026-03-01T00%3A00%3A00.000Z&action=unban&target=2001%3Adb8%3A%3A1",
  );
});

test("an action that there is not is none", () => {
  expect(["ban", "edge_challenge", "toString", "", null].map(actionOf)).toEqual([
    "ban",
    "edge_challenge",
    null,
    null,
    null,
  ]);
});

test("the target of an order for a prefix has its length, and its reason goes without it", () => {
  const prefix = { target: "192.0.2.0", target_type: "prefix" } as const;
  expect(auditTarget(event({ ...prefix, reason: "192.0.2.0/26: flowspec: ticket 7" }))).toBe("192.0.2.0/26");
  expect(auditTarget(event({ ...prefix, reason: "no active ban" }))).toBe("192.0.2.0");
  const reasons = ["192.0.2.0/26: flowspec: ticket 7", "192.0.2.0/26", "no active ban"];
  expect(reasons.map((reason) => auditReason(event({ ...prefix, reason })))).toEqual([
    "flowspec: ticket 7",
    "",
    "no active ban",
  ]);
  expect(auditTarget(event())).toBe("192.0.2.1");
  expect(auditTarget(event({ target: "198.51.100.1->192.0.2.1", target_type: "source" }))).toBe(
    "198.51.100.1 → 192.0.2.1",
  );
});

test("times are UTC, whatever the zone of the one who looks", () => {
  expect(eventMs(event())).toBe(NOW - 60_000);
  expect(fromLocalText(localText(NOW))).toBe("2026-03-01T12:00:00.000Z");
  expect(fromLocalText(localText(NOW).slice(0, 16))).toBe("2026-03-01T12:00:00.000Z");
  for (const text of ["", "nonsense", "2026-02-30 12:00", "2026-03-01 25:00", "1"]) {
    expect(fromLocalText(text), text).toBeNull();
  }
});

test("says who it was", () => {
  expect(actorText(event())).toBe("noc (operator)");
  expect(actorText(event({ tenant: "acme" }))).toBe("noc (operator, acme)");
  expect(actorText(event({ operator: "" }))).toBe("no sign-in (operator)");
  expect(actorText(event({ operator: "", role: "", source: "auto" }))).toBe("detection");
  expect(actorText(event({ operator: "", role: "", source: "signal" }))).toBe("signal");
});

test("is taken along with the API's own names and values, and carries out nothing", () => {
  expect(auditCsv([event({ reason: '=HYPERLINK("x")', dry_run: 1 })])).toBe(
    "event_time,action,result,operator,role,tenant,target,target_type,reason,source,ban_state,dry_run\r\n" +
      '2026-03-01 11:59:00,ban,active,noc,operator,,192.0.2.1,host,"\'=HYPERLINK(""x"")",api,active,1\r\n',
  );
});
