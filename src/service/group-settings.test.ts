import { afterEach, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { Undo } from "../../test/fixtures/undo.ts";
import { settingsPath } from "../config/group-settings.ts";
import { BackendFault } from "../http/backend.ts";
import type { ReloadOutcome } from "../http/reload-views.ts";
import { GroupSettingsStore } from "./group-settings.ts";

const undo = new Undo();
afterEach(() => undo.all());

const BY = { operator: "noc", tenant: null };
const DONE: ReloadOutcome = { kind: "reloaded", needsRestart: [], changed: [], changes: [] };

/** `read`: the file that each reload took, and what it had. */
function harness(outcome: ReloadOutcome = DONE) {
  const stateDir = undo.folder("settings");
  const read: { file: string; content: string }[] = [];
  const store: GroupSettingsStore = new GroupSettingsStore({
    stateDir,
    wallMs: () => 0,
    reload: async () => {
      read.push({ file: store.path, content: readFileSync(store.path, "utf8") });
      return outcome;
    },
  });
  return { store, read, path: settingsPath(stateDir) };
}

test("settings are in force before they are in the file that a start reads", async () => {
  const { store, read, path } = harness();
  const setting = store.set("web", { mitigation: "blackhole" }, BY);
  expect((await setting).kind).toBe("done");
  expect(read.map(({ file }) => file)).toEqual([`${path}.ordered`]);
  expect(readFileSync(path, "utf8")).toBe(read[0]?.content ?? "");
  expect(store.path).toBe(path);
  expect(store.all()).toMatchObject({ web: { mitigation: "blackhole", by: "noc" } });
});

test("settings that the configuration refuses leave nothing behind", async () => {
  const { store, path } = harness({ kind: "invalid", problems: ["divert needs a next hop"] });
  expect((await store.set("web", { mitigation: "divert" }, BY)).kind).toBe("invalid");
  expect([existsSync(path), existsSync(`${path}.ordered`)]).toEqual([false, false]);
});

test("nothing is set while the file has errors, so that no other settings are lost", async () => {
  const { store, path } = harness();
  writeFileSync(path, '{ "hostgroups": { "web": ');
  const fault = await store.set("mail", { mitigation: "blackhole" }, BY).catch((cause: unknown) => cause);
  expect(fault).toBeInstanceOf(BackendFault);
  expect(readFileSync(path, "utf8")).toBe('{ "hostgroups": { "web": ');
});
