import { expect, test } from "bun:test";
import { banOrder, EMPTY_BAN, needsTarget } from "./ban-order.ts";

test("fields of the dialog become the order, and without any it is a plain one", () => {
  expect(banOrder("203.0.113.7", EMPTY_BAN)).toEqual({ ip: "203.0.113.7" });
  const form = { ...EMPTY_BAN, method: "flowspec", seconds: "3600", protocol: "udp", sourcePorts: "53, 123" } as const;
  expect(banOrder("203.0.113.0/26", { ...form, mbps: "50", neighbors: "edge1", dryRun: "yes" })).toEqual({
    prefix: "203.0.113.0/26",
    method: "flowspec",
    ttl_seconds: 3600,
    rules: [{ protocol: "udp", source_ports: ["53", "123"] }],
    rate_mbps: 50,
    neighbors: ["edge1"],
    dry_run: true,
  });
  const syn = { ...EMPTY_BAN, protocol: "tcp", flags: "SYN, !ack", fragment: "no", lengths: "40, 60-64" } as const;
  expect(banOrder("203.0.113.7", { ...syn, template: " cut-web " })).toEqual({
    ip: "203.0.113.7",
    template: "cut-web",
    rules: [
      {
        protocol: "tcp",
        tcp_flags: { set: ["syn"], unset: ["ack"] },
        fragment: false,
        packet_lengths: ["40", "60-64"],
      },
    ],
  });
});

const effect = { available: true, collateral_share: 0.3 };
const ban = { state: "active", dry_run: false };
const preview = (fields: object) => ({ ban, effect, ...fields }) as never;

test("the target must be typed again where much is hit that is in no attack", () => {
  expect(needsTarget(preview({}))).toBe(true);
  expect(needsTarget(preview({ effect: { ...effect, collateral_share: 0.05 } }))).toBe(false);
  expect(needsTarget(preview({ ban: { ...ban, dry_run: true } }))).toBe(false);
});
