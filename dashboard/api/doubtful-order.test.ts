import { expect, test } from "bun:test";
import { LOOKS_MIN, settle } from "./doubtful-order.ts";

const pause = () => Promise.resolve();

/** Answers one after the other; the last one again and again. */
function looks(...answers: readonly (boolean | null)[]) {
  let count = 0;
  return Object.assign(() => Promise.resolve(answers[Math.min(count++, answers.length - 1)] as boolean | null), {
    count: () => count,
  });
}

test("an order that is found was carried out, however long the service did not answer", async () => {
  const look = looks(null, null, null, false, true);
  expect(await settle(look, { pause })).toBe("done");
  expect(look.count()).toBe(5);
});

test("an order that is not found again and again was not carried out: one look is not enough", async () => {
  const look = looks(false);
  expect(await settle(look, { pause })).toBe("not_done");
  expect(look.count()).toBe(LOOKS_MIN);
});

test("looks before the service stopped answering again prove nothing", async () => {
  const look = looks(false, false, null, false);
  expect(await settle(look, { pause })).toBe("not_done");
  expect(look.count()).toBe(3 + LOOKS_MIN);
});

test("ends when the page does not wait for it any more", async () => {
  expect(await settle(looks(null), { pause, isGone: () => true })).toBe("gone");
});
