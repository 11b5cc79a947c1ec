/** What the sampler knows of a host from before its attack. */
import { describe, expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { ethernet, ip, udp } from "../../../test/fixtures/packets/frames.ts";
import { FakeHeaderSamples, SAMPLER_OPTIONS } from "../../../test/fixtures/packets/header-samples.ts";
import { Dice } from "../../../test/fixtures/packets/labelled-packets.ts";
import { userPacket } from "../../../test/fixtures/packets/user-packets.ts";
import { seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { attack } from "../../../test/fixtures/views.ts";
import type { Attack } from "./attack.ts";
import { JUDGE_AGAIN_MS } from "./attack-reading.ts";
import { AttackSampler, type AttackSamplerOptions } from "./attack-sampler.ts";

const VICTIM = address("203.0.113.7");
const OTHER = address("203.0.113.8");
const at = (monotonicMs: number) => ({ wallMs: 0, monotonicMs });
const flood = { frame: ethernet(ip({ src: "198.51.100.1", dst: VICTIM }, udp())), ageMs: 0 };
const frames = (count: number) => new Array(count).fill(flood);

function harness(options: AttackSamplerOptions = {}) {
  const headers = new FakeHeaderSamples();
  const sampler = new AttackSampler(headers, SAMPLER_OPTIONS, options);
  const begun = attack({ id: `of ${VICTIM}`, target: VICTIM });
  const begin = () => sampler.begin(begun, at(0));
  const profile = () => sampler.observed(begun)?.profile;
  const read = (ms: number) => {
    for (const _ of sampler.readings(at(ms)));
  };
  return { headers, sampler, begin, read, profile };
}

describe("the profile of an attack", () => {
  const users = () => {
    const dice = new Dice(seededRandom(1));
    return Array.from({ length: 300 }, () => ({
      frame: ethernet(userPacket({ dice, family: 4, victim: VICTIM }, [OTHER])),
    }));
  };

  test("is what was known of the host before, and not for what the host sends", () => {
    const known = { packets: [], packetsPerSecond: 40 };
    const { headers, sampler, read } = harness({ profiles: { of: () => known } });
    const [incoming, outgoing] = (["incoming", "outgoing"] as const).map((direction) =>
      attack({ id: direction, target: VICTIM, direction }),
    ) as [Attack, Attack];
    for (const each of [incoming, outgoing]) sampler.begin(each, at(0));
    const sent = { frame: ethernet(ip({ src: VICTIM, dst: "198.51.100.1" }, udp())), ageMs: 0 };
    headers.frames = [...frames(20), ...new Array(20).fill(sent)];
    read(20);
    expect(sampler.observed(incoming)?.profile).toEqual({ packets: [], packetsPerSecond: 0 });
    expect(sampler.observed(outgoing)?.profile).toBeNull();
  });

  test("is the attack while it shows nothing but what users send, and stays so", () => {
    const { headers, begin, read, profile } = harness();
    begin();
    headers.frames = users();
    read(20);
    const { length } = profile()?.packets ?? [];
    expect(length).toBe(300);
    headers.frames = frames(900);
    read(20 + JUDGE_AGAIN_MS);
    expect(profile()?.packets).toHaveLength(length);
  });

  test("is not known where the attack is all there is", () => {
    const { headers, begin, read, profile } = harness();
    begin();
    headers.frames = frames(900);
    read(20);
    expect(profile()).toBeNull();
  });

  test("is there also of an attack that was restored before the profiles were", () => {
    const known = { packets: [], packetsPerSecond: 40 };
    const restored: (typeof known)[] = [];
    const { headers, sampler, begin, read, profile } = harness({ profiles: { of: () => restored[0] ?? null } });
    begin();
    headers.frames = frames(20);
    read(20);
    restored.push(known);
    expect(profile()).toBeNull();
    sampler.profilesRestored();
    expect(profile()).toEqual({ packets: [], packetsPerSecond: 0 });
  });
});
