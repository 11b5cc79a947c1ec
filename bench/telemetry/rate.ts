/**
 * What does a flow record cost, and how many a second are taken without loss? NetFlow v9 and IPFIX with 24 records a
 * datagram, sFlow with 8 samples: the first CPU sends, the second receives, decodes and counts. Compared with nfcapd,
 * pmacct by destination, and FastNetMon, in turn.
 */
import { Undo } from "../../test/fixtures/undo.ts";
import { type Namespace, Namespaces, namespacesUnavailable } from "../../test/lab/namespaces.ts";
import {
  buildRecordSender,
  type FlowProtocol,
  type RecordTraffic,
  type SentRecords,
  sendRecords,
} from "../../test/telemetry/record-sender.ts";
import { grantReceiveBuffers, socketAt } from "../../test/telemetry/udp-socket.ts";
import { type Bench, compared, figure, type Measurement } from "../measurement.ts";
import {
  cpuNs,
  OURS,
  PORT,
  RECEIVE_BUFFER,
  type Receiver,
  type ReceiverKind,
  RIVALS,
  receiversUnavailable,
} from "./receivers.ts";

const QUESTION = "flow records decoded and counted by one core";
export const PROTOCOLS: readonly {
  readonly name: FlowProtocol;
  readonly text: string;
  readonly per: number;
  readonly nsMax: number;
  readonly rateMin: number;
}[] = [
  { name: "netflow9", text: "NetFlow v9, 24 records", per: 24, nsMax: 130, rateMin: 6e6 },
  { name: "ipfix", text: "IPFIX, 24 records", per: 24, nsMax: 150, rateMin: 0 },
  { name: "sflow", text: "sFlow, 8 samples", per: 8, nsMax: 180, rateMin: 0 },
];
const LENGTHS = { whole: { runs: 3, steps: 5 }, quick: { runs: 1, steps: 4 } };
const FLOOD_SECONDS = 1.5;
/** Longer than the receive buffer can hide that a rate is too high. */
const HELD_SECONDS = 2;
/** A sender that did not keep its rate says nothing about the receiver. */
const SENT_SHARE_MIN = 0.97;
/** Bytes of the receive buffer, as the kernel counts it: more of it filled at the end means that the rate is not held. */
const WAITING_MAX = 8 << 20;
const DRAIN_MS = 3000;
const SENDER = ["taskset", "-c", "0", "chrt", "--rr", "1"];
const EXPORTERS = 16;

interface Run {
  /** CPU time a record when it has as much as it can take, ns. */
  readonly ns: number;
  /** Records a second. */
  readonly held: number;
  /** Records a second that the sender got rid of, taken or not. */
  readonly offered: number;
  /** Sent records that were counted, or lost in the receive buffer, as the kernel reports; null: it does not say. */
  readonly accounted: number | null;
}

export const telemetryRate: Bench = {
  question: QUESTION,
  async run({ isQuick }) {
    const unavailable = namespacesUnavailable() ?? receiversUnavailable();
    if (unavailable !== null) return { skipped: unavailable };
    buildRecordSender();
    await using undo = new Undo();
    grantReceiveBuffers(undo, RECEIVE_BUFFER);
    return await measureAll(isQuick ? LENGTHS.quick : LENGTHS.whole);
  },
};

async function measureAll({ runs, steps }: { readonly runs: number; readonly steps: number }): Promise<Measurement[]> {
  const rows: Measurement[] = [];
  for (const protocol of PROTOCOLS) {
    const byKind = new Map<ReceiverKind, Run[]>([OURS, ...RIVALS].map((kind) => [kind, []]));
    for (let run = 0; run < runs; run++) {
      for (const [kind, measured] of byKind) measured.push(await measure(kind, protocol, steps));
    }
    rows.push(...rowsOf(protocol, byKind));
  }
  return rows;
}

