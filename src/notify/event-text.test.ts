import { describe, expect, test } from "bun:test";
import { address, thresholds } from "../../test/fixtures/host-rows.ts";
import {
  attackEvent,
  banEvent,
  capEvent,
  conditionEvent,
  exporterEvent,
  orderEvent,
  scrubNodeEvent,
  sessionEvent,
  stateEvent,
} from "../../test/fixtures/notify/notify.ts";
import { attack, ban, NOON } from "../../test/fixtures/views.ts";
import { sampleOf } from "../detection/attack/sample.ts";
import { canonicalPrefix } from "../net/prefix.ts";
import type { NotifyEvent } from "./event.ts";
import { describeEvent, hintsOf } from "./event-text.ts";

function text(event: NotifyEvent): string[] {
  const { headline, details } = describeEvent(event);
  return [headline, ...details];
}

describe("an attack", () => {
  test("that starts", () => {
    expect(text(attackEvent({ ban: ban() }))).toEqual([
      "Attack on 192.0.2.1: 1,500 packets/s, threshold 1,000",
      "In all: 1,500 packets/s, 20 Mbit/s, 0 new flows/s; hostgroup global",
      "Ban: blackhole until 2026-03-01 12:10:00 UTC, 192.0.2.1/32 next-hop 192.0.2.254 community 65535:666",
      "Since 2026-03-01 12:00:00 UTC",
    ]);
  });

  test("names the interfaces by which it comes in, the largest first", () => {
    const interfaces = [0.6, 0.3, 0.06, 0.04].map((share, i) => ({
      ...{ exporter: `edge${i}`, interface: i, name: i === 0 ? "xe-0/0/1" : null },
      ...{ packets: 1, bytes: 60, share },
    }));
    const sample = { ...sampleOf([], { top: 1, flows: 0 }), topInterfaces: interfaces };
    expect(text(attackEvent({ attack: attack({ sample }) }))).toContain(
      "Comes in by: edge0 xe-0/0/1 60 %, edge1 interface 1 30 %, edge2 interface 2 6 % and others",
    );
    expect(text(attackEvent({ attack: attack({ sample, direction: "outgoing" }) })).join()).not.toContain("edge0");
  });

  test("that grows, whose ban was refused", () => {
    const rates = thresholds({ tcp_syn_mbps: 1234.5, pps: 99.999 });
    const grown = attack({
      metric: "tcp_syn_mbps",
      threshold: 0.25,
      rates,
      target: address("2001:db8::1"),
      group: "web",
    });
    const refused = ban({ state: "rejected", reason: "max_active_bans reached" });
    expect(text(attackEvent({ kind: "attack_changed", attack: grown, ban: refused }))).toEqual([
      "Attack on 2001:db8::1 grows: 1,235 SYN Mbit/s, threshold 0.25",
      "In all: 100 packets/s, 0 Mbit/s, 0 new flows/s; hostgroup web",
      "Ban: refused, max_active_bans reached",
      "Since 2026-03-01 12:00:00 UTC",
    ]);
  });

  test("that is over, with its ban", () => {
    const over = attack({ endedAt: NOON + 3_723_000 });
    const withdrawn = ban({ state: "withdrawn", reason: "attack ended" });
    expect(text(attackEvent({ kind: "attack_ended", attack: over, ban: withdrawn }))).toEqual([
      "Attack on 192.0.2.1 is over after 1 h 2 min 3 s",
      "Last seen: 1,500 packets/s, threshold 1,000",
      "Ban: withdrawn, attack ended",
      "From 2026-03-01 12:00:00 UTC to 2026-03-01 13:02:03 UTC",
    ]);
  });

  test("that is over, with what it amounts to, where that was counted", () => {
    const volume = {
      beganAt: NOON,
      durationMs: 200,
      packets: 40_000,
      bits: 320e6,
      peakPps: 200_400,
      peakBps: 1.6e9,
      peakOverMs: 100,
      dropped: { packets: 12_345, bits: 1e8 },
    };
    const over = attack({ endedAt: NOON + 1000, volume });
    expect(text(attackEvent({ kind: "attack_ended", attack: over }))[1]).toBe(
      "Size: peak 200,400 packets/s, 1.6 Gbit/s; 40,000 packets, 320 Mbit in 0.2 s, dropped 12,345 packets",
    );
  });

  test("from inside, on a group, with a virtual ban, with none", () => {
    const from = attackEvent({ attack: attack({ direction: "outgoing" }), ban: ban({ dryRun: true }) });
    expect(text(from)[0]).toStartWith("Outgoing attack from 192.0.2.1: ");
    expect(text(from)[2]).toBe("Ban: blackhole until 2026-03-01 12:10:00 UTC, virtual: nothing is announced");
    const group = attackEvent({ attack: attack({ scope: "group", target: null, group: "web" }) });
    expect(text(group)[0]).toStartWith("Attack on hostgroup web: ");
    expect(text(group)[2]).toBe("Ban: none");
  });

  test.each([
    ["flows_per_sec", "7 new flows/s"],
    ["tcp_pps", "7 TCP packets/s"],
    ["udp_mbps", "7 UDP Mbit/s"],
    ["icmp_pps", "7 ICMP packets/s"],
    ["frag_pps", "7 fragment packets/s"],
  ] as const)("by %s is shown as %s", (metric, expected) => {
    const event = attackEvent({ attack: attack({ metric, rates: thresholds({ [metric]: 7 }), threshold: 5 }) });
    expect(text(event)[0]).toBe(`Attack on 192.0.2.1: ${expected}, threshold 5`);
  });
});

