/**
 * Each kind of event to each kind of target by a route of its own: every receiver checks what it gets by the documented
 * form, and Alertmanager is a real one, from Debian.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import type { ChannelContext } from "../../src/notify/channel.ts";
import type { NotifyEvent } from "../../src/notify/event.ts";
import { describeEvent } from "../../src/notify/event-text.ts";
import type { NotifyConfig, TargetSettings } from "../../src/notify/notify-config.ts";
import { problemOf } from "../../src/notify/problem.ts";
import { KEEP_ALERTS, Routing } from "../../src/notify/routing.ts";
import { severityOf } from "../../src/notify/severity.ts";
import { channelOf } from "../../src/notify/target.ts";
import { EVENT_KINDS, type TargetKind } from "../../src/targets/target-words.ts";
import { selfSigned } from "../fixtures/edge/certificate.ts";
import { EVERY_EVENT } from "../fixtures/notify/every-event.ts";
import { MailServer } from "../fixtures/notify/mail-server.ts";
import { Receiver, targets } from "../fixtures/notify/notify.ts";
import { eventually, freePort } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";

const undo = new Undo();
const http = new Receiver();
const SECRETS: Record<string, string> = { URL: http.url, SECRET: "k", TOKEN: "123:abc", KEY: "key" };
const ALERTMANAGER = "/usr/bin/prometheus-alertmanager";

let config: NotifyConfig;
let mail: MailServer;
let alertmanager: string;
let syslog: { readonly port: number; readonly messages: string[] };
let program: { readonly command: string; readonly out: string };
const context: ChannelContext = {
  environment: { read: (name) => SECRETS[name] ?? null },
  ...{ wallMs: () => Date.now(), instance: "box1", pageUrl: "https://fw.example.net", template: null },
  ...{ reach: null, telegramApi: http.url.replace(/\/$/, ""), authority: null },
};

async function startSyslog() {
  const messages: string[] = [];
  const server = createServer((socket) => {
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("end", () => messages.push(Buffer.concat(chunks).toString()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  undo.add(() => server.close());
  return { port: (server.address() as AddressInfo).port, messages };
}

async function startAlertmanager(): Promise<string> {
  const folder = undo.folder("alertmanager");
  writeFileSync(join(folder, "a.yml"), "route: { receiver: none }\nreceivers: [{ name: none }]\n");
  const port = await freePort();
  const child = Bun.spawn(
    [
      ...[ALERTMANAGER, `--config.file=${join(folder, "a.yml")}`, `--storage.path=${join(folder, "data")}`],
      ...[`--web.listen-address=127.0.0.1:${port}`, "--cluster.listen-address="],
    ],
    { stdout: "ignore", stderr: "ignore" },
  );
  undo.add(async () => {
    child.kill();
    await child.exited;
  });
  const url = `http://127.0.0.1:${port}`;
  await eventually(async () => {
    const answer = await fetch(`${url}/-/ready`).catch(() => null);
    return answer?.ok === true;
  }, "Alertmanager is not ready: is the package prometheus-alertmanager installed?");
  return url;
}

function startProgram() {
  const folder = undo.folder("program");
  const [command, out] = [join(folder, "on-event"), join(folder, "out")];
  writeFileSync(command, `#!/bin/sh\ncat > ${out}\n`);
  chmodSync(command, 0o755);
  return { command, out };
}

beforeAll(async () => {
  undo.add(() => http.stop());
  mail = await MailServer.start({ certificate: selfSigned(), security: "none" });
  undo.add(() => mail.stop());
  [syslog, alertmanager, program] = [await startSyslog(), await startAlertmanager(), startProgram()];
  const by: Record<TargetKind, TargetSettings> = {
    webhook: { kind: "webhook", urlEnv: "URL", secretEnv: "SECRET" },
    slack: { kind: "slack", urlEnv: "URL" },
    teams: { kind: "teams", urlEnv: "URL" },
    telegram: { kind: "telegram", tokenEnv: "TOKEN", chatId: "-100" },
    email: {
      ...{ kind: "email", host: "127.0.0.1", port: mail.port, security: "none", from: "fw@example.net" },
      ...{ to: ["noc@example.net"], usernameEnv: null, passwordEnv: null },
    },
    exec: { kind: "exec", command: program.command, timeoutSeconds: 10 },
    pagerduty: { kind: "pagerduty", keyEnv: "KEY", url: http.url },
    opsgenie: { kind: "opsgenie", keyEnv: "KEY", url: http.url },
    alertmanager: { kind: "alertmanager", url: alertmanager, tokenEnv: null },
    syslog: { kind: "syslog", host: "127.0.0.1", port: syslog.port, transport: "tcp", facility: 16 },
  };
  const all = targets(...Object.values(by));
  const names = all.targets.map(({ name }) => name);
  const routes = EVENT_KINDS.map((kind) => ({
    ...{
      match: { events: new Set([kind]) },
      targets: names,
      continues: false,
      repeatMs: null,
      place: [],
      groupMs: null,
      quiet: [],
      routes: [],
    },
  }));
  config = { ...all, routes };
});
afterAll(() => undo.all());

interface Json {
  readonly [key: string]: Json & string & number & readonly (Json & string)[];
}

const json = (text: string | undefined) => JSON.parse(text ?? "null") as Json;
const last = () => http.received.at(-1);

/** Bans are part of the alert of their attack, and nothing has to be done in a diversion that works. */
const NO_ALERTS: ReadonlySet<string> = new Set([
  ...["ban_active", "ban_withdrawn", "diversion_begun", "diversion_ended"],
  ...["diversion_confirmed", "diversion_unconfirmed"],
]);
const isTaken = (kind: TargetKind, event: NotifyEvent) => !KEEP_ALERTS.has(kind) || !NO_ALERTS.has(event.kind);

