/**
 * A spoofed SYN flood on an inline box that scrubs, and what goes wrong or is done amid it: its service killed and started
 * again, new keys for cookies, other sets and rules. Users go on being served, old and new, and the flood stays out.
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
const FLOOD_SECONDS = 26;
const SETTLED_MS = 3000;
/** A connection is learned when it is older than two units of time, 4.3 s each. */
const LEARNED_MS = 9500;

const unavailable = namespacesUnavailable();
const reason = unavailable === null ? "" : `: ${unavailable}`;

const undo = new Undo();
afterEach(() => undo.all());

describe.skipIf(unavailable !== null)(`faults amid a flood on an inline box${reason}`, () => {
  test("break no connection, keep no user out and let nothing through", async () => {
    const lab = await makeBoxLab(undo, { scrub: "{ tcp: transparent }" });
    const { attacker, client, victim } = lab;
    await echo(victim, ECHO_PORT);
    const learned = new LongConnection(client, ECHO_PORT, undo);
    await eventually(() => learned.answers > 0, "the connection from before the flood has no answers");
    await Bun.sleep(LEARNED_MS);
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
    const answered = () => long.answers + learned.answers;
    const [before, answers, fromMs] = [received(victim), answered(), wallMs()];

    await killedAndStarted(lab, undo);
    const old = await challenged();
    await eventually(async () => (await challenged()) > old, "nothing is challenged after the start");
    await rotations({ times: 6, everyMs: 300 })(lab, undo);
    await reloads(lab, undo);
    const [ban] = await lab.bans();
    const [longAfter, learnedAfter] = [long.answers, learned.answers];
    const after = answered();
    await eventually(() => long.answers > longAfter && learned.answers > learnedAfter, "a connection is silent");
    const [sent, toMs] = [await flooding, wallMs()];
    const came = received(victim) - before;
    await users.stop();

    expect(ban).toMatchObject({ method: "scrub", state: "active" });
    expect([long.isClosed, learned.isClosed]).toEqual([false, false]);
    expect(after - answers).toBeGreaterThan(40);
    const { requests, served } = users.between(fromMs, toMs);
    expect(requests).toBeGreaterThan(50);
    expect(served).toBeGreaterThanOrEqual(0.99 * requests);
    expect(came - 10 * requests - 3 * (answered() - answers)).toBeLessThan(0.01 * sent);
    const isOver = async () => (await lab.bans()).every(({ state }) => state !== "active");
    await eventually(isOver, "the ban did not end", 30_000);
  }, 120_000);
});
