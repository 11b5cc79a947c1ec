import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { rawRequest } from "../../../test/fixtures/http/raw-http.ts";
import { RouteServer } from "../../../test/fixtures/http/route-server.ts";
import { refuse } from "../refusal.ts";
import type { Call, ReadRoute } from "../route.ts";
import { textAnswer } from "./answer.ts";

/** Returns the node that the pipeline has identified. */
const sayNode = ({ node }: Call) => textAnswer(200, node ?? "none");

const poll: ReadRoute = {
  name: "zones",
  method: "GET",
  path: "/zones",
  access: "agent_or_unscoped_operator",
  node: "query",
  handle: sayNode,
};

/** Accepts only the node fra1. */
const report: ReadRoute = {
  ...poll,
  name: "edge_report",
  path: "/nodes/:name/report",
  node: "path",
  checkPath: ({ params }) => (params["name"] === "fra1" ? null : { kind: "unknown_path" }),
};

const free: ReadRoute = { name: "free", method: "GET", path: "/free", access: "agent", handle: sayNode };

let server: RouteServer;
/** The last call of `/parked`, whose answer the test decides. */
let parked: Call | null;

beforeEach(() => {
  const park: ReadRoute = {
    ...poll,
    name: "parked",
    path: "/parked",
    handle: (call) => {
      parked = call;
      return textAnswer(200, "parked");
    },
  };
  server = new RouteServer([poll, report, free, park]);
  server.admit(
    { name: "bound", role: "agent", node: "fra1" },
    { name: "twin", role: "agent", node: "fra1" },
    { name: "unbound", role: "agent" },
    { name: "admin", role: "operator" },
    { name: "tenant", role: "operator", tenant: "acme" },
    { name: "viewer", role: "viewer" },
  );
});
afterEach(() => server.stop());

function get(path: string, as: string): Promise<Response> {
  return server.ask(path, { as, method: "GET" });
}

async function whole(answer: Response): Promise<object> {
  return {
    status: answer.status,
    headers: [...answer.headers].filter(([name]) => name !== "date"),
    body: await answer.text(),
  };
}

test("pages of other sites may not use an open API #foreign-host", async () => {
  server.tokens = [];
  const ask = (headers: Record<string, string>) =>
    fetch(`http://127.0.0.1:${server.port}/zones?node=fra1`, { headers });
  expect((await ask({})).status).toBe(200);
  for (const headers of [{ host: "rebound.example" }, { origin: "https://rebound.example" }]) {
    expect((await ask(headers)).status).toBe(403);
  }
  expect(server.logged).toEqual([{ host: "rebound.example", origin: null, suppressed: 0 }]);
  server.admit({ name: "bound", role: "agent", node: "fra1" });
  expect((await ask({ host: "behind-a-proxy.example", authorization: "Bearer bound" })).status).toBe(200);
});

describe("node binding", () => {
  test.each(["/zones?node=fra1", "/zones?x=1&node=fra1", "/zones?node=ams1&node=fra1", "/zones?node=%66ra1"])(
    "may GET %s #node-binding-may",
    async (path) => {
      const answer = await get(path, "bound");
      expect([answer.status, await answer.text()]).toEqual([200, "fra1"]);
    },
  );

  test("and so may another token of the same node, and the node's own report", async () => {
    expect((await get("/zones?node=fra1", "twin")).status).toBe(200);
    expect((await get("/nodes/fra1/report", "bound")).status).toBe(200);
  });

  test("gets one uniform 403 for every other name, known or not, and for none #node-binding-gets-one-uniform-403 #edge-node-binding #scrub-node-binding", async () => {
    const paths = [
      "/zones",
      "/zones?node=",
      "/zones?node=ams1",
      "/zones?node=FRA1",
      "/zones?node=fra1%20",
      "/zones?node=fra1&node=ams1",
    ];
    const more = [
      "/zones?Node=fra1",
      "/zones?node=%ff",
      "/zones?node=fra1&x=%ff",
      "/nodes/ams1/report",
      "/nodes/unknown/report",
      "/nodes/%66ra1%ff/report",
    ];
    const answers = await Promise.all([...paths, ...more].map(async (path) => whole(await get(path, "bound"))));
    expect(answers[0]).toMatchObject({ status: 403, body: '{"error":"this token is bound to another node"}' });
    for (const [i, answer] of answers.entries()) expect({ i, answer }).toEqual({ i, answer: answers[0] as object });
  });

  test("may call what names no node #node-binding-may", async () => {
    expect((await get("/free", "bound")).status).toBe(200);
  });

  test("is counted by route and logged once a minute a token, without an audit row #node-binding-is-counted", async () => {
    for (let i = 0; i < 3; i++) await get("/zones?node=ams1", "bound");
    await get("/nodes/ams1/report", "bound");
    await get("/zones", "twin");
    const text = await server.metrics.text();
    expect(text).toContain('svc_api_node_binding_refused_total{route="zones"} 4');
    expect(text).toContain('svc_api_node_binding_refused_total{route="edge_report"} 1');
    const line = { token_name: "bound", bound: "fra1", named: "ams1", route: "zones", suppressed: 0 };
    expect(server.logged).toEqual([line, { ...line, token_name: "twin", named: null }]);
    server.clock.advance(60_000);
    await get("/zones?node=ams1", "bound");
    expect(server.logged[2]).toEqual({ ...line, suppressed: 3 });
    expect(server.audited).toEqual([]);
  });
});

