/** The two kinds of BGP speaker, as the link uses them. */
import type { BgpConfig } from "../../config/config.ts";
import { connectGobgp } from "../gobgp/gobgp-client.ts";
import { parseSpeakerTarget } from "../gobgp/gobgp-connection.ts";
import type { SpeakerClient } from "./speaker-client.ts";
import type { SpeakerFault } from "./speaker-fault.ts";

export interface Speaker {
  readonly kind: BgpConfig["speaker"];
  /** A client of a running and configured speaker. Throws a SpeakerFault if there is none; the caller retries. */
  connect(): Promise<SpeakerClient>;
  /**
   * Sets the configured neighbors, after the routes are in the speaker, so that a new session sends them. Returns the
   * faults of single neighbors; the others are set.
   */
  configure(client: SpeakerClient): Promise<readonly SpeakerFault[]>;
  /** The wanted routes changed, or the service stops and leaves them. */
  routesChanged(): void;
  /** Takes effect with the next connect() and configure(). */
  reload(config: BgpConfig): void;
  /** Stops a process that the speaker started. */
  end(): Promise<void>;
}

export interface ExternalSpeakerOptions {
  /** As in the configuration. */
  readonly grpc: string;
  readonly deadlineMs: number;
}

/** A speaker that is run and configured outside of the service: we only add and withdraw our routes. */
export class ExternalSpeaker implements Speaker {
  readonly kind = "external";
  readonly #options: ExternalSpeakerOptions;

  constructor(options: ExternalSpeakerOptions) {
    this.#options = options;
  }

  connect(): Promise<SpeakerClient> {
    const { grpc, deadlineMs } = this.#options;
    return connectGobgp({ target: parseSpeakerTarget(grpc), deadlineMs });
  }

  async configure(): Promise<readonly SpeakerFault[]> {
    return [];
  }

  routesChanged(): void {}

  reload(): void {}

  async end(): Promise<void> {}
}
