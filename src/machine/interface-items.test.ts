/** The items of an interface: one fault at a time. */
import { describe, expect, test } from "bun:test";
import {
  interfaceFindings,
  interfaceNeed,
  machineFindings,
  machineNeeds,
  machineProblems,
} from "../../test/fixtures/dataplane/machine.ts";
import { judgeMachine } from "./judge.ts";
import type { InterfaceFindings, MachineFindings } from "./machine.ts";
import type { InterfaceNeed } from "./needs.ts";

function onInterface(
  need: Partial<InterfaceNeed>,
  found: Partial<InterfaceFindings> | null,
  more: Partial<MachineFindings> = {},
): string[] {
  const interfaces = new Map([["eth0", found === null ? null : interfaceFindings(found)]]);
  return machineProblems({ interfaces: [interfaceNeed(need)] }, { interfaces, ...more });
}

describe("an interface:", () => {
  test.each<[string, Partial<InterfaceNeed>, Partial<InterfaceFindings> | null, string[]]>([
    [
      "missing",
      { keys: ["capture.interfaces", "dataplane.interfaces"] },
      null,
      [
        "error    interface eth0: does not exist: create it, or correct its name in capture.interfaces and dataplane.interfaces",
      ],
    ],
    ["down", {}, { isUp: false, hasCarrier: false }, ["error    interface eth0: is down: `ip link set eth0 up`"]],
    [
      "without carrier",
      {},
      { hasCarrier: false },
      ["warning  interface eth0: has no carrier: check the cable and the far end"],
    ],
    [
      "held by another program",
      {},
      { attached: { id: 7, name: "other", isGeneric: false } },
      [
        "error    interface eth0: XDP program 7 (other) is attached and is not replaced: stop its owner, or `ip link set eth0 xdp off`",
      ],
    ],
    [
      "held by another in generic mode, without a name",
      {},
      { attached: { id: 7, name: null, isGeneric: true } },
      [
        "error    interface eth0: XDP program 7 (name unreadable) is attached and is not replaced: stop its owner, or `ip link set eth0 xdpgeneric off`",
      ],
    ],
    [
      "held by another where libpcap captures",
      { uses: ["pcap"], xdpMode: null },
      { attached: { id: 7, name: "other", isGeneric: false } },
      [
        "warning  interface eth0: XDP program 7 (other) is attached: frames that it takes are not captured: stop its owner, or `ip link set eth0 xdp off`",
      ],
    ],
    ["held by a program of ours", {}, { attached: { id: 7, name: "xdp_inline", isGeneric: false } }, []],
    ["with all queues that are named", { uses: ["mirror"], queues: [0, 3] }, { rxQueues: 4 }, []],
    [
      "without a queue that it can have",
      { uses: ["mirror"], queues: [0, 4] },
      { rxQueues: 4, rxQueuesMost: 8 },
      ["error    interface eth0: has no RX queue 4, it has 4: `ethtool -L eth0 combined 5`"],
    ],
    [
      "without a queue that it cannot have",
      { uses: ["mirror"], queues: [8] },
      { rxQueues: 4, rxQueuesMost: 8 },
      ["error    interface eth0: has no RX queue 8, it has 4: correct its queues"],
    ],
    [
      "an obstacle to native XDP, which is wanted",
      { xdpMode: "native" },
      { nativeObstacles: [{ found: "LRO is on", remedy: "`ethtool -K eth0 lro off`" }] },
      ["error    interface eth0: LRO is on: `ethtool -K eth0 lro off`"],
    ],
    [
      "no native XDP at all, which is wanted",
      { xdpMode: "native" },
      { nativeObstacles: [{ found: "the driver has no native XDP", remedy: null }] },
      ["error    interface eth0: the driver has no native XDP: set xdp_mode to auto or generic"],
    ],
    [
      "an obstacle to native XDP, which is taken where it is",
      { xdpMode: "auto" },
      { nativeObstacles: [{ found: "LRO is on", remedy: "`ethtool -K eth0 lro off`" }] },
      ["warning  interface eth0: LRO is on, so that XDP is generic, several times slower: `ethtool -K eth0 lro off`"],
    ],
    [
      "an obstacle to native XDP, which is not wanted",
      { xdpMode: "generic" },
      { nativeObstacles: [{ found: "LRO is on", remedy: "`ethtool -K eth0 lro off`" }] },
      [],
    ],
    ["zero copy", { uses: ["mirror"], zeroCopy: "on" }, {}, []],
    ["zero copy, where the driver can or not", { uses: ["mirror"], zeroCopy: "auto" }, { xdpFeatures: ["basic"] }, []],
    [
      "zero copy that the driver has not",
      { uses: ["mirror"], zeroCopy: "on" },
      { xdpFeatures: ["basic"] },
      ["error    interface eth0: the driver has no zero copy: set zero_copy to auto"],
    ],
    [
      "zero copy of which the kernel does not say",
      { uses: ["mirror"], zeroCopy: "on" },
      { xdpFeatures: null },
      ["warning  interface eth0: this kernel does not report whether zero copy works: set zero_copy to auto"],
    ],
    [
      "zero copy in generic mode",
      { uses: ["mirror"], zeroCopy: "on", xdpMode: "generic" },
      {},
      ["error    interface eth0: zero copy needs native XDP: set zero_copy to auto"],
    ],
    ["merging, before which XDP counts", {}, { gro: true }, []],
    [
      "merging, before libpcap sees it",
      { uses: ["pcap"], xdpMode: null },
      { gro: true, lro: true, groHw: true },
      [
        "warning  interface eth0: segments of one flow are merged before they are counted: `ethtool -K eth0 gro off lro off rx-gro-hw off`",
      ],
    ],
    [
      "merging, before generic XDP sees it",
      { xdpMode: "generic" },
      { gro: true },
      ["warning  interface eth0: segments of one flow are merged before they are counted: `ethtool -K eth0 gro off`"],
    ],
    [
      "VLAN tags that XDP does not see, where the filter answers",
      { uses: ["inline", "filter"] },
      { rxVlan: true, vlanDevices: 2 },
      [
        "warning  interface eth0: VLAN tags are taken off before XDP sees them: answers to unknown sources leave without: `ethtool -K eth0 rxvlan off`",
      ],
    ],
    ["VLAN offload without VLANs", { uses: ["filter"] }, { rxVlan: true, vlanDevices: 0 }, []],
    ["VLAN offload that is off", { uses: ["filter"] }, { rxVlan: false, vlanDevices: 2 }, []],
    ["VLAN offload, where nothing is answered", { uses: ["inline"] }, { rxVlan: true, vlanDevices: 2 }, []],
    ["merging of which nothing is known", { uses: ["pcap"], xdpMode: null }, { gro: null, lro: null, groHw: null }, []],
  ])("%s", (_name, need, found, expected) => {
    expect(onInterface(need, found)).toEqual(expected);
  });

  test("with the data plane's own program of a process before is well, also where its name cannot be read", () => {
    const held = { attached: { id: 7, name: null, isGeneric: false } };
    expect(onInterface({ uses: ["filter"] }, held, { pinned: new Map([["eth0", 7]]) })).toEqual([]);
    expect(onInterface({ uses: ["filter"] }, held, { pinned: new Map([["eth0", 8]]) })).toHaveLength(1);
  });

  test("of a service that runs is held by the service itself", () => {
    const held = { attached: { id: 7, name: null, isGeneric: false } };
    expect(onInterface({}, held, { seenBy: "start" })).toHaveLength(1);
    expect(onInterface({}, held, { seenBy: "running" })).toEqual([]);
  });

  test("is described by what its driver and the kernel say", () => {
    const bare = interfaceFindings({
      driver: null,
      driverVersion: null,
      bus: null,
      nativeMtuMost: null,
      rxQueuesMost: null,
      rxRing: null,
      xdpFeatures: null,
    });
    const described = (found: InterfaceFindings, need = interfaceNeed()) =>
      judgeMachine(
        machineNeeds({ interfaces: [need] }),
        machineFindings({ kernel: null, interfaces: new Map([["eth0", found]]) }),
      )[0]?.found;
    expect(described(bare)).toBe(
      "driver unknown, MTU 1500, RX queues 4, XDP of the driver: not reported by this kernel",
    );
    expect(described(interfaceFindings({ xdpFeatures: [] }))).toEndWith("XDP of the driver: none");
    expect(described(bare, interfaceNeed({ uses: ["pcap"] }))).toBe("driver unknown, MTU 1500, RX queues 4");
    expect(described(interfaceFindings({ driver: "veth" }), interfaceNeed({ uses: ["pcap"] }))).toContain("a veth: ");
  });
});
