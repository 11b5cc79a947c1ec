import { expect, test } from "bun:test";
import { banOrder, EMPTY_BAN, needsTarget, orderSentences } from "./ban-order.ts";

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

const rates = { pps: 100, mbps: 1 };
const effect = {
  ...{ available: true, headers: 100, seconds: 60, total: rates, unattacked: rates, matched: rates, dropped: rates },
  ...{ dropped_unattacked: rates, dropped_before: rates, packets_share: 0.5, bits_share: 0.5, unattacked_share: 0.2 },
  ...{ collateral_share: 0.3, hosts: 12, hostgroups: [], not_judged: [] },
} as const;
const ban = { state: "active", dry_run: false, route: "203.0.113.0/26 next-hop 192.0.2.1" };
const preview = (fields: object) => ({ ban, effect, refresh: false, ...fields }) as never;

test("the preview says what is hit and what each neighbor gets, and asks for the target where that is much", () => {
  const neighbors = [{ neighbor: "192.0.2.1", name: "edge1", routes: ["a"], cause: "no session: idle" }];
  const sentences = orderSentences(preview({ neighbors })).join(" ");
  expect(sentences).toContain("12 hosts");
  expect(sentences).toContain("edge1 gets 1 route: no session: idle.");
  expect(needsTarget(preview({}))).toBe(true);
  expect(needsTarget(preview({ effect: { ...effect, collateral_share: 0.05 } }))).toBe(false);
  const dry = preview({ ban: { ...ban, dry_run: true }, neighbors: [{ neighbor: "192.0.2.1", routes: ["a"] }] });
  expect(needsTarget(dry)).toBe(false);
  expect(orderSentences(dry)[1]).toBe("It is in dry run: nothing is announced.");
  expect(orderSentences(dry).join(" ")).not.toContain("192.0.2.1 gets");
  const wide = { ...ban, announced_prefix: "203.0.113.0/24", not_announced: "2001:db8::/48 is not announced: so" };
  expect(orderSentences(preview({ ban: wide })).slice(1, 3)).toEqual([
    "More moves with it: 203.0.113.0/24.",
    "2001:db8::/48 is not announced: so.",
  ]);
  const rejected = { state: "rejected", reason: "whitelisted", remedy: "order beside it" };
  expect(orderSentences(preview({ ban: rejected }))).toEqual([
    "Floodwall would refuse it: whitelisted: order beside it.",
  ]);
});
