/**
 * A process that sends recorded datagrams, those of the n-th file from 127.0.4.n.
 * Usage: flow-replay.ts PORT FILE… ; ends when all are sent.
 */
import { readRecorded } from "./recorded-datagrams.ts";

const [port = "", ...files] = Bun.argv.slice(2);
for (const [i, file] of files.entries()) {
  const socket = await Bun.udpSocket({ hostname: `127.0.4.${i + 1}` });
  for (const datagram of readRecorded(file)) socket.send(datagram, Number(port), "127.0.0.1");
  socket.close();
}
console.log("sent");
process.exit(0);
