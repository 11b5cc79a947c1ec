/**
 * `floodwall telemetry`: listens for flow records of any exporter, and prints what the service would understand of each
 * and which lines of a configuration it needs. Works without the service, on the same decoders.
 */
import { loadAddon } from "../dataplane/addon.ts";
import { type FlowReadings, FlowReceivers } from "../dataplane/flow-receivers.ts";
import type { Native, Source } from "../dataplane/native.d.ts";
import { exporterToWire, listenerToWire } from "../http/wire/telemetry.ts";
import { HOST_IDLE_MS } from "../limits.ts";
import { parseAddress } from "../net/address.ts";
import { type Prefix, parsePrefix } from "../net/prefix.ts";
import { systemClock } from "../system/clock.ts";
import { messageOf } from "../system/error-message.ts";
import { processSignals } from "../system/signals.ts";
import { systemTimers } from "../system/timers.ts";
import { Exporters } from "../telemetry/exporters.ts";
import { suggestedConfig } from "../telemetry/suggested-config.ts";
import type { FlowListen, TelemetryConfig } from "../telemetry/telemetry-config.ts";
import { exporterLines, listenerLines } from "../telemetry/understood-text.ts";

interface TelemetryOptions {
  /** Ports, or addresses with ports; empty: the usual ports at all addresses. */
  readonly listen: readonly string[];
  readonly seconds: number;
  readonly format: "text" | "json";
  readonly print: (line: string) => void;
  /** Reports progress to the terminal. */
  readonly progress: (line: string) => void;
}

/** sFlow, NetFlow and IPFIX (RFC 7011, 11.4). */
const USUAL_PORTS = ["6343", "2055", "4739"];
const PROGRESS_MS = 10_000;
const READ_MS = 5000;
const BUFFER_BYTES = 32 * 1024 * 1024;

/** Resolves with the exit code: 1 if a port cannot be had, or no datagram was received. */
export async function telemetry(options: TelemetryOptions): Promise<number> {
  const sources: Source[] = [];
  try {
    const listen = (options.listen.length === 0 ? USUAL_PORTS : options.listen).map(listenOf);
    const received = await listenTo(loadAddon(), { listen, exporters: ANY }, options, sources);
    return print(received, options);
  } catch (cause) {
    console.error(`floodwall: ${messageOf(cause)}`);
    return 1;
  } finally {
    for (const source of sources) source.close();
  }
}

/** Any sender. Egress records are marked as such, since the service leaves them out by default. */
const ANY: TelemetryConfig["exporters"] = ["0.0.0.0/0", "::/0"].map((text) => ({
  ...{ name: text, prefix: parsePrefix(text) as Prefix, samplingRate: null, direction: "ingress" },
  ...{
    fastestInterfaceMbps: null,
    external: null,
    internal: null,
    site: null,
    decapsulate: [],
    silentAfterSeconds: 60,
  },
}));

function listenOf(text: string): FlowListen {
  const match = /^(?:(.+):)?(\d{1,5})$/.exec(text);
  const address = parseAddress((match?.[1] ?? "::").replace(/^\[(.*)\]$/, "$1"));
  const port = Number(match?.[2]);
  if (match === null || address === null || port < 1 || port > 65_535) {
    throw new Error(
      `--listen ${text}: write a port, or an address and a port: 2055, 192.0.2.1:2055, [2001:db8::1]:2055`,
    );
  }
  return { address, port, threads: 1, receiveBufferBytes: BUFFER_BYTES, cpus: [] };
}

interface Received extends FlowReadings {
  readonly seconds: number;
  readonly exporterViews: Exporters;
}

async function listenTo(
  native: Native,
  config: TelemetryConfig,
  { seconds, progress }: TelemetryOptions,
  sources: Source[],
): Promise<Received> {
  const engine = native.openEngine({
    ...{ maxHosts: 1, windowMs: 1000, tickMs: 1000, countOutgoing: false, idleMs: HOST_IDLE_MS },
    clock: "monotonic",
  });
  try {
    const receivers = new FlowReceivers(engine, config, new Map());
    for (const slot of receivers.slots()) sources.push(openOrExplain(slot));
    const began = systemClock.monotonicMs();
    const secondsSince = () => (systemClock.monotonicMs() - began) / 1000;
    const read = (): FlowReadings => receivers.read(() => null);
    const exporterViews = new Exporters([], began);
    const take = () => exporterViews.take(read().exporters, systemClock.monotonicMs());
    progress(
      `listening at ${receivers
        .slots()
        .map(({ name }) => name)
        .join(", ")} for ${seconds} s; Ctrl-C ends it`,
    );
    const cancels = [
      systemTimers.every(READ_MS, take),
      systemTimers.every(PROGRESS_MS, () => progress(progressText(read(), secondsSince()))),
    ];
    await ended(1000 * seconds);
    for (const cancel of cancels) cancel();
    take();
    return { ...read(), seconds: secondsSince(), exporterViews };
  } finally {
    for (const source of sources.splice(0)) source.close();
    engine.close();
  }
}

function openOrExplain({ open }: { readonly open: () => Source }): Source {
  try {
    return open();
  } catch (cause) {
    const service =
      "if it is the service, GET /api/v1/telemetry and its dashboard show what it understands; else stop that process, or choose another port with --listen";
    throw new Error(`${messageOf(cause)}${/has the port/.test(messageOf(cause)) ? `; ${service}` : ""}`, { cause });
  }
}

/** After the time, or at Ctrl-C. */
function ended(ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancels = [
    systemTimers.after(ms, resolve),
    processSignals.on("SIGINT", resolve),
    processSignals.on("SIGTERM", resolve),
  ];
  return promise.finally(() => {
    for (const cancel of cancels) cancel();
  });
}

function progressText({ listeners, exporters }: FlowReadings, seconds: number): string {
  const sum = (counts: readonly number[]) => counts.reduce((total, one) => total + one, 0).toLocaleString("en-US");
  const datagrams = sum(listeners.map((one) => one.datagrams));
  const records = sum(exporters.map((one) => one.records));
  return `${Math.round(seconds)} s: ${exporters.length} exporters, ${datagrams} datagrams, ${records} records`;
}

function print(received: Received, { format, print: printLine }: TelemetryOptions): number {
  const { listeners, exporters, seconds, exporterViews } = received;
  const config = suggestedConfig(exporters);
  if (format === "json") {
    const now = { wallMs: systemClock.wallMs(), monotonicMs: systemClock.monotonicMs() };
    const rows = exporterViews.views(now.monotonicMs).map((view) => exporterToWire(view, now, true));
    const configuration = config.map((line) => `${line}\n`).join("");
    printLine(JSON.stringify({ seconds, listeners: listeners.map(listenerToWire), exporters: rows, configuration }));
  } else {
    for (const reading of exporters) for (const line of [...exporterLines(reading, seconds), ""]) printLine(line);
    for (const line of listeners.flatMap(listenerLines)) printLine(line);
    if (config.length > 0) for (const line of [ADD, "", ...config]) printLine(line);
  }
  if (exporters.length > 0) return 0;
  console.error(`floodwall: ${NOTHING}`);
  return 1;
}

const ADD = "For the configuration of the service, beside the section capture or in its place:";
const NOTHING =
  "no datagram was received: see whether the routers export to an address of this machine and to one of these ports, and whether a firewall drops it (tcpdump -ni any 'udp and (port 6343 or 2055 or 4739)')";
