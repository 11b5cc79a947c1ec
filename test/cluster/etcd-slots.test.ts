/** What brains agree on through a real etcd besides orders: slots of certificates, masters of clearance keys; and `check`. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { EtcdMasters } from "../../src/cluster/etcd/etcd-masters.ts";
import { EtcdSlots } from "../../src/cluster/etcd/etcd-slots.ts";
import type { EtcdConfig } from "../../src/cluster/etcd-config.ts";
import { AcmeIssuance } from "../../src/edge/zones/acme-issuance.ts";
import { AgreedIssuance } from "../../src/edge/zones/agreed-issuance.ts";
import { CLEARANCE_MASTERS_KEPT, SLOT_LEASE_MS } from "../../src/limits.ts";
import { itemLine } from "../../src/machine/item.ts";
import { etcdItems } from "../../src/service/etcd-items.ts";
import { systemClock } from "../../src/system/clock.ts";
import { systemTimers } from "../../src/system/timers.ts";
import { acmeCalls } from "../fixtures/edge/edge.ts";
import { callsOf, etcdConfig, LOGIN, PREFIX } from "../fixtures/etcd/etcd-clients.ts";
import { EtcdCluster, etcdUnavailable } from "../fixtures/etcd/etcd-cluster.ts";
import { addUsers } from "../fixtures/etcd/etcd-users.ts";
import { eventually, freePort } from "../fixtures/service.ts";

const reason = etcdUnavailable();
const ZONE = "www.example.net";
const login = { user: LOGIN.user, password: { kind: "environment", variable: "ETCD_PASSWORD" } } as const;

describe.skipIf(reason !== null)(`what brains agree on${reason === null ? "" : `: ${reason}`}`, () => {
  let etcd: EtcdCluster;

  beforeAll(async () => {
    etcd = await EtcdCluster.start({ members: 1 });
  });
  afterEach(async () => {
    const calls = callsOf(etcd);
    const { records } = await calls.list(PREFIX, 1000);
    for (const { key } of records) await calls.txn({ compare: [], success: [{ kind: "remove", key }], failure: [] });
  });
  afterAll(() => etcd.close());

  /** The slots of one brain. */
  function brain(): AgreedIssuance {
    const observer = acmeCalls([]);
    const acme = new AcmeIssuance({ serves: (_, zone) => zone === ZONE, onChange: () => {}, observer });
    return new AgreedIssuance(acme, new EtcdSlots(callsOf(etcd), PREFIX), () => systemClock.wallMs());
  }

  test("a zone has one slot, at whichever brain nodes request it, until it is returned #acme-slots-of-a-cluster", async () => {
    const [one, two] = [brain(), brain()];
    expect((await one.requestSlot("e1", ZONE)).kind).toBe("granted");
    // The slot at the brain is over first.
    const { record } = await callsOf(etcd).read(`${PREFIX}acme/slots/${ZONE}`);
    const { lease } = JSON.parse(record?.value ?? "") as { lease: string };
    expect(await callsOf(etcd).keepLease(lease)).toBeGreaterThan(SLOT_LEASE_MS / 1000);
    expect(await two.requestSlot("e2", ZONE)).toEqual({ kind: "held", holder: "e1", retryAfterSeconds: 30 });
    expect((await two.requestSlot("e1", ZONE)).kind).toBe("granted");
    expect(await one.requestSlot("e1", "other.example.net")).toEqual({ kind: "unknown_zone" });
    // Of another node nothing is returned.
    await two.releaseSlot("e2", null);
    expect((await one.requestSlot("e2", ZONE)).kind).toBe("held");
    await two.releaseSlot("e1", null);
    expect((await one.requestSlot("e2", ZONE)).kind).toBe("granted");
  });

  test("of 12 nodes that request the slot at 6 brains at once, one gets it, in each round", async () => {
    const brains = Array.from({ length: 6 }, brain);
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, i) => (brains[i % 6] as AgreedIssuance).requestSlot(`e${i}`, ZONE)),
      );
      const granted = answers.flatMap(({ kind }, i) => (kind === "granted" ? [i] : []));
      expect(granted).toHaveLength(1);
      await brains[0]?.releaseSlot(`e${granted[0]}`, ZONE);
    }
  });

  test("the holder may publish at another brain, others may not", async () => {
    const [one, two] = [brain(), brain()];
    await one.requestSlot("e1", ZONE);
    const order = { zone: ZONE, token: "t", keyAuthorization: "t.k" };
    expect(await two.publish("e2", order)).toEqual({ kind: "refused", refusal: "no_slot" });
    expect(await two.publish("e1", order)).toEqual({ kind: "published" });
  });

  test("while etcd is out of reach no slot is given #acme-slots-of-a-cluster", async () => {
    const observer = acmeCalls([]);
    const acme = new AcmeIssuance({ serves: () => true, onChange: () => {}, observer });
    const away = callsOf(etcd, { endpoints: [new URL(`http://127.0.0.1:${await freePort()}`)] });
    const issuance = new AgreedIssuance(acme, new EtcdSlots(away, PREFIX), () => 0);
    expect(await issuance.requestSlot("e1", ZONE)).toEqual({ kind: "unavailable" });
    const order = { zone: ZONE, token: "t", keyAuthorization: "t.k" };
    expect(await issuance.publish("e1", order)).toEqual({ kind: "refused", refusal: "no_slot" });
    await issuance.releaseSlot("e1", null);
    expect(acme.grants).toEqual([]);
  });

  test("brains that made masters of the same days use one of each, and a day that is over is removed", async () => {
    const today = 20_000;
    const mastersOf = (fill: number, from = today - 1) =>
      Array.from({ length: CLEARANCE_MASTERS_KEPT }, (_, i) => ({
        day: from + i,
        secret: new Uint8Array(32).fill(fill),
      }));
    const brains = Array.from({ length: 3 }, () => new EtcdMasters(callsOf(etcd), PREFIX));
    const agreed = await Promise.all(brains.map((each, i) => each.agree(mastersOf(i + 1), today)));
    const plain = agreed.map((masters) => masters.map(({ day, secret }) => `${day} ${secret[0]}`));
    expect(plain[1]).toEqual(plain[0] as string[]);
    expect(plain[2]).toEqual(plain[0] as string[]);
    // Days later one of them has made others meanwhile.
    const later = today + CLEARANCE_MASTERS_KEPT;
    await brains[0]?.agree(mastersOf(9, later), later + 1);
    const days = (await callsOf(etcd).list(`${PREFIX}clearance/`, 100)).records.map(({ key }) =>
      Number(key.split("/").at(-1)),
    );
    expect(Math.min(...days)).toBe(later + 1 - 8);
    // All data of etcd are lost: what the brains use is put back.
    for (const day of days) {
      await callsOf(etcd).txn({
        compare: [],
        success: [{ kind: "remove", key: `${PREFIX}clearance/${day}` }],
        failure: [],
      });
    }
    const again = await brains[1]?.agree(agreed[1] ?? [], today);
    expect(again?.map(({ day, secret }) => `${day} ${secret[0]}`)).toEqual(plain[0] as string[]);
  });
});

