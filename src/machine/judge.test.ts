/** What is said of each finding: by table, one thing wrong at a time. */
import { describe, expect, test } from "bun:test";
import {
  interfaceFindings,
  interfaceNeed,
  kernelFindings,
  machineFindings,
  machineNeeds,
  programProbe,
  tried,
} from "../../test/fixtures/machine.ts";
import { itemLine, summaryLine } from "./item.ts";
import { judgeMachine } from "./judge.ts";
import type { GobgpdFindings, InterfaceFindings, KernelFindings, MachineFindings } from "./machine.ts";
import type { InterfaceNeed, MachineNeeds } from "./needs.ts";

/** All lines but those of what is well. */
function problems(needs: Partial<MachineNeeds>, found: Partial<MachineFindings> = {}): string[] {
  return judgeMachine(machineNeeds(needs), machineFindings(found))
    .filter(({ level }) => level !== "ok")
    .map(itemLine);
}

function onInterface(
  need: Partial<InterfaceNeed>,
  found: Partial<InterfaceFindings> | null,
  more: Partial<MachineFindings> = {},
): string[] {
  const interfaces = new Map([["eth0", found === null ? null : interfaceFindings(found)]]);
  return problems({ interfaces: [interfaceNeed(need)] }, { interfaces, ...more });
}

function inKernel(
  needs: Partial<MachineNeeds>,
  kernel: Partial<KernelFindings>,
  seenBy: MachineFindings["seenBy"] = "check",
): string[] {
  return problems(needs, { kernel: kernelFindings(kernel), seenBy });
}

const XDP = { interfaces: [interfaceNeed()] };
const MIRROR = { interfaces: [interfaceNeed({ uses: ["mirror"] })] };

test("a machine that has all gets one line for each thing, and the summary says so", () => {
  const need = interfaceNeed({ uses: ["inline", "filter"] });
  const items = judgeMachine(
    machineNeeds({ interfaces: [need], pinPath: "/sys/fs/bpf/floodwall", gobgpd: true }),
    machineFindings({
      kernel: kernelFindings({ pinPath: { existing: "/sys/fs/bpf", isOnBpfFileSystem: true } }),
      interfaces: new Map([["eth0", interfaceFindings()]]),
      programs: [tried()],
      gobgpd: { path: "/usr/bin/gobgpd", version: "3.10.0" },
    }),
  );
  expect(items.map(itemLine)).toEqual([
    "ok       kernel: Linux 6.1.0-18-amd64, 4 possible CPUs, BTF there",
    "ok       BPF JIT: on",
    "ok       capabilities: CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON",
    "ok       dataplane.pin_path: /sys/fs/bpf/floodwall lies on a BPF file system",
    "ok       gobgpd: 3.10.0, /usr/bin/gobgpd",
    "ok       interface eth0: ice 6.1.0 (0000:01:00.0), MTU 1500 (native XDP in one buffer up to 3046), RX queues 4 of 8, RX ring 2048 of 8160, XDP of the driver: basic redirect zero_copy",
    "ok       program xdp_filter: loads: 1810 instructions, 95012 verified, 4352 states, 8181 bytes of machine code",
  ]);
  expect(summaryLine(items)).toBe("this machine: has what the configuration needs");
});

test("the summary counts what is wrong", () => {
  const items = judgeMachine(
    machineNeeds(XDP),
    machineFindings({
      kernel: kernelFindings({ isJitOn: false }),
      interfaces: new Map([
        ["eth0", interfaceFindings({ isUp: false, nativeObstacles: [{ found: "x", remedy: null }] })],
      ]),
    }),
  );
  expect(summaryLine(items)).toBe("this machine: 1 error, 2 warnings");
});

test("what a configuration does not need is not judged", () => {
  expect(judgeMachine(machineNeeds(), machineFindings({ kernel: kernelFindings({ release: "4.19.0" }) }))).toEqual([]);
});

test("without the addon nothing is known of the kernel", () => {
  expect(problems(XDP, { kernel: null, addonError: "cannot be loaded; run `make addon`" })).toEqual([
    "error    addon: cannot be loaded; run `make addon`",
  ]);
});

