/** Protection profiles chosen at run time, on an inline box with real packets, without and amid a flood. */
import { afterEach, describe, expect, test } from "bun:test";
import { eventually } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";
import { type Namespace, namespacesUnavailable } from "../lab/namespaces.ts";
import { makeBoxLab, THRESHOLD_PPS } from "../lab/scrub/box-lab.ts";
import { serve, VICTIM } from "../lab/scrub/scrub-network.ts";
import { sendFrom } from "../lab/world.ts";

const path = (prefix: string) => `/api/v1/protection/${encodeURIComponent(prefix)}`;

const undo = new Undo();
afterEach(() => undo.all());

const unavailable = namespacesUnavailable();
const reason = unavailable === null ? "" : `: ${unavailable}`;

/** The client's own stack; a SYN is sent again after a second. */
function isServed(client: Namespace): boolean {
  const command = client.command(["curl", "-s", "-o", "/dev/null", "--max-time", "3", `http://${VICTIM}/`]);
  return Bun.spawnSync(command, { stdin: "ignore" }).exitCode === 0;
}

describe.skipIf(unavailable !== null)(`a protection on an inline box${reason}`, () => {
  test("that always applies is there, changed and gone with the choice", async () => {
    const { client, victim, service } = await makeBoxLab(undo, { scrub: '{ tcp: "off" }' });
    await serve(victim);
    expect(isServed(client)).toBe(true);
    const choose = async (prefix: string, body: object) =>
      expect((await service.order("PUT", path(prefix), body)).status).toBe(200);
    // A mail server has no port 80.
    await choose("203.0.113.0/24", { profile: "mail", always: true });
    await eventually(() => !isServed(client), "the web server is still served", 20_000, 100);
    // The longer prefix is one of a web server, within the other one.
    await choose(VICTIM, { profile: "web", always: true });
    await eventually(() => isServed(client), "the web server is not served", 20_000, 100);
    // Only while attacked: then it is not under what is around it either.
    await choose(VICTIM, { profile: "mail", always: false });
    await eventually(() => isServed(client), "the web server is not served any more", 20_000, 100);
    await service.order("DELETE", path(VICTIM), {});
    await eventually(() => !isServed(client), "the prefix around it does not decide", 20_000, 100);
    await service.order("DELETE", path("203.0.113.0/24"), {});
    await eventually(() => isServed(client), "the web server is not served in the end", 20_000, 100);
  }, 120_000);

  test("changes the rules of a ban amid its flood: users are served from then on, and counts go on", async () => {
    const { attacker, client, victim, service, bans } = await makeBoxLab(undo, { scrub: "{ profile: mail }" });
    await serve(victim);
    const flooding = sendFrom(attacker, {
      ...{ profile: "syn", target: VICTIM, sources: 60_000, src: "198.18.0.1", path: "socket" },
      ...{ pps: 10 * THRESHOLD_PPS, seconds: 12 },
    });
    const isScrubbed = async () => (await bans()).some(({ challenged_packets: count = 0 }) => count > 0);
    await eventually(isScrubbed, () => `nothing is challenged:\n${service.output}`);
    await eventually(() => !isServed(client), "a mail server's port 80 is served", 8000, 100);
    const [before] = await bans();
    expect((await service.order("PUT", path(VICTIM), { profile: "web" })).status).toBe(200);
    await eventually(
      () => isServed(client),
      () => `the web server is not served:\n${service.output}`,
      10_000,
      100,
    );
    const [after] = await bans();
    await flooding;
    expect(before?.route).toContain("only tcp/25");
    expect(after?.route).toContain("only tcp/80,443");
    expect(after?.state).toBe("active");
    expect(after?.challenged_packets).toBeGreaterThanOrEqual(before?.challenged_packets ?? Number.POSITIVE_INFINITY);
    expect(after?.validated_sources).toBeGreaterThanOrEqual(1);
  }, 120_000);
});
