import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { SERVICE_FAULTS } from "../../test/fixtures/config/service-faults.ts";
import { TEXT_FAULTS } from "../../test/fixtures/config/text-faults.ts";
import { emptiedFolder } from "../../test/fixtures/folders.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { eventually } from "../../test/fixtures/service.ts";
import { readChecked } from "../config/check.ts";
import { IDLE_SECONDS } from "../http/server/pipeline.ts";
import { readEnvFile } from "../system/env-file.ts";
import { processEnvironment } from "../system/environment.ts";
import { systemTimers } from "../system/timers.ts";
import { CONFIG_FINDINGS_SHOWN, CONFIG_READ_MS, ConfigReader } from "./config-reader.ts";

const FIXTURES = join(import.meta.dir, "../../test/fixtures/config");
const GOOD = "networks: [192.0.2.0/24]\nthresholds: {pps: 1000, mbps: 100, flows_per_sec: 100}\n";

const dir = emptiedFolder("reader");

function file(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

const reader = () => new ConfigReader(systemTimers);
const checked = (path: string) =>
  readChecked(path, { read: (name) => processEnvironment.read(name), readFile: readEnvFile });

describe("a file read off the event loop", () => {
  test("gives the configuration and the warnings that the check gives", async () => {
    for (const name of readdirSync(FIXTURES).filter((each) => each.startsWith("good-"))) {
      const [here, there] = [checked(join(FIXTURES, name)), await reader().read(join(FIXTURES, name))];
      if (here.kind === "invalid" || there.kind === "invalid") throw new Error(`${name} is invalid`);
      const { lookup, whitelist, ...plain } = here.config;
      expect(there.config).toMatchObject(plain);
      expect(there.config.lookup.table).toEqual(lookup.table);
      expect(there.config.whitelist.packed).toEqual(whitelist.packed);
      expect(there.warnings).toEqual(here.warnings);
    }
  });

  test("gives the problems that the check gives", async () => {
    // A selection: the code is the same, and the test shows that nothing is lost between the threads.
    const faulty = [...TEXT_FAULTS, ...SERVICE_FAULTS].filter((_, i) => i % 4 === 0);
    for (const path of [join(dir, "missing.yaml"), ...faulty.map(({ text }, i) => file(`${i}.yaml`, text))]) {
      const here = checked(path);
      expect(here.kind).toBe("invalid");
      expect(await reader().read(path)).toEqual(here);
    }
  });

  test("with more faults than anyone reads says how many more there are", async () => {
    const path = file(
      "c.yaml",
      `${GOOD}${Array.from({ length: CONFIG_FINDINGS_SHOWN + 2 }, (_, i) => `k${i}: 1\n`).join("")}`,
    );
    const outcome = await reader().read(path);
    const problems = outcome.kind === "invalid" ? outcome.problems : [];
    expect(problems).toHaveLength(CONFIG_FINDINGS_SHOWN + 1);
    expect(problems.at(-1)).toBe(`${path}: 2 more: floodwall check shows them all`);
  });

  test("sees the environment as it is now", async () => {
    const path = file("c.yaml", `${GOOD}api: {token_env: FLOODWALL_READER_TEST}\n`);
    const warned = async () => {
      const read = await reader().read(path);
      return read.kind === "valid" && read.warnings.some((line) => line.includes("FLOODWALL_READER_TEST is not set"));
    };
    expect(await warned()).toBe(true);
    process.env["FLOODWALL_READER_TEST"] = "secret";
    try {
      expect(await warned()).toBe(false);
    } finally {
      delete process.env["FLOODWALL_READER_TEST"];
    }
  });
});

describe("a thread that", () => {
  const thread = (code: string) => pathToFileURL(file("thread.ts", code));
  const HANGS = "self.onmessage = () => { for (;;); };";

  test.each([
    ["throws", 'self.onmessage = () => { throw new Error("out of luck"); };', "failed: .*out of luck"],
    ["cannot be loaded", 'import "../nowhere.ts";', "failed: .*nowhere"],
    ["ends the thread", "self.onmessage = () => process.exit(3);", "ended"],
  ])("%s is a problem of the reading", async (_, code, complaint) => {
    const outcome = await new ConfigReader(systemTimers, thread(code)).read("/c.yaml");
    expect(outcome).toEqual({
      kind: "invalid",
      problems: [expect.stringMatching(new RegExp(`^/c.yaml: not read: the thread that reads it ${complaint}`))],
    });
  });

  test("takes too long is given up", async () => {
    const clock = new ManualClock();
    const outcome = new ConfigReader(new ManualTimers(clock), thread(HANGS)).read("/c.yaml");
    clock.advance(CONFIG_READ_MS);
    expect(await outcome).toEqual({ kind: "invalid", problems: ["/c.yaml: not read: reading takes longer than 45 s"] });
    expect(clock.pending).toBe(0);
  });

  test("is under way when the service stops is given up", async () => {
    const clock = new ManualClock();
    const busy = new ConfigReader(new ManualTimers(clock), thread(HANGS));
    const outcome = busy.read("/c.yaml");
    busy.abort("the service is stopping");
    expect(await outcome).toEqual({ kind: "invalid", problems: ["/c.yaml: not read: the service is stopping"] });
    expect(clock.pending).toBe(0);
  });
});

describe("the thread", () => {
  const clock = new ManualClock();
  /** Counts how often it was called, and returns its own configuration. */
  const COUNTS = `
    let asked = 0;
    self.onmessage = ({ data }) => {
      if (data.path === "/end.yaml") setTimeout(() => process.exit(0), 1);
      self.postMessage({ kind: "invalid", problems: [String(++asked)] });
    };`;
  let counting: ConfigReader;
  beforeEach(() => {
    counting = new ConfigReader(new ManualTimers(clock), pathToFileURL(file("thread.ts", COUNTS)));
  });
  afterEach(() => {
    counting.abort("the test is over");
    expect(clock.pending).toBe(0);
  });
  const asked = async (path = "/c.yaml") => {
    const outcome = await counting.read(path);
    return outcome.kind === "invalid" ? outcome.problems[0] : null;
  };

  test("is kept for ten minutes after a reading, and no longer", async () => {
    expect([await asked(), await asked()]).toEqual(["1", "2"]);
    clock.advance(599_999);
    expect(await asked()).toBe("3");
    clock.advance(600_000);
    expect(clock.pending).toBe(0);
    expect(await asked()).toBe("1");
  });

  test("is another one where the first ended by itself meanwhile", async () => {
    expect(await asked("/end.yaml")).toBe("1");
    await eventually(() => clock.pending === 0, "its end is not noticed");
    expect(await asked()).toBe("1");
  });

  test("ends with the service", async () => {
    expect(await asked()).toBe("1");
    counting.abort("the service is stopping");
    expect(clock.pending).toBe(0);
    expect(await asked()).toBe("1");
  });
});

test("a reading is given up before the listener cuts off who waits for it", () => {
  // The listener counts its time in steps of four seconds.
  expect(CONFIG_READ_MS).toBeLessThan((IDLE_SECONDS - 2 * 4) * 1000);
});
