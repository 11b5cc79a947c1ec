/** Traffic of an attacker: streams of packets to many addresses, counted in a sliding window as the addon does. */
import { addressToBytes, type IpAddress } from "../../src/net/address.ts";
import { METRICS } from "../../src/traffic/rates.ts";
import type { CountedTraffic } from "../simulation/simulated-counter.ts";
import type { Flood, Host } from "../simulation/simulated-traffic.ts";

export const STEP_MS = 100;
const WINDOW_MS = 1000;
const PPS = METRICS.indexOf("pps");
const MBPS = METRICS.indexOf("mbps");

export interface Stream {
  readonly ip: IpAddress;
  readonly pps: number;
  readonly packetBytes: number;
  readonly endsAtMs: number;
  /** After that, at this rate until then. */
  readonly linger: { readonly pps: number; readonly endsAtMs: number } | null;
  /** Sends only in the first part of each period; absent: always. */
  readonly pulse?: { readonly onMs: number; readonly periodMs: number };
  /** Its sampled packets have sources drawn at random; absent: none are sampled. */
  readonly isSpoofed?: boolean;
}

interface Counted {
  stream: Stream;
  readonly host: Host;
  readonly packets: Float64Array;
}

export class DecoyTraffic implements CountedTraffic {
  hosts: Host[] = [];
  version = 0;
  readonly #stepMs: number;
  readonly #streams = new Map<IpAddress, Counted>();

  /** @param stepMs divides the window of a second. */
  constructor(stepMs = STEP_MS) {
    this.#stepMs = stepMs;
  }

  get floods(): Flood[] {
    return [...this.#streams.values()]
      .filter(({ stream }) => stream.isSpoofed === true)
      .map(({ host, stream }) => ({
        hosts: [host],
        direction: "incoming",
        vector: "udp",
        isSpoofed: true,
        ppsEach: stream.pps,
        endsAtMs: stream.endsAtMs,
      }));
  }

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
    this.#streams.set(ip, { stream, host, packets: new Float64Array(WINDOW_MS / this.#stepMs) });
  }

  /** Packets per second in the window. */
  rateOf(ip: IpAddress): number {
    return this.#streams.get(ip)?.host.rates[PPS] ?? 0;
  }

  /** One step ends at `nowMs`. `isDropped`: whether packets to an address do not reach the packet counter. */
  pass(nowMs: number, isDropped: (ip: IpAddress) => boolean): void {
    for (const [ip, { stream, host, packets }] of this.#streams) {
      const slot = (nowMs / this.#stepMs) % packets.length;
      packets[slot] = isDropped(ip) ? 0 : sentPackets(stream, nowMs, this.#stepMs);
      const rate = packets.reduce((sum, count) => sum + count, 0);
      host.rates[PPS] = rate;
      host.rates[MBPS] = (rate * stream.packetBytes * 8) / 1e6;
      if (nowMs > (stream.linger ?? stream).endsAtMs && rate === 0) this.#streams.delete(ip);
    }
    this.hosts = [...this.#streams.values()].map(({ host }) => host);
    this.version++;
  }
}

/** In the step that ends at `nowMs`. */
function sentPackets(stream: Stream, nowMs: number, stepMs: number): number {
  return (sentPps(stream, nowMs) * (onMs(stream, nowMs) - onMs(stream, nowMs - stepMs))) / 1000;
}

/** Of the time until `nowMs`. */
function onMs({ pulse }: Stream, nowMs: number): number {
  if (pulse === undefined) return nowMs;
  return Math.floor(nowMs / pulse.periodMs) * pulse.onMs + Math.min(nowMs % pulse.periodMs, pulse.onMs);
}

function sentPps({ pps, endsAtMs, linger }: Stream, nowMs: number): number {
  if (nowMs <= endsAtMs) return pps;
  return linger !== null && nowMs <= linger.endsAtMs ? linger.pps : 0;
}