function expectEvent(wire: Json, event: NotifyEvent): void {
  expect(wire).toMatchObject({ id: event.id, event: event.kind, instance: "box1", severity: severityOf(event) });
  expect(String(wire["at"])).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(String(wire["link"])).toStartWith("https://fw.example.net/#/");
  if (severityOf(event) !== "info") expect(String(wire["advice"])).toMatch(/.{10,}/);
}

/** What each receiver must have got of an event; `headline` is its first line. */
const RECEIVED: Readonly<Record<TargetKind, (event: NotifyEvent, headline: string) => void | Promise<void>>> = {
  webhook(event) {
    const { headers, body = "" } = last() ?? {};
    const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(headers?.get("x-floodwall-signature") ?? "") ?? [];
    expect(v1).toBe(createHmac("sha256", "k").update(`${t}.${body}`).digest("hex"));
    expect(headers?.get("idempotency-key")).toBe(event.id);
    expectEvent(json(body), event);
  },
  slack(_, headline) {
    expect(Object.keys(json(last()?.body))).toEqual(["text"]);
    expect(String(json(last()?.body)["text"])).toStartWith(headline);
  },
  teams(_, headline) {
    const { type, attachments } = json(last()?.body);
    expect<unknown>([type, attachments?.[0]?.["contentType"]]).toEqual([
      "message",
      "application/vnd.microsoft.card.adaptive",
    ]);
    const content = attachments?.[0]?.["content"];
    expect(content).toMatchObject({ type: "AdaptiveCard", version: "1.4" });
    for (const block of content?.["body"] ?? []) expect(block).toMatchObject({ type: "TextBlock", wrap: true });
    expect(String(content?.["body"]?.[0]?.["text"]).replaceAll("\\", "")).toStartWith(headline);
  },
  telegram(_, headline) {
    expect(last()?.path).toBe("/bot123:abc/sendMessage");
    const { chat_id: chat, text } = json(last()?.body);
    expect([chat, String(text).length <= 4096]).toEqual(["-100" as never, true]);
    expect(String(text)).toStartWith(headline);
  },
  email(_, headline) {
    const mails = mail.mails.at(-1);
    expect(mails).toMatchObject({ from: "fw@example.net", to: ["noc@example.net"] });
    expect(JSON.stringify(mails).replaceAll(/=\\r\\n|\\r\\n /g, "")).toContain(headline.slice(0, 30));
  },
  exec(event) {
    const line = readFileSync(program.out, "utf8");
    expect(line.split("\n")).toHaveLength(2);
    expectEvent(json(line), event);
  },
  pagerduty(event, headline) {
    const { routing_key: key, event_action: action, dedup_key: dedup, payload } = json(last()?.body);
    const isOver = problemOf(event)?.isOver ?? event.kind === "test";
    expect([last()?.path, key, action]).toEqual(["/v2/enqueue", "key", isOver ? "resolve" : "trigger"] as never);
    expect(String(dedup).length).toBeLessThanOrEqual(255);
    if (!isOver) expect(payload).toMatchObject({ summary: headline, source: "box1", severity: severityOf(event) });
  },
  opsgenie(event) {
    const isOver = problemOf(event)?.isOver ?? event.kind === "test";
    expect(last()?.headers.get("authorization")).toBe("GenieKey key");
    expect(last()?.path).toMatch(isOver ? /^\/v2\/alerts\/[^/]+\/close\?identifierType=alias$/ : /^\/v2\/alerts$/);
    const { message = "", alias = "" } = json(last()?.body);
    expect([message.length <= 130, alias.length <= 512]).toEqual([true, true]);
  },
  async alertmanager(event, headline) {
    const isOver = problemOf(event)?.isOver ?? event.kind === "test";
    const answer = await fetch(`${alertmanager}/api/v2/alerts?active=true`);
    const alerts = (await answer.json()) as { annotations: { summary: string; severity: string }; startsAt: string }[];
    const ours = alerts.filter(({ annotations: { summary } }) => summary === headline);
    expect(ours.map(({ annotations }) => annotations.severity)).toEqual(isOver ? [] : [severityOf(event)]);
    for (const { startsAt } of ours) expect(Date.parse(startsAt)).toBeLessThanOrEqual(event.atMs);
  },
  syslog(event) {
    const [, length, message = ""] = /^(\d+) ([\s\S]*)$/.exec(syslog.messages.at(-1) ?? "") ?? [];
    expect(Number(length)).toBe(Buffer.byteLength(message));
    const [, priority, at, kind, text] =
      /^<(\d+)>1 (\S+) box1 floodwall - (\S+) - \uFEFF([\s\S]*)$/.exec(message) ?? [];
    expect([Number(priority) >> 3, kind, Number.isNaN(Date.parse(at ?? ""))]).toEqual([16, event.kind, false]);
    expectEvent(json(text), event);
  },
};

