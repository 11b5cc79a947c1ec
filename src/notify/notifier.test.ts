import { afterEach, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { selfSigned } from "../../test/fixtures/edge/certificate.ts";
import { NO_TARGETS, observation, targets, useReceivers } from "../../test/fixtures/notify/notify.ts";
import { eventually } from "../../test/fixtures/service.ts";
import { attack, ban, classification, NOON, udpRules } from "../../test/fixtures/views.ts";
import type { Attack } from "../detection/attack/attack.ts";
import { attackToWire } from "../http/wire/attack.ts";
import { NOTHING_KNOWN } from "../mitigation/separability.ts";
import { systemClock } from "../system/clock.ts";
import { systemTimers } from "../system/timers.ts";
import { Notifier } from "./notifier.ts";
import type { NotifyConfig, TelegramConfig, WebhookConfig } from "./notify-config.ts";
import { DEFAULT_TIMES } from "./target-queues.ts";
import { signature } from "./webhook.ts";

const WEBHOOK: WebhookConfig = { kind: "webhook", urlEnv: "WEBHOOK_URL", secretEnv: "WEBHOOK_SECRET" };
const SLACK = { kind: "slack", urlEnv: "SLACK_URL" } as const;
const TELEGRAM: TelegramConfig = { kind: "telegram", tokenEnv: "TELEGRAM_TOKEN", chatId: "-100" };
/** Retries come in milliseconds. */
const TIMES = { ...DEFAULT_TIMES, gatherMs: 5, betweenMs: 5, retryMinMs: 5, retryMaxMs: 20, attemptsMax: 3 };

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const receiver = useReceivers();

/** A start is reported at once when its kind is known. */
const classified = (changes: Partial<Attack> = {}) => attack({ classification: classification(), ...changes });

function started(config: NotifyConfig, variables: Record<string, string>, telegramApi = "http://127.0.0.1:1") {
  const observed = observation(systemClock);
  const isDryRun = variables["DRY_RUN"] === "yes";
  let ids = 0;
  const notifier = new Notifier({
    tenancy: () => ({ ownerOf: () => null, tenantOf: () => null, groupOf: () => "global" }),
    config,
    dryRun: () => isDryRun,
    overThresholdMs: () => Number(variables["OVER_MS"] ?? 0),
    isQuiet: ({ group }) => group === variables["QUIET"],
    instance: "box1",
    clock: systemClock,
    timers: systemTimers,
    environment: { read: (name) => variables[name] ?? null },
    log: observed.log,
    limiter: observed.limiter,
    metrics: observed.metrics.notify,
    newId: () => `id-${ids++}`,
    random: Math.random,
    times: TIMES,
    telegramApi,
  });
  notifier.start();
  cleanups.push(() => notifier.stop());
  const counted = async (name: string, channel: string) =>
    Number(
      new RegExp(`^svc_notify_${name}\\{channel="${channel}"\\} (.*)$`, "m").exec(await observed.metrics.text())?.[1],
    );
  return { notifier, counted, ...observed };
}

describe("the webhook", () => {
  test("gets the attack as the API shows it, signed, with an id for its attempts", async () => {
    const server = receiver();
    const { notifier } = started(targets(WEBHOOK), { WEBHOOK_URL: `${server.url}hook`, WEBHOOK_SECRET: "k" });
    notifier.attackChanged("started", classified(), null);
    await eventually(() => server.received.length === 1, "no call came");
    const [call] = server.received;
    const body: unknown = JSON.parse(call?.body ?? "");
    expect(body).toEqual({
      id: "id-0",
      event: "attack_started",
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      instance: "box1",
      dry_run: false,
      severity: "critical",
      hostgroup: "global",
      advice: "No ban is in force: look at the attack's page and decide",
      attack: JSON.parse(JSON.stringify(attackToWire({ attack: classified(), ban: null }))),
    });
    expect(call?.path).toBe("/hook");
    expect(call?.headers.get("content-type")).toBe("application/json");
    expect(call?.headers.get("idempotency-key")).toBe("id-0");
    const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(call?.headers.get("x-floodwall-signature") ?? "") ?? [];
    expect(v1).toBe(createHmac("sha256", "k").update(`${t}.${call?.body}`).digest("hex"));
    expect(Math.abs(Number(t) - Date.now() / 1000)).toBeLessThan(60);
  });

  test("gets the end of what was notified before a quiet window, and the begin of what outlasts it", async () => {
    const server = receiver();
    const variables: Record<string, string> = { WEBHOOK_URL: server.url };
    const { notifier } = started(targets({ ...WEBHOOK, secretEnv: null }), variables);
    notifier.attackChanged("started", classified({ id: "before" }), null);
    variables["QUIET"] = "global";
    notifier.attackChanged("started", classified({ id: "within" }), null);
    notifier.attackChanged("ended", classified({ id: "within", endedAt: NOON + 1 }), null);
    notifier.attackChanged("started", classified({ id: "outlasts" }), null);
    notifier.attackChanged("ended", classified({ id: "before", endedAt: NOON + 1 }), null);
    notifier.attackChanged("lasts", classified({ id: "outlasts" }), null);
    delete variables["QUIET"];
    notifier.attackChanged("lasts", classified({ id: "outlasts" }), null);
    await eventually(() => server.received.length === 3, "not all was delivered");
    const bodies = server.received.map(({ body }) => JSON.parse(body) as { event: string; attack: { id: string } });
    expect(bodies.map(({ event, attack: { id } }) => `${event} ${id}`)).toEqual([
      "attack_started before",
      "attack_ended before",
      "attack_started outlasts",
    ]);
  });

  test("gets nothing of attacks and bans in a quiet window, and all else #maintenance-quiet", async () => {
    const server = receiver();
    const { notifier } = started(targets({ ...WEBHOOK, secretEnv: null }), {
      WEBHOOK_URL: server.url,
      QUIET: "global",
    });
    notifier.attackChanged("started", classified(), null);
    notifier.banChanged({ ban: ban(), previous: null });
    notifier.attackChanged("started", classified({ id: "other", group: "web" }), null);
    await eventually(() => server.received.length > 0, "no call came");
    const bodies = server.received.map(({ body }) => JSON.parse(body) as { attack: { group: string } });
    expect(bodies.map(({ attack: { group } }) => group)).toEqual(["web"]);
  });

  test("gets bans and BGP sessions, in order, one a call", async () => {
    const server = receiver();
    const { notifier } = started(targets({ ...WEBHOOK, secretEnv: null }), { WEBHOOK_URL: server.url });
    notifier.banChanged({ ban: ban(), previous: null });
    notifier.banChanged({ ban: ban({ expiresAt: NOON + 1 }), previous: ban() });
    notifier.banChanged({
      ban: ban({ state: "withdrawn", withdrawnAt: NOON, reason: "attack ended" }),
      previous: ban(),
    });
    notifier.banChanged({ ban: ban({ state: "rejected", reason: "target is whitelisted" }), previous: null });
    await eventually(() => server.received.length === 3, "three calls did not come");
    const bodies = server.received.map(({ body }) => JSON.parse(body) as { event: string; ban: object });
    expect(bodies.map(({ event }) => event)).toEqual(["ban_active", "ban_withdrawn", "ban_rejected"]);
    expect(bodies[0]?.ban).toMatchObject({
      target: "192.0.2.1",
      state: "active",
      started_at: "2026-03-01T12:00:00.000Z",
    });
    expect(bodies[0]?.ban).not.toHaveProperty("announced");
    expect(server.received[0]?.headers.has("x-floodwall-signature")).toBe(false);
  });

  test("gets a ban without rules once, and an attack that is not held", async () => {
    const server = receiver();
    const { notifier } = started(targets({ ...WEBHOOK, secretEnv: null }), {
      WEBHOOK_URL: server.url,
      OVER_MS: "10000",
    });
    const byRules = ban({ method: "flowspec", measure: udpRules() });
    const without = ban({ method: "flowspec", measure: { ...udpRules(), rules: [], separability: NOTHING_KNOWN } });
    notifier.banChanged({ ban: without, previous: byRules });
    notifier.banChanged({ ban: { ...without, expiresAt: NOON + 1 }, previous: without });
    notifier.attackChanged("started", classified(), without);
    for (let tick = 0; tick < 3; tick++) notifier.attackChanged("lasts", classified(), without);
    await eventually(() => server.received.length === 3, "not all was delivered");
    const bodies = server.received.map(({ body }) => JSON.parse(body) as { event: string; severity: string });
    expect(bodies.map(({ event, severity }) => [event, severity])).toEqual([
      ["rules_not_found", "critical"],
      ["attack_started", "warning"],
      ["attack_not_held", "critical"],
    ]);
  });

  test("gets a cap that is reached once", async () => {
    const server = receiver();
    const { notifier } = started(targets({ ...WEBHOOK, secretEnv: null }), { WEBHOOK_URL: server.url });
    const cap = { name: "max_active_bans", limit: 50, refused: 2, replaced: 1 } as const;
    notifier.capsRead([cap]);
    notifier.capsRead([{ ...cap, refused: 3 }]);
    notifier.banChanged({ ban: ban(), previous: null });
    await eventually(() => server.received.length === 2, "two calls did not come");
    const bodies = server.received.map(({ body }) => JSON.parse(body) as object);
    expect(bodies).toMatchObject([{ event: "cap_reached", cap }, { event: "ban_active" }]);
  });

  test("is called again with the same id and body until it takes the event", async () => {
    const server = receiver();
    server.answers = [() => new Response(null, { status: 503 }), () => new Response(null, { status: 204 })];
    const variables = { WEBHOOK_URL: server.url, WEBHOOK_SECRET: "k" };
    const { notifier, counted } = started(targets(WEBHOOK), variables);
    notifier.attackChanged("started", classified(), null);
    await eventually(async () => (await counted("sent_total", "webhook")) === 1, "it was not delivered");
    const [first, second] = server.received;
    expect(second?.body).toBe(first?.body ?? "");
    expect(second?.headers.get("idempotency-key")).toBe("id-0");
    expect(await counted("failed_total", "webhook")).toBe(1);
  });

  test("is signed with the secret of now, and not called at all without one", async () => {
    const server = receiver();
    const variables: Record<string, string> = { WEBHOOK_URL: server.url };
    const { notifier, lines } = started(targets(WEBHOOK), variables);
    notifier.attackChanged("started", classified(), null);
    await eventually(() => lines.some((line) => line.includes("WEBHOOK_SECRET is not set")), "no fault was logged");
    expect(server.received).toHaveLength(0);
    variables["WEBHOOK_SECRET"] = "rotated";
    notifier.attackChanged("ended", attack({ endedAt: NOON }), null);
    await eventually(() => server.received.length > 0, "no call came");
    const { body = "", headers } = server.received.at(-1) ?? {};
    const header = headers?.get("x-floodwall-signature") ?? "";
    expect(header).toBe(signature(body, "rotated", Number(header.slice(2, header.indexOf(",")))));
  });

  test("does not follow a redirect", async () => {
    const elsewhere = receiver();
    const server = receiver();
    server.answers = [() => Response.redirect(elsewhere.url, 307)];
    const variables = { WEBHOOK_URL: server.url, WEBHOOK_SECRET: "k" };
    const { notifier, counted, lines } = started(targets(WEBHOOK), variables);
    notifier.attackChanged("started", classified(), null);
    await eventually(async () => (await counted("dropped_total", "webhook")) === 1, "it was not given up");
    expect(elsewhere.received).toHaveLength(0);
    expect(lines.join("")).toContain("answered 307, and redirects are not followed");
  });

  test("does not read an answer that never ends", async () => {
    const server = receiver();
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
    });
    server.answers = [() => new Response(endless)];
    const { notifier, counted } = started(targets({ ...WEBHOOK, secretEnv: null }), { WEBHOOK_URL: server.url });
    notifier.attackChanged("started", classified(), null);
    await eventually(async () => (await counted("sent_total", "webhook")) === 1, "it was not delivered");
  });

  test.each(["file:///etc/passwd", "data:text/plain,x", "no url"])("is never taken at %s", async (url) => {
    const { notifier, lines } = started(targets({ ...WEBHOOK, secretEnv: null }), { WEBHOOK_URL: url });
    notifier.attackChanged("started", classified(), null);
    await eventually(() => lines.some((line) => line.includes("holds no http or https URL")), "no fault was logged");
    expect(lines.join("")).not.toContain(url);
  });

  test("is not believed with a certificate of its own making", async () => {
    const { key, cert } = selfSigned();
    const server = receiver({ key, cert });
    const { notifier, counted, lines } = started(targets({ ...WEBHOOK, secretEnv: null }), {
      WEBHOOK_URL: server.url.replace("http:", "https:"),
    });
    notifier.attackChanged("started", classified(), null);
    await eventually(async () => (await counted("dropped_total", "webhook")) === 1, "it was not given up");
    expect(server.received).toHaveLength(0);
    expect(lines.join("")).toMatch(/"cause":"[A-Z_]*SELF_SIGNED[A-Z_]*"/);
  });
});

