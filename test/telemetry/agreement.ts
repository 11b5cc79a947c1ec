/**
 * One exporter of others watches traffic that is known to the packet, and one stream of what it exports goes to several
 * readers at once, ours among them: what does each say that every host got?
 */
import { LineProcess } from "../fixtures/line-process.ts";
import { Undo } from "../fixtures/undo.ts";
import { Namespaces } from "../lab/namespaces.ts";
import { sendFrom } from "../lab/world.ts";
import { Collector, type CollectorCounts, type HostTotals } from "./collector.ts";
import type { ExporterKind } from "./exporters.ts";
import type { ReaderKind, Totals } from "./readers.ts";
import { socketAt } from "./udp-socket.ts";

export const FIRST_HOST = "203.0.113.0";
const NETWORK = "203.0.113.0/24";
const [EXPORT_PORT, OUR_PORT, FIRST_READER_PORT] = [9000, 9001, 9002];
const RELAY = `${import.meta.dir}/flow-relay.ts`;
export const RECEIVE_BUFFER = 16 << 20;
/** Of what is ours, for a reader that reports rates alone; and packets, since it reports whole ones a second. */
const [NEAR_SHARE, NEAR_PACKETS] = [0.1, 8];

export interface Watched {
  readonly hosts: number;
  /** To all hosts together, the same number to each. */
  readonly packets: number;
  readonly pps: number;
  /** Of a frame without its check sum. */
  readonly frameBytes: number;
  readonly sampling: number;
}

interface ReaderSaid {
  readonly name: string;
  readonly isNear: boolean;
  readonly totals: Totals;
  /** Datagrams that found its receive buffer full. */
  readonly drops: number;
}

export interface Agreement {
  readonly ours: CollectorCounts;
  readonly readers: readonly ReaderSaid[];
  /** That came to the relay, which gives them to all. */
  readonly datagrams: number;
  /** That found its buffer full: no reader got them. */
  readonly lostBefore: number;
}

/** An Ethernet header, which flow records leave out and we count; and the check sum, which sFlow counts and we leave out. */
const HEADER_BYTES = 14;
const CHECK_SUM_BYTES = 4;

/** A reader that says something else of a host than ours, as lines. One whose own buffer was full got another stream. */
export function disagreements({ ours, readers }: Agreement, { isSflow, misreadBy = [] }: ExporterKind): string[] {
  const perPacket = isSflow ? CHECK_SUM_BYTES : -HEADER_BYTES;
  const mine = Object.entries(ours.hosts).map(([host, { packets, bytes }]): [string, HostTotals] => [
    host,
    { packets, bytes: bytes + perPacket * packets },
  ]);
  const isSame = (isNear: boolean, expected: HostTotals, said: HostTotals | undefined) =>
    isNear
      ? Math.abs((said?.packets ?? 0) - expected.packets) <= NEAR_SHARE * expected.packets + NEAR_PACKETS
      : said?.packets === expected.packets && said.bytes === expected.bytes;
  return readers
    .filter(({ name, drops }) => drops === 0 && !misreadBy.includes(name))
    .flatMap(({ name, isNear, totals }) =>
      mine
        .filter(([host, expected]) => !isSame(isNear, expected, totals[host]))
        .map(
          ([host, expected]) => `${host}: ours ${JSON.stringify(expected)}, ${name} ${JSON.stringify(totals[host])}`,
        ),
    );
}

/** Several may be watched at once, each in namespaces of its own. */
let worlds = 0;

export async function watch(
  exporter: ExporterKind,
  readers: readonly ReaderKind[],
  watched: Watched,
): Promise<Agreement> {
  await using undo = new Undo();
  const namespaces = new Namespaces();
  undo.add(() => namespaces.close());
  const world = ++worlds;
  const [attacker, router] = [namespaces.add(`attacker${world}`), namespaces.add(`router${world}`)];
  namespaces.connect({ namespace: attacker, device: "wire0" }, { namespace: router, device: "up0" });
  const ports = readers.map((_, i) => FIRST_READER_PORT + i);
  const others = await Promise.all(
    readers.map((kind, i) => kind.start({ namespace: router, port: ports[i] ?? 0, isSflow: exporter.isSflow, undo })),
  );
  const options = { port: OUR_PORT, networks: [NETWORK], exporters: ["127.0.0.1/32"], receiveBuffer: RECEIVE_BUFFER };
  const ours = await Collector.start(router, { ...options, keepsTotals: true });
  undo.add(() => ours.stop());
  const to = [OUR_PORT, ...ports].map(String);
  const relay = new LineProcess(router.command([process.execPath, RELAY, String(EXPORT_PORT), ...to]));
  undo.add(() => relay.end());
  await relay.line();
  const { sampling, hosts } = watched;
  const probe = await exporter.start({ namespace: router, device: "up0", port: EXPORT_PORT, sampling, undo });
  await sendFrom(attacker, {
    ...{ profile: "udp", target: FIRST_HOST, hosts, sources: 20, path: "socket", pps: watched.pps },
    ...{ bytes: watched.frameBytes, count: watched.packets, seconds: 60 },
  });
  await probe.flush();
  const counts = await ours.settledCounts();
  const datagrams = Number(await relay.ask("datagrams"));
  const lostBefore = socketAt(router, EXPORT_PORT)?.drops ?? 0;
  const drops = ports.map((port) => socketAt(router, port)?.drops ?? 0);
  const said = await Promise.all(
    others.map(async (reader, i) => ({
      ...{ name: reader.name, isNear: readers[i]?.isNear === true },
      ...{ totals: await reader.totals(), drops: drops[i] ?? 0 },
    })),
  );
  return { ours: counts, readers: said, datagrams, lostBefore };
}
