/** The numbers of one ended attack in each place where a person or a program reads them. */
import { attackReport, seriesCsv } from "../../../dashboard/text/attack-report.ts";
import type { DropCause } from "../../../src/detection/attack/attack-volume.ts";
import type { AttacksWire, AttackWire } from "../../../src/http/wire/attack.ts";
import type { SeriesWire, TimelineWire } from "../../../src/http/wire/attack-series.ts";
import type { AttackSourcesWire } from "../../../src/http/wire/attack-sources.ts";
import type { VolumeWire } from "../../../src/http/wire/attack-volume.ts";
import { PACKET_OUTCOMES, type PacketOutcome } from "../../../src/traffic/packet-outcome.ts";
import { PCAP_HEADER_BYTES, PCAP_PACKET_HEADER_BYTES } from "../../../src/traffic/pcap-file.ts";
import { eventually, type ServiceProcess } from "../../fixtures/service.ts";
import { firstFigure } from "../truth/figures.ts";

/** `dropped` and `passed` are null where the place says that they are not known. */
export interface Numbers {
  readonly packets: number;
  readonly dropped: number | null;
  readonly passed: number | null;
}

export interface Views {
  readonly api: Numbers;
  readonly by: Readonly<Partial<Record<DropCause, number>>>;
  /** The same volume, word for word. */
  readonly tenant: string;
  readonly history: string;
  readonly own: string;
  /** Sums over the points from the attack's begin on. */
  readonly series: Numbers;
  readonly csv: Numbers;
  /** With three digits. */
  readonly report: Numbers;
  /** In the dialog, and in the file of each choice. */
  readonly kept: Readonly<Record<PacketOutcome | "total", number>>;
  readonly files: Readonly<Record<PacketOutcome | "total", number>>;
}

export interface Reader {
  readonly service: ServiceProcess;
  readonly operator?: string;
  /** The token of the tenant that the victim belongs to; absent: it has none. */
  readonly tenant?: string;
}

export async function readViews({ service, operator, tenant }: Reader, attack: AttackWire): Promise<Views> {
  const { id, volume, started_at: startedAt } = attack;
  if (volume === undefined) throw new Error(`the attack ${id} has no volume`);
  const get = async <T>(path: string, secret = operator): Promise<T> => {
    const { status, body } = await service.get<T>(path, secret);
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  };
  const from = new Date(Date.parse(startedAt) - 60_000).toISOString();
  const path = `/api/v1/attacks/history?from=${from}&target=${attack.target}`;
  const history = await storedIn(() => get<History>(path), id);
  const [series, timeline, sources, ofTenant] = await Promise.all([
    get<SeriesWire>(`/api/v1/attacks/${id}/series`),
    get<TimelineWire>(`/api/v1/attacks/${id}/timeline`),
    get<AttackSourcesWire>(`/api/v1/attacks/${id}/sources`),
    get<AttacksWire>("/api/v1/attacks", tenant ?? operator),
  ]);
  // Points before the attack began show what was normal.
  const isCounted = ({ at }: { readonly at: string }) => Date.parse(at) >= Date.parse(volume.began_at) - 1;
  const volumeIn = (attacks: readonly AttackWire[]) =>
    JSON.stringify(attacks.find(({ id: other }) => other === id)?.volume);
  return {
    api: numbersOf(volume),
    by: volume.dropped_by ?? {},
    own: JSON.stringify(volume),
    tenant: volumeIn(ofTenant.recent),
    history: volumeIn(history.attacks),
    series: sumOf(series.points.filter(isCounted)),
    csv: sumOf(csvPoints(seriesCsv({ points: series.points.filter(isCounted) }, attack))),
    report: reportNumbers(
      attackReport({ attack, timeline: timeline.entries, sources, nowMs: Date.now(), localTime: null }),
    ),
    kept: sources.kept_packets,
    files: await filesOf(service, id, operator),
  };
}

interface History {
  readonly attacks: readonly AttackWire[];
}

/** Ended attacks are written a moment later. */
async function storedIn(read: () => Promise<History>, id: string): Promise<History> {
  let found: History = { attacks: [] };
  await eventually(
    async () => {
      found = await read();
      return found.attacks.some((attack) => attack.id === id);
    },
    `the attack ${id} is not in the history`,
    10_000,
    100,
  );
  return found;
}

function numbersOf({ packets, dropped_packets: dropped, passed_packets: passed }: VolumeWire): Numbers {
  return { packets, dropped: dropped ?? null, passed: passed ?? null };
}

type Point = Partial<Record<"seconds" | "pps" | "dropped_pps" | "passed_pps", number>>;

/** Points of which nothing is known add nothing; null: there is no other. */
function sumOf(points: readonly Point[]): Numbers {
  const sum = (rate: "pps" | "dropped_pps" | "passed_pps") => {
    const known = points.filter((point) => point[rate] !== undefined);
    if (known.length === 0) return null;
    return known.reduce((total, point) => total + (point[rate] ?? 0) * (point.seconds ?? 0), 0);
  };
  return { packets: sum("pps") ?? 0, dropped: sum("dropped_pps"), passed: sum("passed_pps") };
}

function csvPoints(text: string): Point[] {
  const [head = [], ...rows] = text
    .trim()
    .split("\n")
    .map((line) => line.trim().split(","));
  return rows.map((row) => {
    const cells = head.flatMap((name, i) => (row[i] === "" || row[i] === undefined ? [] : [[name, Number(row[i])]]));
    return Object.fromEntries(cells) as Point;
  });
}

function reportNumbers(text: string): Numbers {
  const figure = (name: string) => {
    const value = new RegExp(`^${name}:\\s+(.*)$`, "m").exec(text)?.[1] ?? "";
    return value.startsWith("not known") ? null : firstFigure(value);
  };
  return { packets: figure("Total") ?? Number.NaN, dropped: null, passed: figure("Passed here") };
}

async function filesOf(service: ServiceProcess, id: string, secret: string | undefined): Promise<Views["files"]> {
  const headers: Record<string, string> = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
  const packetsIn = async (query: string) => {
    const answer = await fetch(`http://127.0.0.1:${service.port}/api/v1/attacks/${id}/pcap${query}`, { headers });
    return answer.status === 404 ? 0 : packetsOf(await answer.arrayBuffer());
  };
  const counts = await Promise.all(PACKET_OUTCOMES.map((outcome) => packetsIn(`?outcome=${outcome}`)));
  const [passed = 0, dropped = 0, answered = 0] = counts;
  return { total: await packetsIn(""), passed, dropped, answered };
}

function packetsOf(file: ArrayBuffer): number {
  const view = new DataView(file);
  let count = 0;
  for (let at = PCAP_HEADER_BYTES; at < view.byteLength; count++) {
    at += PCAP_PACKET_HEADER_BYTES + view.getUint32(at + 8, true);
  }
  return count;
}
