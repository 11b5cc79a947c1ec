import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { Server } from "node:net";
import { join } from "node:path";
import { BgpLab, bgpConfig, blackhole, INSTANCE, toPath, until } from "../../../test/fixtures/bgp/bgp.ts";
import { OperatorGobgpd } from "../../../test/fixtures/bgp/operator-gobgpd.ts";
import { communitiesOf } from "../../../test/fixtures/networks.ts";
import { DEFAULT_TIMES } from "../gobgp-announcer.ts";
import { WITHOUT_INSTANCE } from "../instance.ts";
import { attributesOf, toOwnPath, toWithdrawal } from "../route-path.ts";

setDefaultTimeout(60_000);
const NO_GRPC = "SOCKET answers, but not as a gRPC server";

const lab = new BgpLab();
afterEach(() => lab.end());

test("a service killed at any moment finds its routes in the speaker", async () => {
  const operator = await OperatorGobgpd.start(lab);
  operator.addRoute("198.51.100.1/32");
  // What a service had announced when it was killed.
  await operator.send(toPath(blackhole("203.0.113.1/32"), INSTANCE), toPath(blackhole("203.0.113.2/32"), INSTANCE));

  const { announcer } = lab.announcer(bgpConfig({ speaker: "external", grpc: operator.socket }));
  announcer.want([blackhole("203.0.113.2/32"), blackhole("203.0.113.3/32")]);
  const settled = "198.51.100.1/32,203.0.113.2/32 of 1,203.0.113.3/32 of 1";
  await until("settled", async () => String(await operator.routes()) === settled);
});

test("takes over the routes of a build without instances once, without a gap, and leaves later ones alone", async () => {
  const operator = await OperatorGobgpd.start(lab);
  const bird = await lab.bird();
  const old = (text: string) => toPath(blackhole(text), WITHOUT_INSTANCE);
  await operator.send(old("203.0.113.1/32"), old("203.0.113.2/32"));
  await until("both in BIRD", async () => (await bird.routes()).length === 2);
  const config = bgpConfig({ speaker: "external", grpc: operator.socket, instance: 7 });
  const first = lab.announcer(config).announcer;
  first.want([blackhole("203.0.113.2/32")]);
  let hasGap = false;
  await until("taken over", async () => {
    hasGap ||= !(await bird.hasRoute("203.0.113.2/32"));
    return String(await operator.routes()) === "203.0.113.2/32 of 7";
  });
  expect(hasGap).toBe(false);
  await first.stop({ withdraw: false });

  const late = `203.0.113.3/32 of ${WITHOUT_INSTANCE}`;
  await operator.send(old("203.0.113.3/32"));
  // With a number of its own again, it takes over what it announced as 7.
  const second = lab.announcer({ ...config, instance: null }).announcer;
  second.want([blackhole("203.0.113.4/32")]);
  const routes = async () => (await operator.routes()).map((text) => text.replace(/ of \d{5,}$/, " of its own"));
  const settled = ["203.0.113.3/32 of its own", "203.0.113.4/32 of its own"];
  await until("settled", async () => String(await routes()) === String(settled));
  expect(await operator.routes()).toContain(late);
});

test("puts a route that the speaker lost back, and takes strangers with our mark out", async () => {
  const operator = await OperatorGobgpd.start(lab);
  const times = { pollMs: 50, checkMs: 100, retryMinMs: 20, retryMaxMs: 200, deadlineMs: 500, leaseMs: 30_000 };
  const { announcer } = lab.announcer(bgpConfig({ speaker: "external", grpc: operator.socket }), { times });
  announcer.want([blackhole("203.0.113.1/32")]);
  await until("ours is there", async () => String(await operator.routes()) === "203.0.113.1/32 of 1");

  await operator.send(toWithdrawal("203.0.113.1/32", INSTANCE));
  await operator.send(toPath(blackhole("203.0.113.9/32"), INSTANCE));
  await until("set right", async () => String(await operator.routes()) === "203.0.113.1/32 of 1");
});

test("a path comes back from the speaker with the attributes it was sent with", async () => {
  const operator = await OperatorGobgpd.start(lab);
  const communities = communitiesOf("65535:666", "4200000000:1:2", "1:2", "soo:192.0.2.1:1", "65535:666");
  const route = blackhole("203.0.113.1/32", { communities, localPref: 7 });
  await operator.send(toPath(route, INSTANCE));
  const [path] = await operator.paths();
  expect(path === undefined ? null : toOwnPath(path)).toEqual({
    instance: INSTANCE,
    key: "203.0.113.1/32",
    attributes: attributesOf(route),
    marks: [],
  });
});

describe("a server without GoBGP's API is named with the remedy", () => {
  const faultAt = async (server: Server): Promise<string> => {
    const socket = join(lab.stateDir, "other.sock");
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    lab.onEnd(async () => {
      server.close();
    });
    // The first fault is what the server answers, also on a busy machine.
    const times = { ...DEFAULT_TIMES, deadlineMs: 20_000 };
    const { announcer } = lab.announcer(bgpConfig({ speaker: "external", grpc: socket }), { times });
    await until("a fault", () => announcer.status().fault !== null);
    return announcer.status().fault?.replace(socket, "SOCKET") ?? "";
  };

  test("another gRPC server", async () => {
    const server = createHttp2Server((_request, response) => {
      response.writeHead(200, { "content-type": "application/grpc", "grpc-status": "12", "grpc-message": "unknown" });
      response.end();
    });
    expect(await faultAt(server)).toBe(
      "SOCKET is a gRPC server with neither api.GoBgpService (gobgpd 4.x) nor apipb.GobgpApi (gobgpd 3.x): run gobgpd there",
    );
  });

  test("a web server of HTTP/2", async () => {
    const server = createHttp2Server((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" });
      response.end("<p>hello");
    });
    expect(await faultAt(server)).toContain(NO_GRPC);
  });

  test("a web server of HTTP/1", async () => {
    expect(await faultAt(createHttpServer((_request, response) => response.end("hello")))).toContain(NO_GRPC);
  });
});

test("a missing speaker is reported and does not block the caller", async () => {
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