describe.skipIf(reason !== null)(`check --here of an etcd${reason === null ? "" : `: ${reason}`}`, () => {
  async function linesOf(config: EtcdConfig, password = LOGIN.password as string): Promise<string[]> {
    const environment = { read: () => password };
    const items = await etcdItems(config, { environment, clock: systemClock, timers: systemTimers });
    return items.map((item) => itemLine(item).replaceAll(/127\.0\.0\.1:\d+/g, "HOST"));
  }

  test("says of each member whether it can be used, and what to do; and writes nothing", async () => {
    const etcd = await EtcdCluster.start({ members: 3, isTls: true });
    try {
      await addUsers(etcd);
      const config = etcdConfig(etcd, { login });
      const works = "ok       etcd HOST: version *, and the keys of the cluster can be read and written";
      const found = async () => (await linesOf(config)).map((line) => line.replace(/version \d\S+,/, "version *,"));
      expect(await found()).toEqual([works, works, works]);
      await etcd.members[2]?.kill();
      await eventually(async () => (await linesOf(config))[0]?.startsWith("ok") === true, "no new leader", 20_000, 200);
      expect((await linesOf(config))[2]).toMatch(
        /^warning {2}etcd HOST: .+: check that the member runs, that cluster\.etcd\.endpoints names its client address/,
      );
      const [wrong] = await linesOf(config, "wrong");
      expect(wrong).toBe(
        "error    etcd HOST: etcdserver: authentication failed, invalid user ID or password: check cluster.etcd.user and its password, and that etcd has this user with a role",
      );
      const [denied] = await linesOf({ ...config, prefix: "/other/" });
      expect(denied).toBe(
        "error    etcd HOST: etcdserver: permission denied: grant the user's role the permission readwrite on all keys under cluster.etcd.prefix",
      );
      expect((await callsOf(etcd, { login }).list(PREFIX, 10)).records).toEqual([]);
      await etcd.members[1]?.kill();
      const alone = await linesOf(config);
      expect(alone.map((line) => line.slice(0, 5))).toEqual(["error", "error", "error"]);
    } finally {
      await etcd.close();
    }
  }, 60_000);

  test("warns of a single member, and of one without users", async () => {
    const etcd = await EtcdCluster.start({ members: 1 });
    try {
      expect((await linesOf(etcdConfig(etcd))).slice(1)).toEqual([
        "warning  etcd: 1 member: when one is away, no order is shared by it: run three members on three machines, and list all of them",
        "warning  etcd: no user is set: all who reach it may change every key: switch its authentication on, and set cluster.etcd.user to one with a role for /floodwall/ alone",
      ]);
    } finally {
      await etcd.close();
    }
  });
});
