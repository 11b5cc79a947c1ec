/** Captures through the whole packet path, by the command line and by the running service. */
import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { evenly, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { ethernet, ip, TCP_FLAGS, tcp, udp } from "../fixtures/packets/frames.ts";
import { datagram, flood, floodwall, replayCapture } from "../fixtures/replay-command.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";

const VICTIM = "203.0.113.7";
const CONFIG = `
networks: [203.0.113.0/24, 2001:db8::/32]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 100000, tcp_syn_pps: 500 }
ban: { unban_hysteresis_seconds: 1 }
`;
/** For replays only: the running service would dial the neighbor. */
const BGP = `bgp: { local_asn: 64500, router_id: 192.0.2.1, next_hop: 192.0.2.9, neighbors: [{ address: 192.0.2.2, remote_asn: 64500 }] }
`;

const undo: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

function folder(): string {
  const directory = mkdtempSync(join(tmpdir(), `floodwall-replay-${process.pid}-`));
  undo.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const syn = (dst: string) => ethernet(ip({ src: "198.51.100.9", dst }, tcp({ flags: TCP_FLAGS.syn })));
const replay = (capture: Uint8Array, config = CONFIG + BGP) => replayCapture(capture, config);

describe("floodwall replay", () => {
  test("tells attack, ban and end with the capture's times", () => {
    const { exitCode, lines, errors } = replay(flood(datagram(VICTIM), 10_000, 3));
    expect(errors).toBe("");
    expect(exitCode).toBe(0);
    const text = lines.join("\n");
    // 10,000 packets a second cross 1,000 in a window after a tenth of a second.
    expect(text).toMatch(/2023-11-14T22:13:20\.[12]\d\dZ {2}attack started {2}203\.0\.113\.7 {2}pps \d+ > 1000/);
    expect(text).toContain("ban             203.0.113.7/32 next-hop 192.0.2.9 community 65535:666");
    expect(text).toMatch(/attack ended {4}203\.0\.113\.7/);
    expect(text).toContain("ban withdrawn   203.0.113.7/32  attack ended");
    expect(text).toContain("30020 packets: 30020 counted, 0 untracked, 0 of no configured network");
    expect(text).toContain("attacks: 1, still in progress at the end: 0");
  });

  test("names the metric that was crossed first in the configured order", () => {
    const { lines } = replay(flood(syn(VICTIM), 800, 2));
    expect(lines.join("\n")).toMatch(/attack started {2}203\.0\.113\.7 {2}tcp_syn_pps \d+ > 500/);
  });

  test("sees nothing in traffic at the threshold", () => {
    const { lines } = replay(flood(datagram(VICTIM), 1000, 3));
    expect(lines.at(-1)).toBe("attacks: 0, still in progress at the end: 0");
  });

  test("tells what a host sends apart from what it gets, when that is judged", () => {
    const sent = ethernet(ip({ src: VICTIM, dst: "198.51.100.9" }, udp({ payload: new Uint8Array(100) })));
    const capture = flood(sent, 900, 2);
    const { lines } = replay(capture, `${CONFIG}${BGP}thresholds_outgoing: { pps: 500 }\n`);
    const text = lines.join("\n");
    expect(text).toMatch(/attack started {2}203\.0\.113\.7 outgoing {2}pps \d+ > 500/);
    expect(text).toMatch(/attack ended {4}203\.0\.113\.7 outgoing/);
    expect(replay(capture).lines.at(-1)).toBe("attacks: 0, still in progress at the end: 0");
  });

  test("alerts for a hostgroup that is judged as a whole, and bans none of its hosts", () => {
    const frames = Array.from({ length: 6000 }, (_, i) => datagram(`203.0.113.${i % 100}`));
    const capture = pcapBytes(evenly(frames, { stepMs: 1 / 3 }));
    const whole = "hostgroups: [{ name: web, networks: [203.0.113.0/25], calculation: total }]\n";
    const text = replay(capture, `${CONFIG}${BGP}${whole}`).lines.join("\n");
    expect(text).toMatch(/attack started {2}hostgroup web {2}pps \d+ > 1000/);
    expect(text).toContain("attack vector   hostgroup web  udp_flood, confidence 1.00");
    expect(text).toMatch(/attack sample {3}hostgroup web {2}udp 100 %, from 198\.51\.100\.9 100 %.* of \d+ packets/);
    expect(text).not.toContain("ban ");
    expect(text).toContain("attacks: 1, ");
    // A tenth of its threshold each: none of them is attacked by itself.
    expect(replay(capture).lines.at(-1)).toBe("attacks: 0, still in progress at the end: 0");
  });

  test("finds an attack that is spread over a prefix, whose hosts are all under their thresholds", () => {
    const frames = Array.from({ length: 9000 }, (_, i) => datagram(`203.0.113.${i % 100}`));
    const capture = pcapBytes(evenly(frames, { stepMs: 1 / 3 }));
    const text = replay(capture, `${CONFIG}${BGP}carpet: { thresholds: { pps: 2000 } }\n`).lines.join("\n");
    expect(text).toMatch(/attack started {2}203\.0\.113\.0\/24 \(100 hosts\) {2}pps \d+ > 2000/);
    expect(text).toContain("attack vector   203.0.113.0/24  udp_flood, confidence 1.00");
    expect(text).not.toContain("ban ");
  });

  test("judges by what it has learned of a host, and not by more than its threshold", () => {
    const calm = evenly(new Array(2000).fill(datagram(VICTIM)), { stepMs: 5 });
    const busy = evenly(new Array(1500).fill(datagram(VICTIM)), { startMs: 1_700_000_010_000, stepMs: 1 / 0.8 });
    const capture = pcapBytes([...calm, ...busy]);
    // 200 packets a second are normal, so that 800 are not, though the threshold is 1000.
    const learning = "baseline: { warmup_seconds: 5, floor: { pps: 300, mbps: 50, flows_per_sec: 1000 } }\n";
    const text = replay(capture, `${CONFIG}${BGP}${learning}`).lines.join("\n");
    const [, rate = "", limit = ""] = /attack started {2}203\.0\.113\.7 {2}pps (\d+) > ([\d.]+)/.exec(text) ?? [];
    expect(Number(limit)).toBeGreaterThan(590);
    expect(Number(limit)).toBeLessThan(620);
    expect(Number(rate)).toBeLessThan(1000);
    expect(replay(capture).lines.at(-1)).toBe("attacks: 0, still in progress at the end: 0");
  });

  test("counts what is cut off at the end of a broken capture, and says so", () => {
    const whole = flood(datagram(VICTIM), 1000, 1);
    const { exitCode, lines } = replay(whole.slice(0, whole.length - 50));
    expect(exitCode).toBe(3);
    expect(lines.join("\n")).toContain("1019 packets");
    expect(lines.join("\n")).toContain("the capture ends early");
  });

  test.each([
    ["is no capture", new TextEncoder().encode("hello, I am a text file, not a capture")],
    ["is empty", new Uint8Array(0)],
  ])("says so when the file %s", (_, bytes) => {
    const { exitCode, errors } = replay(bytes);
    expect(exitCode).toBe(1);
    expect(errors).toContain("capture.pcap");
  });

  test("says so when the file is missing or the configuration is wrong", () => {
    const directory = folder();
    writeFileSync(join(directory, "floodwall.yaml"), CONFIG);
    const missing = floodwall("replay", "/nowhere.pcap", "--config", join(directory, "floodwall.yaml"));
    expect(missing.exitCode).toBe(1);
    expect(missing.errors).toContain("/nowhere.pcap");
    expect(replay(flood(datagram(VICTIM), 10, 1), "nonsense: 1")).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining("floodwall.yaml:1: nonsense: "),
    });
  });
});

