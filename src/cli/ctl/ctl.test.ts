/** `floodwall ctl` beside a service that a test answers for: how it is called, what it asks, and what it prints of the answer. */
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { prefix } from "../../../test/fixtures/networks.ts";
import { Undo } from "../../../test/fixtures/undo.ts";
import { orderOf } from "../../http/wire/ban-order.ts";
import { OWN, SHELLS } from "./completion.ts";
import { COMMANDS, COMMON, ctl, EXIT } from "./ctl.ts";
import { manualPage } from "./help.ts";

interface Asked {
  readonly line: string;
  readonly body: unknown;
}

/** Where no service listens. */
const NOWHERE = "http://127.0.0.1:1";
const undo = new Undo();
afterAll(() => undo.all());

/** @param answers by method and path; others are 404 */
async function run(
  words: readonly string[],
  answers: Readonly<Record<string, object>> = {},
  env: Readonly<Record<string, string | undefined>> = { FLOODWALL_TOKEN: "a-token" },
) {
  const asked: Asked[] = [];
  const tokens: (string | null)[] = [];
  const server = Bun.serve({
    ...{ port: 0, hostname: "127.0.0.1" },
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      const line = `${request.method} ${pathname.replace("/api/v1", "")}${search}`;
      const text = await request.text();
      asked.push({ line, body: text === "" ? null : JSON.parse(text) });
      tokens.push(request.headers.get("authorization"));
      const answer = answers[line];
      if (answer === undefined) return Response.json({ error: "unknown" }, { status: 404 });
      if (answer instanceof Response) return answer;
      return Response.json(answer, { status: "error" in answer || "reason" in answer ? 409 : 200 });
    },
  });
  const [printed, complaints]: [string[], string[]] = [[], []];
  const code = await ctl(words, {
    ...{ env: { FLOODWALL_URL: `http://127.0.0.1:${server.port}`, ...env } },
    ...{ clock: { wallMs: () => 0 }, sleep: async () => {} },
    ...{ print: (line: string) => printed.push(line), complain: (line: string) => complaints.push(line) },
  });
  await server.stop(true);
  return { code, asked, tokens, text: printed.join("\n"), complaint: complaints.join("\n") };
}

test("all bans inside a prefix end in one order", async () => {
  const inside = "203.0.113.0/24";
  const list = "GET /bans?state=active&target=203.0.113.0%2F24";
  const bans = ["203.0.113.7/32", "203.0.113.64/26"].map((prefix) => ({ prefix }));
  const made = await run(["unban", "--inside", inside, "--reason", "over"], {
    [list]: { bans },
    "POST /bans": { bans },
  });
  expect(made.code).toBe(0);
  expect(made.asked.at(-1)).toEqual({
    line: "POST /bans",
    body: { unban: bans.map((ban) => ({ ...ban, reason: "over" })) },
  });
  expect(made.text).toContain("2 bans ended");
  const none = await run(["unban", "--inside", inside], { [list]: { bans: [] } });
  expect([none.code, none.complaint]).toEqual([1, `floodwall ctl: no ban is in force inside ${inside}`]);
  for (const words of [["unban"], ["unban", "203.0.113.7", "--inside", inside]]) {
    expect(await run(words)).toMatchObject({ code: 2, asked: [] });
  }
});

test("more bans than one order may have end in several", async () => {
  const bans = Array.from({ length: 101 }, (_, i) => ({ prefix: `203.0.113.${i}/32` }));
  const list = "GET /bans?state=active&target=203.0.113.0%2F24";
  const { code, asked } = await run(["unban", "--inside", "203.0.113.0/24"], {
    [list]: { bans },
    "POST /bans": { bans: [] },
  });
  expect(code).toBe(0);
  const orders = asked.slice(1).map(({ body }) => (body as { unban: unknown[] }).unban);
  expect(orders.map(({ length }) => length)).toEqual([100, 1]);
  expect(orders.flat()).toEqual(bans);
});

