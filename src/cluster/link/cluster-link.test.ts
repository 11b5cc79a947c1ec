/** Two brains on real sockets with real certificates; only their clocks are the test's. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type AddressInfo, connect as connectPlain } from "node:net";
import { connect, createServer, type TLSSocket } from "node:tls";
import { Authority } from "../../../test/fixtures/cluster/authority.ts";
import { LinkedBrains } from "../../../test/fixtures/cluster/linked-brains.ts";
import { eventually } from "../../../test/fixtures/service.ts";
import { MESSAGE_BYTES_MAX } from "../chunks.ts";
import { readLinkFiles } from "./certificate.ts";
import { STRANGERS_MAX } from "./connection-bounds.ts";
import { frameOf } from "./frames.ts";
import { READ_MAX } from "./peer-connection.ts";

let authority: Authority;
let pair: LinkedBrains;

beforeAll(() => {
  authority = new Authority();
  for (const name of ["brain1", "brain2", "brain3"]) authority.issue(name);
});
afterAll(() => authority.remove());
beforeEach(async () => {
  for (const name of ["brain1", "brain2"]) authority.issue(name);
  pair = await LinkedBrains.of(authority);
});
afterEach(() => pair.stop());

/** Connects to the second brain with the certificate of `name`, as one that this test controls. */
function caller(name: string): Promise<TLSSocket> {
  const { cert, key, ca } = readLinkFiles({ name, ...authority.files(name) });
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect(
      { host: "127.0.0.1", port: pair.second.link.port ?? 1, cert, key, ca, checkServerIdentity: () => undefined },
      () => resolve(socket),
    );
    socket.on("error", reject);
  });
}

const heartbeat = (more: object = {}) =>
  frameOf({
    kind: "heartbeat",
    body: { wall_ms: 0, monotonic_ms: 0, echo: null, version: "1", sections: {}, ...more },
  }) as Buffer;

