/** The documented forms of services for people on call: what they are sent from the begin of a problem to its end. */
import { afterEach, expect, test } from "bun:test";
import { attackEvent, banEvent, capEvent, conditionEvent, Receiver } from "../../test/fixtures/notify/notify.ts";
import { attack, ban, NOON } from "../../test/fixtures/views.ts";
import type { ChannelContext } from "./channel.ts";
import type { NotifyEvent } from "./event.ts";
import type { TargetSettings } from "./notify-config.ts";
import { channelOf } from "./target.ts";

let server: Receiver | null = null;
afterEach(async () => {
  await server?.stop();
  server = null;
});

interface Card {
  readonly contentType: string;
  readonly content: { readonly body: readonly { readonly text: string }[] };
}

const begin = attackEvent({ group: "web", tenant: "acme" });
const end = attackEvent({
  kind: "attack_ended",
  group: "web",
  tenant: "acme",
  attack: attack({ endedAt: NOON + 90_000 }),
});

/** Each request as its path, its authorization and its body. */
async function sent(settings: (url: string) => TargetSettings, ...events: readonly NotifyEvent[]) {
  server = new Receiver();
  const context: ChannelContext = {
    environment: { read: (name) => (name === "KEY" ? "s3cret" : (server?.url ?? null)) },
    ...{ wallMs: () => NOON, instance: "box1", pageUrl: "https://fw.example.net/", template: null },
    ...{ telegramApi: "", authority: null, template: null, reach: null },
  };
  const channel = channelOf(settings(server.url), context);
  await channel.deliver(events, new AbortController().signal);
  return server.received.map(({ path, headers, body }) => ({
    path,
    authorization: headers.get("authorization"),
    body: JSON.parse(body) as Record<string, unknown>,
  }));
}

const LINK = `https://fw.example.net/#/attacks/${begin.attack.id}`;

test("PagerDuty: an attack triggers and resolves one alert, and its ban and a diversion that works are left out", async () => {
  const diversion = conditionEvent({
    kind: "diversion_confirmed",
    condition: { name: "192.0.2.0/24", found: "it has it" },
  });
  const calls = await sent((url) => ({ kind: "pagerduty", keyEnv: "KEY", url }), begin, banEvent(), diversion, end);
  expect(calls.map(({ path }) => path)).toEqual(["/v2/enqueue", "/v2/enqueue"]);
  const [trigger, resolve] = calls.map(({ body }) => body);
  expect(trigger).toEqual({
    ...{ routing_key: "s3cret", event_action: "trigger", dedup_key: expect.stringMatching(/^floodwall-[0-9a-f]{32}$/) },
    payload: {
      summary: expect.stringContaining("Attack on 192.0.2.1"),
      ...{ source: "box1", severity: "critical", timestamp: "2026-03-01T12:01:00.000Z", class: "attack_started" },
      custom_details: { details: expect.stringContaining("To do: "), dry_run: false },
    },
    links: [{ href: LINK, text: "Floodwall" }],
  });
  expect(resolve).toEqual({ routing_key: "s3cret", event_action: "resolve", dedup_key: trigger?.["dedup_key"] });
});

test("Opsgenie: an attack opens and closes one alert", async () => {
  const calls = await sent((url) => ({ kind: "opsgenie", keyEnv: "KEY", url }), begin, end);
  const alias = calls[0]?.body["alias"] as string;
  expect(calls.map(({ path }) => path)).toEqual(["/v2/alerts", `/v2/alerts/${alias}/close?identifierType=alias`]);
  expect(calls.map(({ authorization }) => authorization)).toEqual(["GenieKey s3cret", "GenieKey s3cret"]);
  expect(calls[0]?.body).toMatchObject({ priority: "P1", source: "box1", tags: ["attack_started"] });
  expect(String(calls[0]?.body["message"]).length).toBeLessThanOrEqual(130);
});

test("Alertmanager: begin and end have the same labels, and the end ends the alert", async () => {
  const calls = await sent((url) => ({ kind: "alertmanager", url: `${url}am`, tokenEnv: "KEY" }), begin, end);
  expect(calls.map(({ path }) => path)).toEqual(["/am/api/v2/alerts", "/am/api/v2/alerts"]);
  const [first, last] = calls.map(({ body }) => (body as unknown as Record<string, unknown>[])[0]);
  expect(first).toMatchObject({
    labels: { alertname: "Floodwall_attack", instance: "box1", problem: expect.stringMatching(/^floodwall-/) },
    annotations: { severity: "critical", hostgroup: "web", tenant: "acme" },
    generatorURL: LINK,
    ...{ startsAt: "2026-03-01T12:00:00.000Z", endsAt: "2026-03-02T12:00:00.000Z" },
  });
  const over = "2026-03-01T11:56:00.000Z";
  expect(last).toMatchObject({ labels: first?.["labels"], startsAt: over, endsAt: over });
  expect(calls[0]?.authorization).toBe("Bearer s3cret");
});

test.each(["", "x"])(
  "a headline is cut between characters, and shows what turns the direction of writing: %p",
  async (before) => {
    const reason = `${before}\u202e${"\u{1f30a}".repeat(600)}`;
    const refused = banEvent({ kind: "ban_rejected", ban: ban({ state: "rejected", reason }) });
    const [pager] = await sent((url) => ({ kind: "pagerduty", keyEnv: "KEY", url }), refused);
    await server?.stop();
    const [genie] = await sent((url) => ({ kind: "opsgenie", keyEnv: "KEY", url }), refused);
    const { summary = "" } = (pager?.body["payload"] ?? {}) as { readonly summary?: string };
    for (const text of [summary, String(genie?.body["message"])]) {
      expect([text.isWellFormed(), text.length <= 1024]).toEqual([true, true]);
      expect(text).toContain(`refused: ${before}\\u202e\u{1f30a}`);
    }
  },
);

test("Alertmanager: what began days ago, in a quiet time, is an open alert when it is sent", async () => {
  const old = conditionEvent({ kind: "scrub_node_lost", atMs: NOON - 3 * 86_400_000 });
  const [call] = await sent((url) => ({ kind: "alertmanager", url, tokenEnv: null }), old);
  expect(call?.body).toMatchObject([{ startsAt: "2026-02-26T12:00:00.000Z", endsAt: "2026-03-02T12:00:00.000Z" }]);
});

test("a moment without an end opens an alert of its own each time", async () => {
  const cap = { name: "attacks", limit: 1024, refused: 1, replaced: 0 } as const;
  const [one, other] = [capEvent(cap), { ...capEvent(cap), id: "e2" }];
  const calls = await sent((url) => ({ kind: "pagerduty", keyEnv: "KEY", url }), one, other);
  expect(new Set(calls.map(({ body }) => body["dedup_key"])).size).toBe(2);
});

test("Teams: an adaptive card, a block for each line, in which nothing is markup", async () => {
  const fault = attackEvent({ attack: attack({ group: "*web* [a](http://x)" }) });
  const calls = await sent(() => ({ kind: "teams", urlEnv: "URL" }), fault);
  const [attachment] = calls.flatMap(({ body }) => body["attachments"] as readonly Card[]);
  expect(attachment?.contentType).toBe("application/vnd.microsoft.card.adaptive");
  const texts = attachment?.content.body.map(({ text }) => text) ?? [];
  expect(texts[0]).toContain("Attack on 192.0.2.1");
  expect(texts.join("\n")).toContain("\\*web\\* \\[a\\]\\(http://x\\)");
});
