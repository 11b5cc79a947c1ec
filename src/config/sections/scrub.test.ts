import { describe, expect, test } from "bun:test";
import type { ScrubConfig } from "../../mitigation/scrub/scrub-config.ts";
import { PROFILES } from "../../mitigation/scrub/scrub-filter.ts";
import { parseConfig } from "../load/load.ts";

const BASE = "networks: [192.0.2.0/24]\nthresholds: {pps: 1000, mbps: 100, flows_per_sec: 500}\n";
const VOICE =
  "scrub_profiles: [{name: voice, tcp: reset, source_mbps: 8, services: [{protocol: udp, ports: ['5060']}]}]\n";

function loaded(text: string) {
  return parseConfig(new TextEncoder().encode(BASE + text));
}

/** Of `global`, and of the group if there is one. */
function scrubsOf(text: string): ScrubConfig[] {
  const config = loaded(text);
  if (config.kind === "invalid") throw new Error(JSON.stringify(config.problems));
  return config.config.mitigations.map(({ scrub }) => scrub);
}

function problemsOf(text: string): string[] {
  const config = loaded(text);
  return config.kind === "invalid" ? config.problems.map(({ path, rule }) => `${path.join(".")}: ${rule}`) : [];
}

const ALWAYS = "dataplane: {interfaces: [eth0]}\nscrub: {tcp: reset, always: true}\n";
const group = (scrub: string) => `hostgroups: [{name: g, networks: [192.0.2.0/28], scrub: ${scrub}}]\n`;

describe("scrub", () => {
  test("of a profile has what that says, and keys of its own before it", () => {
    const [web] = scrubsOf("scrub: {profile: web, source_mbps: 80}\n");
    expect(web).toMatchObject({ profile: "web", tcp: "transparent", services: PROFILES["web"]?.services ?? [] });
    expect(web?.sourceLimits).toMatchObject({ packets: 20_000, bytes: 10e6, connections: 200 });
  });

  test("of a profile of the file likewise", () => {
    const [voice] = scrubsOf(`${VOICE}scrub: {profile: voice, tcp: "off"}\n`);
    expect(voice).toMatchObject({
      tcp: null,
      sourceLimits: { bytes: 1e6, packets: 0 },
      services: [{ protocol: 17, ports: [{ from: 5060, to: 5060 }], sourcePorts: [] }],
    });
  });

  test("of a hostgroup takes the top-level keys up, but for those of another profile", () => {
    expect(scrubsOf(`${ALWAYS}${group("{dns: truncate}")}`)[1]).toMatchObject({
      tcp: "reset",
      dns: true,
      isAlways: true,
    });
    expect(scrubsOf(`${ALWAYS}${group("{profile: dns}")}`)[1]).toMatchObject({
      tcp: "transparent",
      dns: true,
      isAlways: false,
    });
  });

  test("limits what a source sends that proved its address, unless that is said", () => {
    const packets = (text: string) => scrubsOf(text)[0]?.sourceLimits.packets;
    expect(packets("")).toBe(20_000);
    expect(packets('scrub: {tcp: "off"}\n')).toBe(0);
    expect(packets('scrub: {tcp: "off", dns: truncate}\n')).toBe(20_000);
    expect(packets("scrub: {source_packets_per_second: 0}\n")).toBe(0);
    expect(packets("scrub: {profile: vpn}\n")).toBe(20_000);
    expect(packets("scrub: {profile: game}\n")).toBe(500);
    const own = "scrub_profiles: [{name: own, source_packets_per_second: 0}, {name: other}]\n";
    expect(packets(`${own}scrub: {profile: own}\n`)).toBe(0);
    expect(packets(`${own}scrub: {profile: other}\n`)).toBe(20_000);
  });

  test("limits what learned sources send, unless that is switched off", () => {
    expect(scrubsOf("")[0]?.learnedBytesPerSecond).toBe(12_500_000);
    expect(scrubsOf("scrub: {learned_mbps: 0}\n")[0]?.learnedBytesPerSecond).toBe(0);
  });

  test("says what is wrong", () => {
    expect(problemsOf("scrub: {profile: webs}\n")).toEqual([
      "scrub.profile: there is no profile webs: there are web, dns, mail, game, vpn",
    ]);
    expect(problemsOf(group("{profile: voice}"))[0]).toStartWith("hostgroups.0.scrub.profile: there is no profile");
    expect(problemsOf("scrub_profiles: [{name: web}, {name: a}, {name: a}]\n")).toEqual([
      "scrub_profiles.0.name: web is built in: choose another name",
      "scrub_profiles.2.name: a is there already, as scrub_profiles[1]",
    ]);
    expect(problemsOf("scrub: {services: [{protocol: icmp, ports: ['1']}]}\n")).toEqual([
      "scrub.services.0.ports: icmp has no ports: remove them",
    ]);
    for (const ports of ["80-70", "65536", "x", "1-"]) {
      expect(problemsOf(`scrub: {services: [{protocol: tcp, ports: ["${ports}"]}]}\n`)).toEqual([
        "scrub.services.0.ports.0: must be a port or a range of ports: 443, or 27000-27050",
      ]);
    }
  });
});
