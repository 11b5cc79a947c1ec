/** The addon's findings about this machine: the loopback interface, which every machine has, and this kernel. */
import { describe, expect, test } from "bun:test";
import { machineNeeds } from "../../test/fixtures/dataplane/machine.ts";
import { DEVICE, Veth, vethUnavailable } from "../../test/fixtures/dataplane/veth.ts";
import { loadAddon } from "./addon.ts";
import { readMachine } from "./machine-reader.ts";

const native = loadAddon();
const isRoot = process.getuid?.() === 0;
const needsRoot = isRoot ? "" : " (skipped: needs root to load an XDP program)";
const because = vethUnavailable === null ? "" : ` (skipped: ${vethUnavailable})`;

describe("the addon", () => {
  test("reads an interface, and knows one that is not there", async () => {
    expect(await native.readInterface("lo")).toMatchObject({ name: "lo", isUp: true, rxQueues: 1 });
    expect(await native.readInterface("no-such-device")).toBeNull();
    expect(await native.readInterface("")).toBeNull();
    expect(await native.readInterface("a name that is longer than any can be")).toBeNull();
  });

  test("reads the kernel, and the place for pins where one is named", () => {
    const { release, possibleCpus, pinPath } = native.readKernel(null);
    expect(release).toMatch(/^\d+\.\d+/);
    expect(possibleCpus).toBeGreaterThan(0);
    expect(pinPath).toBeNull();
    expect(native.readKernel("/no/such/folder").pinPath).toEqual({ existing: "/", isOnBpfFileSystem: false });
  });

  test.skipIf(!isRoot)(`has the kernel judge each program, and reports its size${needsRoot}`, async () => {
    const inline = { program: "inline", hasFragments: true, filters: true, countsOutgoing: true, maxHosts: 9 } as const;
    for (const variant of [{ program: "mirror" }, { program: "filter", hasFragments: false }, inline] as const) {
      const probe = await native.probeProgram(variant);
      expect(probe).toMatchObject({ error: null });
      expect(probe.instructions).toBeGreaterThan(0);
      expect(probe.verifiedInstructions).toBeGreaterThan(0);
      expect(probe.totalStates).toBeGreaterThanOrEqual(probe.peakStates);
    }
  });

  test.each([
    [{ program: "other" }, "program must be one of mirror filter inline"],
    [{ program: "filter" }, "hasFragments must be a boolean"],
    [{ program: "inline", hasFragments: true, filters: true, countsOutgoing: 1 }, "countsOutgoing must be a boolean"],
    [null, "variant must be an object"],
  ])("refuses %j with an error that names what is wrong", (variant, message) => {
    expect(() => native.probeProgram(variant as never)).toThrow(new TypeError(message));
  });

  test.skipIf(vethUnavailable !== null)(`sees on a veth what the kernel offers there${because}`, async () => {
    const veth = new Veth();
    try {
      const program = `const native = require(${JSON.stringify(`${import.meta.dir}/../../build/addon/floodwall.node`)});
        console.log(JSON.stringify(await native.readInterface(${JSON.stringify(DEVICE)})));`;
      const read = () => JSON.parse(veth.far.run([process.execPath, "-e", program])) as Record<string, unknown>;
      expect(read()).toMatchObject({
        driver: "veth",
        isUp: true,
        hasCarrier: true,
        mtu: 1500,
        rxQueues: 1,
        lro: false,
        groHw: false,
        rxVlan: true,
        vlanDevices: 0,
        nativeObstacles: [],
        attached: null,
      });
      veth.near.run(["ip", "link", "set", DEVICE, "down"]);
      veth.far.run(["ip", "link", "set", DEVICE, "mtu", "1400"]);
      expect(read()).toMatchObject({ isUp: true, hasCarrier: false, mtu: 1400 });
    } finally {
      veth.close();
    }
  });
});

test("a configuration that needs nothing of the kernel has nothing read", async () => {
  const load = () => {
    throw new Error("not to be loaded");
  };
  expect(await readMachine(load, machineNeeds())).toMatchObject({ kernel: null, programs: [], addonError: null });
});
