/**
 * Keeps what exporters said over a restart of the service: templates, sampling rates, names of interfaces, and the
 * numbers by which samples name them. Some routers send their templates every half hour. What it is, the packet counter
 * knows.
 */

/** By the port at which they are received, as `[::]:2055`. */
export type SavedExporters = ReadonlyMap<string, Uint8Array>;

/** Stores it. `save` does not block the event loop. */
export interface ExporterKeeper {
  /** Throws where nothing can be read. */
  load(): SavedExporters;
  save(saved: SavedExporters): Promise<void>;
}

interface ExporterMemoryOptions {
  readonly keeper: ExporterKeeper;
  readonly saved: () => SavedExporters;
  /** Runs `fn` every `ms`; returns a function that cancels it. */
  readonly every: (ms: number, fn: () => void) => () => void;
  readonly onFault: (cause: unknown) => void;
}

/** A process that is killed loses what exporters said in this time. */
const SAVE_EVERY_MS = 60_000;

export class ExporterMemory {
  readonly #options: ExporterMemoryOptions;
  #cancel: () => void = () => {};
  #work: Promise<void> | null = null;

  constructor(options: ExporterMemoryOptions) {
    this.#options = options;
  }

  start(): void {
    this.#cancel = this.#options.every(SAVE_EVERY_MS, () => {
      this.#work ??= this.#save().finally(() => {
        this.#work = null;
      });
    });
  }

  /** Saves once more, before the ports are closed. */
  async stop(): Promise<void> {
    this.#cancel();
    await this.#work;
    await this.#save();
  }

  async #save(): Promise<void> {
    const { keeper, saved, onFault } = this.#options;
    try {
      await keeper.save(saved());
    } catch (cause) {
      onFault(cause);
    }
  }
}

/** The state of exporters in an earlier process; none where that cannot be read. */
export function rememberedBy(keeper: ExporterKeeper, onFault: (cause: unknown) => void): SavedExporters {
  try {
    return keeper.load();
  } catch (cause) {
    onFault(cause);
    return new Map();
  }
}
