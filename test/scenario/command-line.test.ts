/** What the command line answers: output and exit codes. */
import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ASN_FILE } from "../fixtures/origin-file.ts";
import { datagram, flood, floodwall } from "../fixtures/replay-command.ts";
import { Undo } from "../fixtures/undo.ts";

const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
`;
const undo = new Undo();
const directory = undo.folder("command");
afterAll(() => undo.all());

function file(name: string, content: string | Uint8Array): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

const good = file("good.yaml", CONFIG);
const bad = file("bad.yaml", "nonsense: 1");
const c = file("c.mmdb", ASN_FILE());
const samples = file("samples.yaml", `${CONFIG}samples: { asn_file: /nowhere.mmdb, country_file: ${c} }\n`);
const capture = file("a.pcap", flood(datagram("203.0.113.7"), 10, 1));
const text = file("text.pcap", "hello, I am a text file, not a capture");
const empty = file("empty.pcap", "");
const replay = (path: string, config = good) => ["replay", path, "--config", config];

/** The exit code, and the one stream on which something is written. */
test.each<readonly [readonly string[], number, "lines" | "errors", RegExp]>([
  [["version"], 0, "lines", /^floodwall \d+\.\d+\.\d+$/],
  [["--version"], 0, "lines", /^floodwall \d+\.\d+\.\d+$/],
  [["help"], 0, "lines", /^usage:\n[\s\S]*floodwall ctl COMMAND/],
  [["ctl", "help"], 0, "lines", /^usage: floodwall ctl COMMAND/],
  [["ctl", "dance"], 2, "errors", /unknown command dance: one of /],
  [["--help"], 0, "lines", /^usage:\n[\s\S]*3 the capture is damaged/],
  [["serve", "-h"], 0, "lines", /^usage: floodwall serve\n/],
  [["help", "replay"], 0, "lines", /^usage: floodwall replay CAPTURE\n[\s\S]*--suggest/],
  [["help", "dance"], 2, "errors", /unknown command dance: one of /],
  [["schema"], 0, "lines", /"title": "Floodwall configuration"/],
  [["schema", "customer"], 0, "lines", /"networks_file"/],
  [["schema", "zones"], 2, "errors", /schema knows customer, not zones/],
  [["check", "deploy/zones.yaml"], 0, "lines", /deploy\/zones\.yaml: valid, as a zones file alone/],
  [["check", good], 0, "lines", /dry_run: warning/],
  [["check", "--config", good], 0, "lines", /dry_run: warning/],
  [["check", good, "--config", bad], 2, "errors", /check takes FILE or --config FILE, not both/],
  [["check", bad], 1, "lines", /bad\.yaml:1: nonsense: /],
  [["check", samples], 1, "lines", /:4: samples\.asn_file: \/nowhere\.mmdb cannot be read .*download it again/],
  [["check", samples], 1, "lines", /:4: samples\.country_file: .*c\.mmdb is of the kind "GeoLite2-ASN", not one/],
  [replay(capture), 0, "lines", /^30 packets: 30 counted/m],
  [replay(text), 1, "errors", /text\.pcap/],
  [[...replay(empty), "--json"], 1, "errors", /empty\.pcap/],
  [replay("/nowhere.pcap"), 1, "errors", /\/nowhere\.pcap/],
  [replay(capture, bad), 1, "errors", /bad\.yaml:1: nonsense: /],
  [replay(capture, samples), 1, "errors", /\/nowhere\.mmdb cannot be read/],
  [[], 2, "errors", /^floodwall: a command is missing; see floodwall help\n$/],
  [["dance"], 2, "errors", /^floodwall: unknown command dance: one of serve, .*; see floodwall help\n$/],
  [["check"], 2, "errors", /FILE is missing/],
  [["version", "now"], 2, "errors", /unexpected now/],
  [["serve", "--fast"], 2, "errors", /--fast/],
  [["serve", "--here"], 2, "errors", /--here goes with check alone/],
  [["replay", "--json"], 2, "errors", /CAPTURE is missing/],
  [["check", "a.yaml", "--json"], 2, "errors", /--json goes with replay, telemetry and dataplane status alone/],
  [["serve", "--seconds", "1"], 2, "errors", /--listen and --seconds go with telemetry alone/],
  [["telemetry", "--seconds", "0"], 2, "errors", /--seconds 0: write a number/],
  [["telemetry", "--listen", "here:2055"], 1, "errors", /--listen here:2055: write a port/],
  [["check", "a.yaml", "--suggest"], 2, "errors", /--suggest goes with replay alone/],
])("%p exits with %d", (args, code, stream, output) => {
  const { exitCode, ...printed } = floodwall(...args);
  const written = { lines: printed.lines.join("\n"), errors: printed.errors };
  expect(exitCode).toBe(code);
  expect(written[stream]).toMatch(output);
  expect(written[stream === "lines" ? "errors" : "lines"]).toBe("");
});
