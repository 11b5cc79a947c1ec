/** The size of an attack, in words. Pure. */
import type { DropCause } from "../../src/detection/attack/attack-volume.ts";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { VolumeWire } from "../../src/http/wire/attack-volume.ts";
import { t } from "../language.ts";
import { bitRate, byteCount, decimal, packetRate, percent, plusMinus, scaled } from "./format/numbers.ts";
import { momentText } from "./format/times.ts";

/** `2.60 M packets, 3.65 GB`. */
export function amountText(packets: number, bits: number): string {
  return t`${scaled(packets)} packets, ${byteCount(bits / 8)}`;
}

/** `(over 100 ms)`, of an estimate `± 9 % (over 6400 ms)`: a longer span has a lower peak. */
export function peakNote({ peak_over_ms: overMs, peak_sampling_error: error }: VolumeWire): string {
  return t`${plusMinus(error)} (over ${Math.round(overMs)} ms)`.trimStart();
}

/** ` (± 12 % at most)` after means and sums: more samples than the peak has are behind them. Empty: they are exact. */
export function errorAtMost({ peak_sampling_error: error }: Sampled): string {
  return error === undefined ? "" : t` (± ${percent(error)} at most)`;
}

type Sampled = Pick<VolumeWire, "peak_sampling_error">;

/** `≈ ` before a number that is computed from an estimated total; empty: every packet was counted. */
export function aboutMark({ peak_sampling_error: error }: Sampled = {}): string {
  return error === undefined ? "" : "≈ ";
}

/**
 * `≤ `, `≈ ` or both before a number of packets that passed: the drops of the ban's rules alone are known, or the total
 * is estimated.
 */
export function passedMark(volume: VolumeWire): string {
  return (volume.dropped_by === undefined ? "≤ " : "") + aboutMark(volume);
}

/** Names and values. */
export function volumeFacts(
  volume: VolumeWire,
  nowMs: number,
  scope: AttackWire["scope"] = "host",
): readonly (readonly [string, string])[] {
  const { packets, bits, dropped_packets: dropped, dropped_bits: droppedBits } = volume;
  const facts: (readonly [string, string])[] = [
    [t`Peak`, `${packetRate(volume.peak_pps)}, ${bitRate(volume.peak_mbps)} ${peakNote(volume)}`],
    [t`Mean`, `${packetRate(volume.mean_pps)}, ${bitRate(volume.mean_mbps)}${errorAtMost(volume)}`],
    [t`Total`, `${amountText(packets, bits)}${errorAtMost(volume)}`],
    [t`Flood lasted`, secondsText(volume.duration_seconds)],
  ];
  if (dropped !== undefined && droppedBits !== undefined) {
    facts.push([t`Dropped here`, `${amountText(dropped, droppedBits)} (${shareText(dropped, volume)})`]);
    const causes = causesText(volume);
    if (causes !== null) facts.push([t`Dropped by`, causes]);
  }
  facts.push([t`Passed here`, passedText(volume, scope)]);
  const proofs = proofText(volume);
  if (proofs !== null) facts.push([t`Challenged`, proofs]);
  const missed = missedText(volume, (ms) => momentText(ms, nowMs));
  if (missed !== null) facts.push([t`Not counted`, missed]);
  return facts;
}

const CAUSE_TEXTS: Readonly<Record<DropCause, string>> = {
  rules: t`rules of bans and protections`,
  filter_rules: t`filter rules`,
  source_blocks: t`source blocks`,
  limits: t`limits`,
  unproved: t`sources without a proof`,
  answered: t`answered for a proof`,
};

/**
 * `rules of bans and protections 90 %, source blocks 8.2 %`: shares of all packets. null: nothing was dropped, or nothing
 * is known of it.
 */
export function causesText(volume: VolumeWire): string | null {
  const { dropped_by: by, dropped_packets: dropped } = volume;
  if (by === undefined)
    return dropped === undefined ? null : t`rules of its ban; what other causes dropped is not known of it`;
  const causes = (Object.keys(CAUSE_TEXTS) as DropCause[]).filter((cause) => by[cause] !== undefined);
  if (causes.length === 0) return null;
  return causes.map((cause) => `${CAUSE_TEXTS[cause]} ${shareText(by[cause] as number, volume)}`).join(", ");
}

/** `800 k packets; 310 sources proved real`: these had to send again. null: none was challenged. */
export function proofText({ challenged_packets: asked, validated_sources: proved }: VolumeWire): string | null {
  if (asked === undefined) return null;
  return t`${scaled(asked)} packets; ${scaled(proved ?? 0)} sources proved real`;
}

/**
 * How much got through this machine, which is not what reached the victim where routers drop too. Sampled
 * traffic does not show which of its packets came through the filter: the text says how the number is computed.
 */
export function passedText(volume: VolumeWire, scope: AttackWire["scope"]): string {
  const { passed_packets: passed, passed_bits: bits, dropped_by: by } = volume;
  if (passed === undefined || bits === undefined) {
    return scope === "group"
      ? t`not known: of an attack on several hosts only the drops of its ban's rules are counted here, and there are none`
      : t`not known: none of its packets came through the filter of this machine, and routers and scrub nodes do not report drops by attack`;
  }
  const [amount, share] = [aboutMark(volume) + amountText(passed, bits), shareText(passed, volume)];
  if (by === undefined) return t`${amount} (${share}) at most; what other causes or routers dropped is not known of it`;
  return volume.peak_sampling_error !== undefined
    ? t`${amount} (${share}), not known exactly: the estimated total less what was dropped here`
    : t`${amount} (${share}); what routers drop is not known here`;
}

/** Times in which the service did not run: their traffic is in no number. null: all was counted. */
export function missedText({ not_counted: spans }: VolumeWire, textOf: (ms: number) => string): string | null {
  if (spans === undefined) return null;
  const texts = spans.map(({ from, to }) => t`${textOf(Date.parse(from))} to ${textOf(Date.parse(to))}`);
  return t`not known from ${texts.join(", ")}: Floodwall did not run`;
}

function shareText(part: number, volume: VolumeWire): string {
  return aboutMark(volume) + percent(volume.packets === 0 ? 0 : Math.min(1, part / volume.packets));
}

/** `0.4 s`, `12.5 s`, `95 s`. */
export function secondsText(seconds: number): string {
  const rounded = seconds < 60 ? Math.round(seconds * 10) / 10 : Math.round(seconds);
  return t`${decimal(rounded, Number.isInteger(rounded) ? 0 : 1)} s`;
}