test("the table has each kind of event and each kind of target", () => {
  expect(new Set<string>(EVERY_EVENT.map(({ kind }) => kind))).toEqual(new Set<string>(EVENT_KINDS));
  expect(config.targets.map(({ name }) => name).toSorted()).toEqual(Object.keys(RECEIVED).toSorted());
});

describe.each(Object.keys(RECEIVED) as TargetKind[])("%s", (kind) => {
  test.each(EVERY_EVENT.map((event) => [event.kind, event] as const))(
    "gets %s by its route, in its form",
    async (_, event) => {
      // A moment of now: Alertmanager forgets what ended long ago.
      const present = { ...event, atMs: Date.now() };
      const routed = new Routing(config).targetsOf(present);
      expect(routed).toContain(kind);
      const found = config.targets.find(({ name }) => name === kind)?.settings;
      if (found === undefined) throw new Error(`no target ${kind}`);
      // What is not for it would be seen here.
      const settings = "url" in found && !isTaken(kind, present) ? { ...found, url: http.url } : found;
      for (const received of [http.received, mail.mails, syslog.messages]) received.length = 0;
      writeFileSync(program.out, "");
      await channelOf(settings, context).deliver([present], new AbortController().signal);
      if (kind === "syslog") await eventually(() => syslog.messages.length > 0, "no message came");
      if (isTaken(kind, present)) await RECEIVED[kind](present, describeEvent(present).headline);
      else expect(http.received).toEqual([]);
    },
  );
});
