/**
 * A short form of `make accuracy CAPTURES=FOLDER`: attacks of several vectors beside users of their victims, made here
 * as they are seen on the wire, and one line of each recorded capture where a folder is named.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rulesText } from "../../src/mitigation/rules/rule.ts";
import { mixFaultOf } from "../fixtures/captures/capture-accuracy.ts";
import { type VictimCapture, victimCapture } from "../fixtures/captures/capture-file.ts";
import { mixOf, mixScore } from "../fixtures/captures/mixed-capture.ts";
import { evenly, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { ethernet, type IpPacket, icmp, ip, TCP_FLAGS, type Transport, tcp, udp } from "../fixtures/packets/frames.ts";
import { Dice } from "../fixtures/packets/labelled-packets.ts";
import { seededRandom } from "../fixtures/seeded-random.ts";
import { TemporaryFolder } from "../fixtures/temporary-folder.ts";

const FOLDER = process.env["CAPTURES"];
const VICTIM = "203.0.113.7";
const { syn, ack, rst } = TCP_FLAGS;
const MSS = Uint8Array.from([2, 4, 5, 0xb4]);

setDefaultTimeout(120_000);

function captureOf(packetOf: (dice: Dice) => Transport): VictimCapture {
  const dice = new Dice(seededRandom(3));
  const packet = (): IpPacket => ip({ src: dice.address(4), dst: VICTIM }, packetOf(dice));
  using directory = new TemporaryFolder("recorded");
  const path = directory.at("attack.pcap");
  writeFileSync(path, pcapBytes(evenly(Array.from({ length: 3000 }, () => ethernet(packet(), { padTo: 60 })))));
  const capture = victimCapture(path);
  if (capture === null) throw new Error("the capture has no packets");
  // As fast as a replay takes it.
  return { ...capture, packetsPerSecond: 0 };
}

const answer = (sourcePort: number, destinationPort: number, bytes: number) =>
  udp({ sourcePort, destinationPort, payload: new Uint8Array(bytes) });

const ATTACKS = {
  "SYN-ACK reflection with the resets of closed ports and ICMP errors": (dice: Dice) => {
    const kind = dice.below(100);
    const ports = { sourcePort: dice.oneOf([80, 443]), destinationPort: dice.port() };
    if (kind < 80) return tcp({ ...ports, flags: syn | ack, options: MSS });
    return kind < 96 ? tcp({ ...ports, flags: rst }) : icmp(new Uint8Array(40));
  },
  "two services that answer to one port": (dice: Dice) => {
    const kind = dice.below(100);
    if (kind < 70) return answer(47_808, 40_000, 96);
    return kind < 96 ? answer(37_810, 40_000, 400 + dice.below(500)) : answer(40_000, 40_000, 41);
  },
  "SNMP answers with ICMP errors of hosts that closed the port": (dice: Dice) =>
    dice.below(100) < 93
      ? answer(161, dice.oneOf([3299, 12_294]), 26 + dice.below(1300))
      : icmp(new Uint8Array(28 + dice.below(60))),
  "DNS answers, beside those of the victim's resolvers": (dice: Dice) => answer(53, dice.port(), 900 + dice.below(500)),
} as const;

const NAMES = Object.keys(ATTACKS) as (keyof typeof ATTACKS)[];

/** With 4,000 packets of users and thresholds of a fourth, the users alone are above the threshold. */
describe.each([
  [4000, 4],
  [1000, 8],
])("with %d packets of users a second, at %d times the threshold", (usersPps, times) => {
  test.each(NAMES)("rules match %s and no users", (name) => {
    const mix = mixOf(captureOf(ATTACKS[name]), { usersPps, calmSeconds: 5, attackSeconds: 6, seed: 0 });
    const score = mixScore(mix, mix.attackPps / times);
    expect(mixFaultOf(score), rulesText(score.rules)).toBeNull();
    expect(score.isSeparable).toBe(true);
  });
});

test("a flood of what the users send is called inseparable", () => {
  const capture = captureOf((dice) =>
    tcp({ sourcePort: dice.port(), destinationPort: 443, flags: syn, options: new Uint8Array(20).fill(1) }),
  );
  const mix = mixOf(capture, { usersPps: 1000, calmSeconds: 5, attackSeconds: 5, seed: 0 });
  const score = mixScore(mix, mix.attackPps / 2);
  expect(score.isSeparable).toBe(false);
  // New connections are matched, and the ones that exist are not.
  expect(score.usersMatched).toBeLessThan(0.06);
  expect(score.attackMatched).toBeGreaterThan(0.98);
});

const reason = FOLDER === undefined ? " (no CAPTURES, the folder of recorded attacks)" : "";
describe.skipIf(FOLDER === undefined)(`recorded captures${reason}`, () => {
  test("are matched, and no users", () => {
    const names = readdirSync(FOLDER ?? "").filter((name) => /\.pcap(ng)?$/.test(name));
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) {
      const capture = victimCapture(join(FOLDER ?? "", name)) as VictimCapture;
      const mix = mixOf(capture, { usersPps: 1000, calmSeconds: 5, attackSeconds: 6, seed: 0 });
      const score = mixScore(mix, mix.attackPps / 4);
      expect(mixFaultOf(score), `${name}: ${rulesText(score.rules)}`).toBeNull();
    }
  });
});
