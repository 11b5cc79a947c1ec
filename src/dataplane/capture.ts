/**
 * The configured packet sources: opens them, continues with those that open, retries the others, and reports their
 * states. Independent of what the packets are counted for.
 */
import { ADDRESS_BYTES, addressToBytes } from "../net/address.ts";
import { mappedLength } from "../net/prefix.ts";
import { messageOf } from "../system/error-message.ts";
import type { CaptureConfig, CaptureInterface, CaptureTunnel } from "./capture-config.ts";
import { EncapsulatedTraffic } from "./encapsulated-traffic.ts";
import type { FlowSlot } from "./flow-receivers.ts";
import type { Encapsulation, Engine, Filter, Source, SourceOptions, SourceStatus } from "./native.d.ts";
import { NotIpTraffic } from "./not-ip-traffic.ts";

/** Sampling interval of headers in inline traffic, in packets. */
const INLINE_SAMPLE_EVERY = 256;
const RETRY_MS = 2000;

interface CaptureLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

interface CaptureOptions {
  readonly engine: Pick<Engine, "openSource">;
  readonly config: CaptureConfig | null;
  /** Ports that take flow records. */
  readonly flows: readonly FlowSlot[];
  readonly log: CaptureLog;
  readonly every: (ms: number, fn: () => void) => () => void;
  /** The active one: inline sources on its interfaces filter too. It must be closed after them. */
  readonly filter: () => Filter | null;
}

export interface SourceView extends SourceStatus {
  /** The name of the interface, the path of the capture file, or the port that takes flow records. */
  readonly name: string;
  readonly kind: SourceOptions["kind"] | "flow";
  /** A change that the operator should make, although the source works. */
  readonly warning: string | null;
}

interface Slot {
  readonly name: string;
  readonly kind: SourceView["kind"];
  readonly open: () => Source;
  /** The encapsulations that are removed, and their place in the configuration. */
  readonly decapsulated: readonly Encapsulation[];
  readonly decapsulateKey: string;
  readonly encapsulated: EncapsulatedTraffic;
  readonly notIp: NotIpTraffic;
  source: Source | null;
  /** Why it is not open; logged only when it changes. */
  error: string | null;
}

const NO_REASON = "the source gave no reason: see the kernel's log (dmesg), and whether the interface is up";

export class Capture {
  readonly #slots: Slot[];
  readonly #log: CaptureLog;
  readonly #every: (ms: number, fn: () => void) => () => void;
  #isRunning = false;
  #cancel: () => void = () => {};

  constructor({ engine, config, flows, log, every, filter }: CaptureOptions) {
    this.#log = log;
    this.#every = every;
    const packets = sourcesOf(config).map(({ name, options, decapsulateKey }) => ({
      name,
      kind: options.kind,
      decapsulated: options.decapsulate ?? [],
      decapsulateKey,
      open: () => engine.openSource(options, filter()),
    }));
    const records = flows.map(({ name, open }) => ({
      name,
      kind: "flow" as const,
      decapsulated: [],
      decapsulateKey: "telemetry.exporters[].decapsulate",
      open,
    }));
    this.#slots = [...packets, ...records].map((slot) => ({
      ...slot,
      encapsulated: new EncapsulatedTraffic(),
      notIp: new NotIpTraffic(),
      source: null,
      error: null,
    }));
  }

  start(): void {
    this.#isRunning = true;
    this.openMissing();
    this.#cancel = this.#every(RETRY_MS, () => this.openMissing());
  }

  stop(): void {
    this.#isRunning = false;
    this.#cancel();
    for (const slot of this.#slots) {
      slot.source?.close();
      slot.source = null;
    }
  }

  /**
   * Call this before a filter is attached to or removed from these interfaces: an interface has one program, with or
   * without the filter.
   */
  closeInline(interfaces: readonly string[]): void {
    for (const slot of this.#slots) {
      if (slot.kind !== "xdp_inline" || !interfaces.includes(slot.name)) continue;
      slot.source?.close();
      slot.source = null;
    }
  }

  status(): SourceView[] {
    return this.#slots.map((slot) => ({
      name: slot.name,
      kind: slot.kind,
      warning: slot.encapsulated.warning ?? slot.notIp.warning,
      ...statusOf(slot),
    }));
  }

  /** Opens the sources that are not open. No effect before start() and after stop(). */
  openMissing(): void {
    if (!this.#isRunning) return;
    for (const slot of this.#slots) {
      if (slot.source === null) this.#open(slot);
      else this.#watch(slot, slot.source.status());
    }
  }

  #open(slot: Slot): void {
    try {
      slot.source = slot.open();
      slot.error = null;
      this.#log.info({ source: slot.name, mode: slot.source.status().mode }, "capture started");
    } catch (cause) {
      this.#logFailure(slot, reasonOf(messageOf(cause)));
    }
  }

  /** Only logs: a source that failed while running recovers by itself. */
  #watch(slot: Slot, { state, error, queues }: SourceStatus): void {
    this.#warn(slot, slot.encapsulated, "capture sees tunnels", () =>
      slot.encapsulated.look(queues, slot.decapsulateKey, slot.decapsulated),
    );
    this.#warn(slot, slot.notIp, "capture sees frames that are not IP", () => slot.notIp.look(queues));
    if (state === "failed") this.#logFailure(slot, reasonOf(error));
    else if (slot.error !== null) {
      slot.error = null;
      this.#log.info({ source: slot.name }, "capture recovered");
    }
  }

  /** Only when a warning begins: the share in it changes with each look. */
  #warn(slot: Slot, watch: { readonly warning: string | null }, message: string, look: () => void): void {
    const before = watch.warning;
    look();
    const { warning } = watch;
    if (warning !== null && before === null) this.#log.warn({ source: slot.name, warning }, message);
  }

  #logFailure(slot: Slot, error: string): void {
    if (slot.error === error) return;
    slot.error = error;
    this.#log.error({ source: slot.name, error }, "capture failed, retrying; other sources continue");
  }
}