test("a refusal says what to do, in the words of the service or by its reason, and nothing of JSON", async () => {
  const refusal = async (answer: object) => {
    const { code, complaint } = await run(["ban", "203.0.113.53"], { "POST /ban": answer });
    expect(code).toBe(EXIT.refused);
    return complaint;
  };
  const remedy = "order a prefix beside it, or remove it from protected_whitelist";
  const complaint = `floodwall ctl: 203.0.113.53: whitelisted: ${remedy}`;
  expect(await refusal({ state: "rejected", reason: "whitelisted" })).toBe(complaint);
  expect(await refusal({ state: "rejected", reason: "whitelisted", remedy: "wait" })).toMatch(/: whitelisted: wait$/);
  expect(await refusal({ error: "invalid JSON body: template: there is none" })).toMatch(
    /53: template: there is none$/,
  );
});

test("a rule is removed by its name, with the reason", async () => {
  const order = "DELETE /filter-rules/a%2Fb";
  const { code, asked, text } = await run(["rules", "remove", "a/b", "--reason", "r"], { [order]: {} });
  expect(asked).toEqual([{ line: order, body: { reason: "r" } }]);
  expect([code, text]).toEqual([EXIT.done, "the rule a/b is removed"]);
});

test.each([
  ["POST /unban", ["unban", "203.0.113.50"], "203.0.113.50: ", "no active ban for 203.0.113.50"],
  ["DELETE /filter-rules/a", ["rules", "remove", "a"], "", "no rule of this name was ordered"],
  ["POST /config/reload", ["reload"], "", "floodwall.yaml:8: nonsense: unknown key"],
])("a refusal of %s is said in the words of the service", async (line, words, target, error) => {
  const { code, text, complaint } = await run(words, { [line]: { error } });
  expect([code, text, complaint]).toEqual([EXIT.refused, "", `floodwall ctl: ${target}${error}`]);
});

test("a ban says until when, without parts of a second", async () => {
  const answer = { prefix: "203.0.113.7/32", route: "203.0.113.7/32", expires_at: "2026-03-01T13:00:00.123Z" };
  const { text } = await run(["ban", "203.0.113.7", "--for", "1h"], { "POST /ban": answer });
  expect(text).toBe("203.0.113.7/32 banned until 2026-03-01T13:00:00Z: 203.0.113.7/32");
  const failed = { ...answer, announcement: "failed", announce_error: "no neighbor takes it" };
  expect((await run(["ban", "203.0.113.7"], { "POST /ban": failed })).text).toEndWith(
    " (failed: no neighbor takes it)",
  );
});

test("how long is --for, or --ttl, of each order, and a reload has a reason", async () => {
  for (const option of ["--for", "--ttl"]) {
    const block = await run(["block", "198.51.100.9", "203.0.113.7", option, "1h"], { "POST /dataplane/sources": {} });
    expect(block.asked[0]?.body).toEqual({ source: "198.51.100.9", victim: "203.0.113.7", ttl_seconds: 3600 });
    const rule = await run(["rules", "add", "{name: a, action: drop}", option, "1h"], { "POST /filter-rules": {} });
    expect(rule.asked[0]?.body).toEqual({ name: "a", action: "drop", ttl_seconds: 3600 });
  }
  expect((await run(["rules", "--for", "1h"])).complaint).toContain("--for go with rules add alone");
  const reload = await run(["reload", "--reason", "ticket 7"], { "POST /config/reload": { dry_run: true } });
  expect(reload.text).toBe("reloaded, in dry run");
  expect(reload.asked).toEqual([{ line: "POST /config/reload", body: { reason: "ticket 7" } }]);
});

test("the rules in the help of ban are what the service takes", async () => {
  const [, written = ""] = /'(\[\{.*\}\])'/.exec((await run(["help", "ban"])).text) ?? [];
  const asked = (await run(["ban", "203.0.113.7", "--rules", written])).asked[0]?.body as Record<string, unknown>;
  const { ip: _, ...order } = asked;
  expect(orderOf(prefix("203.0.113.7/32"), order, new Map())).toMatchObject({ kind: "order" });
});

