import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { TestServer } from "../../test/fixtures/http/http.ts";
import type { OpenApi, Operation } from "./openapi.ts";

const METHODS = ["get", "post", "put", "delete"];

let server: TestServer;
let document: OpenApi;

beforeEach(async () => {
  server = TestServer.started();
  document = (await (await server.get("/api/v1/openapi.json")).json()) as OpenApi;
});
afterEach(() => server.http.stop());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation, what: `${method} ${path}` })),
  );

/** All `$ref` in a value, however deep. */
function references(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (key === "$ref" ? [String(inner)] : references(inner)));
}

/** The schema as the answer's content type has it. */
function schemaOf(operation: Operation, status: number): unknown {
  return Object.values(operation.responses[status]?.content ?? {})[0]?.schema;
}

describe("GET /api/v1/openapi.json #get-api-v1-openapi-json", () => {
  test("has every route that is served, and no other", () => {
    const served = server.http.routes.map(
      ({ method, path }) => `${method.toLowerCase()} ${path.replace(/:(\w+)/g, "{$1}")}`,
    );
    expect(
      operations()
        .map(({ what }) => what)
        .toSorted(),
    ).toEqual(served.toSorted());
    expect(served.length).toBeGreaterThan(10);
  });

  test("is an OpenAPI 3.1 document, whose references lead somewhere", () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    expect(document.info).toMatchObject({ title: "Floodwall", version: "1" });
    for (const reference of references(document)) {
      const steps = reference.replace(/^#\//, "").split("/");
      const target = steps.reduce<unknown>((value, step) => (value as Record<string, unknown>)?.[step], document);
      expect(target, reference).toBeObject();
    }
  });

  test("names each operation once, and says of each what it does and answers", () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { what, method, operation } of operations()) {
      expect(METHODS, what).toContain(method);
      expect(operation.summary, `${what} needs \`about\` in its route`).not.toBe(operation.operationId);
      expect(
        Object.keys(operation.responses).some((status) => /^2|302/.test(status)),
        what,
      ).toBe(true);
      for (const [status, response] of Object.entries(operation.responses)) {
        expect(status, what).toMatch(/^[2-5]\d\d$/);
        expect(response.description, `${what} ${status}`).toBeString();
      }
    }
  });

  test("has the names in a path as its parameters, and no parameter twice", () => {
    for (const { what, path, operation } of operations()) {
      const inPath = operation.parameters.filter((parameter) => parameter.in === "path");
      expect(
        inPath.map(({ name }) => `{${name}}`),
        what,
      ).toEqual(path.match(/\{\w+\}/g) ?? []);
      expect(
        inPath.every(({ required }) => required),
        what,
      ).toBe(true);
      expect(new Set(operation.parameters.map(({ name }) => name)).size, what).toBe(operation.parameters.length);
    }
  });

  test("says who may call: on an open API anybody", () => {
    for (const { what, path, operation } of operations()) {
      const isOpen = !path.startsWith("/api/v1/") || /\/sign-in(\/|$)/.test(path);
      expect(operation.security, what).toEqual(isOpen ? [] : [{}, { bearer: [] }]);
      for (const status of isOpen ? [] : [400, 401, 403, 503]) {
        expect(schemaOf(operation, status), `${what} ${status}`).toEqual({ $ref: "#/components/schemas/Error" });
      }
      if (!isOpen) expect(operation.description, what).toStartWith("Role: ");
    }
    expect(document.paths["/api/v1/config/reload"]?.["post"]?.description).toContain("Refused to tokens with a tenant");
  });

  test("demands a token as soon as one is configured", async () => {
    server.tokens = [{ name: "noc", tokenEnv: "NOC", role: "viewer", tenant: null, node: null }];
    server.secrets.set("NOC", "secret");
    const headers = { authorization: "Bearer secret" };
    const answer = await fetch(`${server.base}/api/v1/openapi.json`, { headers });
    const { paths } = (await answer.json()) as OpenApi;
    expect(paths["/api/v1/status"]?.["get"]?.security).toEqual([{ bearer: [] }]);
  });

  test("has the schemas by which requests and answers are judged", () => {
    const ban = document.paths["/api/v1/ban"]?.["post"];
    expect(ban?.requestBody).toMatchObject({
      content: { "application/json": { schema: { additionalProperties: false } } },
    });
    expect(ban && schemaOf(ban, 409)).toMatchObject({ properties: { state: { anyOf: expect.any(Array) } } });
    for (const status of [413, 415]) expect(ban?.responses[status]).toBeObject();
    const hosts = document.paths["/api/v1/hosts"]?.["get"];
    expect(hosts?.parameters.map(({ name }) => name)).toEqual([
      "limit",
      "after",
      "q",
      "group",
      "tenant",
      "state",
      "sort",
    ]);
  });

  test("is the same bytes each time", async () => {
    const [first, second] = await Promise.all(
      [1, 2].map(async () => (await server.get("/api/v1/openapi.json")).text()),
    );
    expect(second).toBe(first as string);
    expect(JSON.parse(first as string)).toEqual(document);
  });
});
