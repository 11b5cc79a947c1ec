/**
 * A process that passes each datagram of a UDP port on to several others, so that programs read the same stream.
 * Usage: flow-relay.ts PORT TO… ; prints "ready", and at each line that it gets the number of datagrams so far.
 */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { linesOf } from "../fixtures/lines.ts";
import { recorded } from "./recorded-datagrams.ts";

const [port = 0, ...readers] = Bun.argv
  .slice(2)
  .filter((text) => /^\d+$/.test(text))
  .map(Number);
/** A file in which what passes is kept: recorded-datagrams.ts. */
const recording = process.env["RECORD_FLOWS_TO"];
/** Bytes: exporters send all that they have at once. */
const RECEIVE_BUFFER = 16 << 20;
let datagrams = 0;
const sender = await Bun.udpSocket({ hostname: "127.0.0.1", socket: { error() {} } });
const receiver = createSocket({ type: "udp4", recvBufferSize: RECEIVE_BUFFER });
receiver.on("message", (datagram) => {
  datagrams++;
  for (const reader of readers) pass(datagram, reader);
  if (recording !== undefined) appendFileSync(recording, recorded(datagram));
});
receiver.bind(port, "127.0.0.1");
await once(receiver, "listening");
console.log("ready");
for await (const _ of linesOf(Bun.stdin.stream())) console.log(datagrams);
process.exit(0);

/** What failed before, at a reader that had ended, is reported at the next datagram, which is not sent then. */
function pass(datagram: Uint8Array, reader: number): void {
  try {
    sender.send(datagram, reader, "127.0.0.1");
  } catch {
    sender.send(datagram, reader, "127.0.0.1");
  }
}
