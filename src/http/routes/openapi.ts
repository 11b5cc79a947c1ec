import { Type } from "@sinclair/typebox";
import { openApi } from "../openapi.ts";
import type { ReadRoute, Route } from "../route.ts";
import { jsonBlobAnswer } from "../server/answer.ts";

/** Generated once: it does not change while the service runs. */
export function openapiRoute(others: readonly Route[]): ReadRoute {
  const route: ReadRoute = {
    name: "openapi",
    method: "GET",
    path: "/api/v1/openapi.json",
    access: "viewer",
    about: {
      summary: "This description",
      answers: { 200: { text: "OpenAPI 3.1.", schema: Type.Object({ openapi: Type.String() }) } },
    },
    handle: () => jsonBlobAnswer(written),
  };
  const written = new Blob([JSON.stringify(openApi([...others, route]))]);
  return route;
}
