/**
 * A Graphite server for FastNetMon, which knows rates alone: adds up the packets a second and bits a second that it says
 * of each host once a second. Usage: rate-sums.ts PORT ; prints "ready", and at each line that it gets the sums as JSON.
 */
import { linesOf } from "../fixtures/lines.ts";

const sums: Record<string, { packets: number; bytes: number }> = {};
const PATTERN = /\.hosts\.(\d+_\d+_\d+_\d+)\.incoming\.average\.(pps|bps) (\d+)/;

Bun.listen<{ text: string }>({
  hostname: "127.0.0.1",
  port: Number(Bun.argv[2]),
  socket: {
    open(socket) {
      socket.data = { text: "" };
    },
    data(socket, bytes) {
      const lines = (socket.data.text + bytes.toString()).split("\n");
      socket.data.text = lines.pop() ?? "";
      for (const line of lines) add(line);
    },
    close(socket) {
      add(socket.data.text);
    },
  },
});
console.log("ready");
for await (const _ of linesOf(Bun.stdin.stream())) console.log(JSON.stringify(sums));
process.exit(0);

function add(line: string): void {
  const [, host = "", unit, value] = PATTERN.exec(line) ?? [];
  if (unit === undefined) return;
  sums[host.replaceAll("_", ".")] ??= { packets: 0, bytes: 0 };
  const of = sums[host.replaceAll("_", ".")] as { packets: number; bytes: number };
  if (unit === "pps") of.packets += Number(value);
  else of.bytes += Number(value) / 8;
}
