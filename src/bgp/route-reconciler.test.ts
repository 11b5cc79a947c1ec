import { expect, test } from "bun:test";
import { INSTANCE } from "../../test/fixtures/bgp/bgp.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import type { Route } from "../mitigation/announcer.ts";
import { hostPrefix } from "../net/prefix.ts";
import { nextTurn } from "../system/timers.ts";
import { RouteReconciler } from "./route-reconciler.ts";
import type { SpeakerClient } from "./speaker/speaker-client.ts";

const route = (ip: string): Route => ({
  kind: "unicast",
  prefix: hostPrefix(address(ip)),
  nextHop: address("192.0.2.1"),
  communities: [],
  localPref: 0,
});

/** Runs `fn` after this number of microtasks. */
function later(microtasks: number, fn: () => void): void {
  if (microtasks === 0) fn();
  else queueMicrotask(() => later(microtasks - 1, fn));
}

test.each(Array.from({ length: 20 }, (_, i) => i))(
  "a route wanted %p microtasks after the one before was sent is sent too, without another occasion",
  async (microtasks) => {
    const [first, second] = [route("203.0.113.1"), route("203.0.113.2")];
    let sent = 0;
    const client: Pick<SpeakerClient, "listGlobal" | "sendPaths"> = {
      listGlobal: async () => [],
      sendPaths: async (paths) => {
        sent += [...paths].length;
        if (sent === 1) later(microtasks, () => reconciler.want([first, second]));
      },
    };
    const reconciler = new RouteReconciler({
      clock: { wallMs: () => 0, monotonicMs: () => 0 },
      owner: { instance: INSTANCE, takesOver: () => false, adopted: () => {} },
      onOthers: () => {},
      onAnnounced: () => {},
      onFault: (fault) => {
        throw fault;
      },
      onQuarantine: () => {},
      onChange: () => {},
    });
    await reconciler.attach(client as SpeakerClient);
    reconciler.want([first]);
    await nextTurn();
    expect(sent).toBe(2);
  },
);
