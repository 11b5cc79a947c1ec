/** The volume of an attack, as a text. */
import type { AttackVolume } from "./attack-volume.ts";

/**
 * `peak 200,000 packets/s, 1.6 Gbit/s; 40,000 packets, 320 Mbit in 0.2 s`, with ` ± 9 %` after the peak of an estimate, and
 * what was dropped where it is known, and for how long nothing was counted.
 */
export function volumeText(volume: AttackVolume): string {
  const { packets, bits, durationMs, peakPps, peakBps, peakError, dropped, notCounted = [] } = volume;
  const error = peakError === undefined ? "" : ` ± ${Math.ceil(peakError * 100)} %`;
  const peak = `peak ${countText(peakPps)} packets/s, ${bitsText(peakBps)}/s${error}`;
  const total = `${countText(packets)} packets, ${bitsText(bits)} in ${(durationMs / 1000).toFixed(1)} s`;
  const missedMs = notCounted.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
  const missed = notCounted.length === 0 ? "" : `; not counted for ${(missedMs / 1000).toFixed(1)} s`;
  return `${peak}; ${total}${dropped === null ? "" : `, dropped ${countText(dropped.packets)} packets`}${missed}`;
}

export function countText(count: number): string {
  return Math.round(count).toLocaleString("en-US");
}

const UNITS = ["Tbit", "Gbit", "Mbit", "kbit"] as const;

export function bitsText(bits: number): string {
  const at = UNITS.findIndex((_, i) => bits >= 1000 ** (UNITS.length - i));
  if (at < 0) return `${Math.round(bits)} bit`;
  const value = bits / 1000 ** (UNITS.length - at);
  return `${value.toLocaleString("en-US", { maximumSignificantDigits: 3 })} ${UNITS[at]}`;
}
