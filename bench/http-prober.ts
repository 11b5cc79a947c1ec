/**
 * Repeats a small request on one connection and records the longest answer time, to show how a request is delayed by
 * others. Prints a line of JSON for each line that it reads: the longest time since the last one.
 * Usage: http-prober.ts PORT PATH
 */
import { connect } from "node:net";

export interface Probes {
  readonly longestMs: number;
  readonly count: number;
}

const [port, path] = Bun.argv.slice(2);
const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const socket = connect(Number(port), "127.0.0.1");
socket.setNoDelay(true);
let [longestMs, count] = [0, 0];
/** null: no request in progress. */
let sentMs: number | null = null;

function ask(): void {
  sentMs = performance.now();
  socket.write(request);
}

/** A request without an answer counts with its current duration. */
function noteWait(): void {
  if (sentMs !== null) longestMs = Math.max(longestMs, performance.now() - sentMs);
}

socket.on("connect", ask);
// The answers fit into one segment.
socket.on("data", () => {
  noteWait();
  sentMs = null;
  count++;
  setTimeout(ask, 1);
});
socket.on("close", () => process.exit(1));
for await (const _ of console) {
  noteWait();
  const probes: Probes = { longestMs, count };
  console.log(JSON.stringify(probes));
  [longestMs, count] = [0, 0];
}