test("settings of a hostgroup are set, taken back and shown", async () => {
  const path = "/hostgroups/acme/settings";
  const answer = { hostgroup: "acme", changes: ["thresholds.pps: 5 → 7"] };
  const set = await run(["group", "acme", "--pps", "7", "--spare", "192.0.2.1, 192.0.2.2", "--reason", "r"], {
    [`PUT ${path}`]: answer,
  });
  expect(set.asked).toEqual([
    {
      line: `PUT ${path}`,
      body: { thresholds: { pps: 7 }, protected_whitelist: ["192.0.2.1", "192.0.2.2"], reason: "r" },
    },
  ]);
  expect(set.text).toContain("thresholds.pps: 5 → 7");
  const reset = await run(["group", "acme", "--reset"], { [`DELETE ${path}`]: { hostgroup: "acme", changes: [] } });
  expect([reset.code, reset.text]).toEqual([0, "hostgroup acme: nothing changed"]);
  const hostgroups = ["acme", "web"].map((name) => ({ name, mitigation: "flowspec", thresholds: { pps: 7 } }));
  const one = await run(["group", "acme"], { "GET /config": { hostgroups } });
  expect(one.text).toContain("acme");
  expect(one.text).not.toContain("web");
  for (const words of [
    ["group", "--pps", "7"],
    ["group", "acme", "--pps", "x"],
    ["group", "acme", "--pps", "7", "--reset"],
  ]) {
    expect(await run(words)).toMatchObject({ code: 2, asked: [] });
  }
});

test("a preview of a reload says what would change, be announced and end", async () => {
  const preview = {
    changes: [{ section: "ban", details: ["ttl_seconds: 60 → 90"] }],
    needs_restart: ["state_dir"],
    ends_bans: [{ prefix: "192.0.2.1/32", reason: "target is whitelisted" }],
    ...{
      ends_bans_count: 1,
      warnings: ["floodwall.yaml:8: ban: warning: mind this"],
      announces: ["192.0.2.7/32"],
      withdraws: ["192.0.2.1/32"],
    },
  };
  const { text, asked } = await run(["reload", "--preview"], { "POST /config/reload/preview": preview });
  expect(asked).toHaveLength(1);
  expect(text.split("\n")).toEqual([
    ...["changes ban", "  ttl_seconds: 60 → 90", "after a restart only: state_dir", "announces 192.0.2.7/32"],
    ...[
      "withdraws 192.0.2.1/32",
      "ends the ban of 192.0.2.1/32: target is whitelisted",
      "floodwall.yaml:8: ban: warning: mind this",
    ],
  ]);
  const nothing = { changes: [], needs_restart: [], ends_bans: [], warnings: [] };
  expect((await run(["reload", "--preview"], { "POST /config/reload/preview": nothing })).text).toBe(
    "nothing would change",
  );
});

test("a preview of a divert says what moves with it", async () => {
  const ban = {
    ...{
      state: "active",
      method: "divert",
      route: "203.0.113.0/24 by the scrubbing hook",
      announced_prefix: "203.0.113.0/24",
    },
    moves_with: { hostgroups: ["web"], hosts: 3, busiest: [{ target: "203.0.113.9", mbps: 2 }] },
  };
  const answer = { ban, refresh: false, effect: { available: false, reason: "no traffic" } };
  const { text } = await run(["ban", "203.0.113.7", "--method", "divert", "--preview"], {
    "POST /bans/preview": answer,
  });
  expect(text).toContain("moves with it: 203.0.113.0/24: 3 other hosts with traffic (203.0.113.9), hostgroups web");
  expect(text).toContain("would divert");
});

test("a preview of a divert of the wider prefix itself says of what the blackhole is replaced", async () => {
  const ban = { ...{ state: "active", method: "divert", prefix: "203.0.113.0/24" }, route: "203.0.113.0/24 to scrub1" };
  const effect = { available: false, reason: "no traffic" };
  const answer = { ban, refresh: false, effect, replaces_blackhole_of: ["203.0.113.7/32"] };
  const { text } = await run(["ban", "203.0.113.0/24", "--method", "divert", "--preview"], {
    "POST /bans/preview": answer,
  });
  expect(text).toContain("replaces the blackhole of 203.0.113.0/24 for 203.0.113.7/32");
});

test("what was stopped of an attack is a bound or an estimate where no more is known", async () => {
  const volume = { packets: 1000, dropped_packets: 900 };
  const active = [
    { id: "a1", volume: { ...volume, dropped_by: {} } },
    { id: "a2", volume: { ...volume, dropped_by: {}, peak_sampling_error: 0.1 } },
    { id: "a3", volume },
    { id: "a4" },
  ];
  const { text } = await run(["attacks"], { "GET /attacks?state=active": { active, recent: [] } });
  const stopped = [...text.matchAll(/none +(\S.*\S) +a\d/g)].map(([, shown]) => shown);
  expect(stopped).toEqual(["90.0 %", "about 90.0 %", "at least 90.0 %", "not known"]);
});

