/** A certificate authority that validates with another, random node of the zone. */
import { createHash } from "node:crypto";
import type { Clock } from "../../src/system/clock.ts";
import type { Timers } from "../../src/system/timers.ts";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import type { Authority, Order } from "./certificate-order.ts";
import type { EdgeNode } from "./edge-node.ts";

export interface SimulatedAuthorityOptions {
  readonly nodes: () => readonly EdgeNode[];
  readonly seed: number;
  readonly clock: Pick<Clock, "wallMs">;
  readonly timers: Pick<Timers, "after">;
}

const VALID_MS = 90 * 86_400_000;
/** Like real authorities, it validates several times. */
const LOOKS = 10;
const LOOK_AGAIN_MS = 500;

export class SimulatedAuthority {
  readonly #options: SimulatedAuthorityOptions;
  readonly #random: () => number;
  #orders = 0;

  constructor(options: SimulatedAuthorityOptions) {
    this.#options = options;
    this.#random = seededRandom(options.seed);
  }

  /** For one node: another node is asked if there is one. */
  accountOf(orderer: string): Authority {
    return { order: async (zone) => this.#order(zone, orderer) };
  }

  #order(zone: string, orderer: string): Order {
    const made = `${this.#options.seed} ${orderer} ${zone} ${this.#orders++}`;
    const token = createHash("sha256").update(made).digest("base64url");
    const keyAuthorization = `${token}.${createHash("sha256").update(orderer).digest("base64url")}`;
    const complete = async () => {
      await this.#validate({ zone, token, keyAuthorization, orderer });
      return { notAfterMs: this.#options.clock.wallMs() + VALID_MS, issuer: "Simulated CA" };
    };
    return { token, keyAuthorization, complete };
  }

  async #validate(order: {
    readonly zone: string;
    readonly token: string;
    readonly keyAuthorization: string;
    readonly orderer: string;
  }): Promise<void> {
    const { nodes, timers } = this.#options;
    const serving = nodes().filter(({ document }) => document.zones.some(({ name }) => name === order.zone));
    const others = serving.filter(({ name }) => name !== order.orderer);
    const asked = others[Math.floor(this.#random() * others.length)] ?? serving[0];
    for (let look = 0; look < LOOKS; look++) {
      if (asked?.keyAuthorizationFor(order.zone, order.token) === order.keyAuthorization) return;
      await new Promise<void>((resolve) => void timers.after(LOOK_AGAIN_MS, resolve));
    }
    throw new Error("another node of the zone did not answer the challenge");
  }
}
