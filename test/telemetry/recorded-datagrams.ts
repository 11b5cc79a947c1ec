/** Datagrams in a file: each after its length, two bytes in network byte order. */
import { readFileSync } from "node:fs";

export function recorded(datagram: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from([datagram.length >> 8, datagram.length & 255]), datagram]);
}

export function readRecorded(path: string): Uint8Array[] {
  const bytes = readFileSync(path);
  const datagrams: Uint8Array[] = [];
  for (let at = 0; at + 2 <= bytes.length; ) {
    const length = bytes.readUInt16BE(at);
    datagrams.push(bytes.subarray(at + 2, at + 2 + length));
    at += 2 + length;
  }
  return datagrams;
}