describe("a ban", () => {
  test("of a prefix names all of it", () => {
    const prefix = canonicalPrefix("192.0.2.0/24");
    const wide = { ...ban(), prefix, target: prefix.address };
    expect(text(banEvent({ ban: wide }))[0]).toBe("Ban of 192.0.2.0/24 is active");
  });

  test("that an attack caused", () => {
    expect(text(banEvent())).toEqual([
      "Ban of 192.0.2.1 is active",
      "For 1,500 packets/s, threshold 1,000",
      "blackhole: 192.0.2.1/32 next-hop 192.0.2.254 community 65535:666",
      "Since 2026-03-01 12:00:00 UTC, until 2026-03-01 12:10:00 UTC",
    ]);
  });

  test("of an operator, without a speaker", () => {
    expect(text(banEvent({ ban: ban({ manual: true, route: null }) })).slice(1, 3)).toEqual([
      "By an operator",
      "blackhole: no BGP speaker: nothing is announced",
    ]);
  });

  test("that is withdrawn", () => {
    const withdrawn = ban({ state: "withdrawn", withdrawnAt: NOON + 5000, reason: "manual unban" });
    expect(text(banEvent({ kind: "ban_withdrawn", ban: withdrawn }))).toEqual([
      "Ban of 192.0.2.1 is withdrawn: manual unban",
      "For 1,500 packets/s, threshold 1,000",
      "Since 2026-03-01 12:00:00 UTC, until 2026-03-01 12:00:05 UTC",
    ]);
  });

  test("that is refused, with a reason of several lines in one", () => {
    const rejected = ban({ state: "rejected", reason: "bgp announce failed: no\r\nSubject: x" });
    expect(text(banEvent({ kind: "ban_rejected", ban: rejected }))[0]).toBe(
      "Ban of 192.0.2.1 is refused: bgp announce failed: no Subject: x",
    );
  });
});

test("a BGP session that is lost, and one that is back", () => {
  expect(text(sessionEvent())).toEqual([
    "BGP session with 192.0.2.254 (AS 64501) is lost",
    "Its state is idle",
    "2026-03-01 12:01:00 UTC",
  ]);
  expect(text(sessionEvent({ kind: "bgp_session_restored" }))).toEqual([
    "BGP session with 192.0.2.254 (AS 64501) is up again",
    "2026-03-01 12:01:00 UTC",
  ]);
  const neighbor = { address: "192.0.2.254", remoteAsn: 64501, state: "removed" };
  expect(text(sessionEvent({ kind: "bgp_session_restored", neighbor }))).toEqual([
    "BGP session with 192.0.2.254 (AS 64501) is not configured any more",
    "2026-03-01 12:01:00 UTC",
  ]);
});

test("a state database that was damaged", () => {
  expect(text(stateEvent())).toEqual([
    "The state database was damaged: bans may be lost, and their routes withdrawn",
    "Salvaged: 2 bans, 1 attacks, 0 source blocks, 0 levers",
    "Moved to /state/state.db.damaged-1: file is not a database",
    "2026-03-01 12:01:00 UTC",
  ]);
});

