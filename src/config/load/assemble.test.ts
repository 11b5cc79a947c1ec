/** A configuration of several files: customers, lists of networks, and what the API set for hostgroups. */
import { beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder } from "../../../test/fixtures/folders.ts";
import { describeProblem } from "../../schema/problem.ts";
import { checkConfig } from "../check.ts";
import { settingsPath } from "../group-settings.ts";
import { INCLUDED_BYTES_MAX, INCLUDED_FILES_MAX } from "./assemble.ts";
import { loadConfig } from "./load.ts";

const directory = folder("parts");
const main = join(directory, "floodwall.yaml");
const write = (name: string, text: string) => writeFileSync(join(directory, name), text);

const MAIN = `networks: [203.0.113.0/24, 2001:db8::/32]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
state_dir: ${directory}/state
include: customers/*.yaml
hostgroups: [{ name: own, networks: [203.0.113.0/28] }]
`;

beforeEach(() => {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(join(directory, "customers"), { recursive: true });
  mkdirSync(join(directory, "state"));
  writeFileSync(main, MAIN);
});

function groups() {
  const loaded = loadConfig(main);
  if (loaded.kind === "invalid") throw new Error(loaded.problems.map((each) => describeProblem(main, each)).join("\n"));
  return loaded.config;
}

function problems(): string[] {
  const loaded = loadConfig(main);
  if (loaded.kind === "valid") throw new Error("it is valid");
  return loaded.problems.map((each) => describeProblem(main, each).replaceAll(`${directory}/`, ""));
}

describe("included files", () => {
  test("are hostgroups after those of the file, in the order of their names", () => {
    write("customers/b.yaml", "name: b\nnetworks: [203.0.113.32/28]\n");
    write(
      "customers/a.yaml",
      "name: a\ntenant: acme\nnetworks: [203.0.113.16/28]\nthresholds: { pps: 7 }\ncontacts: [noc@acme.example]\n",
    );
    write("customers/.hidden.yaml", "not: read");
    write("customers/notes.txt", "not: read");
    const { hostgroups } = groups();
    expect(hostgroups.map(({ name }) => name)).toEqual(["global", "own", "a", "b"]);
    expect(hostgroups[2]).toMatchObject({ tenant: "acme", contacts: ["noc@acme.example"] });
    expect(hostgroups[2]?.thresholds[0]).toBe(7);
  });

  test("and lists of networks have errors by file and line", () => {
    write("customers/a.yaml", "name: a\nnetworks_file: a.txt\nmitigatoin: flowspec\n");
    write("customers/a.txt", "# of RIPE\n203.0.113.16/28 # dc 1\n\n203.0.113.33/28\n198.51.100.0/24\n");
    write("customers/b.yaml", "name: own\nnetworks: [2001:db8:1::/48]\n");
    write("customers/c.yaml", "- list\n");
    write("customers/d.yaml", "name: d\nnetworks: [2001:db8:2::/48\n");
    expect(problems()).toEqual([
      expect.stringMatching(/^customers\/a\.txt:4: .*203\.0\.113\.32\/28/),
      expect.stringMatching(/^customers\/a\.txt:5: .*networks/),
      expect.stringMatching(/^customers\/a\.yaml:3: mitigatoin: /),
      expect.stringMatching(/^customers\/b\.yaml:1: name: /),
      "customers/c.yaml:1: must be a hostgroup: a mapping with name, and networks or networks_file",
      expect.stringMatching(/^customers\/d\.yaml:\d: not YAML/),
    ]);
  });

  test.each([
    ["include: nowhere.yaml", /^floodwall\.yaml:4: include: nowhere\.yaml cannot be read: /],
    ["include: [customers/*.yaml, nowhere/*.yaml]", /^floodwall\.yaml:4: include\[1\]: nowhere cannot be read: /],
    ["include: 7", /^floodwall\.yaml:4: include: must be a path/],
  ])("that cannot be read are errors of the file: %s", (line, error) => {
    write("floodwall.yaml", MAIN.replace(/^include.*$/m, line));
    expect(problems()).toEqual([expect.stringMatching(error)]);
  });

  test("have bounds in size and number", () => {
    write("customers/a.yaml", `name: a\nnetworks: [203.0.113.16/28]\n#${"x".repeat(INCLUDED_BYTES_MAX)}`);
    expect(problems()).toEqual([
      `floodwall.yaml:4: include: customers/a.yaml is larger than ${INCLUDED_BYTES_MAX} bytes`,
    ]);
    rmSync(join(directory, "customers/a.yaml"));
    for (let i = 0; i <= INCLUDED_FILES_MAX; i++) write(`customers/${i}.yaml`, "");
    expect(problems()).toEqual([
      `floodwall.yaml:4: include: names ${INCLUDED_FILES_MAX + 1} files, more than ${INCLUDED_FILES_MAX}`,
    ]);
  });
});

describe("settings of hostgroups", () => {
  const set = (hostgroups: object) =>
    writeFileSync(settingsPath(join(directory, "state")), JSON.stringify({ hostgroups }, null, 1));

  test("are applied over the configuration, also of included files, and check shows them", () => {
    write("customers/a.yaml", "name: a\nnetworks: [203.0.113.16/28]\nthresholds: { pps: 7, mbps: 8 }\n");
    set({
      a: { thresholds: { pps: 9 }, mitigation: "flowspec", protected_whitelist: ["203.0.113.17"], by: "anna" },
      global: { thresholds: { flows_per_sec: 600 } },
      gone: { mitigation: "flowspec" },
    });
    const { hostgroups, mitigations, protectedWhitelist } = groups();
    expect(hostgroups.map(({ thresholds }) => [...thresholds].slice(0, 3))).toEqual([
      [1000, 100, 600],
      [1000, 100, 600],
      [9, 8, 600],
    ]);
    expect(mitigations.map(({ method }) => method)).toEqual(["blackhole", "blackhole", "flowspec"]);
    expect(protectedWhitelist.map(({ text }) => text)).toEqual(["203.0.113.17/32"]);
    const { lines } = checkConfig(main, {
      read: () => null,
      readFile: () => ({ kind: "variables", variables: new Map() }),
    });
    expect(lines.filter((line) => line.includes("set by the API"))).toEqual([
      expect.stringContaining("hostgroup a: set by the API, by anna: thresholds.pps, mitigation, protected_whitelist"),
      expect.stringContaining("hostgroup global: set by the API: thresholds.flows_per_sec"),
      expect.stringContaining(
        "hostgroup gone: set by the API: mitigation: has no effect, since there is no such hostgroup",
      ),
    ]);
  });

  test("have errors by file and line", () => {
    set({ own: { thresholds: { pps: -1 }, mitigation: "flowspce" } });
    expect(problems()).toEqual([
      expect.stringMatching(/^state\/hostgroup-settings\.json:5: hostgroups\.own\.thresholds\.pps: /),
      expect.stringMatching(/^state\/hostgroup-settings\.json:7: hostgroups\.own\.mitigation: /),
    ]);
  });
});
