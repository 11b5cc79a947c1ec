/** `floodwall replay --suggest`: what it proposes for a capture, and that the false alarms that it reports are real ones. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CapturedFrame, evenly, pcapBytes } from "../../test/fixtures/captures/pcap-writer.ts";
import { ethernet, ip, udp } from "../../test/fixtures/packets/frames.ts";
import { datagram, floodwall, replayed } from "../../test/fixtures/replay-command.ts";
import { TemporaryFolder } from "../../test/fixtures/temporary-folder.ts";
import { parseConfig } from "../config/load/load.ts";
import type { SuggestionWire } from "./suggest-text.ts";

const NETWORKS = "networks: [203.0.113.0/24]\n";
const CONFIG = `${NETWORKS}thresholds: { pps: 90000, mbps: 900, flows_per_sec: 9000 }
ban: { unban_hysteresis_seconds: 1 }
`;
const GROUPS = `thresholds_outgoing: { pps: 90000 }
hostgroups: [{ name: web, networks: [203.0.113.0/28], tenant: acme }, { name: idle, networks: [203.0.113.128/25] }]
`;
const LEARNING = `baseline: { warmup_seconds: 3, half_life_seconds: 10, floor: { pps: 1, mbps: 1, flows_per_sec: 1 } }
`;
const START_MS = 1_700_000_000_000;

setDefaultTimeout(60_000);

const steady = (frame: Uint8Array, pps: number, seconds: number, atSeconds = 0) =>
  evenly(new Array<Uint8Array>(pps * seconds).fill(frame), {
    startMs: START_MS + 1000 * atSeconds,
    stepMs: 1000 / pps,
  });

function capture(...parts: readonly (readonly CapturedFrame[])[]): Uint8Array {
  return pcapBytes(parts.flat().sort((a, b) => Number(a.atNs - b.atNs)));
}

/** 40 hosts of 20 packets a second, of which one has two bursts of a second, and one of a hostgroup with 200. */
const NORMAL = capture(
  ...Array.from({ length: 40 }, (_, i) => steady(datagram(`203.0.113.${40 + i}`), 20, 12)),
  steady(datagram("203.0.113.40"), 700, 1, 3),
  steady(datagram("203.0.113.40"), 700, 1, 8),
  steady(datagram("203.0.113.5"), 200, 12),
  steady(ethernet(ip({ src: "203.0.113.5", dst: "198.51.100.9" }, udp({ payload: new Uint8Array(900) }))), 50, 12),
);

async function suggested(bytes: Uint8Array, config: string) {
  const { exitCode, lines } = await replayed(bytes, config, { isSuggesting: true, format: "json" });
  return { exitCode, wire: JSON.parse(lines.join("\n")) as SuggestionWire };
}

test("reports the rates of each hostgroup, and proposes twice the peak, of either direction", async () => {
  const { exitCode, wire } = await suggested(NORMAL, CONFIG + GROUPS);
  expect(exitCode).toBe(0);
  expect(wire.packets).toMatchObject({ received: 40 * 240 + 1400 + 2400 + 600, foreign: 0 });
  expect(wire.hosts_max).toBe(41);
  const peaks = wire.seen.map(({ group, direction, rates: { pps } }) => [group, direction, Math.round(pps?.peak ?? 0)]);
  expect(peaks).toEqual([
    ["global", "incoming", 720],
    ["web", "incoming", 200],
    ["web", "outgoing", 50],
  ]);
  expect<string | undefined>(wire.seen[0]?.busiest[0]?.target).toBe("203.0.113.40");
  expect(wire.suggested).toMatchObject({ name: "peak x 2", false_alarms: { attacks: 0, hosts: 0, refused: 0 } });
  expect(wire.suggested.sections).toMatchObject({
    thresholds: { pps: 1500 },
    thresholds_outgoing: { pps: 90_000 },
    hostgroups: [
      { name: "web", tenant: "acme", thresholds: { pps: 400 }, thresholds_outgoing: { pps: 100 } },
      { name: "idle", networks: ["203.0.113.128/25"] },
    ],
  });
  expect(wire.notes).toEqual([
    expect.stringContaining("none is suggested from less than 1200 s"),
    expect.stringMatching(/^203\.0\.113\.40 \(global, incoming\) has up to 7\d\d pps, over 10 times/),
  ]);
});

