import { expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { ran } from "../../test/fixtures/steps.ts";
import { attack } from "../../test/fixtures/views.ts";
import type { AuditEvent } from "./audit-event.ts";
import { dryRunReport } from "./dry-run-report.ts";

const event = (changes: Partial<AuditEvent>): AuditEvent => ({
  ...{ wallMs: 0, action: "ban", result: "active", operator: "", role: "", tenant: "", target: "192.0.2.1" },
  ...{ targetType: "host", reason: "", source: "auto", banState: "active", dryRun: true },
  ...changes,
});
const marks = { i1: "false_alarm", i2: "real" } as const;

test("has the automatic bans of dry run with their attacks, and what these were marked as", () => {
  const target = address("192.0.2.1");
  const report = ran(
    dryRunReport({
      events: [
        event({ wallMs: 60_000 }),
        event({ wallMs: 90_000, action: "unban", result: "withdrawn" }),
        event({ wallMs: 500_000 }),
        event({ wallMs: 200_000, target: "192.0.2.2" }),
        event({ wallMs: 210_000, target: "192.0.2.0", targetType: "prefix", reason: "192.0.2.0/24" }),
        // None of dry run's own.
        event({ wallMs: 1, dryRun: false }),
        event({ wallMs: 2, source: "api", operator: "noc" }),
        event({ wallMs: 3, result: "rejected" }),
        event({ wallMs: 4, target: "192.0.2.0", targetType: "prefix", reason: "192.0.2.0/24: back from step 1 to 0" }),
        event({ wallMs: 5, reason: "back from step 1 to 0: flowspec" }),
      ],
      attacks: [
        attack({ id: "a1", target, group: "web", startedAt: 59_500, endedAt: 90_000, incident: "i1" }),
        attack({ id: "a2", target, group: "web", startedAt: 499_000, endedAt: null }),
        attack({
          id: "a3",
          target: null,
          carpet: { prefix: "192.0.2.0/24", hosts: 9 },
          group: "mail",
          startedAt: 205_000,
          endedAt: 300_000,
          incident: "i2",
        }),
      ],
      markOf: (id) => marks[id as keyof typeof marks] ?? null,
      isTruncated: false,
    }),
  );
  expect(report.rows).toEqual([
    { atMs: 500_000, untilMs: null, target: "192.0.2.1", group: "web", attack: "a2", incident: null, mark: null },
    { atMs: 210_000, untilMs: null, target: "192.0.2.0/24", group: "mail", attack: "a3", incident: "i2", mark: "real" },
    { atMs: 200_000, untilMs: null, target: "192.0.2.2", group: null, attack: null, incident: null, mark: null },
    {
      atMs: 60_000,
      untilMs: 90_000,
      target: "192.0.2.1",
      group: "web",
      attack: "a1",
      incident: "i1",
      mark: "false_alarm",
    },
  ]);
  expect(report.sums).toEqual({ bans: 4, real: 1, expected: 0, falseAlarm: 1, unmarked: 2 });
  expect(report.hostgroups).toMatchObject([
    { name: "mail", sums: { bans: 1, real: 1 } },
    { name: "web", sums: { bans: 2, falseAlarm: 1, unmarked: 1 } },
  ]);
});
