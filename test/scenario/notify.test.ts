/** The running service reports bans to a webhook and a Slack channel, and their URLs to no one. */
import { expect, test } from "bun:test";
import { evenly } from "../fixtures/captures/pcap-writer.ts";
import { BRAIN } from "../fixtures/cluster/companion.ts";
import { Receiver } from "../fixtures/notify/notify.ts";
import { datagram } from "../fixtures/replay-command.ts";
import { Scenario } from "../fixtures/scenario.ts";
import { eventually } from "../fixtures/service.ts";

const CONFIG = `
networks: [192.0.2.0/24]
thresholds: {pps: 1000, mbps: 100, flows_per_sec: 1000}
`;
const CHANNELS = "notify: {webhook: {url_env: HOOK_URL}, slack: {url_env: SLACK_URL}}\n";
interface Ban {
  readonly target: string;
}

const scene = new Scenario();

test("bans are delivered by channels that come with a reload, and at a stop", async () => {
  const [hook, slack] = [new Receiver(), new Receiver()];
  scene.onEnd(() => Promise.all([hook.stop(), slack.stop()]));
  const env = { HOOK_URL: `${hook.url}s3cret-hook`, SLACK_URL: `${slack.url}s3cret-slack` };
  const service = await scene.start(CONFIG, { env });
  await service.post("/api/v1/ban", { ip: "192.0.2.7" });
  service.writeConfig(CONFIG + CHANNELS);
  expect((await service.post("/api/v1/config/reload", {})).status).toBe(200);
  const { body: ban } = await service.post("/api/v1/ban", { ip: "192.0.2.8" });
  await eventually(
    () => hook.received.length === 1 && slack.received.length === 1,
    () => `not delivered:\n${service.output}`,
  );
  const delivered = () => JSON.parse(hook.received.at(-1)?.body ?? "{}") as object;
  expect(delivered()).toMatchObject({ event: "ban_active", dry_run: true, ban: { target: ban["target"] } });
  // The last event is delivered although the service stops at once.
  await service.post("/api/v1/unban", { ip: "192.0.2.8" });
  expect(await service.stop()).toBe(0);
  // The second of a pair leaves it to the first, which of a test has no receiver.
  if (BRAIN === "brain2") return;
  expect(delivered()).toMatchObject({ event: "ban_withdrawn" });
  expect(slack.received.at(-1)?.body).toContain("Ban of 192.0.2.8 is withdrawn: manual unban");
  expect(service.output).not.toContain("s3cret");
});

// One of a pair gives them to the other brain when it is stopped, and that of a test ends with it.
test.skipIf(BRAIN !== null)(
  "notifications that wait survive kill -9 and a stop, and each is delivered once",
  async () => {
    const hook = new Receiver();
    scene.onEnd(() => hook.stop());
    hook.answers = [() => new Response(null, { status: 503 })];
    const config = `${CONFIG}notify: {webhook: {url_env: HOOK_URL}}\n`;
    const service = await scene.start(config, { env: { HOOK_URL: hook.url } });
    for (const ip of ["192.0.2.7", "192.0.2.8"]) await service.post("/api/v1/ban", { ip });
    await eventually(() => hook.received.length > 0, "no attempt came");
    // The rows of the state database are written together: the next order is on disk after those before it.
    await service.post("/api/v1/unban", { ip: "192.0.2.8" });
    await service.post("/api/v1/ban", { ip: "192.0.2.9" });
    await service.stop("SIGKILL");
    const again = await scene.start(config, service.again);
    expect(await again.stop()).toBe(0);
    hook.answers = [() => new Response("ok")];
    const before = hook.received.length;
    const last = await scene.start(config, service.again);
    const since = () => hook.received.slice(before).map(({ body }) => JSON.parse(body) as { event: string; ban: Ban });
    await eventually(
      () => since().length >= 3,
      () => `not delivered:\n${last.output}`,
    );
    expect(
      since()
        .slice(0, 3)
        .map(({ event, ban }) => `${event} ${ban.target}`),
    ).toEqual(["ban_active 192.0.2.7", "ban_active 192.0.2.8", "ban_withdrawn 192.0.2.8"]);
    expect(await last.stop()).toBe(0);
  },
);

