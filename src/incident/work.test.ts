/** What people may add to an incident, and in which order. */
import { describe, expect, test } from "bun:test";
import { NO_TENANTS } from "../access/shares.ts";
import { INCIDENT_NOTES_MAX } from "../limits.ts";
import {
  type Deed,
  NO_WORK,
  noted,
  openHandovers,
  ordered,
  type Work,
  type WorkAnswer,
  type WorkOrder,
} from "./work.ts";

const NOC = { operator: "noc", tenant: null };
const DAY = { operator: "day", tenant: null };
const ACME = { operator: "acme-noc", tenant: "acme" };

const at = (by: Deed["by"], atMs: number): Deed => ({ by, atMs });
const refused = (refusal: string): unknown => ({ kind: "refused", refusal });

function done(answer: WorkAnswer): Work {
  if (answer.kind === "refused") throw new Error(answer.refusal);
  return answer.work;
}
const after = (work: Work, order: WorkOrder, deed: Deed) => done(ordered(work, order, deed));
const withNote = (work: Work, deed: Deed, isHandover = false) =>
  done(noted(work, { text: "look at it", isHandover }, deed, NO_TENANTS));

describe("an order", () => {
  test("takes, acknowledges and classifies at once, each with who and when", () => {
    const work = after(NO_WORK, { owner: "take", acknowledge: true, classification: "real" }, at(NOC, 1));
    expect(work).toEqual({
      owner: at(NOC, 1),
      acknowledged: at(NOC, 1),
      verdict: { ...at(NOC, 1), is: "real" },
      notes: [],
    });
    const later = after(work, { owner: "take", acknowledge: true, classification: null }, at(DAY, 2));
    // Who saw it first stays.
    expect(later).toEqual({ owner: at(DAY, 2), acknowledged: at(NOC, 1), verdict: null, clearedMs: 2, notes: [] });
    expect(after(later, { owner: "release" }, at(NOC, 3)).owner).toBeNull();
    expect<unknown>(ordered(NO_WORK, { owner: "release" }, at(NOC, 1))).toEqual(refused("not_owner"));
  });

  test("of a tenant does not change what an operator decided, the other way round it does", () => {
    const work = after(NO_WORK, { owner: "take", classification: "real" }, at(NOC, 1));
    for (const order of [{ owner: "take" }, { owner: "release" }, { classification: "false_alarm" }] as const) {
      expect<unknown>(ordered(work, order, at(ACME, 2))).toEqual(refused("decided_by_operator"));
    }
    expect(after(work, { acknowledge: true }, at(ACME, 2)).acknowledged).toEqual(at(ACME, 2));
    const own = after(NO_WORK, { owner: "take" }, at(ACME, 1));
    expect(after(own, { owner: "take" }, at(NOC, 2)).owner?.by).toEqual(NOC);
  });
});

describe("a note for the next shift", () => {
  test("is open until an owner who took the incident after it acknowledges it", () => {
    const owned = after(NO_WORK, { owner: "take" }, at(NOC, 1));
    const work = withNote(owned, at(NOC, 2), true);
    const acknowledge: WorkOrder = { handover: "acknowledge" };
    expect(openHandovers(work)).toHaveLength(1);
    expect<unknown>(ordered(work, acknowledge, at(DAY, 3))).toEqual(refused("not_owner"));
    expect<unknown>(ordered(work, acknowledge, at(NOC, 3))).toEqual(refused("taken_before"));
    const seen = after(work, { owner: "take", handover: "acknowledge" }, at(DAY, 4));
    expect(openHandovers(seen)).toEqual([]);
    expect(seen.notes[0]?.acknowledged).toEqual(at(DAY, 4));
    expect<unknown>(ordered(seen, acknowledge, at(DAY, 5))).toEqual(refused("no_handover"));
  });

  test("that was written after the incident was taken stays open", () => {
    const first = withNote(NO_WORK, at(NOC, 1), true);
    const taken = after(first, { owner: "take" }, at(DAY, 2));
    const second = withNote(taken, at(NOC, 3), true);
    const seen = after(second, { handover: "acknowledge" }, at(DAY, 4));
    expect(openHandovers(seen).map(({ id }) => id)).toEqual([2]);
  });

  test("of an operator is not acknowledged by a tenant, which does not see it", () => {
    const work = withNote(NO_WORK, at(NOC, 1), true);
    const taken = after(work, { owner: "take" }, at(ACME, 2));
    expect<unknown>(ordered(taken, { handover: "acknowledge" }, at(ACME, 3))).toEqual(refused("no_handover"));
    expect(openHandovers(taken)).toHaveLength(1);
  });

  test("is none where a note is not meant for it", () => {
    expect(openHandovers(withNote(NO_WORK, at(NOC, 1)))).toEqual([]);
  });
});

test("notes are bounded, and a tenant's are its share of them #incident-command-bounds", () => {
  const callers = { tenants: 3, tokensOf: () => 1 };
  const note = { text: "x", isHandover: false };
  let work = NO_WORK;
  for (let i = 0; i < (INCIDENT_NOTES_MAX * 3) / 4; i++) work = done(noted(work, note, at(ACME, i), callers));
  expect<unknown>(noted(work, note, at(ACME, 99), callers)).toEqual(refused("notes_over_share"));
  while (work.notes.length < INCIDENT_NOTES_MAX) work = done(noted(work, note, at(NOC, 100), callers));
  expect<unknown>(noted(work, note, at(NOC, 101), callers)).toEqual(refused("too_many_notes"));
});
