/**
 * What goes wrong or is done amid a flood on an inline box that scrubs: its service killed and started again, new keys for
 * cookies, other sets and rules. Users go on being served, old and new, and the flood stays out.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { eventually } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";
import { namespacesUnavailable } from "../lab/namespaces.ts";
import { flood } from "../lab/scrub/attacks.ts";
import { echo, LongConnection, makeBoxLab, received } from "../lab/scrub/box-lab.ts";
import { killedAndStarted, reloads, rotations } from "../lab/scrub/faults.ts";
import { wallMs } from "../lab/scrub/user.ts";
import { newcomers } from "../lab/scrub/users.ts";

const ECHO_PORT = 81;
const FLOOD_SECONDS = 16;
const SETTLED_MS = 3000;

const unavailable = namespacesUnavailable();
const reason = unavailable === null ? "" : `: ${unavailable}`;

const undo = new Undo();
afterEach(() => undo.all());

describe.skipIf(unavailable !== null)(`faults amid a flood on an inline box${reason}`, () => {
  test("break no connection, keep no user out and let nothing through", async () => {
    const lab = await makeBoxLab(undo, { scrub: "{ tcp: transparent }" });
    const { attacker, client, victim } = lab;
    await echo(victim, ECHO_PORT);
    const startedAtMs = wallMs();
    const flooding = flood({ profile: "syn", sources: 60_000 })(attacker, FLOOD_SECONDS, undo);
    const challenged = async () => (await lab.bans())[0]?.challenged_packets ?? 0;
    await eventually(
      async () => (await challenged()) > 0,
      () => `nothing is challenged:\n${lab.service.output}`,
    );
    const long = new LongConnection(client, ECHO_PORT, undo);
    const users = await newcomers(lab, undo);
    await eventually(() => long.answers > 0 && users.served > 0, "no user is served");
    await Bun.sleep(startedAtMs + SETTLED_MS - wallMs());
    const [before, answers, fromMs] = [received(victim), long.answers, wallMs()];

    await killedAndStarted(lab, undo);
    const old = await challenged();
    await eventually(async () => (await challenged()) > old, "nothing is challenged after the start");
    await rotations({ times: 6, everyMs: 300 })(lab, undo);
    await reloads(lab, undo);
    const [ban] = await lab.bans();
    const after = long.answers;
    await eventually(() => long.answers > after, "the connection is silent");
    const [sent, toMs] = [await flooding, wallMs()];
    const came = received(victim) - before;
    await users.stop();

    expect(ban).toMatchObject({ method: "scrub", state: "active" });
    expect(long.isClosed).toBe(false);
    expect(after - answers).toBeGreaterThan(20);
    const { requests, served } = users.between(fromMs, toMs);
    expect(requests).toBeGreaterThan(50);
    expect(served).toBeGreaterThanOrEqual(0.99 * requests);
    expect(came - 10 * requests - 3 * (long.answers - answers)).toBeLessThan(0.01 * sent);
  }, 120_000);
});
