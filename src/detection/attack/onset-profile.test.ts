/** What the window shows from before an attack. */
import { describe, expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { ethernet, ip, udp } from "../../../test/fixtures/packets/frames.ts";
import { FakeHeaderSamples } from "../../../test/fixtures/packets/header-samples.ts";
import { HeaderRecords } from "../../traffic/header-record.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import { profileBeforeOnset } from "./onset-profile.ts";

const VICTIM = address("203.0.113.7");
const WINDOW_MS = 1000;
const [USER_PORT, ATTACK_PORT] = [5060, 9999];

const every = () => true;
const isUser = ({ ports }: PacketHeader) => ports?.destination === USER_PORT;

/** @param rates packets of users and of the attack in each tick of 100 ms, oldest first. */
function profileOf(
  rates: readonly (readonly [users: number, attack: number])[],
  isPartOf: (header: PacketHeader) => boolean = every,
) {
  const headers = new FakeHeaderSamples();
  const framesTo = (port: number, count: number, ageMs: number) =>
    Array.from({ length: count }, () => ({
      frame: ethernet(ip({ src: "198.51.100.1", dst: VICTIM }, udp({ destinationPort: port }))),
      ageMs,
    }));
  headers.frames = rates.flatMap(([users, attack], i) => {
    const ageMs = 100 * (rates.length - 1 - i);
    return [...framesTo(USER_PORT, users, ageMs), ...framesTo(ATTACK_PORT, attack, ageMs)];
  });
  const records = new HeaderRecords(4096);
  const end = headers.readSamples(new Uint8Array(16), records.bytes, 128);
  return profileBeforeOnset({ records, from: 0, end }, WINDOW_MS, isPartOf);
}

const ticks = (count: number, users: number, attack: number) => new Array(count).fill([users, attack]);

describe("the profile from before the start of an attack", () => {
  test("has the packets of users and none of the attack, with their rate", () => {
    const profile = profileOf([...ticks(6, 40, 0), [40, 100], ...ticks(3, 40, 200)]);
    expect(profile?.packets.every(({ header }) => isUser(header))).toBeTrue();
    expect(profile?.packets.length).toBeGreaterThanOrEqual(4 * 40);
    expect(profile?.packetsPerSecond).toBeCloseTo(400);
  });

  test("is found for the packets that the attack's metrics count, among many others", () => {
    const isAttackKind = (header: PacketHeader) => !isUser(header);
    const rates = [...ticks(6, 400, 20), ...ticks(4, 400, 200)];
    expect(profileOf(rates, isAttackKind)?.packetsPerSecond).toBeCloseTo(4200);
    expect(profileOf(rates)).toBeNull();
  });

  test.each([
    { name: "all of the window is of the attack", rates: ticks(10, 40, 200) },
    { name: "the rate stays as it is", rates: ticks(10, 200, 0) },
    { name: "few packets are older", rates: [...ticks(6, 5, 0), ...ticks(4, 5, 300)] },
    { name: "the attack grows slowly", rates: Array.from({ length: 10 }, (_, i) => [20, 40 * i] as const) },
    { name: "there are no packets", rates: [] },
  ])("is not known where $name", ({ rates }) => {
    expect(profileOf(rates)).toBeNull();
  });
});
