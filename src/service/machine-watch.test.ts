/** The findings of a start and a reload about the machine, with a simulated native side. */
import { describe, expect, test } from "bun:test";
import {
  interfaceFindings,
  interfaceNeed,
  kernelFindings,
  machineNeeds,
  programProbe,
} from "../../test/fixtures/dataplane/machine.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { AddonError } from "../dataplane/addon.ts";
import type { MachineNative } from "../dataplane/machine-reader.ts";
import type { ProgramVariant } from "../machine/machine.ts";
import { MACHINE_LOOK_MS, MachineWatch } from "./machine-watch.ts";

const REFUSED = "Linux 6.1.0 refused the XDP filter (xdp_filter): its verifier does not take the program: R1 unbounded";
const NEEDS = machineNeeds({ interfaces: [interfaceNeed({ uses: ["inline", "filter"] })], pinPath: "/sys/fs/bpf/x" });

class FakeNative implements MachineNative {
  refuses: ProgramVariant["program"][] = [];
  device: ReturnType<typeof interfaceFindings> | null = interfaceFindings();
  readonly tried: ProgramVariant[] = [];
  readonly asked: string[] = [];
  /** Awaited before an interface is returned. */
  gate: Promise<void> = Promise.resolve();

  async probeProgram(variant: ProgramVariant) {
    this.tried.push(variant);
    return programProbe({ error: this.refuses.includes(variant.program) ? REFUSED : null });
  }
  async readInterface(name: string) {
    this.asked.push(name);
    await this.gate;
    return this.device;
  }
  readKernel(pinPath: string | null) {
    return kernelFindings({ pinPath: pinPath === null ? null : { existing: pinPath, isOnBpfFileSystem: true } });
  }
  readPinnedFilter(): never {
    throw new Error("no permission to look");
  }
}

function watching(loadAddon: () => MachineNative) {
  const lines: { level: string; fields: object; message: string }[] = [];
  const log = {
    warn: (fields: object, message: string) => lines.push({ level: "warn", fields, message }),
    error: (fields: object, message: string) => lines.push({ level: "error", fields, message }),
  };
  const clock = new ManualClock();
  const timers = new ManualTimers(clock);
  const readGobgpd = async () => ({ path: null, version: null });
  return { lines, clock, watch: new MachineWatch({ loadAddon, log, timers, readGobgpd }) };
}

describe("a start", () => {
  test("loads every program that is needed and logs what is not well, with the remedy", async () => {
    const native = new FakeNative();
    native.refuses = ["filter"];
    native.device = interfaceFindings({ isUp: false });
    const { lines, watch } = watching(() => native);
    expect(watch.problems).toBeNull();
    await watch.look(NEEDS, "start");
    expect(native.tried.map(({ program }) => program)).toEqual(["filter", "inline", "inline"]);
    const message = "this machine lacks what the configuration needs";
    expect(lines).toEqual([
      {
        level: "error",
        fields: { about: "interface eth0", found: "is down", remedy: "`ip link set eth0 up`" },
        message,
      },
      { level: "error", fields: { about: "program xdp_filter", found: REFUSED, remedy: null }, message },
    ]);
    expect(watch.problems?.map(({ about }) => about)).toEqual(["interface eth0", "program xdp_filter"]);
  });

  test("logs a warning as such, and nothing where all is well", async () => {
    const native = new FakeNative();
    const { lines, watch } = watching(() => native);
    await watch.look(NEEDS, "start");
    expect(lines).toEqual([]);
    expect(watch.problems).toEqual([]);
    native.device = interfaceFindings({ hasCarrier: false });
    await watch.look(NEEDS, "running");
    expect(lines).toMatchObject([{ level: "warn", fields: { about: "interface eth0", found: "has no carrier" } }]);
  });

  test("asks the kernel for nothing where nothing of it is needed, and for gobgpd where it is", async () => {
    const { lines, watch } = watching(() => {
      throw new Error("not to be loaded");
    });
    await watch.look(machineNeeds({ gobgpd: true }), "start");
    expect(lines).toMatchObject([{ level: "error", fields: { about: "gobgpd", remedy: "`apt-get install gobgpd`" } }]);
  });

  test("goes on without the addon, which is a finding", async () => {
    const { lines, watch } = watching(() => {
      throw new AddonError("cannot be loaded");
    });
    await watch.look(NEEDS, "start");
    expect(lines).toMatchObject([{ level: "error", fields: { about: "addon", found: "cannot be loaded" } }]);
  });

  test("goes on when looking breaks, and says that nothing is known", async () => {
    const native = new FakeNative();
    native.readKernel = () => {
      throw new Error("broken");
    };
    const { lines, watch } = watching(() => native);
    await watch.look(NEEDS, "start");
    expect(lines).toMatchObject([
      { level: "error", message: "the check of this machine for the configuration failed" },
    ]);
    expect(watch.problems).toBeNull();
  });

  test("waits for a bounded time; what comes later is reported later", async () => {
    const native = new FakeNative();
    native.device = null;
    const gate = Promise.withResolvers<void>();
    native.gate = gate.promise;
    const { lines, clock, watch } = watching(() => native);
    const looked = watch.look(NEEDS, "start");
    clock.advance(MACHINE_LOOK_MS);
    await looked;
    expect(lines).toEqual([]);
    gate.resolve();
    // The remaining steps of the check, one per turn.
    for (let turn = 0; lines.length === 0 && turn < 100; turn++) await Promise.resolve();
    expect(lines).toMatchObject([{ fields: { about: "interface eth0", found: "does not exist" } }]);
  });
});

test("a start that goes on without the look is not taken for a stranger on its own interface", async () => {
  const native = new FakeNative();
  const gate = Promise.withResolvers<void>();
  native.gate = gate.promise;
  const { lines, clock, watch } = watching(() => native);
  const looked = watch.look(NEEDS, "start");
  clock.advance(MACHINE_LOOK_MS);
  await looked;
  // The service has attached its program by now, and lacks the capability to read its name.
  native.device = interfaceFindings({ attached: { id: 7, name: null, isGeneric: false } });
  gate.resolve();
  for (let turn = 0; watch.problems === null && turn < 100; turn++) await Promise.resolve();
  expect(watch.problems).toEqual([]);
  expect(lines).toEqual([]);
});

describe("a reload", () => {
  test("logs only new problems, and keeps the current ones", async () => {
    const native = new FakeNative();
    native.device = null;
    const { lines, watch } = watching(() => native);
    await watch.look(NEEDS, "start");
    await watch.look(NEEDS, "running");
    expect(lines).toHaveLength(1);
    native.device = interfaceFindings();
    await watch.look(NEEDS, "running");
    expect(lines).toHaveLength(1);
    expect(watch.problems).toEqual([]);
    native.device = null;
    await watch.look(NEEDS, "running");
    expect(lines).toHaveLength(2);
  });

  test("that follows another while it is looked has the last word", async () => {
    const native = new FakeNative();
    native.device = null;
    const gate = Promise.withResolvers<void>();
    native.gate = gate.promise;
    const { lines, watch } = watching(() => native);
    const first = watch.look(NEEDS, "start");
    const second = watch.look(machineNeeds(), "running");
    await second;
    gate.resolve();
    await first;
    expect(lines).toEqual([]);
    expect(watch.problems).toEqual([]);
  });
});
