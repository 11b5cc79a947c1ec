/** A start beside files that became invalid. */
import { beforeEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder } from "../../../test/fixtures/folders.ts";
import { SETTINGS_FILE } from "../group-settings.ts";
import { loadAtStart } from "./start.ts";

const directory = folder("start");
const path = join(directory, "floodwall.yaml");
const settings = join(directory, SETTINGS_FILE);

const BASE = `state_dir: ${directory}
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
hostgroups:
  - { name: web, networks: [203.0.113.0/25] }
  - { name: mail, networks: [203.0.113.128/25] }
`;

beforeEach(() => writeFileSync(path, BASE));
const start = () => loadAtStart(path, () => null);
const set = (hostgroups: unknown) => writeFileSync(settings, JSON.stringify({ hostgroups }));

test("what is valid is in force", () => {
  set({ web: { thresholds: { pps: 7 } } });
  const { loaded, settingsProblems } = start();
  expect(settingsProblems).toEqual([]);
  expect(loaded.kind === "valid" && loaded.config.hostgroups[1]?.thresholds[0]).toBe(7);
});

test("settings that a changed configuration does not allow are left out, but for never-banned addresses and other hostgroups", () => {
  set({
    web: { mitigation: "divert", thresholds: { pps: 7 }, protected_whitelist: ["203.0.113.5"] },
    mail: { thresholds: { pps: 9 } },
  });
  const { loaded, settingsProblems, zonesProblems } = start();
  expect(zonesProblems).toEqual([]);
  expect(settingsProblems).toMatchObject([{ file: settings, rule: expect.stringContaining("divert needs") }]);
  if (loaded.kind === "invalid") throw new Error("it does not start");
  const { hostgroups, protectedWhitelist, mitigations } = loaded.config;
  expect(hostgroups.map(({ thresholds }) => thresholds[0])).toEqual([1000, 1000, 9]);
  expect(mitigations[1]?.method).toBe("blackhole");
  expect(protectedWhitelist.map(({ text }) => text)).toEqual(["203.0.113.5/32"]);
});

test.each(["{", '{"hostgroups": 5}', '{"hostgroups": {"web": {"protected_whitelist": ["nonsense"]}}}'])(
  "a file of settings that cannot be used at all is left out: %s",
  (text) => {
    writeFileSync(settings, text);
    const { loaded, settingsProblems } = start();
    expect(loaded.kind).toBe("valid");
    expect(settingsProblems).not.toEqual([]);
  },
);

test("a configuration with errors of its own does not start, whatever was set", () => {
  set({ web: { thresholds: { pps: 7 } } });
  writeFileSync(path, BASE.replace("pps: 1000", "pps: x"));
  expect(start().loaded.kind).toBe("invalid");
});
