/** A gobgpd of another major version takes the place of the one that runs, and the service goes on with all routes. */
import { afterAll, afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { connectGobgp } from "../../src/bgp/gobgp/gobgp-client.ts";
import { SpeakerFault } from "../../src/bgp/speaker/speaker-fault.ts";
import { BgpLab, bgpConfig, blackhole, flow, INSTANCE, type TestAnnouncer, until } from "../fixtures/bgp/bgp.ts";
import type { Bird } from "../fixtures/bgp/bird.ts";
import { GobgpdVersions } from "../fixtures/bgp/gobgpd-versions.ts";
import { OperatorGobgpd } from "../fixtures/bgp/operator-gobgpd.ts";

setDefaultTimeout(60_000);

const V4 = "203.0.113.9/32";
const V6 = "2001:db8::9/128";
/** One route is for each version alone, so that none of the version before may be left. */
const WANTED = { 3: "203.0.113.3/32", 4: "203.0.113.4/32" } as const;

const versions = await GobgpdVersions.fetch();
afterAll(() => versions.remove());

const lab = new BgpLab();
afterEach(() => lab.end());

const [older, newer] = [versions.ofMajor(3), versions.ofMajor(4)];
const lacking = older === null || newer === null ? " (one of the two cannot be had)" : "";
const swap = test.skipIf(older === null || newer === null);
if (lacking !== "") versions.remove();
const swaps = [
  [older ?? "", 3],
  [newer ?? "", 4],
  [older ?? "", 3],
] as const;

swap(`a managed gobgpd is killed and started as another major version, and back${lacking}`, async () => {
  const bird = await lab.bird();
  let speaker: TestAnnouncer | null = null;
  for (const [gobgpd, major] of swaps) {
    // As an upgraded package, which the next start takes.
    lab.gobgpd = gobgpd;
    if (speaker === null) speaker = lab.announcer(bgpConfig());
    else process.kill(lab.gobgpdPid(), "SIGKILL");
    const { announcer } = speaker;
    await wantedAre(announcer, bird, major);
  }
});

swap(`an external gobgpd is replaced by another major version, and back${lacking}`, async () => {
  lab.gobgpd = older ?? "";
  const operator = await OperatorGobgpd.start(lab);
  const bird = await lab.bird();
  const config = bgpConfig({ speaker: "external", grpc: operator.socket, neighbors: [] });
  const { announcer } = lab.announcer(config);
  for (const [gobgpd, major] of swaps) {
    await operator.kill();
    await operator.start(gobgpd);
    await wantedAre(announcer, bird, major);
    expect(await operator.routes()).toEqual([`${WANTED[major]} of ${INSTANCE}`, `${V4} of ${INSTANCE}`]);
  }
});

swap(`a connection to one version finds that another one answers${lacking}`, async () => {
  lab.gobgpd = older ?? "";
  const operator = await OperatorGobgpd.start(lab);
  const client = await connectGobgp({ target: { kind: "unix", path: operator.socket }, deadlineMs: 2_000 });
  lab.onEnd(async () => client.close());
  await operator.kill();
  await operator.start(newer ?? "");
  const fault = () =>
    client.listPeers().then(String, (error: unknown) => (error instanceof SpeakerFault ? error.kind : "bug"));
  await until("another API", async () => (await fault()) === "unknown_call");
});

async function wantedAre(announcer: TestAnnouncer["announcer"], bird: Bird, major: 3 | 4): Promise<void> {
  announcer.want([blackhole(V4), flow(V4), blackhole(WANTED[major]), flow(V6)]);
  await until("this version", () => announcer.status().gobgpVersion === major);
  await until("routes in BIRD", async () => String(await bird.prefixes()) === `${WANTED[major]},${V4}`);
  await until("rules in BIRD", async () => String(await bird.flowMatches()) === `dst ${V6},dst ${V4}`);
  await until("announced", () => announcer.routeState(blackhole(WANTED[major])).kind === "announced");
}