describe("others", () => {
  test.each(["unbound", "admin"])("%s may name any node, or none", async (as) => {
    for (const [path, node] of [
      ["/zones", "none"],
      ["/zones?node=", "none"],
      ["/zones?node=ams1", "ams1"],
    ] as const) {
      expect(await (await get(path, as)).text()).toBe(node);
    }
    expect((await get("/nodes/unknown/report", as)).status).toBe(404);
  });

  test("an operator with a tenant and a viewer are not let in", async () => {
    expect(await (await get("/zones", "tenant")).json()).toEqual({ error: "restricted to unscoped tokens" });
    expect(await (await get("/zones", "viewer")).json()).toEqual({
      error: "this token's role may not perform this action",
    });
  });

  test("a URL that cannot be read is 400, in the path and in the query", async () => {
    for (const path of ["/nodes/%ff/report", "/nodes/%zz/report", "/zones?x=%c3", "/zones?x=%"]) {
      expect([path, (await get(path, "unbound")).status]).toEqual([path, 400]);
    }
  });

  test("a name that is dots is no name: the URL has them resolved away, and what was matched is not what is requested", async () => {
    server.admit();
    for (const name of ["..", ".", "%2e%2e"]) {
      expect([name, (await rawRequest(server.port, "GET", `/nodes/${name}/report`)).status]).toEqual([name, 400]);
    }
  });

  test("on an open API everybody is an unbound operator", async () => {
    server.admit();
    expect(await (await get("/zones?node=ams1", "")).text()).toBe("ams1");
  });
});

describe("a call that waited is judged again", () => {
  beforeEach(async () => {
    parked = null;
    await get("/parked?node=fra1", "bound");
  });

  async function again(): Promise<object | null> {
    const verdict = parked?.recheck();
    return verdict === undefined || verdict.kind === "principal" ? null : whole(refuse(verdict));
  }

  async function fresh(): Promise<object> {
    const { status, headers, body } = (await whole(await get("/parked?node=fra1", "bound"))) as Record<string, unknown>;
    return { status, headers, body };
  }

  test("nothing changed: it may stay", async () => {
    expect(await again()).toBeNull();
  });

  test.each([
    ["its token is removed", () => server.admit({ name: "other", role: "agent" }), 401],
    ["its secret was rotated", () => server.secrets.set("bound", "rotated"), 401],
    ["its binding moved", () => server.admit({ name: "bound", role: "agent", node: "ams1" }), 403],
    ["its role changed", () => server.admit({ name: "bound", role: "viewer" }), 403],
    ["it has a tenant now", () => server.admit({ name: "bound", role: "operator", tenant: "acme" }), 403],
  ])("%s", async (_, change, status) => {
    change();
    const second = (await again()) as { status: number; body: string };
    expect(second.status).toBe(status);
    expect(second.body).toBe(((await fresh()) as { body: string }).body);
  });
});