describe("the kernel:", () => {
  test.each([
    ["5.17.9-generic", false],
    ["5.18.0", true],
    ["6.1.0-18-amd64", true],
    ["10.0", true],
    ["4.19.0", false],
    ["unknown", true],
  ])("Linux %s is new enough: %p", (release, isEnough) => {
    const lines = inKernel(XDP, { release });
    expect(lines).toEqual(
      isEnough
        ? []
        : [
            `error    kernel: Linux ${release} is too old for the XDP programs, which need 5.18: boot a newer kernel, or capture mirror ports with backend pcap`,
          ],
    );
  });

  test("an old one is no matter where libpcap captures", () => {
    expect(inKernel({ interfaces: [interfaceNeed({ uses: ["pcap"], xdpMode: null })] }, { release: "4.19.0" })).toEqual(
      [],
    );
  });

  test("says what it has and what locks it down", () => {
    const [item] = judgeMachine(
      machineNeeds(XDP),
      machineFindings({ kernel: kernelFindings({ lockdown: "integrity", hasBtf: false, possibleCpus: 1 }) }),
    );
    expect(item?.found).toBe("Linux 6.1.0-18-amd64, 1 possible CPU, BTF absent, lockdown integrity");
  });

  test.each([
    [false, 8181, ["warning  BPF JIT: off: programs run several times slower: `sysctl -w net.core.bpf_jit_enable=1`"]],
    [null, 0, ["warning  BPF JIT: off: programs run several times slower: `sysctl -w net.core.bpf_jit_enable=1`"]],
    [null, 8181, []],
    [true, 0, []],
  ])("JIT %p, machine code of %p bytes", (isJitOn, jitedBytes, expected) => {
    const programs = [tried({ probe: programProbe({ jitedBytes }) })];
    expect(problems(XDP, { kernel: kernelFindings({ isJitOn }), programs })).toEqual(expected);
  });

  test("of a JIT that nothing shows nothing is said", () => {
    const items = judgeMachine(machineNeeds(XDP), machineFindings({ kernel: kernelFindings({ isJitOn: null }) }));
    expect(items.map(({ about }) => about)).not.toContain("BPF JIT");
  });
});

describe("capabilities:", () => {
  const ALL = ["CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_BPF", "CAP_PERFMON"];

  test.each([
    ["inline", ALL, null],
    ["inline", ["CAP_NET_ADMIN", "CAP_SYS_ADMIN"], null],
    ["inline", ["CAP_NET_ADMIN", "CAP_BPF"], "CAP_PERFMON"],
    ["filter", ["CAP_BPF", "CAP_PERFMON"], "CAP_NET_ADMIN"],
    ["mirror", ["CAP_NET_ADMIN", "CAP_BPF"], "CAP_NET_RAW"],
    ["mirror", ["CAP_NET_ADMIN", "CAP_BPF", "CAP_NET_RAW"], null],
    ["pcap", ["CAP_NET_RAW"], null],
    ["pcap", ["CAP_SYS_ADMIN"], "CAP_NET_RAW"],
  ] as const)("for %s with %j, missing is %p", (use, capabilities, missing) => {
    const needs = { interfaces: [interfaceNeed({ uses: [use] })] };
    const lines = inKernel(needs, { capabilities }, "start");
    if (missing === null) expect(lines).toEqual([]);
    else
      expect(lines[0]).toStartWith(`error    capabilities: ${missing} missing: run as root, or give the service CAP_`);
  });

  test("that the command lacks are no fault of the service's", () => {
    expect(inKernel(XDP, { capabilities: ["CAP_NET_ADMIN"] })).toEqual([
      "warning  capabilities: this command has no CAP_BPF, CAP_PERFMON, so that not all was tried: run it as root; the service needs CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON",
    ]);
  });
});

describe("locked memory:", () => {
  const MIB = 1024 * 1024;
  const eight = new Map([["eth0", interfaceFindings({ rxQueues: 8 })]]);

  test.each([
    [null, [], []],
    [128 * MIB, [], []],
    [128 * MIB - 1, [], ["error"]],
    [8 * MIB, ["CAP_IPC_LOCK"], []],
  ])("%p bytes with %j", (lockedBytesMost, more, levels) => {
    const kernel = kernelFindings({ lockedBytesMost, capabilities: [...kernelFindings().capabilities, ...more] });
    const lines = problems(MIRROR, { kernel, interfaces: eight, seenBy: "start" });
    expect(lines.map((line) => line.split(" ")[0] ?? "")).toEqual(levels);
  });

  test("names what is there, what is needed, and where to raise it; of a command it is a warning", () => {
    const kernel = kernelFindings({ lockedBytesMost: 8 * MIB });
    const interfaces = [interfaceNeed({ uses: ["mirror"], queues: [0, 2] })];
    expect(problems({ interfaces }, { kernel, interfaces: eight })).toEqual([
      "warning  locked memory: 8 MiB at most, and packet buffers take 32 MiB: `LimitMEMLOCK=infinity` in the unit, or `ulimit -l unlimited`",
    ]);
  });
});

