/** Writes capture files with many hosts: one packet to each, then further packets to some of them. */
import { writeFileSync } from "node:fs";
import { addressToBytes } from "../src/net/address.ts";
import { type CapturedFrame, pcapBytes } from "../test/fixtures/captures/pcap-writer.ts";
import { address } from "../test/fixtures/host-rows.ts";
import { ethernet, ip, udp } from "../test/fixtures/packets/frames.ts";

/** The hosts are 10.0.0.0 and the addresses that follow. */
export const HOST_NETWORK = "10.0.0.0/8";
const FIRST_HOST = "10.0.0.0";

export interface HostCapture {
  readonly hosts: number;
  /** Number of hosts that get further packets, packets per second for each, and duration. */
  readonly busy?: { readonly hosts: number; readonly pps: number; readonly seconds: number };
}

export const STARTS_NS = 1_700_000_000_000_000_000n;
/** In the IPv4-mapped form the last four bytes are the address. */
const IPV4_AT = 12;
/** Position of the destination in an Ethernet frame. */
const DESTINATION_AT = 30;
/** The first packets arrive within this time. */
const FIRST_NS = 1_000_000_000n;

export function writeHostCapture(path: string, { hosts, busy }: HostCapture): void {
  const to = hostFrames();
  const frames: CapturedFrame[] = [];
  for (let host = 0; host < hosts; host++) {
    frames.push({ frame: to(host), atNs: STARTS_NS + (FIRST_NS * BigInt(host)) / BigInt(hosts) });
  }
  if (busy !== undefined) addBusy(frames, to, busy);
  writeFileSync(path, pcapBytes(frames, { precision: "nano" }));
}

/** The smallest frame to the n-th host, newly allocated each time. */
export function hostFrames(): (host: number) => Uint8Array {
  const template = ethernet(ip({ src: "198.51.100.9", dst: FIRST_HOST }, udp({})));
  const first = new DataView(addressToBytes(address(FIRST_HOST)).buffer).getUint32(IPV4_AT);
  return (host) => {
    const frame = template.slice();
    new DataView(frame.buffer).setUint32(DESTINATION_AT, first + host);
    return frame;
  };
}

function addBusy(frames: CapturedFrame[], to: (host: number) => Uint8Array, busy: NonNullable<HostCapture["busy"]>) {
  const busyFrames = Array.from({ length: busy.hosts }, (_, host) => to(host));
  const rounds = busy.pps * busy.seconds;
  const roundNs = 1e9 / busy.pps;
  for (let round = 0; round < rounds; round++) {
    for (const [host, frame] of busyFrames.entries()) {
      const offsetNs = Math.round(roundNs * (round + host / busy.hosts));
      frames.push({ frame, atNs: STARTS_NS + FIRST_NS + BigInt(offsetNs) });
    }
  }
}
