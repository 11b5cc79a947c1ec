import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { admitCallers, as, OTHER_HOST } from "../../../test/fixtures/http/callers.ts";
import { TestServer } from "../../../test/fixtures/http/http.ts";
import { attack, ban, classification, NOON } from "../../../test/fixtures/views.ts";
import type { Attack } from "../../detection/attack/attack.ts";
import { NO_DROPS } from "../../detection/attack/attack-volume.ts";
import { sampleOf } from "../../detection/attack/sample.ts";

let server: TestServer;
beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
});
afterEach(() => server.http.stop());

type Caller = Parameters<typeof as>[0];
const get = (path: string, caller: Caller = "viewer") => fetch(`${server.base}/api/v1${path}`, { headers: as(caller) });

const VOLUME = {
  ...{ beganAt: NOON, durationMs: 90_000, packets: 9e6, bits: 9e9, peakPps: 200_000, peakBps: 2e9, peakOverMs: 100 },
  ...{ dropped: null, peakError: 0.09 },
};

function reported(changes: Partial<Attack> = {}): Attack {
  const sample = {
    ...sampleOf([], { top: 1, flows: 0 }),
    ...{ totalPackets: 1000, topSources: [{ key: "198.51.100.7", packets: 250, bytes: 1 }] },
    origins: {
      bySource: {},
      topAsns: [{ key: "AS64500 <b>Evil & Co</b>", packets: 500, bytes: 1 }],
      topCountries: [{ key: "DE", packets: 100, bytes: 1 }],
    },
  };
  const timeline = [{ atMs: NOON, kind: "ban_placed" as const, text: "<script>alert(1)</script>" }];
  const common = { volume: VOLUME as never, sample: sample as never, classification: classification(), timeline };
  return attack({ ...common, endedAt: NOON + 90_000, ...changes });
}

/** Tags, each once. */
const tagsOf = (text: string) => new Set([...text.matchAll(/<\/?([a-z0-9]+)/gi)].map(([, tag]) => tag));

