import { afterEach, expect, test } from "bun:test";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { selfSigned } from "../../test/fixtures/edge/certificate.ts";
import { attackEvent, BOX, sessionEvent } from "../../test/fixtures/notify/notify.ts";
import { ban, udpRules } from "../../test/fixtures/views.ts";
import type { ChannelContext } from "./channel.ts";
import type { NotifyEvent } from "./event.ts";
import { eventToWire } from "./event-wire.ts";
import type { SyslogConfig } from "./notify-config.ts";
import { syslogChannel } from "./syslog.ts";

let server: Server | null = null;
afterEach(() => {
  server?.close();
  server = null;
});

/** Resolves with all bytes of the first connection, when it has ended. */
async function receiver(make: (onSocket: (socket: Socket) => void) => Server) {
  const bytes = Promise.withResolvers<Buffer>();
  server = make((socket) => {
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("end", () => bytes.resolve(Buffer.concat(chunks)));
    socket.on("error", () => {});
  });
  const listening = Promise.withResolvers<number>();
  const made = server;
  made.listen(0, "127.0.0.1", () => listening.resolve((made.address() as AddressInfo).port));
  return { port: await listening.promise, bytes: bytes.promise };
}

function send(
  settings: Pick<SyslogConfig, "port" | "transport">,
  authority: string | null = null,
  events: readonly NotifyEvent[] = [attackEvent(), sessionEvent({ kind: "bgp_session_restored" })],
): Promise<void> {
  const context: ChannelContext = {
    ...{ environment: { read: () => null }, wallMs: () => 0, telegramApi: "", authority, template: null, reach: null },
    ...{ ...BOX, instance: "box 1" },
  };
  const channel = syslogChannel({ kind: "syslog", host: "127.0.0.1", facility: 16, ...settings }, context);
  return channel.deliver(events, new AbortController().signal);
}

/** Octet counting (RFC 6587, 3.4.1): the length in bytes, a space, the message. */
function messagesOf(bytes: Buffer): string[] {
  const messages: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(" ", at);
    const end = space + 1 + Number(bytes.toString("utf8", at, space));
    messages.push(bytes.toString("utf8", space + 1, end));
    at = end;
  }
  return messages;
}

test("events are messages of RFC 5424, with the severity of each and the JSON of the webhook", async () => {
  const { port, bytes } = await receiver(createServer);
  await send({ port, transport: "tcp" });
  const messages = messagesOf(await bytes);
  expect(messages).toHaveLength(2);
  const json = JSON.stringify(eventToWire(attackEvent(), { ...BOX, instance: "box 1" }));
  expect(messages[0]).toBe(`<130>1 2026-03-01T12:01:00.000Z box_1 floodwall - attack_started - \uFEFF${json}`);
  expect(messages[1]).toStartWith("<134>1 2026-03-01T12:01:00.000Z box_1 floodwall - bgp_session_restored - ");
});

test("one that is longer than receivers take is whole, without its largest parts, which it names", async () => {
  const { port, bytes } = await receiver(createServer);
  const { rules, ...measure } = udpRules();
  const many = { ...measure, rules: Array.from({ length: 100 }, () => rules).flat() };
  const long = attackEvent({ ban: ban({ method: "flowspec", orderReason: "ü".repeat(200), measure: many }) });
  await send({ port, transport: "tcp" }, null, [long, attackEvent()]);
  const messages = messagesOf(await bytes);
  const jsonOf = (message = "") => JSON.parse(message.slice(message.indexOf("\uFEFF") + 1)) as Record<string, never>;
  const [first, second] = messages.map(jsonOf);
  expect(Buffer.byteLength(messages[0] ?? "")).toBeLessThanOrEqual(8192);
  expect<unknown>([first?.["left_out"], second?.["left_out"]]).toEqual([
    ["attack.flowspec", "ban.flowspec", "attack.route"],
    undefined,
  ]);
  const { attack, ban: ofBan, ...rest } = eventToWire(long, { ...BOX, instance: "box 1" });
  const { flowspec: _rules, route: _route, ...restOfAttack } = attack ?? {};
  const { flowspec: _ofBan, ...restOfBan } = ofBan ?? {};
  expect<unknown>(first).toEqual({ ...rest, attack: restOfAttack, ban: restOfBan, left_out: first?.["left_out"] });
});

test("over TLS the receiver's certificate is checked", async () => {
  const { cert, key } = selfSigned();
  const { port, bytes } = await receiver((onSocket) => createTlsServer({ cert, key }, onSocket));
  const fault = await send({ port, transport: "tls" }).catch((cause: unknown) => cause);
  expect(fault).toBeInstanceOf(Error);
  await send({ port, transport: "tls" }, cert);
  expect(messagesOf(await bytes)).toHaveLength(2);
});

test("a receiver that refuses the connection is a fault", async () => {
  const { port } = await receiver(createServer);
  server?.close();
  expect(await send({ port, transport: "tcp" }).catch((cause: unknown) => cause)).toBeInstanceOf(Error);
});
