import { expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { SIGN_INS_AT_ONCE_MAX, SIGN_INS_PER_PEER } from "../limits.ts";
import { AttemptsAtOnce, USED_ATTEMPTS_MAX } from "./attempts-at-once.ts";

const never = () => new Promise<string>(() => {});
const now = async () => "asked";

test("one peer takes a part of the places, by IPv6 a /64, and leaves the rest to others", async () => {
  const attempts = new AttemptsAtOnce();
  for (let i = 0; i < SIGN_INS_PER_PEER; i++) void attempts.run(address(`2001:db8::${i + 1}`), never);
  expect(await attempts.run(address("2001:db8::ffff"), now)).toBeNull();
  expect(await attempts.run(address("2001:db8:0:1::1"), now)).toBe("asked");
  expect(await attempts.run(address("192.0.2.1"), now)).toBe("asked");
});

test("all peers together take no more than there are, and a place is free again afterwards", async () => {
  const attempts = new AttemptsAtOnce();
  const ends: (() => void)[] = [];
  const asking = Array.from({ length: SIGN_INS_AT_ONCE_MAX }, (_, i) =>
    attempts.run(address(`192.0.2.${i}`), () => new Promise<string>((resolve) => ends.push(() => resolve("asked")))),
  );
  expect(await attempts.run(address("198.51.100.1"), now)).toBeNull();
  ends[0]?.();
  expect(await asking[0]).toBe("asked");
  expect(await attempts.run(address("198.51.100.1"), now)).toBe("asked");
  const failed = attempts.run(null, () => Promise.reject(new Error("away")));
  expect(await failed.catch((cause: Error) => cause.message)).toBe("away");
  expect(await attempts.run(null, now)).toBe("asked");
});

test("an attempt asks once until it expires, and the oldest of too many is forgotten", () => {
  const attempts = new AttemptsAtOnce();
  const asks = (state: string, at: number) => !attempts.isUsed(state, { expiresAt: at + 100, now: at });
  expect([asks("a", 0), asks("a", 99), asks("a", 100)]).toEqual([true, false, true]);
  for (let i = 0; i < USED_ATTEMPTS_MAX; i++) asks(`x${i}`, 101);
  expect([asks(`x${USED_ATTEMPTS_MAX - 1}`, 102), asks("a", 102)]).toEqual([false, true]);
});
