/**
 * What exporters of others say of known traffic is the same to us as to other readers of the same stream, host by host.
 * `make lab-telemetry` has more of them.
 */
import { expect, test } from "bun:test";
import { namespacesUnavailable } from "../lab/namespaces.ts";
import { disagreements, watch } from "./agreement.ts";
import { EXPORTERS, type ExporterKind } from "./exporters.ts";
import { READERS } from "./readers.ts";

const HOSTS = 10;
const NAMES = ["softflowd, NetFlow v9", "softflowd, IPFIX", "fprobe, NetFlow v5", "pmacct sfprobe, sFlow"];
const kinds = EXPORTERS.filter(({ name }) => NAMES.includes(name));
const missing = [...kinds, ...READERS.slice(0, 2)]
  .flatMap(({ programs }) => programs)
  .filter((name) => Bun.which(name) === null);
const unavailable = namespacesUnavailable() ?? (missing.length > 0 ? `needs ${missing.join(", ")}` : null);
/** Those that are installed, and count. */
const readers = READERS.filter(
  ({ programs, isNear }) => isNear !== true && programs.every((name) => Bun.which(name) !== null),
);

test.skipIf(unavailable !== null)(
  `totals of each host are those of other readers, from four exporters of others${unavailable === null ? "" : ` (${unavailable})`}`,
  async () => {
    // Four at once: most of the time is waiting for what expires.
    await Promise.all(kinds.map(agrees));
  },
);

async function agrees(kind: ExporterKind): Promise<void> {
  const agreement = await watch(kind, readers, {
    hosts: HOSTS,
    packets: 2000,
    pps: 2000,
    frameBytes: 200,
    sampling: 1,
  });
  const { ours } = agreement;
  expect(disagreements(agreement, kind), kind.name).toEqual([]);
  expect(agreement.readers.filter(({ drops }) => drops === 0).length, kind.name).toBeGreaterThan(0);
  expect(Object.keys(ours.hosts).length, kind.name).toBe(HOSTS);
  const [exporter] = ours.exporters;
  expect(exporter, kind.name).toMatchObject({ undecoded: [], waitingForTemplate: 0, withoutTemplate: 0 });
  expect(exporter?.counted, kind.name).toBe(exporter?.records ?? 0);
}
