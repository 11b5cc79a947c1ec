import { describe, expect, test } from "bun:test";
import { queue } from "../../test/fixtures/dataplane/capture-views.ts";
import { NotIpTraffic } from "./not-ip-traffic.ts";

const look = (
  watch: NotIpTraffic,
  receivedPackets: number,
  notIp: Record<string, number>,
  etherTypes: Record<string, number> = {},
) => {
  watch.look([queue({ receivedPackets, notIp, etherTypes })]);
  return watch.warning;
};

describe("the share of frames that are not IP", () => {
  test("is warned of when it is more than half, with the types", () => {
    const watch = new NotIpTraffic();
    const types = { "0x88e5": 20, "0x0806": 5, "0x8926": 7, "0x9200": 800, other: 1 };
    expect(look(watch, 1000, { other: 808, macsec: 20, arp: 5 }, types)).toBe(
      "83 % of the frames are not IP: 0x9200: 800, MACsec 0x88e5: 20, 0x8926: 7; see docs/operations/mirror-port.md, not IP",
    );
  });

  test("is that since the last look, and the warning ends with it", () => {
    const watch = new NotIpTraffic();
    expect(look(watch, 1000, { mpls: 400 })).toBeNull();
    expect(look(watch, 2000, { mpls: 901 })).toMatch(/^50 % /);
    expect(look(watch, 3000, { mpls: 1401 })).toBeNull();
  });

  test("leaves out what an idle link carries, and few frames", () => {
    const watch = new NotIpTraffic();
    expect(look(watch, 1000, { arp: 500, stp: 400, lldp: 50, lacp: 40, llc: 10 })).toBeNull();
    expect(look(watch, 1099, { other: 99 })).toBeNull();
    expect(look(watch, 1100, { other: 100 })).not.toBeNull();
  });

  test("begins again when a source was opened again", () => {
    const watch = new NotIpTraffic();
    expect(look(watch, 1000, { other: 1000 })).not.toBeNull();
    expect(look(watch, 10, { other: 0 })).toBeNull();
    expect(look(watch, 1010, { other: 900 })).not.toBeNull();
  });
});
