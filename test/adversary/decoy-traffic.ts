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
  /** After that, at this rate until then. */
  readonly linger: { readonly pps: number; readonly endsAtMs: number } | null;
}

interface Counted {
  stream: Stream;
  readonly host: Host;
  readonly packets: Float64Array;
}

export class DecoyTraffic implements CountedTraffic {
  hosts: Host[] = [];
  readonly floods = [];
  version = 0;
  readonly #streams = new Map<IpAddress, Counted>();

  /** Takes the place of an earlier stream to the address. */
  begin(stream: Stream): void {
    const { ip } = stream;
    const known = this.#streams.get(ip);
    if (known !== undefined) {
      known.stream = stream;
      return;
    }
    const rates = new Float64Array(2 * METRICS.length);
    const host = { ip, bytes: addressToBytes(ip), rates, backgroundPps: 0 };
    this.#streams.set(ip, { stream, host, packets: new Float64Array(WINDOW_STEPS) });
  }

  /** One step ends at `nowMs`. `isDropped`: whether packets to an address do not reach the packet counter. */
  pass(nowMs: number, isDropped: (ip: IpAddress) => boolean): void {
    const slot = (nowMs / STEP_MS) % WINDOW_STEPS;
    for (const [ip, { stream, host, packets }] of this.#streams) {
      const sent = isDropped(ip) ? 0 : (sentPps(stream, nowMs) * STEP_MS) / 1000;
      packets[slot] = sent;
      const rate = packets.reduce((sum, count) => sum + count, 0);
      host.rates[PPS] = rate;
      host.rates[MBPS] = (rate * stream.packetBytes * 8) / 1e6;
      if (nowMs > (stream.linger ?? stream).endsAtMs && rate === 0) this.#streams.delete(ip);
    }
    this.hosts = [...this.#streams.values()].map(({ host }) => host);
    this.version++;
  }
}

function sentPps({ pps, endsAtMs, linger }: Stream, nowMs: number): number {
  if (nowMs <= endsAtMs) return pps;
  return linger !== null && nowMs <= linger.endsAtMs ? linger.pps : 0;
}
