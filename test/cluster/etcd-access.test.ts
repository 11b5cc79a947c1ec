/** How a brain signs in at a real etcd: certificates of both sides, a user with one prefix, and tokens that end. */
import { afterEach, describe, expect, test } from "bun:test";
import { EtcdFault } from "../../src/cluster/etcd/etcd-fault.ts";
import { type ClientOptions, callsOf, LOGIN, PREFIX, TestBrain } from "../fixtures/etcd/etcd-clients.ts";
import { EtcdCluster, etcdUnavailable } from "../fixtures/etcd/etcd-cluster.ts";
import { addUsers, ROOT_PASSWORD } from "../fixtures/etcd/etcd-users.ts";
import { eventually } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";

const reason = etcdUnavailable();
const undo = new Undo();
afterEach(() => undo.all());

const login = { user: LOGIN.user, password: { kind: "environment", variable: "ETCD_PASSWORD" } } as const;

async function secured(members: 1 | 3 = 1, flags: readonly string[] = []): Promise<EtcdCluster> {
  const etcd = await EtcdCluster.start({ members, isTls: true, flags });
  undo.add(() => etcd.close());
  await addUsers(etcd);
  return etcd;
}

async function faultOf(call: Promise<unknown>): Promise<string> {
  const cause: unknown = await call.then(
    () => null,
    (fault: unknown) => fault,
  );
  return cause instanceof EtcdFault ? cause.kind : String(cause);
}

function write(etcd: EtcdCluster, key: string, options: ClientOptions) {
  return callsOf(etcd, options).txn({ compare: [], success: [{ kind: "put", key, value: "1" }], failure: [] });
}

describe.skipIf(reason !== null)(`access to etcd${reason === null ? "" : `: ${reason}`}`, () => {
  test("a user reads, writes and watches under its prefix, and nowhere else", async () => {
    const etcd = await secured();
    const calls = callsOf(etcd, { login });
    expect((await write(etcd, `${PREFIX}a`, { login })).isDone).toBe(true);
    expect(await faultOf(write(etcd, "/floodwall0", { login }))).toBe("denied");
    expect(await faultOf(write(etcd, "/floodwal", { login }))).toBe("denied");
    expect(await faultOf(calls.read("/other"))).toBe("denied");
    expect(await faultOf(calls.list("/", 10))).toBe("denied");
    const watch = (prefix: string) => calls.watch({ prefix, fromRevision: 1 }, () => {}, new AbortController());
    expect(await faultOf(watch("/"))).toBe("denied");
    expect((await calls.list(PREFIX, 10)).records.map(({ key }) => key)).toEqual([`${PREFIX}a`]);
  });

  test("without a user, with a wrong password and with an unknown user the fault is one of signing in", async () => {
    const etcd = await secured();
    const faults = [
      faultOf(callsOf(etcd).read(PREFIX)),
      faultOf(callsOf(etcd, { login, password: () => "wrong" }).read(PREFIX)),
      faultOf(callsOf(etcd, { login: { ...login, user: "stranger" } }).read(PREFIX)),
      faultOf(callsOf(etcd, { login, password: () => "" }).read(PREFIX)),
    ];
    expect(await Promise.all(faults)).toEqual(["sign_in", "sign_in", "sign_in", "sign_in"]);
  });

  test("no fault and no message has the password", async () => {
    const etcd = await secured();
    const fault: unknown = await callsOf(etcd, { login, password: () => "hunter2" })
      .read(PREFIX)
      .catch((cause: unknown) => cause);
    expect(Bun.inspect(fault)).toContain("authentication failed");
    expect(Bun.inspect(fault)).not.toContain("hunter2");
  });

  test("a token that ended is renewed, also after each member was restarted, and a new password is taken", async () => {
    const etcd = await secured(3, ["--auth-token-ttl", "1"]);
    let password: string = LOGIN.password;
    const calls = callsOf(etcd, { login, password: () => password });
    expect((await calls.read(PREFIX)).record).toBeNull();
    await Bun.sleep(2500);
    expect((await calls.read(PREFIX)).record).toBeNull();
    for (const member of etcd.members) {
      await member.kill();
      member.start();
      await eventually(() => etcd.answers(), "the member does not come back", 20_000, 50);
      await eventually(
        () =>
          calls.read(PREFIX).then(
            () => true,
            () => false,
          ),
        "calls fail",
      );
    }
    const root = callsOf(etcd, { login: { ...login, user: "root" }, password: () => ROOT_PASSWORD });
    await root.client.call("/v3/auth/user/changepw", { name: LOGIN.user, password: "another" });
    password = "another";
    expect((await calls.read(PREFIX)).record).toBeNull();
  }, 60_000);

  test("authentication that is switched on while a brain is connected takes no order from it", async () => {
    const etcd = await EtcdCluster.start({ members: 1 });
    undo.add(() => etcd.close());
    const brain = new TestBrain(etcd, "brain1", { login });
    undo.add(() => brain.close());
    expect(await brain.order("before", 1)).toBe(true);
    await addUsers(etcd);
    expect(await brain.order("after", 2)).toBe(true);
    const other = new TestBrain(etcd, "brain2", { login });
    undo.add(() => other.close());
    await eventually(() => other.stampOf("after") === "2 brain1", "the order does not arrive", 20_000);
  }, 30_000);

  test("a member with a certificate of another authority, and a client without a certificate, are refused", async () => {
    const [etcd, other] = await Promise.all([secured(), secured()]);
    const strangers = callsOf(etcd, { login, endpoints: other.endpoints });
    expect(await faultOf(strangers.read(PREFIX))).toBe("unreachable");
    const without = callsOf(Object.assign(Object.create(etcd) as EtcdCluster, { tls: null }), { login });
    expect(await faultOf(without.read(PREFIX))).toBe("unreachable");
  });
});
