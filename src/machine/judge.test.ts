/** The items of the kernel, the programs and gobgpd: one fault at a time. */
import { describe, expect, test } from "bun:test";
import {
  interfaceFindings,
  interfaceNeed,
  kernelFindings,
  machineFindings,
  machineNeeds,
  machineProblems,
  programProbe,
  tried,
} from "../../test/fixtures/dataplane/machine.ts";
import { itemLine, summaryLine } from "./item.ts";
import { judgeMachine } from "./judge.ts";
import type { GobgpdFindings, KernelFindings, MachineFindings } from "./machine.ts";
import type { MachineNeeds } from "./needs.ts";

function inKernel(
  needs: Partial<MachineNeeds>,
  kernel: Partial<KernelFindings>,
  seenBy: MachineFindings["seenBy"] = "check",
): string[] {
  return machineProblems(needs, { kernel: kernelFindings(kernel), seenBy });
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
      gobgpd: { path: "/usr/bin/gobgpd", version: "4.8.0" },
    }),
  );
  expect(items.map(itemLine)).toEqual([
    "ok       kernel: Linux 6.1.0-18-amd64, 4 possible CPUs, BTF there",
    "ok       BPF JIT: on",
    "ok       capabilities: CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON",
    "ok       dataplane.pin_path: /sys/fs/bpf/floodwall lies on a BPF file system",
    "ok       gobgpd: 4.8.0, /usr/bin/gobgpd",
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
  expect(machineProblems(XDP, { kernel: null, addonError: "cannot be loaded; run `make addon`" })).toEqual([
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
    expect(machineProblems(XDP, { kernel: kernelFindings({ isJitOn }), programs })).toEqual(expected);
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
    const lines = machineProblems(MIRROR, { kernel, interfaces: eight, seenBy: "start" });
    expect(lines.map((line) => line.split(" ")[0] ?? "")).toEqual(levels);
  });

  test("names what is there, what is needed, and where to raise it; of a command it is a warning", () => {
    const kernel = kernelFindings({ lockedBytesMost: 8 * MIB });
    const interfaces = [interfaceNeed({ uses: ["mirror"], queues: [0, 2] })];
    expect(machineProblems({ interfaces }, { kernel, interfaces: eight })).toEqual([
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

  test("a folder elsewhere is an error, since no file system is mounted there", () => {
    expect(at("/var/lib/pins", false, "check", ["CAP_SYS_ADMIN"])).toEqual([
      "error    dataplane.pin_path: /var/lib/pins is not on a BPF file system: /sys/fs is of another kind: `mount -t bpf bpf /sys/fs/bpf`, and name a folder there",
    ]);
    expect(at("/var/lib/pins", true, "check")).toEqual([]);
  });
});

describe("programs:", () => {
  const refused = (error: string) => tried({ probe: programProbe({ error, instructions: 0 }) });

  test("one that the kernel refuses is an error with the kernel's reason", () => {
    expect(
      machineProblems({}, { programs: [tried(), refused("Linux 6.1 refused the XDP filter: …; boot …")] }),
    ).toEqual(["error    program xdp_filter: Linux 6.1 refused the XDP filter: …; boot …"]);
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
    expect(machineProblems({}, findings)).toEqual([
      "warning  programs: not tried without CAP_BPF: xdp_filter; xdp_inline (filtering, counting what hosts send, frames in pieces): run this as root",
    ]);
    expect(machineProblems({}, { ...findings, seenBy: "start" })).toEqual([
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
    ...["3.10.0", "4.4.9"].map((version): [GobgpdFindings, string[]] => [
      { path: "/usr/bin/gobgpd", version },
      [
        `warning  gobgpd: ${version}, /usr/bin/gobgpd: a peer can crash it (CVE-2026-42285), and it is started again: install 4.5 or later, or let only routers that you trust be neighbors (docs/operations/security.md)`,
      ],
    ]),
    [{ path: "/usr/bin/gobgpd", version: "4.5.0" }, []],
    [
      { path: null, version: null },
      ["error    gobgpd: is not installed, and bgp.speaker is managed: `apt-get install gobgpd`"],
    ],
    [
      { path: "/usr/bin/gobgpd", version: "2.34.0" },
      ["error    gobgpd: 2.34.0, /usr/bin/gobgpd, has another API: install gobgpd 3.x or 4.x, as Debian has them"],
    ],
    [
      { path: "/usr/bin/gobgpd", version: null },
      ["warning  gobgpd: /usr/bin/gobgpd does not report its version: see `/usr/bin/gobgpd --version`"],
    ],
  ])("%j", (gobgpd, expected) => {
    expect(machineProblems({ gobgpd: true }, { gobgpd })).toEqual(expected);
    // Each start need not say it again.
    const isCrashed = expected.join().includes("CVE");
    if (isCrashed) expect(machineProblems({ gobgpd: true }, { gobgpd, seenBy: "start" })).toEqual([]);
  });
});
