import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { attackEvent, BOX, conditionEvent, exporterEvent, sessionEvent } from "../../test/fixtures/notify/notify.ts";
import { attack, ban } from "../../test/fixtures/views.ts";
import { NOTIFY_TEXT_CHARACTERS_MAX } from "../limits.ts";
import { NOTIFY_TEMPLATE_CHARACTERS_MAX, parseTemplate, render, type Template } from "../schema/message-template.ts";
import { digest } from "./digest.ts";
import type { NotifyEvent } from "./event.ts";
import { TEMPLATE_NAMES } from "./notify-config.ts";
import { templateValues } from "./template-values.ts";

function parsed(text: string): Template {
  const result = parseTemplate(text, TEMPLATE_NAMES);
  if (result.kind === "problem") throw new Error(`line ${result.problem.line}: ${result.problem.rule}`);
  return result.template;
}

const rendered = (text: string, event: NotifyEvent) => render(parsed(text), templateValues(event, BOX));

test("values are put in, and parts are there with or without a value", () => {
  const text =
    "{{event}} {{#target}}of {{ target }}{{#tenant}} ({{tenant}}){{/tenant}}{{/target}}{{^target}}of {{name}}{{/target}}!";
  expect(rendered(text, attackEvent())).toBe("attack_started of 192.0.2.1!");
  expect(rendered(text, attackEvent({ tenant: "acme" }))).toBe("attack_started of 192.0.2.1 (acme)!");
  expect(rendered(text, sessionEvent())).toBe("bgp_session_lost of 192.0.2.254!");
});

test("a value is text: braces in it are not read again", () => {
  const found = "{{link}} {{#x}}";
  expect(rendered("{{headline}}", conditionEvent({ condition: { name: "s1", found } }))).toEndWith(found);
});

test("what others wrote starts no line of its own", () => {
  const event = conditionEvent({ condition: { name: "s1\nTo do: nothing\u202e", found: "lost" } });
  expect(rendered("a\n{{name}}", event)).toBe("a\ns1\\u000aTo do: nothing\\u202e");
});

test.each([
  ["a\nb {{headlin}}", 2, "there is no value headlin: there are event, "],
  ["{{headline", 1, "{{ begins no value"],
  ["\n\n{{ 1 + 1 }}", 3, "{{ begins no value"],
  ["{{constructor}}", 1, "there is no value constructor"],
  ["{{#target}}\n{{headline}}", 1, "has no end: write {{/target}}"],
  ["{{#target}}\n{{/tenant}}", 2, "{{/tenant}} ends no part that is open there"],
  ["{{/tenant}}", 1, "{{/tenant}} ends no part"],
  ["{{#target}}".repeat(9), 1, "more than 8 parts in one another"],
  ["x".repeat(NOTIFY_TEMPLATE_CHARACTERS_MAX + 1), 1, "is too long"],
])("%j is no template: line %d", (text, line, rule) => {
  const result = parseTemplate(text, TEMPLATE_NAMES);
  expect(result.kind === "problem" && result.problem).toEqual({ line, rule: expect.stringContaining(rule) });
});

test("the longest template is one, and its text is bounded", () => {
  const longest = "{{details}}".repeat(Math.floor(NOTIFY_TEMPLATE_CHARACTERS_MAX / 11));
  expect(rendered(longest, attackEvent({ ban: ban() })).length).toBe(NOTIFY_TEXT_CHARACTERS_MAX + 1);
});

test("a message has the template's text in place of ours, its first line as the subject, and ours where it is empty", () => {
  const template = parsed("{{#vector}}{{severity}} {{vector}}\nLook at {{target}}{{/vector}}");
  const classified = attack({ classification: { type: "dns_amplification", confidence: 1, parts: [] } as never });
  const { subject, text } = digest([attackEvent({ attack: classified }), sessionEvent()], { ...BOX, template });
  expect(subject).toBe("critical dns amplification (and 1 more)");
  expect(text).toStartWith("critical dns amplification\nLook at 192.0.2.1\n\nBGP session with 192.0.2.254");
});

const page = readFileSync(join(import.meta.dir, "../../docs/operations/monitoring.md"), "utf8");

test("the documented template says what to do", () => {
  const example = /template: \|\n(.*?)```/s.exec(page)?.[1]?.replaceAll(/^ {8}/gm, "") ?? "";
  expect(rendered(example, exporterEvent())).toContain("To do: See whether it runs");
});

test("each value is documented, and no other", () => {
  const table = page.slice(page.indexOf("| Value | Of |"), page.indexOf('<a id="try-a-target"></a>'));
  const rows = table.split("\n\n")[0]?.split("\n").slice(2) ?? [];
  const names = rows.flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`([a-z_]+)`/g)].map(([, name]) => name));
  expect(new Set(names)).toEqual(new Set(TEMPLATE_NAMES));
});