test("kill -9 loses no order that was gathered, and the end of a ban goes where its begin went", async () => {
  const [one, two] = [new Receiver(), new Receiver()];
  scene.onEnd(() => Promise.all([one.stop(), two.stop()]));
  const config = (targets: string) => `
networks: [192.0.2.0/24]
thresholds: {pps: 1000, mbps: 100, flows_per_sec: 1000}
notify:
  targets: [{name: one, webhook: {url_env: ONE}}, {name: two, webhook: {url_env: TWO}}]
  routes: [{targets: [], routes: [{events: [ban_active, ban_withdrawn, order_made], targets: [${targets}]}]}]
`;
  const service = await scene.start(config("one"), { env: { ONE: one.url, TWO: two.url } });
  const of = ({ received }: Receiver) =>
    received.map(({ body }) => {
      const { event, ban, orders } = JSON.parse(body) as { event: string; ban?: Ban; orders?: { targets: string[] } };
      return `${event} ${ban?.target ?? orders?.targets.join()}`;
    });
  await service.post("/api/v1/ban", { ip: "192.0.2.7" });
  await eventually(
    () => one.received.length === 2,
    () => `not delivered: ${of(one).join()}\n${service.output}`,
  );
  // Within a minute of the first they are gathered; the next order is on disk after what is known of these.
  for (const ip of ["192.0.2.8", "192.0.2.9"]) await service.post("/api/v1/ban", { ip });
  await eventually(() => one.received.length === 4, "not delivered");
  await service.post("/api/v1/unban", { ip: "192.0.2.9" });
  await service.stop("SIGKILL");
  const again = await scene.start(config("two"), { ...service.again, config: config("two") });
  await again.post("/api/v1/unban", { ip: "192.0.2.7" });
  await eventually(
    () => of(one).includes("ban_withdrawn 192.0.2.7") && of(two).length > 0,
    () => `not delivered: ${of(one).join()} ${of(two).join()}\n${again.output}`,
  );
  expect(of(two)).toEqual(["order_made 192.0.2.8,192.0.2.9"]);
});

test("a tenant's own target gets what is of the tenant, is kept over a restart, and reaches this machine only by leave", async () => {
  const hook = new Receiver();
  scene.onEnd(() => hook.stop());
  const config = (leave: string) => `
networks: [192.0.2.0/24]
thresholds: {pps: 1000, mbps: 100, flows_per_sec: 1000}
hostgroups: [{name: web, networks: [192.0.2.0/25], tenant: acme}, {name: mail, networks: [192.0.2.128/25], tenant: other}]
notify: {tenant_targets: {kinds: [webhook], hosts: ["localhost:*"], private_networks: [${leave}]}}
`;
  const api =
    "tokens: [{name: acme, token_env: ACME, role: operator, tenant: acme}, {name: noc, token_env: NOC, role: operator}]";
  const env = { ACME: "acme-secret", NOC: "noc-secret" };
  const first = await scene.start(config(""), { api, env });
  const url = hook.url.replace("127.0.0.1", "localhost");
  const body = { kind: "webhook", url, secret: "s3cret-key" };
  expect((await first.order("PUT", "/api/v1/notify/targets/hook", body, env.ACME)).status).toBe(200);
  const elsewhere = { ...body, url: "http://127.0.0.1:1/" };
  expect((await first.order("PUT", "/api/v1/notify/targets/hook", elsewhere, env.ACME)).status).toBe(409);
  await first.post("/api/v1/notify/targets/hook/test", {}, env.ACME);
  const targets = async (service: typeof first) =>
    JSON.stringify(await service.get("/api/v1/notify/targets", env.ACME));
  await eventually(async () => (await targets(first)).includes("may not reach"), "the target was not refused");
  expect(hook.received).toEqual([]);
  await first.stop("SIGKILL");
  const allowed = config("127.0.0.0/8, '::1'");
  const service = await scene.start(allowed, { ...first.again, config: allowed });
  await service.post("/api/v1/ban", { ip: "192.0.2.200" }, env.NOC);
  await service.post("/api/v1/ban", { ip: "192.0.2.7" }, env.NOC);
  // The kill may have come before it was on disk that the test was given up.
  const bodies = () =>
    hook.received
      .map(({ body: text }) => JSON.parse(text) as { tenant: string; event: string; ban: Ban })
      .filter(({ event }) => event !== "test");
  await eventually(
    () => bodies().length > 0,
    () => `not delivered:\n${service.output}`,
  );
  expect(bodies().map(({ tenant, event, ban }) => [tenant, event, ban.target])).toEqual([
    ["acme", "ban_active", "192.0.2.7"],
  ]);
  expect(hook.received[0]?.headers.has("x-floodwall-signature")).toBe(true);
  expect([await targets(service), service.output].join()).not.toMatch(/s3cret-key|localhost/);
});

