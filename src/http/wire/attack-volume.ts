/** The volume of an attack (docs/interface.md#volume). */
import { type Static, Type } from "@sinclair/typebox";
import { type AttackVolume, DROP_CAUSES, type DroppedAmount, perSecond } from "../../detection/attack/attack-volume.ts";
import { Count, closedObject, Rate } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import { round } from "../../traffic/rates.ts";
import { omitNulls } from "./omit-nulls.ts";

export const VolumeWire = closedObject({
  began_at: Timestamp,
  duration_seconds: Rate,
  packets: Count,
  bits: Count,
  peak_pps: Rate,
  peak_mbps: Rate,
  peak_over_ms: Rate,
  /** Error of the less exact peak, a fraction of it; absent where both are exact. */
  peak_sampling_error: Type.Optional(Rate),
  mean_pps: Rate,
  mean_mbps: Rate,
  /** Absent where nothing is known, like the next three. */
  dropped_packets: Type.Optional(Count),
  dropped_bits: Type.Optional(Count),
  /** Packets, by cause; absent where the causes are not known. */
  dropped_by: Type.Optional(
    closedObject(Object.fromEntries(DROP_CAUSES.map((cause) => [cause, Type.Optional(Count)]))),
  ),
  passed_packets: Type.Optional(Count),
  passed_bits: Type.Optional(Count),
  /** Packets answered so that their sources prove their address, and how often one did; absent where none had to. */
  challenged_packets: Type.Optional(Count),
  validated_sources: Type.Optional(Count),
  /** Times in which the service did not run; absent: none. */
  not_counted: Type.Optional(Type.Array(closedObject({ from: Timestamp, to: Timestamp }))),
});
export type VolumeWire = Static<typeof VolumeWire>;

/**
 * Causes without a packet are absent. The first and the last packets that were dropped may be of ticks that are no part
 * of the volume: no more were dropped of it than it has.
 */
function packetsByCause(by: NonNullable<DroppedAmount["by"]>, most: number): Record<string, number> {
  let left = Math.round(most);
  const counts = DROP_CAUSES.map((cause) => {
    const packets = Math.min(left, Math.round(by[cause].packets));
    left -= packets;
    return [cause, packets] as const;
  });
  return Object.fromEntries(counts.filter(([, packets]) => packets > 0));
}

/** The sum of what is shown by cause, each of which is rounded. */
function droppedCount({ packets }: DroppedAmount, by: Readonly<Record<string, number>> | null): number {
  return by === null ? Math.round(packets) : Object.values(by).reduce((sum, count) => sum + count, 0);
}

export function volumeToWire(volume: AttackVolume): VolumeWire {
  const { beganAt, durationMs, packets, bits, peakPps, peakBps, peakOverMs, peakError, dropped, notCounted } = volume;
  const forMs = Math.max(durationMs, 1);
  const by = dropped?.by === undefined ? null : packetsByCause(dropped.by, packets);
  const droppedPackets = dropped === null ? null : droppedCount(dropped, by);
  return omitNulls({
    began_at: timestamp(beganAt),
    duration_seconds: round(durationMs / 1000),
    packets: Math.round(packets),
    bits: Math.round(bits),
    peak_pps: round(peakPps),
    peak_mbps: round(peakBps / 1e6),
    peak_over_ms: round(peakOverMs),
    peak_sampling_error: peakError === undefined ? null : round(peakError),
    mean_pps: round(perSecond(packets, forMs)),
    mean_mbps: round(perSecond(bits, forMs) / 1e6),
    dropped_packets: droppedPackets,
    dropped_bits: dropped === null ? null : Math.round(Math.min(bits, dropped.bits)),
    dropped_by: by,
    passed_packets: droppedPackets === null ? null : Math.max(0, Math.round(packets) - droppedPackets),
    passed_bits: dropped === null ? null : Math.max(0, Math.round(bits) - Math.round(dropped.bits)),
    challenged_packets: dropped?.challenged ?? null,
    validated_sources: dropped?.validated ?? null,
    not_counted: notCounted?.map(({ fromMs, toMs }) => ({ from: timestamp(fromMs), to: timestamp(toMs) })) ?? null,
  });
}