test("reports as many false alarms for each choice as a replay with it raises, and suggests no baseline that has any", async () => {
  const { choices, suggested: best } = (await suggested(NORMAL, CONFIG + LEARNING)).wire;
  const tried = ["p99 x 2", "p99.9 x 2", "peak x 2, baseline x 2", "peak x 2, baseline x 5"];
  for (const { name, sections, false_alarms: alarms } of choices.filter(({ name }) => tried.includes(name))) {
    const config = { networks: ["203.0.113.0/24"], ban: { unban_hysteresis_seconds: 1 }, ...(sections as object) };
    const { lines } = await replayed(NORMAL, JSON.stringify(config), { format: "json" });
    const events = lines.map((line) => JSON.parse(line) as { event: string; attack: { target: string } });
    const started = events.filter(({ event }) => event === "attack_started");
    const hosts = new Set(started.map(({ attack }) => attack.target));
    expect([name, started.length, hosts.size]).toEqual([name, alarms.attacks, alarms.hosts]);
  }
  // Two bursts of one host: the choices differ in what they make of them.
  expect(new Set(choices.map(({ false_alarms: { attacks } }) => attacks)).size).toBeGreaterThan(1);
  const strict = choices.find(({ name }) => name === "p99 x 2")?.false_alarms;
  expect(strict).toEqual({ attacks: 2, hosts: 1, refused: 0 });
  const baselines = choices.filter(({ name }) => name.includes("baseline"));
  expect(baselines.map(({ false_alarms: { hosts } }) => hosts)).toEqual([1, 1, 1]);
  expect(best.name).toBe("peak x 2");
});

test("suggests a baseline that has warmed up and raised no false alarm", async () => {
  const calm = capture(...[1, 2, 3].map((i) => steady(datagram(`203.0.113.${40 + i}`), 150, 12)));
  const { wire } = await suggested(calm, CONFIG + LEARNING);
  const sections = { baseline: { factor: 3, warmup_seconds: 3, half_life_seconds: 10 } };
  expect(wire).toMatchObject({ suggested: { name: "peak x 2, baseline x 3", sections }, notes: [] });
});

test("is, as text, a fragment that stands in the file as it is, and is valid there", async () => {
  const { exitCode, lines } = await replayed(NORMAL, CONFIG + GROUPS, { isSuggesting: true });
  const text = lines.join("\n");
  expect(exitCode).toBe(0);
  expect(text).toMatch(/^# choice +attacks +hosts +pps +mbps +flows_per_sec$/m);
  expect(text).toMatch(/^# p99 x 2 +2 +1 /m);
  expect(text).toMatch(/^# peak x 2 +0 +0 +1500 /m);
  const pasted = `${NETWORKS}${text}\n`;
  expect(parseConfig(new TextEncoder().encode(pasted)).kind).toBe("valid");
  expect((await replayed(NORMAL, pasted)).lines.at(-1)).toBe("attacks: 0, still in progress at the end: 0");
});

test("judges hostgroups that are judged as a whole by their sums", async () => {
  const total = "hostgroups: [{ name: all, networks: [203.0.113.0/25], calculation: total }]\n";
  const { wire } = await suggested(NORMAL, CONFIG + total);
  expect(wire.seen.map(({ group, rates }) => [group, Math.round(rates["pps"]?.peak ?? 0)])).toEqual([["all", 1700]]);
  expect(wire.suggested.sections).toMatchObject({ hostgroups: [{ calculation: "total", thresholds: { pps: 3400 } }] });
});

test("says when there were more hosts than the table holds", async () => {
  const hosts = Array.from({ length: 50 }, (_, i) => steady(datagram(`203.0.113.${i}`), 2, 3));
  const { wire } = await suggested(capture(...hosts), `${CONFIG}capture: { pcap_file: /unused.pcap, max_hosts: 10 }\n`);
  expect(wire.hosts_max).toBeLessThanOrEqual(10);
  expect(wire.notes[0]).toMatch(/the host table was full: \d+ packets of \d+ hosts .* raise capture\.max_hosts/);
});

test("of a damaged capture reports what came before, and exits with 3", async () => {
  const { exitCode, wire } = await suggested(NORMAL.subarray(0, NORMAL.length - 20), CONFIG);
  expect(exitCode).toBe(3);
  expect(wire.notes.join("\n")).toContain("the capture ends early");
});

test("proposes nothing without traffic of the networks, and says what to do", async () => {
  const foreign = suggested(capture(steady(datagram("192.0.2.7"), 10, 1)), CONFIG);
  expect(foreign).rejects.toThrow("has no packet to the configured networks: check networks");
});

test("refuses a pipe, which cannot be read twice, as capture and as configuration", () => {
  using directory = new TemporaryFolder("suggest");
  const [pipe, path] = [directory.at("pipe"), directory.at("c.yaml")];
  execFileSync("mkfifo", [pipe]);
  writeFileSync(path, CONFIG);
  const refused = floodwall("replay", pipe, "--config", path, "--suggest");
  expect(refused).toMatchObject({ exitCode: 1, errors: expect.stringContaining("save it to a file first") });
  writeFileSync(directory.at("capture.pcap"), capture(steady(datagram("203.0.113.7"), 10, 1)));
  const script = 'cat c.yaml | "$0" "$1" replay capture.pcap --config /dev/stdin --suggest';
  const main = join(import.meta.dir, "../main.ts");
  const piped = Bun.spawnSync(["sh", "-c", script, process.execPath, main], { cwd: directory.path });
  expect(piped.exitCode).toBe(1);
  expect(piped.stderr.toString()).toContain("name a file, not a pipe");
});
