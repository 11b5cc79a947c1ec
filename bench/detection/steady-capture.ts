/** Writes a capture in which every host is active all the time, and some hosts have more traffic than the others. */
import { closeSync, openSync, writeFileSync } from "node:fs";
import { type CapturedFrame, pcapBytes } from "../../test/fixtures/captures/pcap-writer.ts";
import { hostFrames, STARTS_NS } from "../host-capture.ts";

export interface SteadyCapture {
  readonly hosts: number;
  /** How many of them get BUSY_PPS. */
  readonly busy: number;
  readonly seconds: number;
}

/** Rate of the busy hosts, and the highest rate of the others. */
export const BUSY_PPS = 10;
export const QUIET_PPS = 2;

/** Each host gets one packet per round, so that none is silent for a window of a second; busy hosts get more. */
const ROUND_NS = 800_000_000;
const MORE_IN_A_ROUND = (BUSY_PPS * ROUND_NS) / 1e9 - 1;
const FILE_HEADER_BYTES = 24;

/** A million hosts need 75 MB per second. One round is built; the others are copies with later times. */
export function writeSteadyCapture(path: string, { hosts, busy, seconds }: SteadyCapture): void {
  const frames = round(hosts, busy);
  const bytes = pcapBytes(frames, { precision: "nano" });
  const records = bytes.subarray(FILE_HEADER_BYTES);
  const recordBytes = records.length / frames.length;
  const file = openSync(path, "w");
  try {
    writeFileSync(file, bytes.subarray(0, FILE_HEADER_BYTES));
    for (let atNs = 0; atNs < 1e9 * seconds; atNs += ROUND_NS) {
      writeFileSync(file, records);
      delay(records, recordBytes);
    }
  } finally {
    closeSync(file);
  }
}

/** At equal intervals; the additional packets of the busy hosts are distributed between the others. */
function round(hosts: number, busy: number): CapturedFrame[] {
  const to = hostFrames();
  const further = busy * MORE_IN_A_ROUND;
  const total = hosts + further;
  const frames: CapturedFrame[] = [];
  for (let i = 0, sent = 0; i < total; i++) {
    const isFurther = Math.floor(((i + 1) * further) / total) > sent;
    const host = isFurther ? sent++ % busy : i - sent;
    frames.push({ frame: to(host), atNs: STARTS_NS + BigInt(Math.floor((i * ROUND_NS) / total)) });
  }
  return frames;
}

function delay(records: Uint8Array, recordBytes: number): void {
  const view = new DataView(records.buffer, records.byteOffset, records.byteLength);
  for (let at = 0; at < records.length; at += recordBytes) {
    const nanos = view.getUint32(at + 4, true) + ROUND_NS;
    view.setUint32(at + 4, nanos % 1e9, true);
    if (nanos >= 1e9) view.setUint32(at, view.getUint32(at, true) + 1, true);
  }
}