test("a cap on bans that is reached, and a table of attacks that is full", () => {
  expect(text(capEvent({ name: "max_banned_fraction", limit: 0.25, refused: 1200, replaced: 3 }))).toEqual([
    "ban.max_banned_fraction is reached, at 0.25: only the largest attacks are banned",
    "1,200 bans refused, 3 replaced by those of worse attacks",
    "2026-03-01 12:01:00 UTC",
  ]);
  expect(text(capEvent({ name: "carpets", limit: 64, refused: 1, replaced: 0 }))).toEqual([
    "The table of carpets is full, at 64: only the largest attacks are kept",
    "1 detections refused, 0 replaced by those of worse attacks",
    "2026-03-01 12:01:00 UTC",
  ]);
});

test("a fault of an exporter, and its end", () => {
  expect(text(exporterEvent())).toEqual([
    "Exporter edge1 (192.0.2.1) is silent: no datagram for 60 s",
    "2026-03-01 12:01:00 UTC",
  ]);
  const exporter = { name: "192.0.2.1", address: "192.0.2.1", fault: "left_out", found: "", remedy: "" };
  expect(text(exporterEvent({ kind: "exporter_fault_over", exporter }))).toEqual([
    "Exporter 192.0.2.1 is no longer left out",
    "2026-03-01 12:01:00 UTC",
  ]);
  expect([exporterEvent(), exporterEvent({ exporter })].map((event) => hintsOf(event, null))).toEqual([
    ["To do: See whether it runs"],
    [],
  ]);
});

test("a scrub node that refuses bans, and its end", () => {
  expect(text(scrubNodeEvent())).toEqual([
    "Scrub node s1 does not enforce what it gets: it refuses 1 ban, first 192.0.2.7/32: is not inside of bounds.networks",
    "These bans go to other nodes, or as scrubbing.on_all_nodes_lost says",
    "2026-03-01 12:01:00 UTC",
  ]);
  expect(text(scrubNodeEvent({ kind: "scrub_node_fault_over", scrubNode: { name: "s1", found: "" } }))).toEqual([
    "Scrub node s1 enforces what it gets again",
    "2026-03-01 12:01:00 UTC",
  ]);
});

test("a part that ceases to work, and works again", () => {
  expect(text(conditionEvent())).toEqual([
    "Scrub node s1 is lost: no poll for 15 s",
    "Bans that divert to it go to other nodes, or as scrubbing.on_all_nodes_lost says",
    "2026-03-01 12:01:00 UTC",
  ]);
  expect(text(conditionEvent({ kind: "speaker_up", condition: { name: "(managed)", found: "" } }))).toEqual([
    "BGP speaker (managed) answers again",
    "2026-03-01 12:01:00 UTC",
  ]);
});

test("orders, one and many", () => {
  expect(text(orderEvent())).toEqual([
    "Filter rule r1 was ordered by noc",
    "Reason: ticket 7",
    "Until 2026-03-01 13:00:00 UTC",
    "2026-03-01 12:01:00 UTC",
  ]);
  const many = { type: "source_block", count: 240, targets: ["a->b", "c->d"], operator: "", reason: "" } as const;
  expect(text(orderEvent({ ...many, end: "expired" }, "order_ended"))).toEqual([
    "240 source blocks ended: expired",
    "a->b, c->d and 238 more",
    "2026-03-01 12:01:00 UTC",
  ]);
  const heads = [true, false].map((isReasonOfOrder) => {
    const end = isReasonOfOrder ? "expired" : "removed";
    return text(orderEvent({ end, isReasonOfOrder }, "order_ended"))[0];
  });
  expect(heads).toEqual(["Filter rule r1, ordered by noc, ended: expired", "Filter rule r1 ended by noc: removed"]);
});

test("an attack that is not held, and a ban whose search found no rules", () => {
  expect(text(attackEvent({ kind: "attack_not_held" }))[0]).toBe(
    "Attack on 192.0.2.1 is not held, more than its threshold gets through what this machine drops: 1,500 packets/s, threshold 1,000",
  );
  expect(text(banEvent({ kind: "rules_not_found" }))[0]).toBe(
    "No rules for the ban of 192.0.2.1: no rule separates the attack from the users of its victim",
  );
});
