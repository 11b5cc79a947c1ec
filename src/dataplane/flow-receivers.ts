/**
 * The ports that take flow records: how they are opened, the exporters in force, and what each says, in domain types.
 * Capture opens and closes them, as it does all packet sources.
 */
import { addressFamily, addressFromBytes, addressToBytes } from "../net/address.ts";
import { mappedLength } from "../net/prefix.ts";
import type { SavedExporters } from "../telemetry/exporter-memory.ts";
import type { ExporterReading } from "../telemetry/exporter-reading.ts";
import type { ListenerReading } from "../telemetry/listener-reading.ts";
import type { ExporterConfig, FlowListen, TelemetryConfig } from "../telemetry/telemetry-config.ts";
import type { Engine, Source } from "./native.d.ts";
import type { ExporterRule, ExporterStatus, FlowSource } from "./native-flow.d.ts";

export interface FlowSlot {
  /** As `[::]:2055`. */
  readonly name: string;
  /** Throws an Error that names port and remedy. */
  readonly open: () => Source;
}

interface Receiver {
  readonly name: string;
  readonly listen: FlowListen;
  source: FlowSource | null;
  /** The saved state of its exporters, until it is open; null: none. */
  saved: Uint8Array | null;
}

export interface FlowReadings {
  readonly listeners: readonly ListenerReading[];
  readonly exporters: readonly ExporterReading[];
}

export class FlowReceivers {
  readonly #engine: Pick<Engine, "openFlowSource">;
  readonly #receivers: readonly Receiver[];
  /** In force, in the order of their rules. */
  #exporters: readonly ExporterConfig[];

  /** @param saved what saved() of an earlier process gave. */
  constructor(engine: Pick<Engine, "openFlowSource">, config: TelemetryConfig, saved: SavedExporters) {
    this.#engine = engine;
    this.#exporters = config.exporters;
    this.#receivers = config.listen.map((listen) => {
      const name = listenText(listen);
      return { name, listen, source: null, saved: saved.get(name) ?? null };
    });
  }

  slots(): FlowSlot[] {
    return this.#receivers.map((receiver) => ({ name: receiver.name, open: () => this.#open(receiver) }));
  }

  /** Exporters that stay keep their templates. */
  setExporters(exporters: readonly ExporterConfig[]): void {
    const rules = exporters.map(exporterRule);
    for (const { source } of this.#receivers) source?.setExporters(rules);
    this.#exporters = exporters;
  }

  /** @param errorOf of a source by its name; null: it has none. */
  read(errorOf: (name: string) => string | null): FlowReadings {
    const open = this.#receivers.flatMap(({ name, source }) => (source === null ? [] : [{ name, source }]));
    const names = this.#exporters.map(({ name }) => name);
    return {
      listeners: this.#receivers.map((receiver) => listenerReading(receiver, errorOf(receiver.name))),
      exporters: open.flatMap(({ name, source }) =>
        source.exporters({ withInterfaces: true }).map((status) => exporterReading(status, { listen: name, names })),
      ),
    };
  }

  /** The state of the exporters, for a process after this one. */
  saved(): SavedExporters {
    return new Map(
      this.#receivers.flatMap(({ name, source, saved }) => {
        const bytes = source === null ? saved : source.saved();
        return bytes === null ? [] : [[name, bytes] as const];
      }),
    );
  }

  #open(receiver: Receiver): Source {
    const { address, port, threads, receiveBufferBytes, cpus } = receiver.listen;
    const source = this.#engine.openFlowSource({
      address: addressToBytes(address),
      port,
      threads,
      receiveBuffer: receiveBufferBytes,
      cpus,
      exporters: this.#exporters.map(exporterRule),
      saved: receiver.saved,
    });
    receiver.source = source;
    return {
      status: () => source.status(),
      close: () => {
        receiver.source = null;
        receiver.saved = source.saved();
        source.close();
      },
    };
  }
}

function listenText({ address, port }: Pick<FlowListen, "address" | "port">): string {
  return addressFamily(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
}

function exporterRule(config: ExporterConfig): ExporterRule {
  const { prefix, silentAfterSeconds, ...rest } = config;
  return {
    address: addressToBytes(prefix.address),
    length: mappedLength(prefix),
    ...rest,
    silentAfterMs: 1000 * silentAfterSeconds,
  };
}

/** @param known where it was received, and the names of the exporters in force. */
function exporterReading(
  { address, rule, missingTemplates, undecoded, waitingForTemplate, ...counts }: ExporterStatus,
  known: { readonly listen: string; readonly names: readonly string[] },
): ExporterReading {
  return {
    ...counts,
    listen: known.listen,
    address: addressFromBytes(address),
    name: rule === null ? null : (known.names[rule] ?? null),
    undecoded: [...missingTemplates, ...undecoded],
    waitingBytes: waitingForTemplate,
  };
}

function listenerReading({ name, listen, source }: Receiver, error: string | null): ListenerReading {
  const { threads } = listen;
  if (source === null) return { listen: name, threads, error, ...NOTHING };
  const { refusedAddresses, ...status } = source.receiver();
  return {
    ...{ listen: name, threads, error },
    ...status,
    refusedAddresses: refusedAddresses.map((address) => addressFromBytes(address)),
  };
}

const NOTHING = {
  ...{ datagrams: 0, bytes: 0, overruns: 0, receiveBuffer: 0, receiveBufferUsed: 0 },
  ...{ refused: 0, refusedAddresses: [], withoutRoom: 0 },
  ...{ clampedRecords: 0, unspreadRecords: 0 },
};
