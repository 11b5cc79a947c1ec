/** Which connections the addon resets when there are too many. */
import { afterEach, expect, test } from "bun:test";
import { connect, createServer, type Server, type Socket } from "node:net";
import { eventually } from "../../test/fixtures/service.ts";
import { loadAddon } from "./addon.ts";

const addon = loadAddon();
const NO_BOUND = 1_000_000;
/** Longer than the clock of the kernel's connections. */
const APART_MS = 30;

let server: Server | null = null;
const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  server?.close();
});

async function listen(): Promise<number> {
  const made = createServer((socket) => void socket.on("error", () => {}).resume());
  server = made;
  await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve));
  const address = made.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** In the order of their making; the named ones send something at once. */
async function connections(port: number, count: number, sending: readonly number[] = []): Promise<Socket[]> {
  const made: Socket[] = [];
  for (let i = 0; i < count; i++) {
    const client = connect(port, "127.0.0.1")
      .on("error", () => {})
      .resume();
    clients.push(client);
    made.push(client);
    await new Promise<void>((resolve) => client.once("connect", resolve));
    if (sending.includes(i)) client.write("x");
    await Bun.sleep(APART_MS);
  }
  await eventually(
    () => addon.limitConnections({ port, total: NO_BOUND, perAddress: NO_BOUND }).open === count,
    "not open",
  );
  return made;
}

async function keptOf(made: readonly Socket[], count: number): Promise<number[]> {
  await eventually(() => made.filter(({ destroyed }) => !destroyed).length === count, "none was reset");
  return made.flatMap(({ destroyed }, i) => (destroyed ? [] : [i]));
}

test("of connections that sent nothing the newest are kept: a request may be on its way", async () => {
  const port = await listen();
  const made = await connections(port, 8);
  const count = addon.limitConnections({ port, total: 3, perAddress: NO_BOUND });
  expect(count).toEqual({ open: 3, closedOfAddress: 0, closedOfTotal: 5 });
  expect(await keptOf(made, 3)).toEqual([5, 6, 7]);
});

test("one that sent something is kept before those that did not, however new they are", async () => {
  const port = await listen();
  const made = await connections(port, 6, [0, 2]);
  addon.limitConnections({ port, total: 3, perAddress: NO_BOUND });
  expect(await keptOf(made, 3)).toEqual([0, 2, 5]);
});
