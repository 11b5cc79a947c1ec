/** What the real kernel does, packet by packet, by the rules of scrubbed hostgroups and of bans. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { BpfDirectory, bpfUnavailable } from "../../test/fixtures/dataplane/bpf-directory.ts";
import { ethernet, ip, tcp, udp } from "../../test/fixtures/packets/frames.ts";
import { parseConfig } from "../config/load/load.ts";
import { standingRules } from "../mitigation/scrub/standing-rules.ts";
import { type KernelFilter, openKernelFilter } from "./kernel-filter.ts";

const BOUNDS = { maxPairs: 8, maxRules: 256, maxPrefixes: 64, maxSources: 1024 } as const;
const SOURCE = "198.51.100.7";

let directory: BpfDirectory;
let filter: KernelFilter;

function config(text: string) {
  const common = "networks: [203.0.113.0/24]\nthresholds: {pps: 1000, mbps: 100, flows_per_sec: 500}\n";
  const loaded = parseConfig(new TextEncoder().encode(`${common}dataplane: {interfaces: [eth0]}\n${text}`));
  if (loaded.kind === "invalid") throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}

const dropsOf = (dst: string, payload: ReturnType<typeof udp>) =>
  filter.native.drops(ethernet(ip({ src: SOURCE, dst }, payload)));

describe.skipIf(bpfUnavailable !== null)(`packets${bpfUnavailable === null ? "" : ` (${bpfUnavailable})`}`, () => {
  beforeEach(() => {
    directory = new BpfDirectory();
    filter = openKernelFilter({ pinPath: directory.path, interfaces: [], xdpMode: "auto", ...BOUNDS });
  });
  afterEach(() => {
    filter.close("detach");
    directory.close();
  });

  test("of a hostgroup within one that is always scrubbed meet its own rules alone", () => {
    const wide = "scrub: {always: true, services: [{protocol: tcp, ports: ['443']}]}\n";
    const groups = `hostgroups:
      - {name: off, networks: [203.0.113.0/28], scrub: {always: false}}
      - {name: games, networks: [203.0.113.16/28], scrub: {tcp: "off", services: [{protocol: udp, ports: ['7']}]}}
      - {name: dry, networks: [203.0.113.32/28], scrub: {tcp: "off", dry_run: true}}\n`;
    filter.setRules(standingRules(config(wide + groups), Date.now()));
    const all = ["203.0.113.200", "203.0.113.1", "203.0.113.17", "203.0.113.33"];
    const dropped = (payload: ReturnType<typeof udp>) => all.filter((victim) => dropsOf(victim, payload));
    expect(dropped(udp({ destinationPort: 7 }))).toEqual(["203.0.113.200"]);
    expect(dropped(udp({ destinationPort: 8 }))).toEqual(["203.0.113.200", "203.0.113.17"]);
    expect(dropped(tcp({ destinationPort: 443, flags: 16 }))).toEqual(["203.0.113.200", "203.0.113.17"]);
  });
});