describe("two brains", () => {
  test("are up when each has a heartbeat of the other, and know its version, clock and configuration", async () => {
    pair.second.clock.setWall("2026-03-01T12:00:05.000Z");
    pair.second.introduction = { version: "2", sections: { bgp: "b" } };
    await pair.start();
    await pair.advance(1000);
    await eventually(() => pair.first.link.states()[0]?.skewMs !== null, "no skew");
    const [state] = pair.first.link.states();
    expect(state).toMatchObject({ name: "brain2", isUp: true, version: "2", sections: { bgp: "b" }, problem: null });
    // The clocks of a test stand still while messages travel.
    expect(state?.skewMs).toBe(5000);
    expect(pair.second.link.states()[0]).toMatchObject({ name: "brain1", skewMs: -5000 });
    expect([pair.first.events, pair.second.events]).toEqual([
      ["up brain2", "onUp brain2"],
      ["up brain1", "onUp brain1"],
    ]);
  });

  test("send each other messages in their order, both ways", async () => {
    const got: unknown[] = [];
    pair.second.link.on("count", (from, body) => void got.push([from, body]));
    pair.first.link.on("count", (from, body) => void got.push([from, body]));
    await pair.start();
    for (let i = 0; i < 100; i++) pair.first.link.broadcast("count", i);
    await eventually(
      () => got.length === 100,
      () => `${got.length} of 100`,
    );
    expect(got).toEqual(Array.from({ length: 100 }, (_, i) => ["brain1", i]));
    pair.second.link.send("brain1", "count", "x".repeat(MESSAGE_BYTES_MAX / 2));
    await eventually(() => got.length === 101, "the long one");
  });

  test("read no more of a peer in half a second than its budget, and the rest after it", async () => {
    let got = 0;
    pair.second.link.on("count", () => void got++);
    await pair.start();
    const most = 5 * READ_MAX.messages;
    for (let i = 0; i < most; i++) pair.first.link.broadcast("count", "x".repeat(1000));
    await eventually(() => got > READ_MAX.messages, "the first");
    await Bun.sleep(50);
    // The last of what had arrived together.
    expect(got).toBeLessThan(READ_MAX.messages + 600);
    await eventually(
      async () => {
        await pair.advance(500);
        return got === most;
      },
      () => `${got} of ${most}`,
    );
  });

  test("find a peer down that sends nothing for 3 s, and up again once it does", async () => {
    await pair.start();
    pair.proxy.freeze();
    await pair.advance(3500);
    await pair.first.sees("onDown brain2");
    await pair.second.sees("onDown brain1");
    expect(pair.first.link.states()[0]).toMatchObject({ isUp: false, version: "1" });
    expect(pair.first.events).toContain("failed brain2 nothing has arrived for 3 s");
    pair.proxy.heal();
    await eventually(
      async () => {
        await pair.advance(250);
        return pair.first.isUp && pair.second.isUp;
      },
      () => JSON.stringify([pair.first.events, pair.second.events]),
    );
    expect(pair.first.events.filter((event) => event === "onUp brain2")).toHaveLength(2);
  });

  test("find each other down at once when the connection is cut, and dial again", async () => {
    await pair.start();
    pair.proxy.cut();
    await pair.first.sees("onDown brain2");
    await pair.second.sees("onDown brain1");
    pair.first.link.broadcast("count", 1);
    pair.proxy.heal();
    await eventually(
      async () => {
        await pair.advance(250);
        return pair.first.isUp && pair.second.isUp;
      },
      () => JSON.stringify(pair.first.events),
    );
  });

  test("drop what is too large, and what no listener knows, and go on", async () => {
    const got: unknown[] = [];
    pair.second.link.on("small", (_, body) => void got.push(body));
    await pair.start();
    pair.first.link.broadcast("small", "x".repeat(MESSAGE_BYTES_MAX));
    pair.first.link.broadcast("newer", {});
    pair.first.link.broadcast("small", 1);
    await eventually(() => got.length === 1, "the small one");
    expect(pair.first.events).toContain("dropped too_large small brain2");
    expect(pair.second.events).toContain("dropped unknown newer brain1");
    expect(pair.first.isUp && pair.second.isUp).toBe(true);
  });

  test("go on after a listener has failed", async () => {
    const got: unknown[] = [];
    pair.second.link.on("count", (_, body) => {
      if (body === 0) throw new Error("no zero");
      got.push(body);
    });
    await pair.start();
    for (const i of [0, 1]) pair.first.link.broadcast("count", i);
    await eventually(() => got.length === 1, "the second");
    expect(pair.second.events).toContain("listener failed Error: no zero");
  });

  test("take a new certificate for connections that begin after, without a restart", async () => {
    await pair.start();
    authority.issue("brain2", ["brain2", "cluster.example"]);
    await pair.advance(60_000, 500);
    expect(pair.first.isUp).toBe(true);
    pair.proxy.cut();
    await pair.first.sees("onDown brain2");
    pair.proxy.heal();
    await eventually(
      async () => {
        await pair.advance(250);
        return pair.first.isUp;
      },
      () => JSON.stringify(pair.first.events),
    );
    expect(pair.second.events.filter((event) => event.startsWith("fault"))).toEqual([]);
  });
});

