import { describe, expect, test } from "bun:test";
import { queue } from "../../test/fixtures/dataplane/capture-views.ts";
import { EncapsulatedTraffic } from "./encapsulated-traffic.ts";

const KEY = "capture.interfaces[0].decapsulate";
const look = (watch: EncapsulatedTraffic, receivedPackets: number, encapsulated: Record<string, number>) => {
  watch.look([queue({ receivedPackets, encapsulated })], KEY, ["gre"]);
  return watch.warning;
};

describe("the share of packets that carry others", () => {
  test("is warned of when it is more than half, with the line that helps", () => {
    const watch = new EncapsulatedTraffic();
    expect(look(watch, 1000, { vxlan: 900, mpls: 60, geneve: 1 })).toBe(
      `96 % of the packets are mpls, vxlan and are not taken apart, so that hosts inside are not seen: set ${KEY}: [mpls, gre, vxlan]`,
    );
  });

  test("is that since the last look, and the warning ends with it", () => {
    const watch = new EncapsulatedTraffic();
    expect(look(watch, 1000, { vxlan: 400 })).toBeNull();
    expect(look(watch, 2000, { vxlan: 901 })).toMatch(/^50 % /);
    expect(look(watch, 3000, { vxlan: 1401 })).toBeNull();
  });

  test("says nothing of few packets, which are looked at with the next ones", () => {
    const watch = new EncapsulatedTraffic();
    expect(look(watch, 99, { gtp_u: 99 })).toBeNull();
    expect(look(watch, 100, { gtp_u: 100 })).toMatch(/^100 % /);
  });

  test("begins again when a source was opened again", () => {
    const watch = new EncapsulatedTraffic();
    expect(look(watch, 1000, { vxlan: 1000 })).not.toBeNull();
    expect(look(watch, 10, { vxlan: 0 })).toBeNull();
    expect(look(watch, 1010, { vxlan: 900 })).not.toBeNull();
  });
});
