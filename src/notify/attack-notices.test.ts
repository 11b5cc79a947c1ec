import { expect, test } from "bun:test";
import { thresholds } from "../../test/fixtures/host-rows.ts";
import { attack, classification } from "../../test/fixtures/views.ts";
import { AttackNotices, CHANGE_PAUSE_MS, KIND_WAIT_MS } from "./attack-notices.ts";

const DNS = classification();
const SYN = classification({ type: "syn_flood", sourcePort: null });

function at(pps: number, kind: typeof DNS | null = DNS) {
  return attack({ id: "a", metric: "pps", rates: thresholds({ pps }), classification: kind });
}

test("a start and an end are notified each time", () => {
  const notices = new AttackNotices();
  expect(notices.take("started", at(1000), 0)).toEqual(["attack_started"]);
  expect(notices.take("lasts", at(1500), 100)).toEqual([]);
  expect(notices.take("ended", at(1500), 200)).toEqual(["attack_ended"]);
});

test("a start waits for the attack's kind", () => {
  const notices = new AttackNotices();
  expect(notices.take("started", at(1000, null), 0)).toEqual([]);
  expect(notices.take("lasts", at(1000, null), 100)).toEqual([]);
  expect(notices.take("classified", at(1000), 120)).toEqual(["attack_started"]);
  expect(notices.take("lasts", at(1000), 200)).toEqual([]);
});

test("a start does not wait for ever", () => {
  const notices = new AttackNotices();
  notices.take("started", at(1000, null), 0);
  expect(notices.take("lasts", at(1000, null), KIND_WAIT_MS - 1)).toEqual([]);
  expect(notices.take("lasts", at(1000, null), KIND_WAIT_MS)).toEqual(["attack_started"]);
  expect(notices.take("classified", at(1000), KIND_WAIT_MS + 100)).toEqual([]);
});

test("an attack that ends before its kind is known is notified with start and end, and then forgotten", () => {
  const notices = new AttackNotices();
  notices.take("started", at(1000, null), 0);
  expect(notices.take("ended", at(1000, null), 100)).toEqual(["attack_started", "attack_ended"]);
  expect(notices.take("started", at(1000), 200)).toEqual(["attack_started"]);
});

test("a rate that has doubled is reported, once, and not before the pause is over", () => {
  const notices = new AttackNotices();
  notices.take("started", at(1000), 0);
  expect(notices.take("lasts", at(2000), CHANGE_PAUSE_MS - 1)).toEqual([]);
  expect(notices.take("lasts", at(1999), CHANGE_PAUSE_MS)).toEqual([]);
  expect(notices.take("lasts", at(2000), CHANGE_PAUSE_MS)).toEqual(["attack_changed"]);
  expect(notices.take("lasts", at(3999), 3 * CHANGE_PAUSE_MS)).toEqual([]);
  expect(notices.take("lasts", at(4000), 3 * CHANGE_PAUSE_MS)).toEqual(["attack_changed"]);
});

test("another kind is reported at once, a change of its parts is not", () => {
  const notices = new AttackNotices();
  notices.take("started", at(1000), 0);
  expect(notices.take("classified", at(1000, { ...DNS, parts: [] }), 100)).toEqual([]);
  expect(notices.take("classified", at(1000, SYN), 200)).toEqual(["attack_changed"]);
  expect(notices.take("lasts", at(1000, SYN), 300)).toEqual([]);
});

test("an attack of an earlier process is not reported again, but its growth, its kind and its end are", () => {
  const notices = new AttackNotices();
  expect(notices.take("lasts", at(1000), 0)).toEqual([]);
  expect(notices.take("lasts", at(2000), CHANGE_PAUSE_MS)).toEqual(["attack_changed"]);
  expect(notices.take("classified", at(2000, SYN), CHANGE_PAUSE_MS)).toEqual(["attack_changed"]);
  expect(notices.take("ended", at(2000, SYN), CHANGE_PAUSE_MS)).toEqual(["attack_ended"]);
});
