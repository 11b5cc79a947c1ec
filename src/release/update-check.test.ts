import { afterEach, describe, expect, test } from "bun:test";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { observation, Receiver } from "../../test/fixtures/notify/notify.ts";
import { eventually } from "../../test/fixtures/service.ts";
import { UPDATE_INTERVAL_SECONDS_MAX } from "../config/sections/notify.ts";
import type { Cancel } from "../system/timers.ts";
import { UPDATE_ANSWER_BYTES_MAX, UpdateCheck } from "./update-check.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const HOUR_MS = 3_600_000;
/** Counts timers of an hour or more: one at the end of each check. */
class CountingTimers extends ManualTimers {
  hours = 0;

  override after(ms: number, fn: () => void): Cancel {
    if (ms >= HOUR_MS) this.hours++;
    return super.after(ms, fn);
  }
}

const RELEASE = { version: "1.3.0", url: "https://example.net/1.3.0", security: true };

function setup(
  answer: () => Response | Promise<Response>,
  { version = "1.2.3", start = true, intervalSeconds = 3600, random = 0.5 } = {},
) {
  const server = new Receiver();
  server.answers = [answer];
  const clock = new ManualClock();
  const timers = new CountingTimers(clock);
  const observed = observation(clock);
  const check = new UpdateCheck({
    config: { url: `${server.url}s3cret.json`, intervalSeconds },
    version,
    timers,
    log: observed.log,
    limiter: observed.limiter,
    random: () => random,
  });
  if (start) check.start();
  cleanups.push(
    () => check.stop(),
    () => server.stop(),
  );
  return { server, clock, timers, check, lines: observed.lines };
}

const json = (value: unknown) => () => Response.json(value);

/** Runs check number `checks` and waits for its end: the next one is due an hour later. */
async function checked({ clock, timers }: ReturnType<typeof setup>, checks = 1): Promise<void> {
  clock.advance(checks === 1 ? 30_000 : HOUR_MS);
  await eventually(() => timers.hours === checks, "the check does not end");
}

