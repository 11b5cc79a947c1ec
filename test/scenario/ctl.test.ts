/** `floodwall ctl` against a real service: what it prints, for people and for programs, and how it ends. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ctl, EXIT } from "../../src/cli/ctl/ctl.ts";
import { systemClock } from "../../src/system/clock.ts";
import { Receiver } from "../fixtures/notify/notify.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";

const CONFIG = `
dry_run: true
networks: [203.0.113.0/24]
protected_whitelist: [203.0.113.99]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
`;
const NOTIFY = `
notify:
  targets: [{ name: noc, webhook: { url_env: HOOK } }, { name: desk, webhook: { url_env: DESK } }]
  routes: [{ events: [order_made, order_ended], targets: [desk] }, { targets: [noc] }]
`;
const TOKENS = "tokens: [{ name: noc, token_env: NOC, role: operator }, { name: eye, token_env: EYE, role: viewer }]";
const SECRETS = { NOC: "noc-secret-0123456789", EYE: "eye-secret-0123456789" };

const undo = new Undo();
const [hook, desk] = [new Receiver(), new Receiver()];
undo.add(() => Promise.all([hook.stop(), desk.stop()]));
let service: ServiceProcess;

beforeAll(async () => {
  service = await ServiceProcess.start({
    config: CONFIG + NOTIFY,
    api: TOKENS,
    env: { ...SECRETS, HOOK: hook.url, DESK: desk.url },
  });
  undo.add(() => service.remove());
});
afterAll(() => undo.all());

/** Runs a command as the token's owner. */
async function run(words: readonly string[], token = SECRETS.NOC, env: Record<string, string> = {}) {
  const printed: string[] = [];
  const complaints: string[] = [];
  const url = `http://127.0.0.1:${service.port}`;
  const code = await ctl(words, {
    env: { FLOODWALL_URL: url, FLOODWALL_TOKEN: token, ...env },
    clock: systemClock,
    sleep: (ms) => Bun.sleep(ms),
    print: (line) => printed.push(line),
    complain: (line) => complaints.push(line),
  });
  return { code, out: printed.join("\n"), complaint: complaints.join("\n"), printed };
}

describe("commands that read", () => {
  test.each([
    ["status", /^mode +dry run: nothing is announced/m],
    ["attacks", /^No attack\.$/],
    ["top --attacked --tenant acme", /^No host has traffic\.$/],
    ["bans", /^No ban\.$/],
    ["bans --all --group global --target 203.0.113.0/24 --method divert --operator noc --from 2h", /^No ban\.$/],
    ["attacks --ended --tenant acme --kind syn_flood --method flowspec", /^No attack has ended/],
    ["incidents --state active --group global --owner noc --limit 5", /^No incident\.$/],
    ["blocks --source 198.51.100.0/24", /^No source block\.$/],
    ["rules", /^No filter rule\.$/],
    ["routes", /^The speaker does not answer, or none is configured\.$/],
    ["nodes", /^No node is configured\.$/],
    ["zones", /^No zone is configured\.$/],
    ["notify", /^TARGET +KIND .*\nnoc +webhook +- +0/],
    ["audit --target 203.0.113.200/30 --operator noc --result ok", /^No entry\.$/],
    ["watch --times 2 --every 1s", /No attack\.[\s\S]*No attack\./],
  ])("%s says in words what there is, and with --json what the interface answers", async (line, text) => {
    const words = line.split(" ");
    const people = await run(words, SECRETS.EYE);
    expect(people).toMatchObject({ code: EXIT.done, complaint: "" });
    expect(people.out).toMatch(text);
    const programs = await run([...words, "--json"], SECRETS.EYE);
    expect(programs.code).toBe(EXIT.done);
    for (const each of programs.printed) expect(typeof JSON.parse(each)).toBe("object");
  });

  test("preview says what a ban would be answered", async () => {
    expect((await run(["preview", "203.0.113.7"])).out).toMatch(/^ban +blackhole, dry run\nroute +203\.0\.113\.7\/32/);
    expect((await run(["preview", "203.0.113.99"])).out).toMatch(/^ban +refused: whitelisted$/m);
    expect((await run(["bans"])).out).toBe("No ban.");
  });
});

