/** What real exporters sent, as it came from the wire: all of it is understood. */
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { outputOf } from "../fixtures/child-output.ts";
import { Undo } from "../fixtures/undo.ts";
import { Namespaces, namespacesUnavailable } from "../lab/namespaces.ts";
import { Collector } from "./collector.ts";

const FOLDER = join(import.meta.dir, "recorded");
const PORT = 2055;
/** Records, and the sampling rate that the exporter reports; 0: none. */
const EXPECTED: Readonly<Record<string, readonly [records: number, samplingRate: number]>> = {
  "fprobe-netflow5.flows": [60, 0],
  "open-vswitch-ipfix.flows": [11, 0],
  "open-vswitch-netflow5.flows": [60, 0],
  "open-vswitch-sflow.flows": [24, 2],
  "pmacct-ipfix.flows": [60, 0],
  "pmacct-netflow9.flows": [60, 0],
  "pmacct-sflow.flows": [24, 2],
  "softflowd-ipfix.flows": [30, 2],
  "softflowd-netflow5.flows": [30, 2],
  "softflowd-netflow9.flows": [30, 2],
};

const unavailable = namespacesUnavailable();
const skipped = unavailable === null ? "" : ` (skipped: ${unavailable})`;

test.skipIf(unavailable !== null)(`recorded datagrams of real exporters are understood whole${skipped}`, async () => {
  await using undo = new Undo();
  const namespaces = new Namespaces();
  undo.add(() => namespaces.close());
  const namespace = namespaces.add("collector");
  const options = { port: PORT, networks: ["203.0.113.0/24"], exporters: ["127.0.4.0/24"], receiveBuffer: 4 << 20 };
  const collector = await Collector.start(namespace, { ...options, keepsTotals: false });
  undo.add(() => collector.stop());
  const names = readdirSync(FOLDER)
    .filter((name) => name.endsWith(".flows"))
    .sort();
  const files = names.map((name) => join(FOLDER, name));
  const command = namespace.command([
    process.execPath,
    join(import.meta.dir, "flow-replay.ts"),
    String(PORT),
    ...files,
  ]);
  await outputOf({ name: "replay", command });
  const { exporters } = await collector.counts();
  const said = names.map((name, i) => {
    const exporter = exporters.find(({ address }) => address === `127.0.4.${i + 1}`);
    expect(exporter, name).toMatchObject({
      undecoded: [],
      waitingForTemplate: 0,
      withoutTemplate: 0,
      lostRecords: 0,
    });
    expect(exporter?.counted, name).toBe(exporter?.records ?? 0);
    return [name, [exporter?.records ?? 0, exporter?.samplings[0]?.rate ?? 0]];
  });
  expect(Object.fromEntries(said)).toEqual(EXPECTED);
});

test.skipIf(unavailable !== null)(
  `a packet that is reported as it comes in and as it leaves counts once${skipped}`,
  async () => {
    await using undo = new Undo();
    const namespaces = new Namespaces();
    undo.add(() => namespaces.close());
    const namespace = namespaces.add("collector");
    const options = { port: PORT, networks: ["203.0.113.0/24"], exporters: ["127.0.4.0/24"], receiveBuffer: 4 << 20 };
    const collector = await Collector.start(namespace, { ...options, direction: "ingress", keepsTotals: false });
    undo.add(() => collector.stop());
    const file = join(FOLDER, "open-vswitch-ipfix.flows");
    const command = namespace.command([process.execPath, join(import.meta.dir, "flow-replay.ts"), String(PORT), file]);
    await outputOf({ name: "replay", command });
    const { exporters } = await collector.counts();
    expect(exporters[0]).toMatchObject({ records: 11, counted: 7, leftOut: { direction: 4 } });
  },
);
