import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { prefix } from "../../../test/fixtures/networks.ts";
import { scrubsOfAcceptedRates } from "../../../test/fixtures/scrub/accepted-rates.ts";
import { buildScrub, type ScrubFile } from "../../config/sections/scrub.ts";
import { RuleProblem } from "../rules/rule-reader.ts";
import type { ScrubFilter } from "./scrub-filter.ts";
import { readScrub, ScrubWire, scrubToWire } from "./scrub-wire.ts";

const VICTIM = prefix("192.0.2.1/32");
const VICTIM6 = prefix("2001:db8::1/128");

function filterOf(file: ScrubFile): ScrubFilter {
  const { profile: _name, isAlways: _always, isOnNodes: _nodes, ...filter } = buildScrub(file, []);
  return filter;
}

describe("a scrub filter in a document", () => {
  test.each(["web", "dns", "mail", "game", "vpn"])("comes back as it was: %s", (profile) => {
    const filter = filterOf({ profile, source_mbps: 8, source_ipv4_length: 24, dry_run: true });
    const { ipv6Length: _six, ...limits } = filter.sourceLimits;
    const read = readScrub(JSON.parse(JSON.stringify(scrubToWire(VICTIM, filter))), VICTIM);
    expect(read).toEqual({ ...filter, sourceLimits: { ...limits, ipv6Length: 64 } });
  });

  test("comes back with any rate that the configuration accepts", () => {
    for (const { profile: _name, isAlways: _always, isOnNodes: _nodes, ...filter } of scrubsOfAcceptedRates()) {
      const wire = JSON.parse(JSON.stringify(scrubToWire(VICTIM, filter)));
      expect(Value.Check(ScrubWire, wire)).toBe(true);
      expect(readScrub(wire, VICTIM)).toEqual(filter);
    }
  });

  test("has nothing that it does not do, and the length of its family", () => {
    expect(scrubToWire(VICTIM, filterOf({ tcp: "off", learned_mbps: 0 }))).toEqual({});
    expect(
      scrubToWire(
        VICTIM6,
        filterOf({
          tcp: "reset",
          learned_mbps: 8,
          source_packets_per_second: 0,
          source_mbps: 8,
          source_ipv6_length: 48,
        }),
      ),
    ).toEqual({
      tcp: "reset",
      learned_bytes: 1e6,
      source_bytes: 1e6,
      source_length: 48,
    });
    expect(scrubToWire(VICTIM, filterOf({ profile: "dns" })).services?.slice(0, 2)).toEqual([
      { proto: 17, dst_port: 53 },
      { proto: 6, dst_ports: [53, 443, 853].map((port) => ({ from: port, to: port })) },
    ]);
  });

  test.each([
    [7, "must be an object"],
    [{ tcp: "syn" }, "tcp: must be reset or transparent"],
    [{ dns: 1 }, "dns: must be true or false"],
    [{ source_packets: 0.5 }, "source_packets: must be a number of at least 1 a second"],
    [{ source_bytes: -1 }, "source_bytes: must be a number of at least 1 a second"],
    [{ source_length: 33 }, "source_length: must be a whole number from 1 to 32"],
    [{ services: [] }, "services: must be a list with entries"],
    [{ services: [{}] }, "services: each must have proto"],
    [{ services: [{ proto: 1, packets: "9" }] }, "packets: must be a number of at least 1 a second"],
    [{ services: [{ proto: 6, dst_ports: [] }] }, "dst_ports: must be a list of 1 to 5 ranges"],
  ])("%j is refused", (value, problem) => {
    expect(() => readScrub(value, VICTIM)).toThrow(new RuleProblem(problem));
  });

  test("may have keys that this version does not know", () => {
    expect(readScrub({ tcp: "reset", more: [1] }, VICTIM)).toMatchObject({ tcp: "reset", services: null });
  });
});
