/** Autonomous systems and countries of sources, from the files that the configuration names to what is shown of an attack. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { evenly, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { ASN_FILE, COUNTRY_FILE, originFile } from "../fixtures/origin-file.ts";
import { datagram, flood, floodwall, replayCapture } from "../fixtures/replay-command.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";

const VICTIM = "203.0.113.7";
const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 100000 }
ban: { unban_hysteresis_seconds: 1 }
`;

let directory: string;
let service: ServiceProcess | null = null;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), `floodwall-origins-${process.pid}-`));
});
afterEach(async () => {
  await service?.remove();
  service = null;
  rmSync(directory, { recursive: true, force: true });
});

/** As operators replace such files: never half written under its name. */
function put(name: string, bytes: Uint8Array): string {
  const path = join(directory, name);
  writeFileSync(`${path}.new`, bytes);
  renameSync(`${path}.new`, path);
  return path;
}

const samples = (asn: string, country: string) => `samples: { asn_file: ${asn}, country_file: ${country} }\n`;

test("replay tells where the sources of an attack are", () => {
  const files = samples(put("asn.mmdb", ASN_FILE()), put("country.mmdb", COUNTRY_FILE()));
  const { exitCode, lines } = replayCapture(flood(datagram(VICTIM), 5000, 2), CONFIG + files, "--json");
  expect(exitCode).toBe(0);
  const events = lines.map((line) => JSON.parse(line) as { event: string; attack?: AttackWire });
  const sample = events.find(({ event }) => event === "attack_ended")?.attack?.sample;
  const { packets = 0, bytes = 0 } = sample?.top_sources[0] ?? {};
  expect(packets).toBeGreaterThan(0);
  expect(sample?.top_sources).toEqual([
    { key: "198.51.100.9", packets, bytes, asn: 64500, as_name: "Example Net", country: "DE" },
  ]);
  expect(sample?.top_asns).toEqual([{ key: "AS64500 Example Net", packets, bytes }]);
  expect(sample?.top_countries).toEqual([{ key: "DE", packets, bytes }]);
  const text = replayCapture(flood(datagram(VICTIM), 5000, 2), CONFIG + files).lines.join("\n");
  expect(text).toContain("from 198.51.100.9 100 % (AS64500 Example Net 100 %, DE 100 %), ports");
});

describe("a file that cannot be used", () => {
  test("is an error of the configuration, with its line, for check and for replay", () => {
    const path = put(
      "floodwall.yaml",
      new TextEncoder().encode(CONFIG + samples("/nowhere.mmdb", put("c.mmdb", ASN_FILE()))),
    );
    const { exitCode, lines } = floodwall("check", path);
    expect(exitCode).toBe(1);
    expect(lines).toEqual([
      expect.stringMatching(/floodwall\.yaml:5: samples\.asn_file: \/nowhere\.mmdb cannot be read .*download it again/),
      expect.stringMatching(
        /floodwall\.yaml:5: samples\.country_file: .*c\.mmdb is of the kind "GeoLite2-ASN", not one/,
      ),
      expect.stringMatching(/2 errors$/),
    ]);
    const replayed = floodwall("replay", put("a.pcap", flood(datagram(VICTIM), 10, 1)), "--config", path);
    expect(replayed).toMatchObject({ exitCode: 1, errors: expect.stringContaining("/nowhere.mmdb cannot be read") });
  });

  test("keeps the service from starting", async () => {
    service = await ServiceProcess.spawn({ config: `${CONFIG}samples: { asn_file: /nowhere.mmdb }\n` });
    expect(await service.ended()).toBe(1);
    expect(service.output).toMatch(/floodwall\.yaml:\d+: samples\.asn_file: \/nowhere\.mmdb cannot be read/);
  });
});

test("the service takes up a replaced file when it reloads, and keeps what it has when that is broken", async () => {
  const files = samples(put("asn.mmdb", ASN_FILE()), put("country.mmdb", COUNTRY_FILE()));
  const second = { startMs: 1_700_000_012_000, stepMs: 0.2 };
  const frames = (count: number) => new Array<Uint8Array>(count).fill(datagram(VICTIM));
  const calm = evenly(new Array<Uint8Array>(100).fill(datagram("203.0.113.200")), {
    startMs: 1_700_000_001_000,
    stepMs: 100,
  });
  const packets = [...evenly(frames(5000), { stepMs: 0.2 }), ...calm, ...evenly(frames(20_000), second)];
  const capture = `capture: { pcap_file: ${put("floods.pcap", pcapBytes(packets))}, pace: real }\n`;
  service = await ServiceProcess.start({ config: CONFIG + capture + files });
  const running = service;
  const attacks = async (list: "active" | "recent") =>
    (await running.get<Record<"active" | "recent", AttackWire[]>>("/api/v1/attacks")).body[list];
  const system = (attack: AttackWire | undefined) => attack?.sample?.top_asns?.[0]?.key;

  await eventually(
    async () => (await attacks("recent")).length === 1,
    () => `the first attack did not end:\n${running.output}`,
  );
  expect(system((await attacks("recent"))[0])).toBe("AS64500 Example Net");

  put("asn.mmdb", ASN_FILE().subarray(0, 100));
  const reload = () =>
    fetch(`http://127.0.0.1:${running.port}/api/v1/config/reload`, {
      method: "POST",
      headers: { "content-type": "application/json" },
    });
  const refused = await reload();
  expect(refused.status).toBe(400);
  expect(await refused.text()).toMatch(/samples\.asn_file: .*asn\.mmdb is not a MaxMind DB file, or is truncated/);

  put("asn.mmdb", originFile({ "198.51.100.0/24": { autonomous_system_number: 64511 } }));
  expect((await reload()).status).toBe(200);
  await eventually(
    async () => system((await attacks("active"))[0]) === "AS64511",
    () => `the second attack is not told by the new file:\n${running.output}`,
    30_000,
  );
}, 60_000);
