/** Traffic of an attacker: streams of packets to many addresses, counted in a sliding window as the addon does. */
import { addressToBytes, type IpAddress } from "../../src/net/address.ts";
import { METRICS } from "../../src/traffic/rates.ts";
import type { CountedTraffic } from "../simulation/simulated-counter.ts";
import type { Host } from "../simulation/simulated-traffic.ts";

export const STEP_MS = 100;
const WINDOW_STEPS = 10;
const PPS = METRICS.indexOf("pps");
const MBPS = METRICS.indexOf("mbps");

export interface Stream {
  readonly ip: IpAddress;
  readonly pps: number;
  readonly packetBytes: number;
  readonly endsAtMs: number;
}

interface Counted extends Stream {
  readonly host: Host;
  readonly packets: Float64Array;
}

export class DecoyTraffic implements CountedTraffic {
  hosts: Host[] = [];
  readonly floods = [];
  version = 0;
  #streams: Counted[] = [];

  begin(stream: Stream): void {
    const { ip } = stream;
    const rates = new Float64Array(2 * METRICS.length);
    const host = { ip, bytes: addressToBytes(ip), rates, backgroundPps: 0 };
    this.#streams.push({ ...stream, host, packets: new Float64Array(WINDOW_STEPS) });
  }

  /** One step ends at `nowMs`. `isDropped`: whether packets to an address do not reach the packet counter. */
  pass(nowMs: number, isDropped: (ip: IpAddress) => boolean): void {
    const slot = (nowMs / STEP_MS) % WINDOW_STEPS;
    for (const { ip, pps, packetBytes, endsAtMs, host, packets } of this.#streams) {
      packets[slot] = nowMs > endsAtMs || isDropped(ip) ? 0 : (pps * STEP_MS) / 1000;
      const rate = packets.reduce((sum, count) => sum + count, 0);
      host.rates[PPS] = rate;
      host.rates[MBPS] = (rate * packetBytes * 8) / 1e6;
    }
    const isOver = ({ endsAtMs }: Stream) => nowMs > endsAtMs + WINDOW_STEPS * STEP_MS;
    this.#streams = this.#streams.filter((stream) => !isOver(stream));
    this.hosts = this.#streams.map(({ host }) => host);
    this.version++;
  }
}
