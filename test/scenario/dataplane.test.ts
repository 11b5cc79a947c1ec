/** Packets dropped by the whole service on a real interface: blocks and bans, through crashes, restarts and reloads. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Dropping } from "../../src/http/wire/dataplane.ts";
import { DroppingBox, THRESHOLD_PPS } from "../fixtures/dataplane/dropping-box.ts";
import { DEVICE, vethUnavailable } from "../fixtures/dataplane/veth.ts";
import { ethernet, FRAME_BYTES_MIN, ip, tcp, udp } from "../fixtures/packets/frames.ts";
import { eventually } from "../fixtures/service.ts";

const VICTIM = "203.0.113.9";
const BYSTANDER = "203.0.113.10";
const SOURCE = "198.51.100.7";
const OTHER = "198.51.100.8";

const reason = vethUnavailable === null ? "" : ` (${vethUnavailable})`;
const frames = (src: string, dst: string, count = 50) =>
  Array.from({ length: count }, () => ethernet(ip({ src, dst }, udp()), { padTo: FRAME_BYTES_MIN }));
const verdict = ({ verdicts }: Dropping, name: string): number => verdicts?.[name]?.packets ?? 0;

let box: DroppingBox;

describe.skipIf(vethUnavailable !== null)(`the data plane${reason}`, () => {
  beforeEach(() => {
    box = new DroppingBox();
  });
  afterEach(() => box.close());

  test("a source block drops its pair and a blackhole ban without BGP its target, and nothing that is listed", async () => {
    await box.start();
    const attached = [{ name: DEVICE, state: "attached", mode: "native" }];
    expect(await box.dropping()).toMatchObject({ state: "up", interfaces: attached, pairs: 0 });
    const passed = await box.watchPassed();
    await box.block(SOURCE, VICTIM, 600);
    expect((await box.service.post("/api/v1/ban", { ip: BYSTANDER })).status).toBe(200);
    await box.until(({ rules }) => rules === 1);
    const pairs = [
      [SOURCE, VICTIM],
      [OTHER, VICTIM],
      [OTHER, BYSTANDER],
      ["192.0.2.53", BYSTANDER],
      [SOURCE, "203.0.113.53"],
    ] as const;
    for (const [src, dst] of pairs) await box.veth.send(frames(src, dst));
    const status = await box.until((now) => verdict(now, "pass_whitelist") === 50);
    const names = ["drop_source", "pass_default", "drop_rule", "pass_allowlist"];
    expect(names.map((name) => verdict(status, name))).toEqual([50, 50, 50, 50]);
    await eventually(async () => (await passed()) === 150, "not what was sent past the filter");
    expect((await box.service.get<{ sources: object[] }>("/api/v1/dataplane/sources")).body.sources).toMatchObject([
      { source: SOURCE, victim: VICTIM, dropped_packets: 50, dropped_bytes: 50 * FRAME_BYTES_MIN },
    ]);
    expect((await box.service.post("/api/v1/unban", { ip: BYSTANDER })).status).toBe(200);
    await box.until(({ rules }) => rules === 0);
  });

  test("a ban's rules drop the flood alone, and the attack goes on as long as the flood does", async () => {
    await box.start({ more: "mitigation: flowspec\nban: { unban_hysteresis_seconds: 1 }" });
    const flood = box.flood({ profile: "dns", source: SOURCE, target: VICTIM, pps: 4 * THRESHOLD_PPS, seconds: 6 });
    const active = async () => (await box.service.get<{ active: Record<string, unknown>[] }>("/api/v1/attacks")).body;
    await box.until((now) => verdict(now, "drop_rule") > 1000);
    const [attack] = (await active()).active;
    expect(attack).toMatchObject({ target: VICTIM, method: "flowspec", ban_state: "active" });
    // All of the flood is dropped from here on, for longer than an attack needs to be over.
    const { verdicts } = await box.dropping();
    const legitimate = Array.from({ length: 50 }, () =>
      ethernet(ip({ src: OTHER, dst: VICTIM }, tcp({ destinationPort: 443 })), { padTo: FRAME_BYTES_MIN }),
    );
    await box.veth.send(legitimate);
    const dropped = verdict({ verdicts } as Dropping, "drop_rule");
    const later = await box.until((now) => verdict(now, "drop_rule") > dropped + 3 * 4 * THRESHOLD_PPS);
    expect(verdict(later, "pass_default") - (verdicts?.["pass_default"]?.packets ?? 0)).toBe(50);
    expect((await active()).active).toMatchObject([{ id: attack?.["id"] }]);
    const { bans } = (await box.service.get<{ bans: Record<string, number>[] }>("/api/v1/bans")).body;
    expect(bans[0]?.["dropped_packets"]).toBeGreaterThan(dropped);
    await flood;
    await eventually(async () => (await active()).active.length === 0, "the attack is not over");
    await box.until(({ rules }) => rules === 0);
  }, 30_000);

  test("not one packet of steady floods gets through a kill -9 and the restart, nor through a stop", async () => {
    await box.start({ more: "mitigation: flowspec" });
    await box.block(SOURCE, BYSTANDER, 600);
    const passed = await box.watchPassed();
    const seconds = 8;
    const blocked = box.flood({ profile: "udp", source: SOURCE, target: BYSTANDER, pps: THRESHOLD_PPS / 2, seconds });
    const banned = box.flood({ profile: "dns", source: OTHER, target: VICTIM, pps: 4 * THRESHOLD_PPS, seconds });
    await box.until((now) => verdict(now, "drop_source") > 100 && verdict(now, "drop_rule") > THRESHOLD_PPS);
    await box.service.stop("SIGKILL");
    const { pass_default: early, drop_source: atKill, drop_rule: ruledAtKill } = box.pinned().verdicts;
    await eventually(() => {
      const { drop_source: blocks, drop_rule: rules } = box.pinned().verdicts;
      return blocks.packets > atKill.packets + 100 && rules.packets > ruledAtKill.packets + 100;
    }, "no drops without the process");
    await box.start({ more: "mitigation: flowspec" });
    const adopted = await box.dropping();
    expect(verdict(adopted, "drop_rule")).toBeGreaterThan(ruledAtKill.packets);
    expect(adopted).toMatchObject({ state: "up", pairs: 1 });
    expect(await box.service.stop()).toBe(0);
    expect(box.pinned()).toMatchObject({ state: "healthy", pairs: 1, isOwned: false });
    const sent = { blocked: await blocked, banned: await banned };
    await eventually(() => {
      const { drop_source: blocks, drop_rule: rules } = box.pinned().verdicts;
      return blocks.packets === sent.blocked && rules.packets === sent.banned - early.packets;
    }, "not all of the floods was dropped");
    // What came before the ban is all that ever got through.
    expect(box.pinned().verdicts.pass_default.packets).toBe(early.packets);
    expect(await passed()).toBe(early.packets);
  }, 30_000);

  test("with the service dead a block and a ban lapse when they should", async () => {
    await box.start({ more: "ban: { ttl_seconds: 4 }" });
    await box.block(SOURCE, BYSTANDER, 4);
    const { body } = await box.service.post("/api/v1/ban", { ip: VICTIM });
    await box.until(({ rules }) => rules === 1);
    await box.service.stop("SIGKILL");
    const expiresMs = Date.parse(String(body["expires_at"]));
    await box.veth.send(frames(SOURCE, VICTIM));
    await box.veth.send(frames(SOURCE, BYSTANDER));
    await eventually(() => box.pinned().verdicts.drop_rule.packets === 50, "the ban was not in force any more");
    expect(box.pinned().verdicts).toMatchObject({ drop_source: { packets: 50 }, pass_default: { packets: 0 } });
    await eventually(async () => {
      await box.veth.send(frames(SOURCE, VICTIM, 1));
      return box.pinned().verdicts.pass_default.packets > 0;
    }, "the ban did not lapse");
    expect(Date.now()).toBeGreaterThanOrEqual(expiresMs - 1);
    expect(box.pinned()).toMatchObject({ rules: 0, state: "healthy" });
    await box.start();
    await box.until(({ state, rules, pairs }) => state === "up" && rules === 0 && pairs === 0);
  }, 30_000);

  test("dry run by reload takes everything out of the kernel, its end brings everything back, and so for on_exit detach", async () => {
    const nothing = { state: "dry_run", interfaces: [] };
    await box.start({ dryRun: true });
    expect(box.pinned().state).toBe("missing");
    expect(await box.block(SOURCE, VICTIM, 600)).toMatchObject({ dry_run: true });
    expect(await box.dropping()).toMatchObject(nothing);
    await box.reload({});
    expect(await box.dropping()).toMatchObject({ state: "up", pairs: 1 });
    await box.veth.send(frames(SOURCE, VICTIM));
    await box.until((now) => verdict(now, "drop_source") === 50);
    await box.reload({ dryRun: true });
    expect(box.pinned()).toMatchObject({ state: "missing", links: [] });
    expect(await box.dropping()).toMatchObject(nothing);
    // What arrives is counted all the while, with the filter or without.
    const received = async () => {
      const { capture } = (await box.service.get<{ capture: { interfaces: Port[] } }>("/api/v1/status")).body;
      return capture.interfaces[0]?.queues[0]?.received_packets;
    };
    await box.veth.send(frames(SOURCE, VICTIM));
    await eventually(async () => (await received()) === 50, "what arrives is not counted any more");

    await box.reload({ onExit: "detach" });
    expect(await box.dropping()).toMatchObject({ state: "up", pairs: 1 });
    expect(await box.service.stop()).toBe(0);
    expect([box.veth.attachedProgram(), box.pinned().state]).toEqual([null, "missing"]);
    await box.start();
    await box.service.stop();
    expect(box.veth.attachedProgram()).toContain("xdp_filter");
    // What another left goes with a start in dry run.
    await box.start({ dryRun: true });
    expect(box.pinned()).toMatchObject({ state: "missing", links: [] });
    expect(box.veth.attachedProgram()).toContain("xdp_inline");
  }, 60_000);
});

interface Port {
  readonly queues: readonly { readonly received_packets: number }[];
}
