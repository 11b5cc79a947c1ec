/** What an attack amounts to, in words. Pure. */
import type { VolumeWire } from "../../src/http/wire/attack-volume.ts";
import { bitRate, byteCount, packetRate, percent, scaled } from "./format/numbers.ts";

/** `2.60 M packets, 3.65 GB`. */
export function amountText(packets: number, bits: number): string {
  return `${scaled(packets)} packets, ${byteCount(bits / 8)}`;
}

/** Names and values; `peak_over_ms` is named, since a longer span has a lower peak. */
export function volumeFacts(volume: VolumeWire): readonly (readonly [string, string])[] {
  const { packets, bits, dropped_packets: dropped, dropped_bits: droppedBits } = volume;
  const facts: (readonly [string, string])[] = [
    ["Peak", `${packetRate(volume.peak_pps)}, ${bitRate(volume.peak_mbps)} (over ${volume.peak_over_ms} ms)`],
    ["Mean", `${packetRate(volume.mean_pps)}, ${bitRate(volume.mean_mbps)}`],
    ["Total", amountText(packets, bits)],
    ["Flood lasted", secondsText(volume.duration_seconds)],
  ];
  if (dropped !== undefined && droppedBits !== undefined) {
    const share = packets === 0 ? 0 : dropped / packets;
    facts.push(["Dropped here", `${amountText(dropped, droppedBits)} (${percent(Math.min(1, share))})`]);
  }
  return facts;
}

/** `0.4 s`, `12.5 s`, `95 s`. */
export function secondsText(seconds: number): string {
  return `${seconds < 60 ? Math.round(seconds * 10) / 10 : Math.round(seconds)} s`;
}
