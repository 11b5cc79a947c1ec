import { expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { attackEvent, BOX, banEvent, events, sessionEvent } from "../../test/fixtures/notify/notify.ts";
import { attack, ban } from "../../test/fixtures/views.ts";
import { NOTIFY_TEXT_CHARACTERS_MAX } from "../limits.ts";
import { digest } from "./digest.ts";

test("one event is shown in full, with the machine and whether anything is announced", () => {
  expect(digest([sessionEvent()], BOX)).toEqual({
    subject: "BGP session with 192.0.2.254 (AS 64501) is lost",
    text: `BGP session with 192.0.2.254 (AS 64501) is lost
Its state is idle
2026-03-01 12:01:00 UTC
To do: Routes to this neighbor are not announced: look at the session at both ends

Floodwall on box1. Dry run: off`,
  });
});

test("dry run is shown in subject and text", () => {
  const { subject, text } = digest([sessionEvent({ dryRun: true })], BOX);
  expect(subject).toBe("[dry run] BGP session with 192.0.2.254 (AS 64501) is lost");
  expect(text).toEndWith("\n\nFloodwall on box1. Dry run: on, nothing is announced");
});

test("an attack and its ban are one", () => {
  const { subject, text } = digest([banEvent(), attackEvent({ ban: ban() })], BOX);
  expect(subject).toBe("Attack on 192.0.2.1: 1,500 packets/s, threshold 1,000");
  expect(text.split("\n\n")).toHaveLength(2);
  expect(text).toContain("Ban: blackhole until ");
});

test("a ban that is withdrawn after the attack's message showed it as active is shown again", () => {
  const withdrawn = banEvent({ kind: "ban_withdrawn", ban: ban({ state: "withdrawn", reason: "manual unban" }) });
  const { subject, text } = digest([attackEvent({ ban: ban() }), withdrawn], BOX);
  expect(subject).toEndWith(" (and 1 more)");
  expect(text).toContain("\n\nBan of 192.0.2.1 is withdrawn: manual unban\n");
});

test("what would turn the direction of writing, or begin a line of its own, is shown by its number", () => {
  const withdrawn = ban({ state: "withdrawn", reason: "ok \u202egnp\u2069\nBan of 192.0.2.9 is active" });
  const { subject, text } = digest([banEvent({ kind: "ban_withdrawn", ban: withdrawn })], BOX);
  expect(subject).toBe("Ban of 192.0.2.1 is withdrawn: ok \\u202egnp\\u2069 Ban of 192.0.2.9 is active");
  expect(text).not.toMatch(/[\u202e\u2069]|^Ban of 192\.0\.2\.9/m);
});

test("a flood is one message: five in full, the rest counted by kind", () => {
  const flood = [
    ...events(245),
    banEvent({ ban: ban({ id: "b9", target: address("192.0.2.9"), state: "active" }) }),
    sessionEvent(),
    sessionEvent(),
  ];
  const { subject, text } = digest(flood, BOX);
  expect(subject).toEndWith(" (and 247 more)");
  const paragraphs = text.split("\n\n");
  expect(paragraphs).toHaveLength(7);
  expect(paragraphs[5]).toBe("And 240 more attacks, 1 active ban, 2 lost BGP sessions");
});

test("a text is never longer than a receiver takes, and still ends with the machine", () => {
  const long = attackEvent({ attack: attack(), ban: ban({ state: "rejected", reason: "x".repeat(10_000) }) });
  const { text } = digest([long], BOX);
  expect(text).toContain("…\n\nFloodwall on box1. Dry run: off");
  expect(text.length).toBeLessThan(NOTIFY_TEXT_CHARACTERS_MAX + 100);
});

test.each(["", "x"])("a text is not cut within a character, which receivers would refuse: after %p", (before) => {
  const reason = before + "\u{1f30a}".repeat(NOTIFY_TEXT_CHARACTERS_MAX);
  const { text } = digest([banEvent({ kind: "ban_rejected", ban: ban({ state: "rejected", reason }) })], BOX);
  expect(text.isWellFormed()).toBe(true);
});