test("an attack is printed with its timeline", async () => {
  const { text, code } = await run(["attack", "a1"], {
    "GET /attacks/a1": { id: "a1" },
    "GET /attacks/a1/timeline": { timeline: [1] },
  });
  expect([code, JSON.parse(text)]).toEqual([0, { id: "a1", timeline: [1] }]);
  expect((await run(["attack", "none"])).code).toBe(1);
});

test("the status names what is in dry run beside a service that is live, and diversions their bans", async () => {
  const group = { name: "web", calculation: "per_host", mitigation: "blackhole", ban: true };
  const neighbors = [{ address: "192.0.2.2", name: "edge1", state: "established", dry_run: true }];
  const live = { dry_run: false, hostgroups: [group], bgp: { neighbors: [{ ...neighbors[0], dry_run: undefined }] } };
  expect((await run(["status"], { "GET /status": live })).text).toMatch(/mode +live$/m);
  const silent = { ...live, bgp: { connected: false, error: "killed", neighbors: [] } };
  expect((await run(["status"], { "GET /status": silent })).text).toMatch(/BGP +the speaker does not answer: killed$/m);
  const hostgroups = [{ ...group, dry_run_directions: ["incoming", "outgoing"] }];
  const partly = await run(["status"], { "GET /status": { ...live, hostgroups, bgp: { neighbors } } });
  expect(partly.text).toMatch(/live, but in dry run: hostgroup web \(incoming.*outgoing attacks\), neighbor edge1$/m);
  const diversion = { prefix: "192.0.2.0/24", phase: "beginning", lost: true, bans: ["192.0.2.7/32"], attempts: 0 };
  const diverted = await run(["diversions"], { "GET /diversions": { diversions: [diversion] } });
  expect(diverted.text).toMatch(/192\.0\.2\.0\/24 +lost, beginning .*192\.0\.2\.7\/32/);
  const reloaded = await run(["reload"], {
    "POST /config/reload": { dry_run: false, diversions: { strands: ["192.0.2.0/24"] } },
  });
  expect(reloaded.text).toContain("has no hook to end the diversion of 192.0.2.0/24");
});

test("bans show why they were ordered, and a wrong option is named without the words of the runtime", async () => {
  const ban = { prefix: "203.0.113.7/32", method: "blackhole", state: "active", order_reason: "ticket 7" };
  const ended = { ...ban, prefix: "203.0.113.8/32", state: "withdrawn", reason: "manual unban" };
  const listed = await run(["bans", "--all"], { "GET /bans": { bans: [ban, ended] } });
  expect(listed.text).toMatch(/203\.0\.113\.7.*ticket 7 *\n.*203\.0\.113\.8.*manual unban/);
  const wrong = await run(["maintenance", "--gruop", "acme"]);
  expect(wrong.complaint).toBe("floodwall ctl: Unknown option '--gruop'; see floodwall ctl help maintenance");
});

test("the token comes from a file, and options come before the environment", async () => {
  const folder = undo.folder("ctl");
  const fileOf = (text: string) => {
    const path = join(folder, text.slice(0, 3));
    writeFileSync(path, text);
    return path;
  };
  const inFile = { FLOODWALL_TOKEN: "variable", FLOODWALL_TOKEN_FILE: fileOf("one\n") };
  const tokenOf = async (words: string[], env: Record<string, string>) =>
    (await run(["status", ...words], { "GET /status": {} }, env)).tokens;
  expect(await tokenOf([], {})).toEqual([null]);
  const refused = Response.json({ error: "unknown token" }, { status: 401 });
  expect((await run(["status"], { "GET /status": refused }, {})).complaint).toEndWith(
    ": unknown token: give a token by FLOODWALL_TOKEN or --token-file FILE",
  );
  expect(await tokenOf([], { FLOODWALL_TOKEN: "variable" })).toEqual(["Bearer variable"]);
  expect(await tokenOf([], inFile)).toEqual(["Bearer one"]);
  expect(await tokenOf(["--token-file", fileOf("two")], inFile)).toEqual(["Bearer two"]);
  for (const path of [fileOf("two words\n"), join(folder, "absent")])
    expect(await run(["status", "--token-file", path])).toMatchObject({ code: EXIT.usage, text: "" });
});