describe("a brain accepts no one else", () => {
  test.each([
    ["brain3", "refused a certificate of brain3, which is no other brain in cluster.brains"],
    ["brain2", "refused a certificate of brain2, which is no other brain in cluster.brains"],
  ])("with the certificate of %s", async (name, refusal) => {
    await pair.second.link.start();
    await caller(name);
    await pair.second.sees(refusal);
    expect(pair.second.isUp).toBe(false);
  });

  test("with a certificate of another authority, or without any", async () => {
    const stranger = new Authority();
    try {
      stranger.issue("brain1");
      await pair.second.link.start();
      const own = readLinkFiles({ name: "brain1", ...stranger.files("brain1") });
      for (const files of [own, {}]) {
        const socket = connect({
          ...{ host: "127.0.0.1", port: pair.second.link.port ?? 1, ...files },
          rejectUnauthorized: false,
        });
        const closed = Promise.withResolvers<void>();
        socket.on("error", () => {});
        socket.on("close", () => closed.resolve());
        await closed.promise;
      }
      await eventually(
        () => pair.second.events.length === 2,
        () => JSON.stringify(pair.second.events),
      );
      expect(pair.second.events.every((event) => event.startsWith("refused "))).toBe(true);
      expect(pair.second.isUp).toBe(false);
    } finally {
      stranger.remove();
    }
  });

  test("nor goes to one whose certificate has another name", async () => {
    const { cert, key, ca } = readLinkFiles({ name: "brain3", ...authority.files("brain3") });
    const server = createServer({ cert, key, ca, requestCert: true });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    pair.target = () => (server.address() as AddressInfo).port;
    await pair.first.link.start();
    await pair.first.sees("failed brain2 its certificate is of brain3, not of brain2");
    expect(pair.first.link.states()[0]).toMatchObject({
      isUp: false,
      problem: "its certificate is of brain3, not of brain2",
    });
    server.close();
  });

  test("and listens only with a certificate that has its own name", async () => {
    authority.issue("brain2", ["other"]);
    await pair.second.link.start();
    expect(pair.second.link.port).toBeNull();
    expect(pair.second.link.fault).toContain("is of other: it must be of brain2, the name of this brain");
    authority.issue("brain2");
    await eventually(
      async () => {
        await pair.advance(20_000, 20_000);
        return pair.second.link.port !== null;
      },
      () => JSON.stringify(pair.second.events),
    );
    expect(pair.second.link.fault).toBeNull();
  });

  test("and strangers who say nothing do not keep the other brain out", async () => {
    await pair.second.link.start();
    const at = { port: pair.second.link.port ?? 1, host: "127.0.0.1", localAddress: "127.0.0.2" };
    const strangers = Array.from({ length: 200 }, () => connectPlain(at));
    let closed = 0;
    for (const stranger of strangers) stranger.on("error", () => {}).on("close", () => closed++);
    await eventually(
      () => closed === strangers.length - STRANGERS_MAX,
      () => `${closed} are closed`,
    );
    await pair.second.sees("refused too many connections at once");
    const socket = await caller("brain1");
    socket.write(heartbeat());
    await pair.second.sees("onUp brain1");
    for (const stranger of strangers) stranger.destroy();
  });

  test("that speaks another protocol", async () => {
    await pair.second.link.start();
    const plain = connectPlain(pair.second.link.port ?? 1, "127.0.0.1", () => plain.write("GET / HTTP/1.1\r\n\r\n"));
    plain.on("error", () => {});
    await pair.second.sees("refused ");
    expect(pair.second.isUp).toBe(false);
  });
});

describe("a peer that is authenticated and sends garbage is cut off", () => {
  const frameOfBytes = (text: string) => {
    const frame = Buffer.alloc(4 + Buffer.byteLength(text));
    frame.writeUInt32BE(Buffer.byteLength(text));
    frame.write(text, 4);
    return frame;
  };
  test.each([
    [
      "a frame over the bound",
      Buffer.from([0x7f, 0xff, 0xff, 0xff]),
      "it sent a message of 2147483647 bytes, more than 1048576",
    ],
    ["no JSON", frameOfBytes("{"), "it sent a message that is no JSON"],
    ["no kind", frameOfBytes("[]"), "it sent a message without a kind"],
    ["a heartbeat without a clock", heartbeat({ wall_ms: "now" }), "it sent a heartbeat that cannot be read"],
    [
      "too many sections",
      heartbeat({ sections: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [i, ""])) }),
      "it sent a heartbeat that cannot be read",
    ],
  ])("%s", async (_, bytes, cause) => {
    await pair.second.link.start();
    const socket = await caller("brain1");
    socket.write(heartbeat());
    await pair.second.sees("onUp brain1");
    socket.write(bytes);
    await pair.second.sees(`failed brain1 ${cause}`);
    expect(pair.second.isUp).toBe(false);
  });
});

test("a peer that takes nothing is cut off before the queue has no bound", async () => {
  await pair.second.link.start();
  const socket = await caller("brain1");
  socket.write(heartbeat());
  await pair.second.sees("onUp brain1");
  socket.pause();
  for (let i = 0; i < 400 && pair.second.isUp; i++) {
    pair.second.link.broadcast("state", "x".repeat(MESSAGE_BYTES_MAX / 4));
    await Bun.sleep(0);
  }
  await pair.second.sees("failed brain1 it takes messages too slowly: 16777216 bytes wait");
});

test("a connection of the same peer replaces the one before", async () => {
  await pair.start();
  const socket = await caller("brain1");
  socket.write(heartbeat({ version: "9" }));
  await eventually(() => pair.second.link.states()[0]?.version === "9", "the new one");
  expect(pair.second.events.slice(2)).toEqual([
    "onDown brain1",
    "failed brain1 it has connected again",
    "up brain1",
    "onUp brain1",
  ]);
});

test("nothing of a stopped link is left", async () => {
  await pair.start();
  pair.stop();
  await eventually(() => pair.first.clock.pending === 0 && pair.second.clock.pending === 0, "timers");
  expect(pair.second.link.port).toBeNull();
});
