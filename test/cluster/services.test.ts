/** Two whole services with an etcd: orders by way of it alone, and what an answer says of them. */
import { afterEach, describe, expect, test } from "bun:test";
import { Authority } from "../fixtures/cluster/authority.ts";
import { BRAINS, ServicePair } from "../fixtures/cluster/service-pair.ts";
import { LOGIN } from "../fixtures/etcd/etcd-clients.ts";
import { EtcdCluster, etcdUnavailable } from "../fixtures/etcd/etcd-cluster.ts";
import { addUsers } from "../fixtures/etcd/etcd-users.ts";
import { eventually } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";

const reason = etcdUnavailable();
const undo = new Undo();
afterEach(() => undo.all());

describe.skipIf(reason !== null)(`services with an etcd${reason === null ? "" : `: ${reason}`}`, () => {
  test("orders go by etcd while brains do not reach each other, and survive its loss", async () => {
    const etcd = await EtcdCluster.start({ members: 1, isTls: true });
    undo.add(() => etcd.close());
    await addUsers(etcd);
    const authority = new Authority();
    undo.add(() => authority.remove());
    for (const name of BRAINS) authority.issue(name);
    const files = `authority: ${etcd.tls?.authority}, certificate: ${etcd.tls?.client.cert}, key: ${etcd.tls?.client.key}`;
    const login = `user: ${LOGIN.user}, password_env: ETCD_PASSWORD`;
    const section = `etcd: { endpoints: ["${etcd.endpoints[0]?.origin}"], ${files}, ${login} }`;
    const pair = await ServicePair.start(authority, { cluster: section, env: { ETCD_PASSWORD: LOGIN.password } });
    undo.add(() => pair.stop());
    expect((await pair.clusterAt(pair.first)).lacks).toEqual([]);
    await pair.apart();
    const ban = (prefix: string) => pair.first.post("/api/v1/ban", { prefix, ttl_seconds: 600, reason: "test" });
    expect((await ban("192.0.2.7/32")).body["shared"]).toBeUndefined();
    const arrives = async (prefix: string) => (await pair.bansAt(pair.second)).some((one) => one.prefix === prefix);
    await eventually(
      () => arrives("192.0.2.7/32"),
      () => pair.second.output,
    );
    await etcd.loseAll();
    expect((await ban("192.0.2.8/32")).body["shared"]).toBe(false);
    await etcd.startAll();
    await addUsers(etcd);
    await eventually(
      () => arrives("192.0.2.8/32"),
      () => pair.second.output,
      20_000,
    );
    // One of them holds the lease once the new data are older than any.
    const leading = async () => {
      const views = await Promise.all([pair.first, pair.second].map((one) => pair.clusterAt(one)));
      return views.filter(({ leading }) => leading).length;
    };
    await eventually(async () => (await leading()) === 1, "no brain has the lease", 40_000, 100);
    const metrics = await (await fetch(`http://127.0.0.1:${pair.first.port}/metrics`)).text();
    expect(metrics).toContain("svc_cluster_etcd_following 1");
    expect(metrics).toContain('svc_cluster_etcd_orders_total{end="written"}');
  }, 90_000);
});
