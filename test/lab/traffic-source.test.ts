import { afterEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { type Namespace, Namespaces, namespacesUnavailable } from "./namespaces.ts";

const PROGRAM = `${import.meta.dir}/../../build/lab/traffic_source`;
const unavailable = namespacesUnavailable() ?? (existsSync(PROGRAM) ? null : "needs build/lab/traffic_source");

interface Report {
  readonly path: string;
  readonly packets: number;
  readonly bytes: number;
  readonly device_drops: number;
}

let namespaces: Namespaces;
afterEach(() => namespaces?.close());

function pair(): { readonly near: Namespace; readonly far: Namespace } {
  namespaces = new Namespaces();
  const near = namespaces.add("near");
  const far = namespaces.add("far");
  namespaces.connect({ namespace: near, device: "veth" }, { namespace: far, device: "veth" });
  return { near, far };
}

function send(from: Namespace, ...options: string[]): Report {
  const argv = [PROGRAM, "--dev", "veth", "--dst", "10.0.0.1", ...options];
  return JSON.parse(from.run(argv)) as Report;
}

function received(at: Namespace): { readonly bytes: number; readonly packets: number } {
  const line = at
    .run(["cat", "/proc/net/dev"])
    .split("\n")
    .find((text) => text.includes("veth:"));
  const [bytes, packets] = (line?.split(":")[1]?.trim().split(/\s+/) ?? []).map(Number);
  return { bytes: bytes ?? Number.NaN, packets: packets ?? Number.NaN };
}

describe.skipIf(unavailable !== null)(`traffic source${unavailable === null ? "" : ` (${unavailable})`}`, () => {
  test("reports exactly what arrives at the far end", () => {
    const { near, far } = pair();
    const report = send(near, "--profile", "mixed", "--hosts", "10", "--pps", "10000", "--count", "1000");
    expect(report).toMatchObject({ path: "socket", packets: 1000, device_drops: 0 });
    expect(received(far)).toEqual({ bytes: report.bytes, packets: 1000 });
  });

  test("says that in-kernel frames are lost when the far end has no XDP program", () => {
    const { near } = pair();
    expect(() => send(near, "--pps", "100000", "--count", "100")).toThrow("attach an XDP program to the far end");
  });

  test("refuses to send from the network namespace of the host", () => {
    const result = Bun.spawnSync([PROGRAM, "--dev", "lo", "--dst", "10.0.0.1"], { stderr: "pipe" });
    expect(result.exitCode).toBe(1);
    expect(result.stderr.toString()).toMatch(
      /this (is the network namespace of the host|network namespace has no name)/,
    );
  });

  test.each([
    ["--pps", "many", "--pps: not a number"],
    ["--profile", "teardrop", "unknown profile teardrop"],
    ["--dst", "10.0.0.256", "not an address"],
    ["--ports", "0", "--ports: not a number from 1 to 45536"],
    ["--speed", "1", "unknown option --speed"],
  ])("refuses %s %s and says why", (option, value, message) => {
    const { near } = pair();
    expect(() => send(near, option, value)).toThrow(message);
  });
});
