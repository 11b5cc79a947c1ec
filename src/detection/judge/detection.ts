/**
 * The complete detection for one packet counter, used by the live service and by replays: the screened rows of each
 * tick, the passes over all hosts, and the packets of each attack. The owner schedules each part.
 */

import { SCREENED_ROWS_MAX } from "../../native/constants.ts";
import type { HeaderSamples } from "../../traffic/header-record.ts";
import { type IngressOf, numberedIngress } from "../../traffic/ingress.ts";
import type { NetworkLookup, NetworksTable } from "../../traffic/network-lookup.ts";
import type { NewAttackId } from "../attack/attack.ts";
import { AttackSampler } from "../attack/attack-sampler.ts";
import { BusyProfiles } from "../attack/busy-profiles.ts";
import type { MinuteReading } from "../attack/minute-sample.ts";
import type { OriginOf } from "../attack/sample-origins.ts";
import { type ProfileSource, TrafficProfiles } from "../attack/traffic-profile.ts";
import { type AllRates, BaselineLearner, type BaselineLearnerOptions } from "../baseline/baseline-learner.ts";
import { CarpetJudge } from "../carpet/carpet-judge.ts";
import { CarpetScan } from "../carpet/carpet-scan.ts";
import type { OpenPrefixSums } from "../carpet/prefix-sums.ts";
import type { Hostgroup } from "../hostgroup.ts";
import { attackedHosts } from "./attacked-hosts.ts";
import type { Detector } from "./detector.ts";
import { carpetPolicy, type DetectionSections, type Lookups, samplingPolicy } from "./policy.ts";
import { screensFor } from "./screens.ts";
import { type ScreenedRates, TickJudge, type WatchedOutcomes } from "./tick-judge.ts";

/** The part of the packet counter that is used. */
interface JudgedCounter extends ScreenedRates, AllRates, HeaderSamples, ProfileSource {
  setNetworks(table: NetworksTable): void;
  setScreens(screens: Float64Array): void;
}

interface DetectionOptions extends Pick<BaselineLearnerOptions, "banned" | "wallSeconds"> {
  readonly counter: JudgedCounter;
  readonly detector: Detector;
  readonly config: DetectionSections;
  /** Lookup of the origins of sources; null: not configured. */
  readonly originOf: OriginOf | null;
  /** Names of exporters and interfaces of flow telemetry; absent: only their numbers are known. */
  readonly ingressOf?: IngressOf;
  readonly newId: NewAttackId;
  readonly openPrefixSums: OpenPrefixSums;
  /** Default: what becomes of packets is not known. */
  readonly outcomes?: WatchedOutcomes;
  /** Seed of the choice of packets, see src/detection/attack/seeded-draws.ts. Default: 0. */
  readonly seed?: number;
}

export class Detection {
  readonly detector: Detector;
  readonly judge: TickJudge;
  readonly learner: BaselineLearner;
  readonly carpets: CarpetJudge;
  readonly carpetScan: CarpetScan;
  readonly sampler: AttackSampler;
  readonly profiles: TrafficProfiles;
  readonly #counter: JudgedCounter;
  readonly #busy: BusyProfiles;
  #lookup: NetworkLookup;
  #areSampled: boolean;
  #foundAfterMs = 0;
  #lookups: Lookups;
  #hostgroups: readonly Hostgroup[];

  constructor(options: DetectionOptions) {
    const { counter, detector, config, originOf, ingressOf = numberedIngress, newId, ...others } = options;
    const { openPrefixSums, outcomes, seed = 0, ...learning } = others;
    const { active, baselines, meters } = detector;
    this.detector = detector;
    this.#lookups = { originOf, ingressOf };
    this.#counter = counter;
    this.#hostgroups = config.hostgroups;
    this.judge = new TickJudge(counter, detector, SCREENED_ROWS_MAX, outcomes);
    this.carpetScan = new CarpetScan(config, openPrefixSums);
    this.carpets = new CarpetJudge(carpetPolicy(config), this.carpetScan, { active, meters }, newId);
    this.learner = new BaselineLearner({
      source: counter,
      baselines,
      active,
      carpets: this.carpetScan,
      windowMs: config.detection.windowMs,
      hostgroups: () => this.#hostgroups,
      ...learning,
    });
    this.#lookup = config.lookup;
    this.#areSampled = config.samples.enabled;
    this.#busy = new BusyProfiles(counter, seed);
    this.profiles = new TrafficProfiles(counter, this.#busy);
    const { profiles } = this;
    this.sampler = new AttackSampler(counter, samplingPolicy(config, this.#lookups), { profiles, seed });
    this.#setCounter(config);
  }

  /** Does not reconfigure the detector, which its owner does. */
  reconfigure(config: DetectionSections, originOf: OriginOf | null): void {
    this.#lookups = { ...this.#lookups, originOf };
    this.#hostgroups = config.hostgroups;
    this.#setCounter(config);
    this.carpets.reconfigure(carpetPolicy(config));
    this.sampler.reconfigure(samplingPolicy(config, this.#lookups));
  }

  /** Remembers what the busiest hosts receive while they are not attacked. Call once a second. */
  learnProfiles(nowMs: number): void {
    if (!this.#areSampled) return;
    const { active } = this.detector;
    this.#busy.learn(nowMs, {
      isProtected: (host) => this.#lookup.network(host) >= 0,
      isAttacked: (host) => active.ofHost(host, "incoming") !== null,
      isInAttack: attackedHosts(active, { lookup: this.#lookup, hostgroups: this.#hostgroups }),
      foundAfterMs: this.#foundAfterMs,
    });
  }

  /** Headers of the last minute: see MinuteSample. Empty while samples are off. */
  minute(nowMs: number): MinuteReading {
    return this.#busy.minute.read(nowMs);
  }

  /** Users of the last minute: see RecentUsers. */
  users(nowMs: number): Uint8Array {
    return this.#busy.users.rows(nowMs);
  }

  /** Where packets come from, by the present configuration. */
  get lookups(): Lookups {
    return this.#lookups;
  }

  /** Detections refused because the table of attacks was full. */
  get refused(): number {
    return this.detector.refused + this.carpets.refused;
  }

  /** Attacks that ended early because the table was full and a larger one was detected. */
  get replaced(): number {
    return this.detector.replaced + this.carpets.replaced;
  }

  #setCounter({ lookup, hostgroups, detection, samples }: DetectionSections): void {
    this.#lookup = lookup;
    this.#areSampled = samples.enabled;
    // A rate above its limit fills the window, and lasts.
    this.#foundAfterMs = detection.windowMs + detection.sustainMs;
    this.profiles.configure(this.#foundAfterMs);
    this.#counter.setNetworks(lookup.table);
    this.#counter.setScreens(screensFor(hostgroups));
  }
}