function rowsOf(
  protocol: (typeof PROTOCOLS)[number],
  byKind: ReadonlyMap<ReceiverKind, readonly Run[]>,
): Measurement[] {
  const of = (kind: ReceiverKind, key: "ns" | "held" | "offered") =>
    figure(
      kind.name,
      (byKind.get(kind) ?? []).map((run) => run[key]),
    );
  const rivals = [...byKind.keys()].filter((kind) => kind !== OURS);
  const [ns, held, offered] = [of(OURS, "ns"), of(OURS, "held"), of(OURS, "offered")];
  const isFast = { target: `≥ ${protocol.rateMin / 1e6} M/s`, isMet: held.median >= protocol.rateMin };
  // At the source's own limit ours is at least so high.
  const question = `${protocol.text}: highest rate without loss (the source alone: ${(offered.median / 1e6).toFixed(1)} M/s)`;
  const accounted = (byKind.get(OURS) ?? []).map((run) => 100 * (run.accounted ?? 0));
  return [
    ...rivals.map((rival) => ({
      ...compared({
        question: `${protocol.text}: CPU time a record`,
        unit: "ns",
        ours: ns,
        rival: of(rival, "ns"),
        ratioMin: null,
      }),
      ...{ target: `≤ ${protocol.nsMax} ns`, isMet: ns.median <= protocol.nsMax },
    })),
    ...rivals.map((rival) => ({
      ...compared({ question, unit: "records/s", ours: held, rival: of(rival, "held"), ratioMin: null }),
      ...(protocol.rateMin > 0 && isFast),
    })),
    {
      ...{ question: `${protocol.text}: of a flood's records, counted or reported as lost`, unit: "%" },
      ...{ ours: figure(OURS.name, accounted), rival: null, target: "100 %", isExact: true },
      isMet: accounted.every((share) => share === 100),
    },
  ];
}

/** In a namespace of its own: loopback alone, with no other socket at the port. */
export async function measure(
  kind: ReceiverKind,
  { name, per }: (typeof PROTOCOLS)[number],
  steps: number,
): Promise<Run> {
  await using undo = new Undo();
  const namespaces = new Namespaces();
  undo.add(() => namespaces.close());
  const namespace = namespaces.add("collector");
  const receiver = await kind.start({ namespace, protocol: name, undo });
  undo.add(() => receiver.stop());
  const traffic = { protocol: name, port: PORT, exporters: EXPORTERS, per } as const;
  // Templates, and what is made at the first record.
  const first = await sent(namespace, { ...traffic, rate: 50_000, seconds: 0.5 });
  const flood = await floodCost(namespace, receiver, traffic);
  const accounted = await accountedOf(receiver, [first, flood.trial], per);
  const held = await rateHeld(namespace, traffic, 1e9 / flood.ns, steps);
  return { ns: flood.ns, offered: flood.offered, held, accounted };
}

interface Trial {
  readonly sent: SentRecords;
  readonly drops: number;
  /** Bytes in the receive buffer when the last datagram was sent. */
  readonly waiting: number;
}

async function sent(namespace: Namespace, traffic: RecordTraffic): Promise<Trial> {
  const before = socketAt(namespace, PORT);
  const records = await sendRecords(namespace, traffic, SENDER);
  const at = socketAt(namespace, PORT);
  for (const deadline = performance.now() + DRAIN_MS; performance.now() < deadline; await Bun.sleep(20)) {
    if ((socketAt(namespace, PORT)?.waiting ?? 0) === 0) break;
  }
  return {
    sent: records,
    drops: (socketAt(namespace, PORT)?.drops ?? 0) - (before?.drops ?? 0),
    waiting: at?.waiting ?? 0,
  };
}

async function floodCost(namespace: Namespace, { pid }: Receiver, traffic: RecordTraffic & { readonly per: number }) {
  const before = cpuNs(pid);
  const trial = await sent(namespace, { ...traffic, seconds: FLOOD_SECONDS, templatesEvery: 0 });
  const taken = (trial.sent.datagrams - trial.drops) * traffic.per;
  return { trial, ns: (cpuNs(pid) - before) / taken, offered: (trial.sent.records / trial.sent.duration_ns) * 1e9 };
}

async function accountedOf({ counted }: Receiver, trials: readonly Trial[], per: number): Promise<number | null> {
  if (counted === undefined) return null;
  const sum = (value: (trial: Trial) => number) => trials.reduce((total, trial) => total + value(trial), 0);
  return ((await counted()) + per * sum(({ drops }) => drops)) / sum(({ sent: { records } }) => records);
}

/** By halving the range, from a quarter more than its CPU time lets it hope for. */
async function rateHeld(namespace: Namespace, traffic: RecordTraffic, hoped: number, steps: number): Promise<number> {
  let [held, lost] = [0, 1.25 * hoped];
  for (let step = 0; step < steps; step++) {
    const rate = step === 0 ? 0.8 * hoped : (held + lost) / 2;
    const trial = await sent(namespace, { ...traffic, rate, seconds: HELD_SECONDS });
    const reached = (trial.sent.records / trial.sent.duration_ns) * 1e9;
    const isHeld = trial.drops === 0 && trial.waiting <= WAITING_MAX;
    if (isHeld) held = Math.max(held, Math.min(rate, reached));
    if (isHeld && reached < SENT_SHARE_MIN * rate) break;
    if (!isHeld) lost = rate;
  }
  return held;
}
