/**
 * Events as syslog messages (RFC 5424), the JSON of the webhook as the message, over TLS (RFC 5425) or TCP (RFC 6587,
 * 3.4.1: octet counting in both). A connection for each delivery: it has succeeded when the peer has closed it in order.
 */
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { timestamp } from "../schema/timestamp.ts";
import type { Channel, ChannelContext } from "./channel.ts";
import { DeliveryFault, deliveryFault } from "./delivery-fault.ts";
import type { NotifyEvent } from "./event.ts";
import { type EventWire, eventToWire } from "./event-wire.ts";
import type { SyslogConfig } from "./notify-config.ts";
import { severityOf } from "./severity.ts";

const DEADLINE_MS = 10_000;
/** RFC 5424, 6.2.1. */
const PRIORITIES = { critical: 2, warning: 4, info: 6 } as const;
/** The size that receivers should take (RFC 5425, 4.3.1). Longer ones are cut, by default also by rsyslog: the JSON would not be whole. */
const MESSAGE_BYTES_MAX = 8192;
const MARK = "\uFEFF";

export function syslogChannel(config: SyslogConfig, context: ChannelContext): Channel {
  return {
    audience: "programs",
    deadlineMs: DEADLINE_MS,
    deliver: (events, signal) =>
      send(
        events.map((event) => frameOf(event, config, context)),
        config,
        context,
        signal,
      ),
  };
}

/** RFC 5424, 6: `<PRI>1 TIMESTAMP HOSTNAME APP-NAME PROCID MSGID SD MSG`, UTF-8 with its mark. */
function frameOf(event: NotifyEvent, { facility }: SyslogConfig, context: ChannelContext): Buffer {
  const priority = 8 * facility + PRIORITIES[severityOf(event)];
  const host = context.instance.replace(/[^!-~]/g, "_").slice(0, 255) || "-";
  const head = `<${priority}>1 ${timestamp(event.atMs)} ${host} floodwall - ${event.kind} - `;
  const room = MESSAGE_BYTES_MAX - Buffer.byteLength(head + MARK);
  const message = Buffer.from(`${head}${MARK}${textOf(eventToWire(event, context), room)}`);
  return Buffer.concat([Buffer.from(`${message.length} `), message]);
}

/** As JSON; where there is no room, without the largest parts of its attack, ban or orders, which `left_out` names. */
function textOf(wire: EventWire, bytesMax: number): string {
  const kept: Record<string, unknown> = { ...wire };
  const parts = Object.entries(wire).flatMap(([name, of]) =>
    Object.entries(typeof of === "object" ? of : {}).map(([key, value]) => ({
      ...{ name, key },
      bytes: Buffer.byteLength(JSON.stringify(value) ?? ""),
    })),
  );
  const leftOut: string[] = [];
  let text = JSON.stringify(wire);
  for (const { name, key } of parts.toSorted((a, b) => b.bytes - a.bytes)) {
    if (Buffer.byteLength(text) <= bytesMax) break;
    const { [key]: _, ...rest } = kept[name] as Record<string, unknown>;
    kept[name] = rest;
    leftOut.push(`${name}.${key}`);
    text = JSON.stringify({ ...kept, left_out: leftOut });
  }
  return text;
}

function send(
  frames: readonly Buffer[],
  { host, port, transport }: SyslogConfig,
  { authority }: ChannelContext,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    // A server name is a name (RFC 6066, 3).
    const name = isIP(host) === 0 ? { servername: host } : {};
    const ca = authority === null ? {} : { ca: authority };
    const socket: Socket = transport === "tls" ? connectTls({ host, port, ...name, ...ca }) : connect({ host, port });
    const abort = () => socket.destroy(new DeliveryFault("no answer in time"));
    signal.addEventListener("abort", abort, { once: true });
    socket.once("error", (cause) => reject(deliveryFault(cause)));
    socket.once("close", () => {
      signal.removeEventListener("abort", abort);
      resolve();
    });
    socket.once(transport === "tls" ? "secureConnect" : "connect", () => socket.end(Buffer.concat(frames)));
    // A receiver's answer is not read, so that it can close.
    socket.resume();
  });
}
