/** `floodwall replay --json`: what a script gets, of the same run that people read about. */
import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { AttackWire } from "../../src/http/wire/attack.ts";
import { BanWire } from "../../src/http/wire/ban.ts";
import { evenly, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { ethernet, ip, udp } from "../fixtures/packets/frames.ts";
import { datagram, flood, floodwall, replayCapture } from "../fixtures/replay-command.ts";

const VICTIM = "203.0.113.7";
const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 100000 }
mitigation: flowspec
ban: { unban_hysteresis_seconds: 1 }
hostgroups: [{ name: web, networks: [203.0.113.0/28], tenant: acme }]
bgp: { local_asn: 64500, router_id: 192.0.2.1, next_hop: 192.0.2.9, neighbors: [{ address: 192.0.2.2, remote_asn: 64500 }] }
`;

interface Line extends Readonly<Record<string, unknown>> {
  readonly event: string;
  readonly at: string;
  readonly attack: AttackWire;
  readonly ban: BanWire;
}

function replayed(capture: Uint8Array, config = CONFIG) {
  const { exitCode, lines, errors } = replayCapture(capture, config, "--json");
  const events = lines.map((line) => JSON.parse(line) as Line);
  return {
    exitCode,
    errors,
    events,
    summary: events.at(-1) as Line,
    of: (name: string) => events.filter(({ event }) => event === name),
  };
}

const answer = ethernet(
  ip({ src: "198.51.100.9", dst: VICTIM }, udp({ sourcePort: 53, payload: new Uint8Array(400) })),
);

describe("floodwall replay --json", () => {
  test("tells an attack from its start to its end, with the rows of the API and the capture's times", () => {
    const { exitCode, errors, events, of } = replayed(flood(answer, 10_000, 3));
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: "" });
    expect(events.map(({ event }) => event)).toEqual([
      "attack_started",
      "ban_active",
      "ban_changed",
      "attack_classified",
      "attack_ended",
      "ban_withdrawn",
      "summary",
    ]);
    for (const { attack } of [...of("attack_started"), ...of("attack_classified"), ...of("attack_ended")]) {
      expect([...Value.Errors(AttackWire, attack)]).toEqual([]);
    }
    for (const { ban } of [...of("ban_active"), ...of("ban_changed"), ...of("ban_withdrawn")]) {
      expect([...Value.Errors(BanWire, ban)]).toEqual([]);
    }
    const [started] = of("attack_started");
    expect(started?.at).toMatch(/^2023-11-14T22:13:20\.[12]00Z$/);
    expect(started?.attack).toMatchObject({
      target: VICTIM,
      group: "web",
      tenant: "acme",
      metric: "pps",
      threshold: 1000,
    });
    const [ended] = of("attack_ended");
    expect(ended?.attack).toMatchObject({
      id: started?.attack.id,
      active: false,
      started_at: started?.at,
      ended_at: ended?.at,
      classification: { type: "dns_amplification", src_port: 53 },
      sample: { top_sources: [{ key: "198.51.100.9" }] },
      ban_state: "withdrawn",
    });
    expect(of("ban_changed")[0]?.ban).toMatchObject({
      method: "flowspec",
      flowspec: [{ src_port: 53 }],
      dry_run: true,
    });
    expect(of("ban_withdrawn")[0]?.ban).toMatchObject({ prefix: `${VICTIM}/32`, reason: "attack ended" });
  });

  test("sums up last: packets of all kinds, attacks and bans", () => {
    const frames = [
      ...new Array(10).fill(datagram(VICTIM)),
      ...new Array(5).fill(datagram("192.0.2.77")),
      ...new Array(3).fill(new Uint8Array(10)),
    ];
    const summary: unknown = replayed(pcapBytes(evenly(frames))).summary;
    expect(summary).toEqual({
      event: "summary",
      capture: expect.stringMatching(/capture\.pcap$/),
      started_at: expect.stringMatching(/^2023-11-14T22:13:20\./),
      ended_at: expect.stringMatching(/^2023-11-14T22:13:21\./),
      packets: { received: 18, counted: 10, untracked: 0, foreign: 5, parse_errors: { truncated_ethernet: 3 } },
      attacks: { total: 0, lasting: 0, refused: 0 },
      bans: { active: 0, withdrawn: 0, rejected: 0 },
      unjudged_rows: 0,
    });
  });

  test("names attacks that still go on at the end of the capture, and bans that are refused", () => {
    const config = `${CONFIG.replace("seconds: 1", "seconds: 100")}protected_whitelist: [${VICTIM}]\n`;
    const { events, of, summary } = replayed(flood(answer, 5000, 2), config);
    expect(of("attack_lasts")).toHaveLength(1);
    expect(of("attack_lasts")[0]?.attack).toMatchObject({ active: true, ban_state: "rejected" });
    expect(of("ban_rejected")).toHaveLength(1);
    expect(events.at(-2)?.event).toBe("attack_lasts");
    expect(summary).toMatchObject({
      attacks: { total: 1, lasting: 1 },
      bans: { active: 0, withdrawn: 0, rejected: 1 },
    });
  });

  test("of a damaged capture tells what came before, why it ends, and by the exit code that it does", () => {
    const whole = flood(datagram(VICTIM), 1000, 1);
    const { exitCode, summary } = replayed(whole.subarray(0, whole.length - 50));
    expect(exitCode).toBe(3);
    expect(summary).toMatchObject({ packets: { received: 1019 }, error: expect.stringContaining("is damaged") });
  });

  test("writes nothing to standard output when it cannot begin", () => {
    const { exitCode, lines, errors } = replayCapture(new Uint8Array(0), CONFIG, "--json");
    expect({ exitCode, lines }).toEqual({ exitCode: 1, lines: [""] });
    expect(errors).toContain("capture.pcap");
  });

  test.each([
    [["replay", "--json"], "CAPTURE is missing"],
    [["replay", "a.pcap", "b.pcap", "--json"], "unexpected b.pcap"],
    [["check", "a.yaml", "--json"], "--json goes with replay and dataplane status alone"],
    [["replay", "a.pcap", "--jsom"], "Unknown option '--jsom'"],
  ])("refuses %p", (args, message) => {
    const { exitCode, errors } = floodwall(...args);
    expect(exitCode).toBe(2);
    expect(errors).toContain(message);
    expect(errors).toContain("usage:");
  });

  test("tells in its help what it exits with", () => {
    const { exitCode, lines } = floodwall("--help");
    expect(exitCode).toBe(0);
    expect(lines.join("\n")).toContain("3 the capture is damaged");
  });
});