describe("the place for pins:", () => {
  const at = (pinPath: string, isOnBpfFileSystem: boolean, seenBy: MachineFindings["seenBy"], more: string[] = []) => {
    const capabilities = [...kernelFindings().capabilities, ...more];
    const existing = { existing: "/sys/fs", isOnBpfFileSystem };
    return inKernel({ pinPath }, { pinPath: existing, capabilities }, seenBy);
  };

  test.each([
    ["check", [], "warning"],
    ["start", ["CAP_SYS_ADMIN"], "warning"],
    ["start", [], "error"],
  ] as const)("no BPF file system, seen by %s with %j", (seenBy, more, level) => {
    expect(at("/sys/fs/bpf/floodwall", true, seenBy, [...more])).toEqual([]);
    expect(at("/sys/fs/bpf/floodwall", false, seenBy, [...more])).toEqual([
      `${level.padEnd(7)}  dataplane.pin_path: no BPF file system is mounted at /sys/fs/bpf: \`mount -t bpf bpf /sys/fs/bpf\``,
    ]);
  });

  test("a folder elsewhere is an error, since nobody mounts one there", () => {
    expect(at("/var/lib/pins", false, "check", ["CAP_SYS_ADMIN"])).toEqual([
      "error    dataplane.pin_path: /var/lib/pins is not on a BPF file system: /sys/fs is of another kind: `mount -t bpf bpf /sys/fs/bpf`, and name a folder there",
    ]);
    expect(at("/var/lib/pins", true, "check")).toEqual([]);
  });
});

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
        "error    interface eth0: XDP program 7 (name not to be read) is attached and is not replaced: stop its owner, or `ip link set eth0 xdpgeneric off`",
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
      ["warning  interface eth0: this kernel does not say whether zero copy works: set zero_copy to auto"],
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
    expect(described(bare)).toBe("driver unknown, MTU 1500, RX queues 4, XDP of the driver: this kernel does not say");
    expect(described(interfaceFindings({ xdpFeatures: [] }))).toEndWith("XDP of the driver: none");
    expect(described(bare, interfaceNeed({ uses: ["pcap"] }))).toBe("driver unknown, MTU 1500, RX queues 4");
    expect(described(interfaceFindings({ driver: "veth" }), interfaceNeed({ uses: ["pcap"] }))).toContain("a veth: ");
  });
});

describe("programs:", () => {
  const refused = (error: string) => tried({ probe: programProbe({ error, instructions: 0 }) });

  test("one that the kernel refuses is an error with the kernel's reason", () => {
    expect(problems({}, { programs: [tried(), refused("Linux 6.1 refused the XDP filter: …; boot …")] })).toEqual([
      "error    program xdp_filter: Linux 6.1 refused the XDP filter: …; boot …",
    ]);
  });

  test("one that the command may not load was not tried, and that is no error", () => {
    const kernel = kernelFindings({ missingForLoading: ["CAP_BPF"] });
    const variant = {
      program: "inline",
      hasFragments: true,
      filters: true,
      countsOutgoing: true,
      maxHosts: 9,
    } as const;
    const programs = [tried(), refused("no permission"), { ...refused("no permission"), variant }];
    const findings = { kernel, programs };
    expect(problems({}, findings)).toEqual([
      "warning  programs: not tried without CAP_BPF: xdp_filter; xdp_inline (filtering, counting what hosts send, frames in pieces): run this as root",
    ]);
    expect(problems({}, { ...findings, seenBy: "start" })).toEqual([
      "error    program xdp_filter: no permission",
      "error    program xdp_inline (filtering, counting what hosts send, frames in pieces): no permission",
    ]);
  });

  test("one that is not compiled says so", () => {
    const programs = [tried({ variant: { program: "mirror" }, probe: programProbe({ jitedBytes: 0 }) })];
    const [item] = judgeMachine(machineNeeds(), machineFindings({ programs }));
    expect(item && itemLine(item)).toBe(
      "ok       program xdp_mirror: loads: 1810 instructions, 95012 verified, 4352 states, not compiled",
    );
  });
});

describe("gobgpd:", () => {
  test.each<[GobgpdFindings, string[]]>([
    [{ path: "/usr/bin/gobgpd", version: "3.10.0" }, []],
    [
      { path: "/usr/bin/gobgpd", version: "4.8.0" },
      ["error    gobgpd: 4.8.0, /usr/bin/gobgpd, has another API: install gobgpd 3.x, as Debian has it"],
    ],
    [
      { path: null, version: null },
      ["error    gobgpd: is not installed, and bgp.speaker is managed: `apt-get install gobgpd`"],
    ],
    [
      { path: "/usr/bin/gobgpd", version: "2.34.0" },
      ["error    gobgpd: 2.34.0, /usr/bin/gobgpd, has another API: install gobgpd 3.x, as Debian has it"],
    ],
    [
      { path: "/usr/bin/gobgpd", version: null },
      ["warning  gobgpd: /usr/bin/gobgpd does not tell its version: see `/usr/bin/gobgpd --version`"],
    ],
  ])("%j", (gobgpd, expected) => {
    expect(problems({ gobgpd: true }, { gobgpd })).toEqual(expected);
  });
});
