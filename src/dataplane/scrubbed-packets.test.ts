/** What the real kernel does, packet by packet, by the rules of scrubbed hostgroups and of bans. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { configOf } from "../../test/fixtures/config/parsed-config.ts";
import { BpfDirectory, bpfUnavailable } from "../../test/fixtures/dataplane/bpf-directory.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { ethernet, ip, tcp, udp } from "../../test/fixtures/packets/frames.ts";
import { scrubsOfAcceptedRates } from "../../test/fixtures/scrub/accepted-rates.ts";
import { buildScrub } from "../config/sections/scrub.ts";
import { toKernelRules } from "../mitigation/rules/kernel-rules.ts";
import { wideRule } from "../mitigation/rules/rule.ts";
import { scrubRules } from "../mitigation/scrub/scrub-rules.ts";
import { standingPlaces, standingRules } from "../mitigation/scrub/standing-rules.ts";
import { exactly } from "../net/range.ts";
import { type KernelFilter, openKernelFilter } from "./kernel-filter.ts";

const BOUNDS = { maxPairs: 8, maxRules: 256, maxPrefixes: 64, maxSources: 1024 } as const;
const VICTIM = "203.0.113.9";
const SOURCE = "198.51.100.7";

let directory: BpfDirectory;
let filter: KernelFilter;

function config(text: string) {
  const common = "networks: [203.0.113.0/24]\nthresholds: {pps: 1000, mbps: 100, flows_per_sec: 500}\n";
  return configOf(`${common}dataplane: {interfaces: [eth0]}\n${text}`);
}

const passes = (src: string, dst: string, payload: ReturnType<typeof udp>) =>
  !filter.native.drops(ethernet(ip({ src, dst }, payload)));

describe.skipIf(bpfUnavailable !== null)(`packets${bpfUnavailable === null ? "" : ` (${bpfUnavailable})`}`, () => {
  beforeEach(() => {
    directory = new BpfDirectory();
    filter = openKernelFilter({ pinPath: directory.path, interfaces: [], xdpMode: "auto", ...BOUNDS });
  });
  afterEach(() => {
    filter.close("detach");
    directory.close();
  });

  test("may be limited to any rate that the configuration accepts", () => {
    const victim = prefix(`${VICTIM}/32`);
    for (const [i, scrub] of scrubsOfAcceptedRates().entries()) {
      const terms = { owner: "b", isDryRun: false, expiresAtMs: Date.now() + 60_000 };
      filter.setRules(toKernelRules(scrubRules(victim, scrub, []), `${i}/`, terms));
    }
    expect(filter.readRules().length).toBeGreaterThan(0);
  });

  test("of answers pass from whom the victim asked, and no other host makes it ask", () => {
    const victim = prefix(`${VICTIM}/32`);
    const services = [{ protocol: "udp" as const, ports: ["443"], source_ports: [] }];
    const scrub = buildScrub({ tcp: "off", answers: "asked", services }, []);
    const answers = {
      ...wideRule(victim, { kind: "discard" }),
      protocols: exactly(17),
      sourcePorts: [{ from: 53, to: 53 }],
    };
    const terms = { owner: "b", isDryRun: false, expiresAtMs: Date.now() + 60_000 };
    filter.setRules(
      toKernelRules(scrubRules(victim, scrub, [{ ...answers, packetLengths: [{ from: 100, to: 2000 }] }]), "b", terms),
    );
    const payload = new Uint8Array(200);
    const ask = (resolver: string, sourcePort: number) =>
      passes(VICTIM, resolver, udp({ sourcePort, destinationPort: 53 }));
    const answered = (resolver: string) =>
      passes(resolver, VICTIM, udp({ sourcePort: 53, destinationPort: 443, payload }));
    // A victim that only answers a client's packet, which may be forged, requests nothing.
    ask("198.51.100.1", 443);
    ask("198.51.100.2", 40_000);
    expect(["198.51.100.1", "198.51.100.2", "198.51.100.3"].filter(answered)).toEqual(["198.51.100.2"]);
    // Packets from port 53 that the attack's rule does not match are no answers of it.
    expect(passes("198.51.100.3", VICTIM, udp({ sourcePort: 53, destinationPort: 443 }))).toBe(true);
  });

  test("of a hostgroup within one that is always scrubbed meet its own rules alone", () => {
    const wide = "scrub: {always: true, services: [{protocol: tcp, ports: ['443']}]}\n";
    const groups = `hostgroups:
      - {name: off, networks: [203.0.113.0/28], scrub: {always: false}}
      - {name: games, networks: [203.0.113.16/28], scrub: {tcp: "off", services: [{protocol: udp, ports: ['7']}]}}
      - {name: dry, networks: [203.0.113.32/28], scrub: {tcp: "off", dry_run: true}}\n`;
    filter.setRules(standingRules(standingPlaces(config(wide + groups), []), [], Date.now()));
    const all = ["203.0.113.200", "203.0.113.1", "203.0.113.17", "203.0.113.33"];
    const dropped = (payload: ReturnType<typeof udp>) => all.filter((victim) => !passes(SOURCE, victim, payload));
    expect(dropped(udp({ destinationPort: 7 }))).toEqual(["203.0.113.200"]);
    expect(dropped(udp({ destinationPort: 8 }))).toEqual(["203.0.113.200", "203.0.113.17"]);
    expect(dropped(tcp({ destinationPort: 443, flags: 16 }))).toEqual(["203.0.113.200", "203.0.113.17"]);
  });
});