describe("people", () => {
  test("get a Slack message in which nothing is a link or a mention", async () => {
    const server = receiver();
    const { notifier } = started(targets(SLACK), { SLACK_URL: server.url });
    notifier.banChanged({ ban: ban({ state: "rejected", reason: "<!channel> & <http://x>" }), previous: null });
    await eventually(() => server.received.length === 1, "no call came");
    const { text } = JSON.parse(server.received[0]?.body ?? "") as { text: string };
    expect(text).toStartWith("Ban of 192.0.2.1 is refused: &lt;!channel&gt; &amp; &lt;http://x&gt;\n");
    expect(text).toEndWith("Floodwall on box1. Dry run: off");
  });

  test("get a Telegram message, an attack and its ban in one", async () => {
    const server = receiver();
    const api = server.url.replace(/\/$/, "");
    const { notifier } = started(targets(TELEGRAM), { TELEGRAM_TOKEN: "123:abc" }, api);
    notifier.banChanged({ ban: ban(), previous: null });
    notifier.attackChanged("started", classified(), ban());
    await eventually(() => server.received.length === 1, "no call came");
    expect(server.received[0]?.path).toBe("/bot123:abc/sendMessage");
    const { chat_id, text } = JSON.parse(server.received[0]?.body ?? "") as { chat_id: string; text: string };
    expect(chat_id).toBe("-100");
    expect(text).toStartWith("Attack on 192.0.2.1: 1,500 packets/s, threshold 1,000\n");
    expect(text).not.toContain("is active");
  });
});

