/** Named sets from their files into the kernel: reloads, changes, damage, a crash and the start after it. */
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { renameSync, rmSync } from "node:fs";
import { readPinnedStatus } from "../../src/dataplane/kernel-filter.ts";
import type { PrefixSetWire } from "../../src/http/wire/prefix-set.ts";
import { BpfDirectory, bpfUnavailable } from "../fixtures/dataplane/bpf-directory.ts";
import { COUNTRY_FILE } from "../fixtures/origin-file.ts";
import { Scenario } from "../fixtures/scenario.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";

setDefaultTimeout(120_000);

const scene = new Scenario();
let directory: BpfDirectory;
beforeEach(() => {
  directory = new BpfDirectory();
});
afterEach(() => directory.close());

/** The interface need not be there for the tables. */
const config = (list: string, origins: string) => `dry_run: false
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 1000, flows_per_sec: 100000 }
dataplane: { interfaces: [nowhere0], pin_path: ${directory.path} }
prefix_sets:
  - { name: drop, file: ${list} }
  - { name: abroad, mmdb: ${origins}, countries: [DE, NL] }
  - { name: bogons }
`;

async function setsOf(service: ServiceProcess): Promise<readonly PrefixSetWire[]> {
  return (await service.get<{ prefix_sets: PrefixSetWire[] }>("/api/v1/prefix-sets")).body.prefix_sets;
}

const sizes = async (service: ServiceProcess) => (await setsOf(service)).slice(0, 2).map(({ prefixes }) => prefixes);
const pinnedNames = () => readPinnedStatus(directory.path).namedSets.slice(0, 4);
const reload = (service: ServiceProcess) => service.post("/api/v1/config/reload", {});

test.skipIf(bpfUnavailable !== null)(
  `sets follow their files, keep what was good, and outlive the service${bpfUnavailable === null ? "" : ` (${bpfUnavailable})`}`,
  async () => {
    const list = scene.file("drop.txt", "192.0.2.0/24 ; SBL1\n");
    const replace = (text: string) => renameSync(scene.file("drop.new", text), list);
    const text = config(list, scene.file("c.mmdb", COUNTRY_FILE()));
    const service = await scene.start(text);
    expect(await sizes(service)).toEqual([1, 2]);
    expect(pinnedNames()).toEqual(["drop", "abroad", "bogons", ""]);

    // Without a reload.
    replace("192.0.2.0/24\n198.51.100.7\n2001:db8::/32\n");
    await eventually(
      async () => (await sizes(service))[0] === 3,
      () => service.output,
      30_000,
    );

    replace("<html>502 Bad Gateway</html>\n");
    expect((await reload(service)).status).toBe(200);
    const [damaged] = await setsOf(service);
    expect(damaged).toMatchObject({ prefixes: 3, error: expect.stringContaining("drop.txt: line 1:") });
    const metrics = await (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text();
    expect(metrics).toContain('svc_prefix_set_prefixes{set="drop"} 3');
    expect(metrics).toContain('svc_prefix_set_errors_total{set="drop"} 1');

    await service.stop("SIGKILL");
    expect(pinnedNames()).toEqual(["drop", "abroad", "bogons", ""]);
    const same = { config: text, directory: service.directory, port: service.port };
    const damagedAtStart = await ServiceProcess.start(same);
    expect((await setsOf(damagedAtStart))[0]).toMatchObject({ prefixes: 3, error: expect.stringContaining("line 1:") });
    expect(pinnedNames()).toEqual(["drop", "abroad", "bogons", ""]);
    await damagedAtStart.stop("SIGKILL");

    replace("198.51.100.7\n");
    const next = await ServiceProcess.start({ ...same, config: text.replace(/.*name: abroad.*\n/, "") });
    try {
      expect((await setsOf(next)).map(({ name }) => name)).toEqual(["drop", "bogons"]);
      expect(pinnedNames()).toEqual(["drop", "", "bogons", ""]);
    } finally {
      await next.remove();
    }
    rmSync(list);
  },
);
