import { afterEach, beforeEach, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http2";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { BgpLab, bgpConfig, blackhole, loopback, neighbor, SPEAKER_LISTENS, until } from "../../test/fixtures/bgp.ts";
import { GobgpClient } from "./gobgp-client.ts";
import { gobgpdToml } from "./gobgpd-config.ts";
import { gobgpdExecutable } from "./gobgpd-process.ts";
import { toPeer } from "./neighbor.ts";
import { PathSchema } from "./proto/gobgp3/gobgp_pb.ts";
import { toGobgpFamily } from "./route-family.ts";
import { attributesOf, isOurs, keyOfPath, toOwnPath, toPath, toWithdrawal } from "./route-path.ts";

const DEADLINE_MS = 60_000;

let lab: BgpLab;
beforeEach(() => {
  lab = new BgpLab();
});
afterEach(() => lab.end());

/** A gobgpd that an operator runs: with a neighbor, and without our export guard's help. */
class Operator {
  readonly socket = join(lab.stateDir, "operator.sock");
  readonly client = new GobgpClient({ target: { kind: "unix", path: this.socket }, deadlineMs: 2_000 });
  #process: ChildProcess | null = null;

  async start(): Promise<void> {
    const config = join(lab.stateDir, "operator.toml");
    writeFileSync(config, gobgpdToml({ localAsn: 65001, routerId: loopback(1), listen: SPEAKER_LISTENS }));
    rmSync(this.socket, { force: true });
    const args = ["-f", config, "--api-hosts", `unix://${this.socket}`, "--pprof-disable"];
    this.#process = spawn(gobgpdExecutable() ?? "gobgpd", args, { stdio: "ignore" });
    await until("the operator's gobgpd", async () => (await this.client.getGlobal().catch(() => null)) !== null);
    await this.client.addPeer(toPeer(neighbor(), null));
  }

  async kill(): Promise<void> {
    const running = this.#process;
    if (running === null || running.exitCode !== null || running.signalCode !== null) return;
    const ended = new Promise((resolve) => running.once("exit", resolve));
    running.kill("SIGKILL");
    await ended;
  }

  /** As `gobgp global rib add` puts it in: without our identifier. */
  async addRoute(text: string, nextHop = "192.0.2.77"): Promise<void> {
    const path = toPath({ ...blackhole(text), nextHop: blackhole(`${nextHop}/32`).prefix.address });
    await this.client.sendPaths([create(PathSchema, { ...path, identifier: 0 })]);
  }

  /** Prefix and next hop of all paths, ours marked. */
  async routes(): Promise<readonly string[]> {
    const paths = await this.client.listGlobal(toGobgpFamily("ipv4-unicast"));
    return paths.map((path) => `${keyOfPath(path)}${isOurs(path) ? " ours" : ""}`).sort();
  }
}

async function startOperator(): Promise<Operator> {
  const operator = new Operator();
  lab.onEnd(async () => {
    operator.client.close();
    await operator.kill();
  });
  await operator.start();
  return operator;
}

test(
  "touches no route and no neighbor that is not ours",
  async () => {
    const operator = await startOperator();
    const bird = await lab.bird();
    await operator.addRoute("198.51.100.1/32");
    const { announcer } = lab.announcer(bgpConfig({ speaker: "external", grpc: operator.socket, neighbors: [] }));
    await until("connected", () => announcer.status().connected);
    announcer.want([blackhole("203.0.113.1/32")]);
    await until("both in BIRD", async () => (await bird.routes()).length === 2);
    expect(await operator.routes()).toEqual(["198.51.100.1/32", "203.0.113.1/32 ours"]);
    const state = () => announcer.status().neighbors.map((n) => `${n.address} ${n.state} ${n.advertised}`);
    await until("known to be out", () => String(state()) === `${loopback(2)} established 1`);

    await announcer.stop({ withdraw: true });
    await until("ours withdrawn", async () => (await bird.routes()).length === 1);
    expect(await operator.routes()).toEqual(["198.51.100.1/32"]);
  },
  DEADLINE_MS,
);

test(
  "leaves the operator's own route of a prefix that we announce too",
  async () => {
    const operator = await startOperator();
    await operator.addRoute("203.0.113.1/32");
    const { announcer } = lab.announcer(bgpConfig({ speaker: "external", grpc: operator.socket }));
    announcer.want([blackhole("203.0.113.1/32")]);
    await until("ours is there", async () => (await operator.routes()).length === 2);
    announcer.want([]);
    await until("ours is gone", async () => (await operator.routes()).length === 1);
    expect(await operator.routes()).toEqual(["203.0.113.1/32"]);
  },
  DEADLINE_MS,
);

test(
  "a service killed at any moment finds its routes in the speaker",
  async () => {
    const operator = await startOperator();
    await operator.addRoute("198.51.100.1/32");
    // What a service had announced when it was killed.
    await operator.client.sendPaths([toPath(blackhole("203.0.113.1/32")), toPath(blackhole("203.0.113.2/32"))]);

    const { announcer } = lab.announcer(bgpConfig({ speaker: "external", grpc: operator.socket }));
    announcer.want([blackhole("203.0.113.2/32"), blackhole("203.0.113.3/32")]);
    const settled = "198.51.100.1/32,203.0.113.2/32 ours,203.0.113.3/32 ours";
    await until("settled", async () => String(await operator.routes()) === settled);
  },
  DEADLINE_MS,
);

test(
  "puts the routes into a speaker that lost them, and takes strangers with our mark out",
  async () => {
    const operator = await startOperator();
    const times = { pollMs: 50, checkMs: 100, retryMinMs: 20, retryMaxMs: 200, deadlineMs: 500 };
    const { announcer } = lab.announcer(bgpConfig({ speaker: "external", grpc: operator.socket }), { times });
    announcer.want([blackhole("203.0.113.1/32")]);
    await until("ours is there", async () => String(await operator.routes()) === "203.0.113.1/32 ours");

    await operator.client.sendPaths([toWithdrawal("203.0.113.1/32")]);
    await operator.client.sendPaths([toPath(blackhole("203.0.113.9/32"))]);
    await until("set right", async () => String(await operator.routes()) === "203.0.113.1/32 ours");

    await operator.kill();
    await until("down", () => !announcer.status().connected);
    expect(announcer.routeState(blackhole("203.0.113.1/32")).kind).toBe("speaker_down");
    await operator.start();
    await until("ours is there again", async () => String(await operator.routes()) === "203.0.113.1/32 ours");
  },
  DEADLINE_MS,
);

test("a path comes back from the speaker with the attributes it was sent with", async () => {
  const operator = await startOperator();
  const route = blackhole("203.0.113.1/32", { communities: ["65535:666", "1:2", "65535:666"], localPref: 7 });
  await operator.client.sendPaths([toPath(route)]);
  const [path] = await operator.client.listGlobal(toGobgpFamily("ipv4-unicast"));
  expect(path === undefined ? null : toOwnPath(path)).toEqual({
    key: "203.0.113.1/32",
    attributes: attributesOf(route),
  });
});

test("names the remedy when the speaker has the API of another GoBGP", async () => {
  const socket = join(lab.stateDir, "other.sock");
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/grpc", "grpc-status": "12", "grpc-message": "unknown" });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  lab.onEnd(async () => {
    server.close();
  });
  const { announcer } = lab.announcer(bgpConfig({ speaker: "external", grpc: socket }));
  await until("a fault", () => announcer.status().fault !== null);
  expect(announcer.status().fault).toContain("run gobgpd 3.x");
});

test("a speaker that is not there is told and costs the caller nothing", async () => {
  const socket = join(lab.stateDir, "absent.sock");
  const { announcer, warnings, faults } = lab.announcer(bgpConfig({ speaker: "external", grpc: socket }));
  const route = blackhole("203.0.113.1/32");
  announcer.want([route]);
  expect(announcer.routeState(route)).toEqual({ kind: "pending" });
  await until("failed", () => announcer.routeState(route).kind === "speaker_down");
  expect(announcer.routeState(route)).toEqual({
    kind: "speaker_down",
    cause: `bgp speaker: ${socket} is not reachable`,
  });
  await until("tried again", () => faults.length >= 3);
  expect(warnings.length).toBe(1);
});
