/** What attacks amount to (docs/interface.md#volume), as the addon counts: floods of every length at every phase of a tick. */

import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadAddon } from "../../src/dataplane/addon.ts";
import type { Attack } from "../../src/detection/attack/attack.ts";
import { runReplay } from "../../src/replay/run.ts";
import { type CapturedFrame, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { configOf } from "../fixtures/config/parsed-config.ts";
import { folder } from "../fixtures/folders.ts";
import { ethernet, ip, udp } from "../fixtures/packets/frames.ts";

const START_MS = 1_700_000_000_000;
const QUIET_MS = 2500;
const PAYLOAD = new Uint8Array(100);
const FRAME_BITS = 8 * ethernet(ip({ src: "198.51.100.7", dst: "203.0.113.1" }, udp({ payload: PAYLOAD }))).length;

const directory = folder("volume");

interface Flood {
  readonly target: string;
  readonly startMs: number;
  readonly seconds: number;
  readonly pps: number;
}

function framesTo({ target, startMs, seconds, pps }: Flood): CapturedFrame[] {
  const frame = ethernet(ip({ src: "198.51.100.7", dst: target }, udp({ payload: PAYLOAD })));
  const stepNs = 1e9 / pps;
  return Array.from({ length: Math.round(seconds * pps) }, (_, i) => ({
    frame,
    atNs: BigInt(START_MS) * 1_000_000n + BigInt(Math.round(startMs * 1e6 + i * stepNs)),
  }));
}

/** Of each attacked address the attack as it ended. */
function attacksIn(floods: readonly Flood[], sections: object = {}): Map<string, Attack> {
  const frames = floods.flatMap(framesTo).sort((a, b) => Number(a.atNs - b.atNs));
  const capture = join(directory, "floods.pcap");
  writeFileSync(capture, pcapBytes(frames, { precision: "nano" }));
  const config = configOf(
    JSON.stringify({
      networks: ["203.0.113.0/24"],
      thresholds: { pps: 100, mbps: 1000, flows_per_sec: 100_000 },
      ban: { unban_hysteresis_seconds: 1 },
      capture: { pcap_file: capture, max_hosts: 1024 },
      ...sections,
    }),
  );
  const attacks = new Map<string, Attack>();
  runReplay({
    native: loadAddon(),
    config,
    originOf: null,
    capture,
    onEvent: (event) => {
      if (event.kind === "attack" && event.change === "ended") attacks.set(event.attack.target ?? "", event.attack);
    },
  });
  return attacks;
}

/** Users of each host, before, while and after. */
function usersOf(targets: readonly string[], seconds: number): Flood[] {
  return targets.map((target, i) => ({ target, startMs: i, seconds, pps: 5 }));
}

const PHASES = Array.from({ length: 20 }, (_, i) => 5 * i);

describe("the volume is within 5 % of what was sent, at every phase of a tick #volume-is-of-every-tick", () => {
  const lengths = [
    [0.2, 2000],
    [0.25, 2000],
    [0.37, 1000],
    [0.5, 1000],
    [1, 1000],
    [1.3, 500],
    [3, 400],
    [10, 300],
    [60, 200],
  ] as const;

  test.each(lengths)("for %p s", (seconds, pps) => expectVolumes({ seconds, pps }));

  test.each([
    ["a window of two ticks", { detection: { window_ms: 200, tick_ms: 100 } }],
    ["a window of 20 ticks", { detection: { window_ms: 2000, tick_ms: 100 } }],
    ["short ticks", { detection: { window_ms: 500, tick_ms: 50 } }],
    ["a time that the rate must hold", { detection: { sustain_ms: 1500 } }],
  ])("with %s", (_, sections) => expectVolumes({ seconds: 3, pps: 1000 }, sections));
});

function expectVolumes({ seconds, pps }: Pick<Flood, "seconds" | "pps">, sections: object = {}): void {
  const floods = PHASES.map((phase, i) => {
    return { target: `203.0.113.${i + 1}`, startMs: QUIET_MS + phase, seconds, pps };
  });
  const users = usersOf(
    floods.map(({ target }) => target),
    seconds + 8,
  );
  const attacks = attacksIn([...floods, ...users], sections);
  expect(attacks.size).toBe(PHASES.length);
  for (const { target, startMs } of floods) {
    const volume = attacks.get(target)?.volume;
    const near = (value: number | undefined, sent: number, what: string) => {
      const error = Math.abs((value ?? 0) - sent) / sent;
      expect({ what, target, isNear: error <= 0.05, value, sent }).toMatchObject({ isNear: true });
    };
    // The users of the time belong to what the host was sent.
    near(volume?.packets, seconds * (pps + 5), "packets");
    near(volume?.bits, seconds * (pps + 5) * FRAME_BITS, "bits");
    near(volume?.peakPps, pps + 5, "peak packets/s");
    near(volume?.peakBps, (pps + 5) * FRAME_BITS, "peak bits/s");
    near(volume?.durationMs, seconds * 1000, "duration");
    expect(Math.abs((volume?.beganAt ?? 0) - START_MS - startMs)).toBeLessThanOrEqual(200);
    expect(volume?.peakOverMs).toBeLessThanOrEqual(100);
  }
}