describe("the report of an attack", () => {
  beforeEach(() => {
    const other = reported({ id: "other", target: address(OTHER_HOST), group: "mail" });
    server.backend.attacksView = {
      active: [{ attack: reported(), ban: ban() }],
      recent: [{ attack: other, ban: null }],
    };
  });

  test("is a page without scripts or anything from elsewhere, in which what others wrote is text #get-api-v1-attacks-id-report #reports", async () => {
    const answer = await get("/attacks/a1/report");
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(answer.headers.get("content-security-policy")).toStartWith("default-src 'none'; style-src 'unsafe-inline'");
    const text = await answer.text();
    expect(tagsOf(text).has("script")).toBe(false);
    expect(text).not.toMatch(/<[^>]+ (on[a-z]+|src|href)=|url\(|@import/i);
    expect(text).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
    expect(text).toContain("AS64500 &lt;b&gt;Evil &amp; Co&lt;/b&gt;");
  });

  test("has numbers, steps and origins, and what was sampled with its error", async () => {
    const text = await (await get("/attacks/a1/report")).text();
    for (const part of [
      "Attack on 192.0.2.1",
      "2 Gbit/s ± 9 %, 200 k packets/s ± 9 %, over 100 ms",
      "9 M packets, 1.13 G bytes (± 9 % at most)",
      "2026-03-01 12:00:00 UTC",
      "ban placed",
      "blackhole, active",
      "50 % ± 3.1 %",
      "Shares of 1000 sampled packets",
    ])
      expect(text).toContain(part);
  });

  test("of few sampled packets, all of one source, does not say that the share is exact", async () => {
    const shares = { totalPackets: 3, topSources: [{ key: "198.51.100.7", packets: 3, bytes: 1 }], origins: undefined };
    const few = reported({ sample: { ...sampleOf([], { top: 1, flows: 0 }), ...shares } as never });
    server.backend.attacksView = { active: [{ attack: few, ban: null }], recent: [] };
    expect(await (await get("/attacks/a1/report")).text()).toContain("<td>100 % ± 56 %</td>");
  });

  test("of an attack of which only the drops of its ban are known says that what passed is a bound", async () => {
    const dropped = { packets: 4.5e6, bits: 4.5e9 };
    const by = { ...NO_DROPS, rules: dropped };
    const exact = { ...VOLUME, peakError: undefined };
    server.backend.attacksView = {
      active: [
        { attack: reported({ id: "prefix", volume: { ...exact, dropped } as never }), ban: ban() },
        { attack: reported({ id: "host", volume: { ...exact, dropped: { ...dropped, by } } as never }), ban: ban() },
      ],
      recent: [],
    };
    const half = "4.5 M packets, 50 % of the total";
    const text = await (await get("/attacks/prefix/report")).text();
    expect(text).toContain(`<dd>${half}, by the rules of its ban</dd>`);
    expect(text).toContain(`<dd>at most ${half}: what other causes dropped is not known of it</dd>`);
    expect((await (await get("/attacks/host/report")).text()).split(`<dd>${half}</dd>`)).toHaveLength(3);
  });

  test("of a tenant has no other tenant's", async () => {
    expect((await get("/attacks/a1/report", "tenantViewer")).status).toBe(200);
    expect((await get("/attacks/other/report", "tenantViewer")).status).toBe(404);
    expect((await get("/attacks/absent/report")).status).toBe(404);
  });
});

describe("the report of a time", () => {
  const MARCH = "from=2026-03-01T00:00:00Z&to=2026-03-31T23:59:59Z";

  test("has all attacks of it: numbers, days, kinds, what was done and the largest #get-api-v1-report", async () => {
    const more = reported({
      id: "a2",
      volume: { ...VOLUME, beganAt: NOON + 30_000, peakBps: 5e9, peakError: undefined } as never,
      classification: null,
    });
    server.backend.onEndedAttacks = () => [
      { attack: reported(), ban: ban() },
      { attack: more, ban: null },
    ];
    const text = await (await get(`/report?${MARCH}&tenant=acme`)).text();
    for (const part of [
      "Attacks on acme, 2026-03-01 to 2026-03-31",
      "<dt>Attacks</dt><dd>2</dd>",
      "<dt>Targets</dt><dd>1</dd>",
      // Two of 90 s, of which one began 30 s after the other.
      "<dt>Under attack</dt><dd>2 min</dd>",
      "18 M packets, 2.25 G bytes (± 9 % at most)",
      "<dt>Largest peak</dt><dd>5 Gbit/s</dd>",
      "<td>not known</td><td>1</td>",
      "<td>blackhole</td><td>1</td>",
      "Shares of 2000 packets, sampled in 2 attacks",
      "<svg",
    ])
      expect(text).toContain(part);
  });

  test("of two months counts an attack once that ended where they meet", async () => {
    const asked: (readonly [number, number])[] = [];
    server.backend.onEndedAttacks = ({ range }) => {
      asked.push([range?.fromMs ?? 0, range?.toMs ?? 0]);
      return [];
    };
    await get("/report?from=2026-02-01T00:00:00Z&to=2026-03-01T00:00:00Z");
    await get("/report?from=2026-03-01T00:00:00Z&to=2026-04-01T00:00:00Z");
    const [february, march] = asked;
    expect(march?.[0]).toBe((february?.[1] ?? 0) + 1);
  });

  test("asks for the caller's tenant alone, and leaves out what is another's by now", async () => {
    const asked: unknown[] = [];
    const other = reported({ id: "other", target: address(OTHER_HOST), group: "mail" });
    server.backend.onEndedAttacks = (question) => {
      asked.push(question.tenant);
      return [
        { attack: reported(), ban: null },
        { attack: other, ban: null },
      ];
    };
    const text = await (await get(`/report?${MARCH}`, "tenantViewer")).text();
    expect(asked).toEqual(["acme"]);
    expect(text).toContain("<dt>Attacks</dt><dd>1</dd>");
    expect(text).not.toContain(OTHER_HOST);
  });

  test("counts the time with at least one attack, within the time of the report", async () => {
    const lasting = (id: string, fromHour: number, toHour: number) => {
      const beganAt = NOON + fromHour * 3_600_000;
      const volume = { ...VOLUME, beganAt, durationMs: (toHour - fromHour) * 3_600_000 } as never;
      return {
        attack: reported({ id, startedAt: beganAt, endedAt: NOON + (toHour + 1) * 3_600_000, volume }),
        ban: null,
      };
    };
    server.backend.onEndedAttacks = () => [
      lasting("a", -100, 1),
      lasting("b", 0.5, 2),
      lasting("c", 5, 6),
      lasting("d", 5.5, 5.6),
    ];
    expect(await (await get(`/report?${MARCH}`)).text()).toContain("<dt>Under attack</dt><dd>15 h 0 min</dd>");
  });

  test("reads pages until the bound, and says when there are more", async () => {
    let pages = 0;
    let written = 0;
    const atPage: number[] = [];
    const tenancy = server.backend.tenancy();
    server.backend.tenancy = () => {
      written++;
      return tenancy;
    };
    server.backend.onEndedAttacks = ({ limit }) => {
      pages++;
      atPage.push(written);
      return Array.from({ length: limit }, (_, i) => ({ attack: reported({ id: `p${pages}-${i}` }), ban: null }));
    };
    expect(await (await get(`/report?${MARCH}`)).text()).toContain("There are more attacks than this report reads");
    expect(pages).toBe(11);
    // Each page is written when it has come, not all in one turn.
    expect(atPage).toEqual(Array.from({ length: 11 }, (_, page) => 100 * page));
  });

  test("without attacks, and without a history, says so; a wrong range is refused", async () => {
    expect(await (await get(`/report?${MARCH}`)).text()).toContain("No attack.");
    expect((await get("/report?from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z")).status).toBe(400);
    expect((await get("/report?month=3")).status).toBe(400);
  });
});
