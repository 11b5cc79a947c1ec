/** An attacker who raises the traffic of a host slowly, always just below its learned limit, and the bound on that. */

import { addressToBytes, type IpAddress } from "../../src/net/address.ts";
import { knownOf } from "../fixtures/baselines.ts";
import type { Adversary } from "./adversary.ts";
import { FLOOR_PPS, THRESHOLD_PPS, WARMUP_SECONDS } from "./adversary-plan.ts";

const BELOW = 0.97;
/** Baselines are kept in single precision. */
const INEXACT = 1.01;

interface Learned {
  readonly normal: number;
  readonly seconds: number;
}

export class Hugger {
  readonly #adversary: Adversary;
  readonly #ip: IpAddress;
  readonly #key: Uint8Array;
  /** As it was when the warm-up ended, in the process that began at that time. */
  #warm: (Learned & { readonly startedAtMs: number }) | null = null;

  constructor(adversary: Adversary, ip: IpAddress) {
    this.#adversary = adversary;
    this.#ip = ip;
    this.#key = addressToBytes(ip);
  }

  /** The rate of the next second. */
  send(): void {
    const learned = this.#learned();
    const isWarm = learned !== null && learned.seconds >= WARMUP_SECONDS;
    const { factor, stepMs } = this.#adversary.plan;
    const limit = Math.min(THRESHOLD_PPS, Math.max(FLOOR_PPS, (learned?.normal ?? 0) * factor));
    const endsAtMs = this.#adversary.nowMs + stepMs;
    const pps = isWarm ? BELOW * limit : FLOOR_PPS;
    this.#adversary.traffic.begin({ ip: this.#ip, pps, packetBytes: 64, endsAtMs, linger: null });
  }

  /** docs/detection.md, "Slow increases are limited". null: it is kept. */
  brokenBound(): string | null {
    const learned = this.#learned();
    const startedAtMs = this.#adversary.services[0]?.startedAtMs ?? 0;
    if (learned === null || learned.seconds < WARMUP_SECONDS) {
      this.#warm = null;
      return null;
    }
    if (this.#warm?.startedAtMs !== startedAtMs) this.#warm = { ...learned, startedAtMs };
    const { normal, seconds } = this.#warm;
    const { factor, halfLifeSeconds } = this.#adversary.plan;
    const byMean = (learned.seconds / seconds) ** (factor - 1);
    const byHalfLives = 2 ** (((factor - 1) * (learned.seconds - seconds)) / halfLifeSeconds);
    const most = Math.max(normal, FLOOR_PPS / factor) * byMean * byHalfLives * INEXACT;
    return learned.normal <= most ? null : `${learned.normal} pps are normal, of ${most}`;
  }

  #learned(): Learned | null {
    const rates = this.#adversary.services[0]?.process?.floodwall.detector.baselines.rates ?? null;
    const known = rates === null ? null : knownOf(rates, this.#key);
    return known === null ? null : { normal: known.normal[0] ?? 0, seconds: known.seconds };
  }
}