test("the service on a capture file detects, bans in dry run and ends, with wall time in its records", async () => {
  const directory = folder();
  writeFileSync(join(directory, "flood.pcap"), flood(datagram(VICTIM), 10_000, 2));
  const capture = `capture: { pcap_file: ${join(directory, "flood.pcap")}, pace: real }\n`;
  const startMs = Date.now();
  const service = await ServiceProcess.start({ config: CONFIG + capture });
  undo.push(() => service.remove());
  const attacks = async () =>
    (await service.get<Record<"active" | "recent", Record<string, unknown>[]>>("/api/v1/attacks")).body;
  await eventually(
    async () => (await attacks()).active.length === 1,
    () => `no attack:\n${service.output}`,
  );
  const [attack] = (await attacks()).active;
  expect(attack).toMatchObject({ target: VICTIM, metric: "pps", threshold: 1000, ban_state: "active", dry_run: true });
  expect(Date.parse(attack?.["started_at"] as string)).toBeGreaterThan(startMs);
  const { hosts } = (await service.get<{ hosts: Record<string, unknown>[] }>("/api/v1/hosts")).body;
  expect(hosts.find(({ target }) => target === VICTIM)).toMatchObject({ in_attack: true, metric: "pps" });
  await eventually(
    async () => (await attacks()).recent.length === 1,
    () => `no end:\n${service.output}`,
  );
  expect((await attacks()).recent[0]).toMatchObject({ active: false, ban_state: "withdrawn" });
});

test("the service shows what hosts send, and an attack from inside, where that is judged", async () => {
  const directory = folder();
  const sent = ethernet(ip({ src: VICTIM, dst: "198.51.100.9" }, udp({ payload: new Uint8Array(100) })));
  writeFileSync(join(directory, "flood.pcap"), flood(sent, 900, 20));
  const capture = `capture: { pcap_file: ${join(directory, "flood.pcap")}, pace: real }\n`;
  const service = await ServiceProcess.start({ config: `${CONFIG}thresholds_outgoing: { pps: 500 }\n${capture}` });
  undo.push(() => service.remove());
  const read = async (path: string, list: string) =>
    (await service.get<Record<string, Record<string, unknown>[]>>(path)).body[list] ?? [];
  await eventually(
    async () => (await read("/api/v1/attacks", "active")).length === 1,
    () => `no attack:\n${service.output}`,
  );
  expect((await read("/api/v1/attacks", "active"))[0]).toMatchObject({
    scope: "host",
    target: VICTIM,
    direction: "outgoing",
    metric: "pps",
    threshold: 500,
  });
  const [host] = (await read("/api/v1/hosts", "hosts")).filter(({ target }) => target === VICTIM);
  expect(host).toMatchObject({ in_attack: true, direction: "outgoing", rates: { pps: 0 } });
  const { pps = 0 } = (host?.["rates_out"] ?? {}) as { pps?: number };
  expect(pps).toBeGreaterThan(500);
}, 60_000);