test("a cap on bans that an attack meets is notified with its limit", async () => {
  const hook = new Receiver();
  scene.onEnd(() => hook.stop());
  const victims = ["192.0.2.7", "192.0.2.8"].map((victim) => datagram(victim));
  const floods = scene.capture(evenly(new Array<Uint8Array[]>(10_000).fill(victims).flat(), { stepMs: 0.1 }));
  const config = `${CONFIG}${floods}ban: {max_active_bans: 1}\nnotify: {webhook: {url_env: HOOK_URL}}\n`;
  const service = await scene.start(config, { env: { HOOK_URL: hook.url } });
  const events = () => hook.received.map(({ body }) => JSON.parse(body) as { event: string });
  const isNotified = () => events().some(({ event }) => event === "cap_reached");
  await eventually(isNotified, () => `no cap is notified:\n${service.output}`);
  expect(events()).toContainEqual(
    expect.objectContaining({
      event: "cap_reached",
      cap: expect.objectContaining({ name: "max_active_bans", limit: 1 }),
    }),
  );
});

test("a scrub node that refuses a ban is notified, and so is the ban that no node enforces", async () => {
  const hook = new Receiver();
  scene.onEnd(() => hook.stop());
  const config = `
dry_run: false
networks: [192.0.2.0/24]
thresholds: {pps: 1000, mbps: 100, flows_per_sec: 1000}
mitigation: divert
scrubbing: { next_hop: 198.51.100.66, nodes: [{ name: s1 }] }
notify: {webhook: {url_env: HOOK_URL}}
`;
  const api =
    "tokens: [{ name: s1, token_env: S1, role: agent, node: s1 }, { name: noc, token_env: NOC, role: operator }]";
  const service = await scene.start(config, { api, env: { HOOK_URL: hook.url, S1: "s1", NOC: "noc" } });
  const base = `http://127.0.0.1:${service.port}/api/v1/dataplane`;
  const headers = { authorization: "Bearer s1", "content-type": "application/json" };
  const poll = () => fetch(`${base}/rules?node=s1`, { headers });
  await poll();
  await service.post("/api/v1/ban", { ip: "192.0.2.7" }, "noc");
  const refused = [{ reason: "is not inside of bounds.networks", prefixes: ["192.0.2.7/32"] }];
  const etag = (await poll()).headers.get("etag");
  const report = { capabilities: ["refused_bans"], rules_etag: etag, refused_bans: refused };
  await fetch(`${base}/nodes/s1/report`, { method: "POST", headers, body: JSON.stringify(report) });
  const events = () => hook.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  const isReported = (kind: string) => events().some(({ event }) => event === kind);
  await eventually(
    () => isReported("scrub_node_fault") && isReported("ban_withdrawn"),
    () => `not notified:\n${service.output}`,
  );
  const found = "it refuses 1 ban, first 192.0.2.7/32: is not inside of bounds.networks";
  expect(events()).toContainEqual(expect.objectContaining({ scrub_node: { name: "s1", found } }));
  const ban = expect.objectContaining({ reason: "no scrubbing node enforces its rules" }) as unknown;
  expect(events()).toContainEqual(expect.objectContaining({ event: "ban_withdrawn", ban }));
});