test("a channel that hangs delays no other", async () => {
  const slow = receiver();
  slow.answers = [() => new Promise<never>(() => {})];
  const quick = receiver();
  const { notifier } = started(targets(SLACK, { ...WEBHOOK, secretEnv: null }), {
    SLACK_URL: slow.url,
    WEBHOOK_URL: quick.url,
  });
  for (let i = 0; i < 20; i++) notifier.attackChanged("started", classified({ id: `a${i}` }), null);
  await eventually(() => quick.received.length === 20 && slow.received.length === 1, "the quick one waited");
});

test("every message says whether anything is announced", async () => {
  const server = receiver();
  const config = targets({ ...WEBHOOK, secretEnv: null }, SLACK);
  const { notifier } = started(config, { SLACK_URL: server.url, WEBHOOK_URL: server.url, DRY_RUN: "yes" });
  notifier.attackChanged("started", classified(), null);
  await eventually(() => server.received.length === 2, "not all was delivered");
  const bodies = server.received.map(({ body }) => body).join("\n");
  expect(bodies).toContain('"dry_run":true');
  expect(bodies).toContain("Dry run: on, nothing is announced");
});

test("a reload adds and takes away channels, and keeps what waits for those that stay", async () => {
  const server = receiver();
  const refusal = Promise.withResolvers<Response>();
  server.answers = [() => refusal.promise, () => new Response()];
  const variables = { SLACK_URL: server.url, OTHER_URL: `${server.url}other` };
  const { notifier, counted } = started(targets(SLACK), variables);
  notifier.attackChanged("started", classified(), null);
  await eventually(() => server.received.length === 1, "no call came");
  notifier.reconfigure(targets({ kind: "slack", urlEnv: "OTHER_URL" }));
  refusal.resolve(new Response(null, { status: 503 }));
  await eventually(async () => (await counted("sent_total", "slack")) === 1, "what waited was lost");
  expect(server.received.at(-1)?.path).toBe("/other");
  notifier.reconfigure(NO_TARGETS);
  notifier.attackChanged("ended", attack(), null);
  expect(await counted("queue_length", "slack")).toBeNaN();
});

