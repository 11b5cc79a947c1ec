import { expect, test } from "bun:test";
import { Capture } from "./capture.ts";
import type { CaptureConfig } from "./capture-config.ts";
import type { SourceStatus } from "./native.d.ts";

const FILE = { pcapFile: "/tmp/flood.pcap", pace: "real" } as CaptureConfig;
const NO_REASON = /gave no reason: see the kernel's log/;

/** With one source, which is in this state, or which this error keeps from being opened. */
function capture(source: Partial<SourceStatus> | Error) {
  const logged: string[] = [];
  const openSource = () => {
    if (source instanceof Error) throw source;
    const status: SourceStatus = { state: "running", mode: "file", error: null, queues: [], ...source };
    return { status: () => status, close: () => {} };
  };
  const log = {
    info: () => {},
    warn: () => {},
    error: (fields: object) => logged.push((fields as { readonly error: string }).error),
  };
  const made = new Capture({
    engine: { openSource },
    ...{ config: FILE, flows: [], log, every: () => () => {}, filter: () => null },
  });
  made.start();
  made.openMissing();
  return { error: () => made.status()[0]?.error, logged };
}

test("a source that fails has its reason in the state and the log", () => {
  const { error, logged } = capture({ state: "failed", error: "interface eth1 is down" });
  expect([error(), ...logged]).toEqual(["interface eth1 is down", "interface eth1 is down"]);
});

test.each([
  ["fails with an empty reason", { state: "failed", error: " " } as const],
  ["fails without one", { state: "failed" } as const],
  ["cannot be opened for an empty reason", new Error("")],
])("a source that %s says where to look", (_, source) => {
  const { error, logged } = capture(source);
  expect(error()).toMatch(NO_REASON);
  expect(logged).toHaveLength(1);
  expect(logged[0]).toMatch(NO_REASON);
});

test("a source that runs has no error", () => {
  expect(capture({}).error()).toBeNull();
});
