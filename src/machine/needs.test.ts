import { describe, expect, test } from "bun:test";
import { configOf } from "../../test/fixtures/config/parsed-config.ts";
import { interfaceFindings, interfaceNeed, machineNeeds } from "../../test/fixtures/dataplane/machine.ts";
import { loadScrubAgent } from "../config/scrub-agent-config.ts";
import { needsKernel, needsOf, needsOfNode, programsFor } from "./needs.ts";

const THRESHOLDS = { pps: 100_000, mbps: 1000, flows_per_sec: 20_000 };

function needs(sections: object) {
  const document = { networks: ["192.0.2.0/24"], thresholds: THRESHOLDS, ...sections };
  return needsOf(configOf(JSON.stringify(document)));
}

const captured = (capture: object, more: object = {}) =>
  needs({ capture: { interfaces: [{ name: "eth1", ...capture }] }, ...more });

const BGP = {
  local_asn: 64500,
  router_id: "192.0.2.1",
  next_hop: "192.0.2.66",
  neighbors: [{ address: "192.0.2.254", remote_asn: 64501 }],
};

describe("a configuration", () => {
  test("without capture and data plane needs nothing of the kernel", () => {
    expect(needs({})).toMatchObject({ interfaces: [], pinPath: null, gobgpd: false });
    expect(needsKernel(needs({}))).toBe(false);
    expect(needsKernel(needs({ capture: { pcap_file: "/x.pcap" } }))).toBe(false);
  });

  test.each([
    [{ mode: "mirror" }, { uses: ["mirror"], xdpMode: "auto", zeroCopy: "auto" }],
    [
      { mode: "mirror", queues: [0, 3], zero_copy: true, xdp_mode: "native" },
      { uses: ["mirror"], xdpMode: "native", queues: [0, 3], zeroCopy: "on" },
    ],
    [
      { mode: "inline", xdp_mode: "generic" },
      { uses: ["inline"], xdpMode: "generic" },
    ],
    [
      { mode: "mirror", backend: "pcap" },
      { uses: ["pcap"], xdpMode: null },
    ],
  ])("needs of a captured interface what it says: %j", (capture, expected) => {
    expect(captured(capture).interfaces).toMatchObject([{ name: "eth1", ...expected }]);
  });

  test("has one program on an interface that counts and filters, in the mode that either asks for", () => {
    const both = captured(
      { mode: "inline" },
      { dataplane: { interfaces: ["eth1", "eth2"], xdp_mode: "native", pin_path: "/sys/fs/bpf/x" } },
    );
    expect(both).toMatchObject({
      interfaces: [
        {
          name: "eth1",
          uses: ["inline", "filter"],
          xdpMode: "native",
          keys: ["capture.interfaces", "dataplane.interfaces"],
        },
        { name: "eth2", uses: ["filter"], xdpMode: "native", keys: ["dataplane.interfaces"] },
      ],
      pinPath: "/sys/fs/bpf/x",
    });
  });

  test("that disables its data plane needs nothing for it", () => {
    const off = needs({ dataplane: { enabled: false, interfaces: ["eth1"] } });
    expect(off).toMatchObject({ interfaces: [], pinPath: null });
  });

  test("needs gobgpd only where the service starts it", () => {
    expect(needs({ bgp: BGP }).gobgpd).toBe(true);
    expect(needs({ bgp: { ...BGP, speaker: "external", grpc: "127.0.0.1:50051" } }).gobgpd).toBe(false);
  });

  test("of a scrub node needs its filter, in dry run too", () => {
    const text = "node: scrub1\ncontroller: {url: https://c.example}\ndataplane: {interfaces: [eth1]}\n";
    const loaded = loadScrubAgent({ kind: "bytes", bytes: new TextEncoder().encode(text) });
    if (loaded.kind === "invalid") throw new Error(JSON.stringify(loaded.problems));
    expect(needsOfNode(loaded.config)).toMatchObject({
      interfaces: [{ name: "eth1", uses: ["filter"], xdpMode: "auto" }],
      pinPath: "/sys/fs/bpf/floodwall",
    });
  });
});

describe("the programs that it needs", () => {
  const one = (changes: Parameters<typeof interfaceNeed>[0], mtu = 1500) =>
    programsFor(
      machineNeeds({ interfaces: [interfaceNeed(changes)] }),
      new Map([["eth0", interfaceFindings({ mtu })]]),
    );
  const inline = { program: "inline", hasFragments: false, countsOutgoing: false, maxHosts: 1024 } as const;

  test.each([
    [["pcap"], []],
    [["mirror"], [{ program: "mirror" }]],
    [["filter"], [{ program: "filter", hasFragments: false }]],
    [["inline"], [{ ...inline, filters: false }]],
    [
      ["inline", "filter"],
      [
        { program: "filter", hasFragments: false },
        { ...inline, filters: false },
        { ...inline, filters: true },
      ],
    ],
    [["pcap", "filter"], [{ program: "filter", hasFragments: false }]],
  ] as const)("for %j", (uses, expected) => {
    expect(one({ uses })).toEqual([...expected] as ReturnType<typeof one>);
  });

  test("take frames in pieces from an MTU of 1501 on", () => {
    expect(one({ uses: ["filter"] }, 1500)).toEqual([{ program: "filter", hasFragments: false }]);
    expect(one({ uses: ["filter"] }, 1501)).toEqual([{ program: "filter", hasFragments: true }]);
  });

  test("count what hosts send where the configuration has it", () => {
    const interfaces = [interfaceNeed()];
    const found = programsFor(machineNeeds({ interfaces, countsOutgoing: true, maxHosts: 99 }), new Map());
    expect(found).toEqual([{ ...inline, filters: false, countsOutgoing: true, maxHosts: 99 }]);
  });

  test("are each tried once, also where the interface is not there", () => {
    const interfaces = [interfaceNeed({ name: "a" }), interfaceNeed({ name: "b" }), interfaceNeed({ name: "c" })];
    const found = new Map([
      ["a", interfaceFindings()],
      ["b", interfaceFindings({ mtu: 9000 })],
      ["c", null],
    ]);
    expect(programsFor(machineNeeds({ interfaces }), found)).toEqual([
      { ...inline, filters: false },
      { ...inline, filters: false, hasFragments: true },
    ] as ReturnType<typeof programsFor>);
  });
});