test("neither log nor metrics contain a secret or a URL, even after errors", async () => {
  const answers: (() => Response)[] = [
    () => new Response("s3cret-in-body", { status: 401 }),
    () => Response.redirect("http://s3cret-redirect.example/", 302),
  ];
  const server = receiver();
  server.answers = [...answers, ...answers, ...answers];
  const variables = {
    WEBHOOK_URL: `${server.url}s3cret-path?s3cret=query`,
    WEBHOOK_SECRET: "s3cret-key",
    // No server listens there.
    SLACK_URL: "http://s3cret-user:s3cret-password@127.0.0.1:1/s3cret-path",
    TELEGRAM_TOKEN: "1:s3cret-token",
    SMTP_USER: "s3cret-user",
    SMTP_PASSWORD: "s3cret-password",
  };
  const email = {
    kind: "email",
    host: "127.0.0.1",
    port: 1,
    security: "none",
    from: "a@example.net",
    to: ["b@example.net"],
    usernameEnv: "SMTP_USER",
    passwordEnv: "SMTP_PASSWORD",
  } as const;
  const { notifier, counted, lines, metrics } = started(
    targets(WEBHOOK, SLACK, TELEGRAM, email, { kind: "exec", command: "/s3cret/absent", timeoutSeconds: 1 }),
    variables,
  );
  notifier.attackChanged("started", classified(), null);
  for (const channel of ["webhook", "slack", "telegram", "email", "exec"]) {
    await eventually(async () => (await counted("dropped_total", channel)) === 1, `${channel} was not given up`);
  }
  const output = `${lines.join("")}${await metrics.text()}`;
  expect(lines.length).toBeGreaterThanOrEqual(10);
  expect(output).not.toContain("s3cret");
  expect(output).not.toContain("127.0.0.1");
});
