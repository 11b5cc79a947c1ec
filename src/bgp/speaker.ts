/** The two ways to have a BGP speaker, as the link sees them. */
import type { BgpConfig } from "../config/config.ts";
import { connectGobgp } from "./gobgp-client.ts";
import { parseSpeakerTarget } from "./gobgp-connection.ts";
import type { SpeakerClient } from "./speaker-client.ts";
import type { SpeakerFault } from "./speaker-fault.ts";

export interface Speaker {
  readonly kind: BgpConfig["speaker"];
  /** A client of a speaker that is up and configured. Throws a SpeakerFault when there is none; then to be tried again. */
  connect(): Promise<SpeakerClient>;
  /**
   * Brings its neighbors to the configured ones; after the routes are in, so that a new session finds them. Returns
   * what was wrong with single neighbors; the others are set all the same.
   */
  configure(client: SpeakerClient): Promise<readonly SpeakerFault[]>;
  /** Takes effect with the next connect() and configure(). */
  reload(config: BgpConfig): void;
  /** Ends what the speaker itself started. */
  end(): Promise<void>;
}

export interface ExternalSpeakerOptions {
  /** As in the config. */
  readonly grpc: string;
  readonly deadlineMs: number;
}

/** A speaker that someone else runs and configures: we put routes in and take ours out, nothing else. */
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

  reload(): void {}

  async end(): Promise<void> {}
}
