/**
 * The method `scrub` on an inline box: floods that need more than a proof by TCP, and users who go on being served. Two
 * real stacks, a real flood; the box sees only what comes in. A spoofed SYN flood is in scrub-faults.test.ts.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { eventually } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";
import { namespacesUnavailable } from "../lab/namespaces.ts";
import { makeBoxLab, received, THRESHOLD_PPS } from "../lab/scrub/box-lab.ts";
import { ANSWER, dig, nameServer } from "../lab/scrub/name-server.ts";
import { Probe } from "../lab/scrub/probe.ts";
import { serve, VICTIM } from "../lab/scrub/scrub-network.ts";
import { requestsOf } from "../lab/scrub/user.ts";
import { sendFrom } from "../lab/world.ts";

const REQUEST_INTERVAL_MS = 50;
/** Its default, and that of resolvers: a SYN that is sent again on a busy machine takes more than a second. */
const RESOLVER_SECONDS = 5;

const unavailable = namespacesUnavailable();
const reason = unavailable === null ? "" : `: ${unavailable}`;

const undo = new Undo();
afterEach(() => undo.all());

describe.skipIf(unavailable !== null)(`scrubbing on an inline box${reason}`, () => {
  test("a SYN flood in the names of hosts that answer is held once sources must prove more", async () => {
    const { attacker, client, victim, service, bans } = await makeBoxLab(undo, { scrub: "{ tcp: transparent }" });
    await serve(victim);
    // They reset the acknowledgement that they get, and so prove their addresses.
    attacker.run(["ip", "route", "add", "local", "198.18.0.0/20", "dev", "lo"]);
    const flooding = sendFrom(attacker, {
      ...{ profile: "syn", target: VICTIM, sources: 1000, src: "198.18.0.1", path: "socket" },
      ...{ pps: 10 * THRESHOLD_PPS, seconds: 16 },
    });
    const isProved = async () => (await bans()).some(({ validated_sources: count = 0 }) => count > 500);
    await eventually(isProved, () => `no source is proved:\n${service.output}`);
    const isStrict = async () => (await bans()).some(({ route }) => route?.startsWith("validate tcp reset") === true);
    await eventually(isStrict, () => `the way stays as it was:\n${service.output}`);
    await Bun.sleep(1000);
    const startedAtMs = performance.timeOrigin + performance.now();
    const before = received(victim);
    const requests = requestsOf(client, { origin: `http://${VICTIM}`, intervalMs: REQUEST_INTERVAL_MS });
    await Bun.sleep(4000);
    const after = received(victim);
    await requests.stop();
    await flooding;
    const { requests: made, served } = requests.between(startedAtMs + 1000, Number.POSITIVE_INFINITY);
    expect(made).toBeGreaterThan(30);
    expect(served).toBe(made);
    // Of the flood; each request is about six packets of the client's.
    expect(after - before - 8 * 100).toBeLessThan(0.01 * 4 * 10 * THRESHOLD_PPS);
  }, 60_000);

  test("a flood of DNS queries is answered with TC, and resolvers that ask by TCP are served", async () => {
    const lab = await makeBoxLab(undo, { scrub: "{ profile: dns }" });
    await nameServer(lab.victim, VICTIM, undo);
    const flooding = sendFrom(lab.attacker, {
      ...{ profile: "query", target: VICTIM, sources: 60_000, src: "198.18.0.1", path: "socket" },
      ...{ pps: 10 * THRESHOLD_PPS, seconds: 6 },
    });
    const challenged = async () => (await lab.bans()).some(({ challenged_packets: count = 0 }) => count > 0);
    await eventually(challenged, () => `nothing is challenged:\n${lab.service.output}`);
    const before = received(lab.victim);
    const resolver = new Probe({
      ...{ from: lab.client, command: () => dig(VICTIM, RESOLVER_SECONDS), answer: ANSWER, intervalMs: 100 },
    });
    const { packets } = await flooding;
    await resolver.stop();
    const came = received(lab.victim) - before;
    const { requests, served } = resolver.between(0, Number.POSITIVE_INFINITY);
    // Ten a second where the machine has time for them.
    expect(requests).toBeGreaterThan(5);
    // The first of a source asks by TCP, whose SYN is sent again.
    expect(served).toBeGreaterThanOrEqual(requests - 1);
    const [ban] = await lab.bans();
    expect(ban?.route).toStartWith("validate dns; ");
    expect(ban?.validated_sources).toBeGreaterThanOrEqual(1);
    expect(came - 10 * requests).toBeLessThan(0.01 * packets);
  }, 60_000);
});