function statusOf(slot: Slot): SourceStatus {
  const status = slot.source?.status() ?? { state: "failed", mode: "not open", error: slot.error, queues: [] };
  return status.state === "failed" ? { ...status, error: reasonOf(status.error) } : status;
}

/** Never empty: libpcap leaves its error text empty for some faults. */
function reasonOf(error: string | null): string {
  return error === null || error.trim() === "" ? NO_REASON : error;
}

interface Wanted {
  readonly name: string;
  readonly options: SourceOptions;
  readonly decapsulateKey: string;
}

function sourcesOf(config: CaptureConfig | null): Wanted[] {
  if (config === null) return [];
  const { pcapFile, pace, decapsulate, vxlanPorts } = config;
  if (pcapFile !== null) {
    const options = { kind: "pcap_file", path: pcapFile, pace, decapsulate, vxlanPorts } as const;
    return [{ name: pcapFile, options, decapsulateKey: "capture.decapsulate" }];
  }
  return [
    ...config.interfaces.map((wanted, i) => ({
      name: wanted.name,
      options: { ...sourceOf(wanted), ...externalOf(wanted), vxlanPorts },
      decapsulateKey: `capture.interfaces[${i}].decapsulate`,
    })),
    ...config.tunnels.map((wanted, i) => ({
      name: wanted.address,
      options: { ...tunnelOf(wanted), vxlanPorts },
      decapsulateKey: `capture.tunnels[${i}].decapsulate`,
    })),
  ];
}

function sourceOf(wanted: CaptureInterface): SourceOptions {
  const { name, cpus, xdpMode, queues, zeroCopy, decapsulate, samplingRate } = wanted;
  if (wanted.backend === "pcap") return { kind: "pcap_live", interface: name, cpus, decapsulate, samplingRate };
  if (wanted.mode === "inline") {
    return { kind: "xdp_inline", interface: name, xdpMode, sampleEvery: INLINE_SAMPLE_EVERY, cpus, decapsulate };
  }
  return { kind: "af_xdp", interface: name, queues, xdpMode, zeroCopy, cpus, decapsulate, samplingRate };
}

function externalOf({ isExternal, externalMacs }: CaptureInterface) {
  const bytes = externalMacs.flatMap((mac) => mac.split(":").map((part) => Number.parseInt(part, 16)));
  return { isExternal, externalMacs: Uint8Array.from(bytes) };
}

export function tunnelOf(tunnel: CaptureTunnel): SourceOptions {
  const { address, from, receiveBufferBytes, cpus, decapsulate, samplingRate } = tunnel;
  const fromAddresses = new Uint8Array(from.length * ADDRESS_BYTES);
  for (const [i, prefix] of from.entries()) fromAddresses.set(addressToBytes(prefix.address), i * ADDRESS_BYTES);
  return {
    kind: "mirror_tunnel",
    name: address,
    address: addressToBytes(address),
    fromAddresses,
    fromLengths: from.map(mappedLength),
    receiveBuffer: receiveBufferBytes,
    cpus,
    decapsulate,
    samplingRate,
  };
}
