/** One peer over a socket of the test, with a clock that goes on while nothing else does. */
import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import type { TLSSocket } from "node:tls";
import { frameOf } from "./frames.ts";
import { PEER_SILENT_MS } from "./heartbeat.ts";
import { Peer } from "./peer.ts";

class Socket extends EventEmitter {
  readonly writableLength = 0;
  isDestroyed = false;
  write(): void {}
  setNoDelay(): void {}
  destroy(): void {
    this.isDestroyed = true;
  }
}

test.each([
  [PEER_SILENT_MS, true],
  [PEER_SILENT_MS + 1, false],
  [20_000, false],
])("what arrived during a freeze of %d ms shows the peer up: %p", (frozenMs, isUp) => {
  const events: string[] = [];
  let monotonicMs = 0;
  const peer = new Peer({
    name: "brain1",
    now: () => ({ wallMs: 0, monotonicMs }),
    introduction: () => ({ version: "1", sections: {} }),
    observer: {
      up: () => void events.push("up"),
      down: () => void events.push("down"),
      message: ({ kind }) => void events.push(kind),
      lost: (cause) => void events.push(cause),
    },
  });
  const socket = new Socket();
  peer.connected(socket as unknown as TLSSocket);
  const heartbeat = { wall_ms: 0, monotonic_ms: 0, echo: null, version: "1", sections: {} };
  socket.emit("data", frameOf({ kind: "heartbeat", body: heartbeat }));
  monotonicMs += frozenMs;
  socket.emit("data", frameOf({ kind: "orders", body: null }));
  expect([peer.state.isUp, socket.isDestroyed]).toEqual([isUp, !isUp]);
  expect(events).toEqual(isUp ? ["up", "orders"] : ["up", "down", "nothing has arrived for 3 s"]);
  expect(peer.state.receivedMs).toBe(isUp ? frozenMs : 0);
});