test("an order without an answer may have been carried out, and it says so", async () => {
  const order = await run(["ban", "203.0.113.7", "--url", NOWHERE]);
  expect(order.code).toBe(EXIT.unreachable);
  expect(order.complaint).toContain("whether it was carried out is not known");
  const read = await run(["status", "--url", NOWHERE]);
  expect(`${read.code} ${read.complaint.includes("not known")}`).toBe(`${EXIT.unreachable} false`);
});

test.each([
  [504, "<html>", /is answered 504; whether it was carried out is not known/],
  [200, "[]", /is not answered by Floodwall: the answer is no JSON; whether it was carried out is not known/],
])("an answer of a proxy before the service says nothing of the order: %d %s", async (status, text, words) => {
  const { code, complaint } = await run(["ban", "203.0.113.7"], { "POST /ban": new Response(text, { status }) });
  expect(code).toBe(EXIT.unreachable);
  expect(complaint).toMatch(words);
});

test.each([
  [[], "a command is missing"],
  [["dance"], "unknown command dance: one of status, attacks"],
  [["ban"], "ban needs ADDRESS|PREFIX..."],
  [["status", "now"], "status does not take now"],
  [["status", "--fast"], "see floodwall ctl help status"],
  [["block", "198.51.100.9", "203.0.113.7"], "--for is missing"],
  [["block", "198.51.100.9", "203.0.113.7", "--ttl", "soon"], "--ttl soon: write a time as 90s, 15m, 1h or 2d"],
  [["audit", "--from", "yesterday"], "--from yesterday: write a time as"],
  [["rules", "add", "a: [", "--ttl", "1h"], "the rule is no YAML"],
  [["rules", "show"], "rules takes nothing, add RULE, or remove NAME"],
  [["rules", "remove", "a", "--preview"], "--preview and --for go with rules add alone"],
  [["status", "--url", "ftp://here"], "ftp://here is not a URL of the service"],
])("%p is wrong usage, and the reason is the last that is said", async (words, reason) => {
  const { code, text, complaint } = await run(words);
  expect({ code, text }).toEqual({ code: EXIT.usage, text: "" });
  expect(complaint.split("\n").at(-1)).toContain(reason);
});

describe("help, completion and the manual page", () => {
  test("name every command and every option", async () => {
    const help = (await run(["help"])).text;
    const manual = manualPage([...COMMANDS, ...OWN], COMMON, "1.0.0");
    for (const { name, options } of [...COMMANDS, ...OWN]) {
      expect(help).toMatch(new RegExp(`^  ${name} `, "m"));
      const own = (await run(["help", name])).text;
      if (!OWN.some((word) => word.name === name)) expect((await run([name, "--help"])).text).toBe(own);
      for (const shell of SHELLS)
        expect((await run(["completion", shell])).text, shell).toMatch(new RegExp(`\\b${name}\\b`));
      expect(manual).toContain(`.SS floodwall ctl ${name.replaceAll("-", "\\-")}`);
      for (const option of [...options, ...COMMON]) {
        if (!OWN.some((word) => word.name === name)) expect(own).toContain(`--${option.name}`);
        expect(manual).toContain(`\\-\\-${option.name.replaceAll("-", "\\-")}`);
      }
    }
  });

  test("of bash completes commands and their options", async () => {
    const script = (await run(["completion", "bash"])).text;
    const completed = (...words: string[]) => {
      const list = words.map((word) => `'${word}'`).join(" ");
      const code = `${script}\nCOMP_WORDS=(${list}) COMP_CWORD=${words.length - 1}\n_floodwall\necho "\${COMPREPLY[@]}"`;
      return Bun.spawnSync(["bash", "-c", code]).stdout.toString().trim();
    };
    expect(completed("floodwall", "ctl", "un")).toBe("unban unblock");
    expect(completed("floodwall", "ctl", "ban", "--re")).toBe("--reason");
    expect(completed("floodwall", "ctl", "completion", "f")).toBe("fish");
  });
});
