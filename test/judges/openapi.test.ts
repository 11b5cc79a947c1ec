/** The description of the API as a linter of others reads it. */
import { expect, test } from "bun:test";
import { BaseResolver, createConfig, lintDocument, makeDocumentFromString } from "@redocly/openapi-core";
import { TestServer } from "../fixtures/http/http.ts";

async function problemsOf(text: string): Promise<string[]> {
  const problems = await lintDocument({
    document: makeDocumentFromString(text, "openapi.json"),
    externalRefResolver: new BaseResolver(),
    config: await createConfig({ extends: ["recommended"] }),
  });
  return problems
    .filter(({ severity }) => severity === "error")
    .map(({ ruleId, message, location }) => `${ruleId}: ${message} (${location[0]?.pointer})`);
}

test("the description of the API has no errors", async () => {
  const server = TestServer.started();
  const text = await (await server.get("/api/v1/openapi.json")).text();
  await server.http.stop();
  expect(await problemsOf(text)).toEqual([]);
});

test("the linter sees an error", async () => {
  const document = {
    openapi: "3.1.0",
    info: { title: "x", version: "1" },
    paths: { "/a": { get: { responses: {} } } },
  };
  expect(await problemsOf(JSON.stringify(document))).not.toEqual([]);
});