describe("commands that order", () => {
  test("ban several addresses, and a refusal of one does not keep the others from it", async () => {
    const words = ["ban", "203.0.113.7", "203.0.113.99", "203.0.113.8", "--reason", "ticket 7"];
    const { code, out, complaint } = await run(words);
    expect(out).toMatch(/^203\.0\.113\.7\/32 banned until .*dry run.*\n203\.0\.113\.8\/32 banned until /);
    expect(complaint).toContain("floodwall ctl: 203.0.113.99: whitelisted: ");
    expect(code).toBe(EXIT.refused);
    expect((await run(["bans"])).out).toMatch(/203\.0\.113\.7\/32 +blackhole +active, dry run .*noc/);
    const audit = await run(["audit", "--from", "10m", "--action", "ban", "--target", "203.0.113.7"]);
    expect(audit.out).toMatch(/ban +203\.0\.113\.7 +active +noc +.*ticket 7/);
    expect(await run(["unban", "203.0.113.7", "203.0.113.8"])).toMatchObject({ code: EXIT.done, complaint: "" });
    expect((await run(["bans"])).out).toBe("No ban.");
    expect((await run(["bans", "--all"])).out).toMatch(/203\.0\.113\.7\/32 +blackhole +withdrawn/);
  });

  test("ban as the options say, after a preview, and say which words are wrong", async () => {
    const words = ["ban", "203.0.113.7", "--for", "1h", "--reason", "ticket 8", "--dry-run"];
    expect((await run([...words, "--preview"])).out).toMatch(/would be accepted[\s\S]*would drop +not known/);
    expect((await run(["bans"])).out).toBe("No ban.");
    const [banned] = (await run([...words, "--json"])).printed;
    expect(JSON.parse(banned ?? "")).toMatchObject({ order_reason: "ticket 8", dry_run: true });
    const scrub = await run(["ban", "203.0.113.8", "--rules", "{protocol: udp, source_ports: ['19']}", "--rate", "5"]);
    expect(scrub).toMatchObject({ code: EXIT.refused, complaint: expect.stringContaining("needs the section bgp") });
    expect((await run(["ban", "203.0.113.8", "--rate", "much"])).complaint).toContain("--rate much: write a number");
    await run(["unban", "203.0.113.7"]);
  });

  test("open a maintenance window, list it and close it", async () => {
    const opened = await run(["maintenance", "open", "move", "--watch-only", "--for", "2h", "--reason", "ticket 9"]);
    expect(opened.out).toMatch(/move +yes .*ticket 9/);
    expect((await run(["maintenance"])).out).toMatch(/move +yes/);
    const closed = await run(["maintenance", "close", "move", "--reason", "moved"]);
    expect(closed.out).toBe("the window move is closed");
    type Notice = { orders: { type: string; operator?: string; reason?: string; end?: string } };
    const notices = () => desk.received.map(({ body }) => (JSON.parse(body) as Notice).orders);
    await eventually(() => notices().some(({ type, end }) => type === "maintenance" && end !== undefined), "no notice");
    expect(notices()).toContainEqual(expect.objectContaining({ operator: "noc", reason: "moved", end: "closed" }));
    const later = await run(["maintenance", "open", "night", "--quiet", "--for", "2h", "--at", "23:59"]);
    expect(later.out).toMatch(/^opens at \d{4}-.*:59:00Z and closes at \d{4}-.*:59:00Z$/m);
    expect((await run(["maintenance", "close", "night"])).code).toBe(EXIT.done);
    expect((await run(["maintenance"])).out).toBe("No maintenance window.");
  });

  test("need the rights for it", async () => {
    const viewer = await run(["ban", "203.0.113.7"], SECRETS.EYE);
    expect(viewer.code).toBe(EXIT.refused);
  });
});

test("report writes a page and, by Chromium, a PDF, and refuses what is no attack or no time", async () => {
  const folder = undo.folder("report");
  const [page, pdf] = [join(folder, "r.html"), join(folder, "r.pdf")];
  const month = new Date().toISOString().slice(0, 7);
  const done = await run(["report", "--month", month, "--html", page, "--pdf", pdf], SECRETS.NOC, {
    PATH: process.env["PATH"] ?? "",
  });
  expect([done.code, done.out, done.complaint]).toEqual([EXIT.done, `written to ${page} and ${pdf}`, ""]);
  expect(readFileSync(page, "utf8")).toContain("<h2>What was done</h2>");
  expect(readFileSync(pdf).subarray(0, 5).toString()).toBe("%PDF-");
  expect((await run(["report", "--from", "7d"])).out).toStartWith("<!doctype html>");
  const without = await run(["report", "--from", "7d", "--pdf", pdf], SECRETS.NOC, { PATH: folder });
  expect([without.code, without.complaint]).toEqual([
    EXIT.refused,
    "floodwall ctl: no PDF: there is no Chromium here. Install it (apt install chromium), or print the page of --html",
  ]);
  const { code, complaint } = await run(["report", "no-such-attack"]);
  expect([code, complaint]).toEqual([EXIT.refused, "floodwall ctl: unknown attack"]);
  for (const words of [["report"], ["report", "--month", "March"], ["report", "a1", "--month", month]])
    expect((await run(words)).code).toBe(EXIT.usage);
});

test("notify sends a test to a target, waits for its delivery, and says why it failed", async () => {
  const done = await run(["notify", "test", "noc"]);
  expect([done.code, done.out, done.complaint]).toEqual([EXIT.done, "the test was delivered to noc", ""]);
  expect(hook.received.map(({ body }) => (JSON.parse(body) as { event: string }).event)).toContain("test");
  hook.answers = [() => new Response(null, { status: 410 })];
  const failed = await run(["notify", "test", "noc"]);
  expect([failed.code, failed.complaint]).toEqual([EXIT.refused, "floodwall ctl: noc: answered 410"]);
  expect(await run(["notify", "test", "nobody"])).toMatchObject({
    code: EXIT.refused,
    complaint: "floodwall ctl: unknown target of notifications: GET /api/v1/notify/targets lists them",
  });
  const routed = await run(["notify", "routes", "attack_started", "--pps", "5"]);
  expect(routed.out).toMatch(/^attack_started \(critical\) goes to noc\nROUTE .*\nnotify\.routes\[1\] +noc /);
  expect((await run(["notify", "everyone"])).code).toBe(EXIT.usage);
});
