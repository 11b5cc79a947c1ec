/** The running service tells a webhook and a Slack channel of bans, and nobody of their URLs. */
import { afterEach, expect, test } from "bun:test";
import { signature } from "../../src/notify/webhook.ts";
import { Receiver } from "../fixtures/notify/notify.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";

const CONFIG = `
dry_run: true
networks: [192.0.2.0/24]
thresholds: {pps: 1000, mbps: 100, flows_per_sec: 1000}
`;
const CHANNELS = `
notify:
  webhook: {url_env: HOOK_URL, secret_env: HOOK_KEY}
  slack: {url_env: SLACK_URL}
`;

let cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups) await cleanup();
  cleanups = [];
});

test("bans are told by webhook and Slack, signed, and across a reload and a stop", async () => {
  const [hook, slack] = [new Receiver(), new Receiver()];
  const env = { HOOK_URL: `${hook.url}s3cret-hook`, HOOK_KEY: "s3cret-key", SLACK_URL: `${slack.url}s3cret-slack` };
  const service = await ServiceProcess.start({ config: CONFIG, env });
  cleanups = [() => service.remove(), () => hook.stop(), () => slack.stop()];

  await service.post("/api/v1/ban", { ip: "192.0.2.7" });
  expect((await service.get("/api/v1/status")).body["notify"]).toMatchObject({ webhook: false, slack: false });
  service.writeConfig(CONFIG + CHANNELS);
  expect((await service.post("/api/v1/config/reload", {})).status).toBe(200);
  expect((await service.get("/api/v1/status")).body["notify"]).toMatchObject({ webhook: true, slack: true });

  await service.post("/api/v1/ban", { ip: "192.0.2.8" });
  await eventually(
    () => hook.received.length === 1 && slack.received.length === 1,
    () => `not told:\n${service.output}`,
  );
  const { body = "", headers } = hook.received[0] ?? {};
  const row = (await service.get<{ bans: { target: string }[] }>("/api/v1/bans")).body.bans.at(-1);
  expect(JSON.parse(body)).toMatchObject({ event: "ban_active", dry_run: true, ban: row });
  const header = headers?.get("x-floodwall-signature") ?? "";
  expect(header).toBe(signature(body, "s3cret-key", Number(header.slice(2, header.indexOf(",")))));
  expect(slack.received[0]?.body).toContain("Dry run: on");

  // The last news leaves although the service stops at once.
  await service.post("/api/v1/unban", { ip: "192.0.2.8" });
  await service.stop();
  expect(JSON.parse(hook.received.at(-1)?.body ?? "{}")).toMatchObject({ event: "ban_withdrawn" });
  expect(slack.received.at(-1)?.body).toContain("Ban of 192.0.2.8 is withdrawn: manual unban");
  expect(service.output).not.toContain("s3cret");
});