describe("the update check", () => {
  test("comes again after the longest interval and a tenth", async () => {
    const run = setup(json(RELEASE), { intervalSeconds: UPDATE_INTERVAL_SECONDS_MAX, random: 1 });
    for (const checks of [1, 2]) {
      run.clock.advance(checks === 1 ? 60_000 : UPDATE_INTERVAL_SECONDS_MAX * 1100);
      await eventually(() => run.server.received.length === checks, "the check does not come");
      await eventually(() => run.timers.hours === checks, "the check does not end");
    }
  });

  test("finds a newer release, and logs it once", async () => {
    const run = setup(json({ ...RELEASE, notes: "more" }));
    await checked(run);
    expect(run.check.available).toEqual({
      latestVersion: "1.3.0",
      isSecurity: true,
      latestUrl: "https://example.net/1.3.0",
    });
    await checked(run, 2);
    expect(run.lines.filter((line) => line.includes("there is a newer release"))).toHaveLength(1);
  });

  test.each([
    ["equal", "1.2.3"],
    ["older", "1.2.2"],
    ["a pre-release of what runs", "1.2.3-rc.9"],
    ["equal but for what was built", "v1.2.3+build.9"],
  ])("finds nothing in a release that is %s", async (_, version) => {
    const run = setup(json({ ...RELEASE, version }));
    await checked(run);
    expect(run.check.available).toBeNull();
    expect(run.lines).toEqual([]);
  });

  test("finds the release newer than the pre-release that runs", async () => {
    const run = setup(json({ ...RELEASE, version: "v2.0.0" }), { version: "2.0.0-rc.1" });
    await checked(run);
    expect(run.check.available?.latestVersion).toBe("2.0.0");
  });

  test("drops a release that was taken back", async () => {
    const run = setup(json(RELEASE));
    await checked(run);
    run.server.answers = [json({ ...RELEASE, version: "1.2.3" })];
    await checked(run, 2);
    expect(run.check.available).toBeNull();
  });

  test("sends the receiver nothing about this machine", async () => {
    const run = setup(json(RELEASE));
    await checked(run);
    const { headers, path } = run.server.received[0] ?? {};
    expect(path).toBe("/s3cret.json");
    const names = [...(headers?.keys() ?? [])].toSorted();
    expect(names).toEqual(["accept", "accept-encoding", "host", "user-agent"]);
    expect(headers?.get("user-agent")).toBe("Floodwall");
  });

  const endless = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) });
  test.each([
    ["no JSON", () => new Response("<html>"), "the answer is not JSON"],
    ["no object", json(null), "the answer is not a JSON object"],
    ["a list", json([RELEASE]), "the answer lacks version, url or security"],
    ["no version", json({ ...RELEASE, version: 3 }), "the answer lacks version, url or security"],
    ["no real version", json({ ...RELEASE, version: "latest" }), "a version is not of the form 1.2.3"],
    ["no url", json({ ...RELEASE, url: "/x" }), "its url is not an http or https URL"],
    ["a url that is a script", json({ ...RELEASE, url: "javascript:alert(1)" }), "its url is not an http or https URL"],
    [
      "a security that is no boolean",
      json({ ...RELEASE, security: "no" }),
      "the answer lacks version, url or security",
    ],
    ["what is not UTF-8", () => new Response(new Uint8Array([0x22, 0xff, 0x22])), "failed"],
    ["a fault", () => new Response("no", { status: 500 }), "answered 500"],
    ["another place", () => Response.redirect("http://127.0.0.1:1/s3cret", 302), "answered 302"],
    ["more than is read", () => new Response("x".repeat(UPDATE_ANSWER_BYTES_MAX + 1)), "the answer is too long"],
    ["no end", () => new Response(endless), "the answer is too long"],
  ])("fails on %s, and keeps what it knew", async (_, answer, cause) => {
    const run = setup(json(RELEASE));
    await checked(run);
    run.server.answers = [answer];
    await checked(run, 2);
    expect(run.check.available?.latestVersion).toBe("1.3.0");
    const failure = run.lines.find((line) => line.includes("the update check failed"));
    expect(JSON.parse(failure ?? "{}")).toMatchObject({ level: "warn", suppressed: 0 });
    expect(failure).toContain(cause === "failed" ? '"cause":"' : `"cause":"${cause}"`);
    expect(run.lines.join("")).not.toContain("s3cret");
  });

  test("takes an answer as long as the bound", async () => {
    const release = JSON.stringify(RELEASE);
    const run = setup(() => new Response(release.padEnd(UPDATE_ANSWER_BYTES_MAX)));
    await checked(run);
    expect(run.check.available?.latestVersion).toBe("1.3.0");
  });

  test("times out on a server that does not answer, and retries an interval later", async () => {
    const run = setup(() => new Promise<never>(() => {}));
    run.clock.advance(30_000);
    await eventually(() => run.server.received.length === 1, "no request was sent");
    run.clock.advance(10_000);
    await eventually(() => run.lines.some((line) => line.includes("no answer in time")), "it waits on");
    await eventually(() => run.timers.hours === 1, "no next check");
    run.server.answers = [json(RELEASE)];
    await checked(run, 2);
    expect(run.check.available?.latestVersion).toBe("1.3.0");
  });

  test("gives up on a server that is not there", async () => {
    const run = setup(json(RELEASE), { start: false });
    run.check.reconfigure({ url: "http://127.0.0.1:1/s3cret", intervalSeconds: 3600 });
    run.check.start();
    run.clock.advance(30_000);
    await eventually(() => run.lines.length === 1, "no failure was logged");
    expect(run.lines.join("")).toMatch(/"cause":"[A-Za-z]+"/);
    expect(run.lines.join("")).not.toContain("s3cret");
  });

  test("sends no request while it is off", () => {
    const run = setup(json(RELEASE), { start: false });
    run.check.reconfigure({ url: null, intervalSeconds: 3600 });
    run.check.start();
    expect(run.clock.pending).toBe(0);
  });

  test("drops the answer of another URL, and does not request it again", async () => {
    const run = setup(json(RELEASE));
    await checked(run);
    run.check.reconfigure({ url: null, intervalSeconds: 3600 });
    expect(run.check.available).toBeNull();
    expect(run.clock.pending).toBe(0);
  });

  test("takes no answer that comes after its end", async () => {
    const gate = Promise.withResolvers<Response>();
    const run = setup(() => gate.promise);
    run.clock.advance(30_000);
    await eventually(() => run.server.received.length === 1, "no request was sent");
    run.check.stop();
    gate.resolve(Response.json(RELEASE));
    await eventually(() => run.clock.pending === 0, "a timer is left");
    expect(run.check.available).toBeNull();
    expect(run.lines).toEqual([]);
  });
});
