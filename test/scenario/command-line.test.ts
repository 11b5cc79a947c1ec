/** What the command line answers: output and exit codes. */
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ASN_FILE } from "../fixtures/origin-file.ts";
import { datagram, flood, floodwall } from "../fixtures/replay-command.ts";

const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
`;
const directory = mkdtempSync(join(tmpdir(), `floodwall-command-${process.pid}-`));
afterAll(() => rmSync(directory, { recursive: true }));

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

test.each<readonly [readonly string[], number, RegExp]>([
  [["version"], 0, /^floodwall \d+\.\d+\.\d+$/],
  [["--help"], 0, /^usage:\n[\s\S]*3 the capture is damaged/],
  [["serve", "-h"], 0, /^usage:\n/],
  [["check", good], 0, /dry_run: warning/],
  [["check", bad], 1, /bad\.yaml:1: nonsense: /],
  [["check", samples], 1, /samples\.yaml:4: samples\.asn_file: \/nowhere\.mmdb cannot be read .*download it again/],
  [["check", samples], 1, /samples\.yaml:4: samples\.country_file: .*c\.mmdb is of the kind "GeoLite2-ASN", not one/],
  [replay(capture), 0, /^30 packets: 30 counted/m],
])("%p exits with %d", (args, code, output) => {
  const { exitCode, lines, errors } = floodwall(...args);
  expect({ exitCode, errors }).toEqual({ exitCode: code, errors: "" });
  expect(lines.join("\n")).toMatch(output);
});

test.each<readonly [readonly string[], RegExp]>([
  [replay(text), /text\.pcap/],
  [[...replay(empty), "--json"], /empty\.pcap/],
  [replay("/nowhere.pcap"), /\/nowhere\.pcap/],
  [replay(capture, bad), /bad\.yaml:1: nonsense: /],
  [replay(capture, samples), /\/nowhere\.mmdb cannot be read/],
])("%p writes nothing to standard output, and says why it cannot begin", (args, complaint) => {
  const { exitCode, lines, errors } = floodwall(...args);
  expect({ exitCode, lines }).toEqual({ exitCode: 1, lines: [""] });
  expect(errors).toMatch(complaint);
});

test.each([
  [[], "a command is missing"],
  [["dance"], "unknown command dance"],
  [["check"], "FILE is missing"],
  [["version", "now"], "unexpected now"],
  [["serve", "--fast"], "--fast"],
  [["serve", "--here"], "--here goes with check alone"],
  [["replay", "--json"], "CAPTURE is missing"],
  [["check", "a.yaml", "--json"], "--json goes with replay and dataplane status alone"],
  [["check", "a.yaml", "--suggest"], "--suggest goes with replay alone"],
])("%p is wrong usage", (args, complaint) => {
  const { exitCode, errors } = floodwall(...args);
  expect(exitCode).toBe(2);
  expect(errors).toContain(complaint);
  expect(errors).toContain("usage:");
});
