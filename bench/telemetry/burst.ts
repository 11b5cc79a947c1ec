/**
 * What becomes of a whole second of records that 100 exporters send at the same moment, with the default receive buffer
 * and with a small one? Every record is counted, or reported as lost by its exporter. And what do 1,000 exporters with
 * 100 templates each take of memory?
 */
import { join } from "node:path";
import { Undo } from "../../test/fixtures/undo.ts";
import { Namespaces, namespacesUnavailable } from "../../test/lab/namespaces.ts";
import { Collector, type CollectorCounts } from "../../test/telemetry/collector.ts";
import { buildRecordSender, type RecordTraffic, readTotals, sendRecords } from "../../test/telemetry/record-sender.ts";
import { COUNTING_CPU } from "../counting-process.ts";
import { type Bench, figure, type Measurement } from "../measurement.ts";
import { NETWORK, PORT } from "./receivers.ts";

const EXPORTERS = "127.0.0.0/8";
/** The service's default, and what a kernel grants without a change of its settings. */
const BUFFERS = { default: 64 << 20, small: 4 << 20 };
/** Records a second of all exporters. A loss is seen by the sequence numbers, and so only when an exporter sends again. */
const BURST = {
  protocol: "netflow9",
  exporters: 100,
  rate: 500_000,
  seconds: 3,
  burstMs: 1000,
  hasFarewell: true,
} as const;
const MEMORY = { protocol: "netflow9", exporters: 1000, extraTemplates: 99, records: 24_000, rate: 100_000 } as const;
const SENDER = ["taskset", "-c", "0", "chrt", "--rr", "1"];
const COUNTER = ["taskset", "-c", String(COUNTING_CPU)];
const MEMORY_MAX = 200 << 20;

export const telemetryBurst: Bench = {
  question: "bursts of 100 exporters at once; memory of 1,000 exporters",
  async run() {
    const unavailable = namespacesUnavailable();
    if (unavailable !== null) return { skipped: unavailable };
    buildRecordSender();
    return [
      ...(await burst("64 MiB, the default", BUFFERS.default)),
      ...(await burst("4 MiB", BUFFERS.small)),
      ...(await memory()),
    ];
  },
};

interface Run {
  readonly before: CollectorCounts;
  readonly after: CollectorCounts;
  /** By address of the exporter. */
  readonly sent: Readonly<Record<string, number>>;
}

async function run(traffic: Omit<RecordTraffic, "port" | "totals">, receiveBuffer: number): Promise<Run> {
  await using undo = new Undo();
  const namespaces = new Namespaces();
  undo.add(() => namespaces.close());
  const namespace = namespaces.add("collector");
  const options = { port: PORT, networks: [NETWORK], exporters: [EXPORTERS], receiveBuffer, keepsTotals: false };
  const collector = await Collector.start(namespace, options, COUNTER);
  undo.add(() => collector.stop());
  const before = await collector.counts();
  const totals = join(undo.folder("totals"), "totals");
  await sendRecords(namespace, { ...traffic, port: PORT, totals }, SENDER);
  return { before, after: await collector.counts(), sent: readTotals(totals).exporters };
}

async function burst(text: string, receiveBuffer: number): Promise<Measurement[]> {
  const { after, sent } = await run(BURST, receiveBuffer);
  const all = Object.values(sent).reduce((sum, records) => sum + records, 0);
  const counted = after.exporters.reduce((sum, exporter) => sum + exporter.counted, 0);
  const overruns = 24 * after.overruns;
  const shares = Object.entries(sent).map(([address, records]) => {
    const exporter = after.exporters.find((one) => one.address === address);
    return (100 * ((exporter?.counted ?? 0) + 24 * (exporter?.lostDatagrams ?? 0))) / records;
  });
  const question = `a second of ${BURST.rate.toLocaleString("en-US")} records of 100 exporters at once, buffer of ${text}`;
  const exact = { rival: null, isExact: true } as const;
  return [
    {
      ...exact,
      question: `${question}: counted`,
      unit: "%",
      ours: figure("Floodwall", [(100 * counted) / all]),
      target: "none set",
      isMet: true,
    },
    {
      ...{ ...exact, question: "the same: counted, or lost in the buffer as the source reports", unit: "%" },
      ...{
        ours: figure("Floodwall", [(100 * (counted + overruns)) / all]),
        target: "100 %",
        isMet: counted + overruns === all,
      },
    },
    {
      ...{ ...exact, question: "the same, by exporter: counted, or lost by its sequence numbers", unit: "%" },
      ...{ ours: figure("Floodwall", shares), target: "≥ 95 %", isMet: Math.min(...shares) >= 95 },
    },
  ];
}

async function memory(): Promise<Measurement[]> {
  const { before, after } = await run(MEMORY, BUFFERS.default);
  const templates = after.exporters.reduce((sum, exporter) => sum + exporter.templates, 0);
  const bytes = after.residentBytes - before.residentBytes;
  return [
    {
      ...{
        question: `memory of ${after.exporters.length} exporters with ${templates.toLocaleString("en-US")} templates of 20 fields`,
        unit: "bytes",
      },
      ...{ ours: figure("Floodwall", [bytes]), rival: null, target: `≤ ${MEMORY_MAX >> 20} MiB`, isExact: true },
      isMet: bytes <= MEMORY_MAX && templates >= 100_000,
    },
  ];
}
