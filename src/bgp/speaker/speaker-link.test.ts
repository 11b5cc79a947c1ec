import { expect, test } from "bun:test";
import { ManualClock, ManualTimers } from "../../../test/fixtures/manual-clock.ts";
import { nextTurn } from "../../system/timers.ts";
import { ALL_NEIGHBORS } from "../neighbor-policies.ts";
import type { RouteReconciler } from "../route-reconciler.ts";
import type { Speaker } from "./speaker.ts";
import type { SpeakerClient } from "./speaker-client.ts";
import { SpeakerFault } from "./speaker-fault.ts";
import { SpeakerLink } from "./speaker-link.ts";

/** A link to a speaker that has no neighbors. */
function linkTo(connect: () => Promise<SpeakerClient>, clock: ManualClock, onUp: () => void = () => {}): SpeakerLink {
  const reconciler: Partial<RouteReconciler> = {
    attach: async () => {},
    detach: () => {},
    up: () => {},
    setSessions: () => {},
    settle: async () => {},
    check: async () => {},
    setPolicies: () => {},
    installedFor: () => new Map(),
    limits: () => [],
    setLimits: () => {},
    setDeferring: () => {},
    resend: () => {},
  };
  const speaker: Partial<Speaker> = {
    policies: ALL_NEIGHBORS,
    connect,
    configure: async () => [],
    follow: async () => ({ notifications: [], blameless: [], unsent: [], deferring: [], limits: [], known: [] }),
  };
  return new SpeakerLink({
    learned: { found: () => {}, takeOthers: () => [] },
    speaker: speaker as Speaker,
    reconciler: reconciler as RouteReconciler,
    clock,
    timers: new ManualTimers(clock),
    times: { pollMs: 1_000, checkMs: 10_000, retryMinMs: 50, retryMaxMs: 5_000 },
    onUp,
    onDown: () => {},
    onSessions: () => {},
    onNeighborFaults: () => {},
    onNotifications: () => {},
  });
}

test("the pauses before a speaker that dies again soon grow up to their bound, and are short again after a minute", async () => {
  const clock = new ManualClock();
  let die: (fault: Error) => void = () => {};
  const watchPeers = () =>
    new Promise<void>((_, reject) => {
      die = reject;
    });
  const client: Partial<SpeakerClient> = { listPeers: async () => [], watchPeers, close: () => {} };
  let ups = 0;
  const connect = async () => client as SpeakerClient;
  const link = linkTo(connect, clock, () => {
    ups++;
  });
  link.start();
  await nextTurn();
  /** The speaker dies. Returns the time until the link is up again, ms. */
  const diesAndReturns = async () => {
    const before = ups;
    die(new SpeakerFault("WatchEvent", "gone", "unreachable"));
    await nextTurn();
    let waitedMs = 0;
    for (; ups === before && waitedMs < 60_000; waitedMs += 50) {
      clock.advance(50);
      await nextTurn();
    }
    return waitedMs;
  };
  const pauses: number[] = [];
  for (let crash = 0; crash < 9; crash++) pauses.push(await diesAndReturns());
  expect(pauses).toEqual([50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  for (let second = 0; second < 61; second++) {
    clock.advance(1_000);
    await nextTurn();
  }
  expect(await diesAndReturns()).toBe(50);
  await link.stop();
});

test("a question during a change of the connection is answered by the next one, and by none where the speaker is gone", async () => {
  const opening: PromiseWithResolvers<SpeakerClient>[] = [];
  const link = linkTo(() => {
    opening.push(Promise.withResolvers());
    return opening.at(-1)?.promise ?? Promise.reject(new Error("none"));
  }, new ManualClock());
  const clientOf = (name: string) => {
    let isClosed = false;
    const close = () => {
      isClosed = true;
    };
    const listGlobal = async () => {
      await nextTurn();
      if (isClosed) throw new SpeakerFault("ListPath", "closed", "unreachable");
      return name;
    };
    const own = { listPeers: async () => [], watchPeers: () => new Promise(() => {}), listGlobal, close };
    return own as unknown as SpeakerClient;
  };
  const asked = () => link.ask(async (client) => client.listGlobal("ipv4-unicast") as unknown as Promise<string>);
  link.start();
  opening[0]?.resolve(clientOf("first"));
  await nextTurn();
  const during = asked();
  link.restart();
  await nextTurn();
  const meanwhile = asked();
  opening[1]?.resolve(clientOf("second"));
  expect(await Promise.all([during, meanwhile])).toEqual(["second", "second"]);
  link.restart();
  await nextTurn();
  const last = asked();
  opening[2]?.reject(new SpeakerFault("GetBgp", "gone", "unreachable"));
  expect(await last).toBeNull();
  await link.stop();
});
