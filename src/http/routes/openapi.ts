import { Type } from "@sinclair/typebox";
import { openApi } from "../openapi.ts";
import type { ReadRoute, Route } from "../route.ts";
import { jsonBlobAnswer } from "../server/answer.ts";

/** Generated once for an open API, and once for one with tokens: a reload may add the first token. */
export function openapiRoute(others: readonly Route[], isOpen: () => boolean): ReadRoute {
  const route: ReadRoute = {
    name: "openapi",
    method: "GET",
    path: "/api/v1/openapi.json",
    access: "viewer",
    about: {
      summary: "This description",
      answers: { 200: { text: "OpenAPI 3.1.", schema: Type.Object({ openapi: Type.String() }) } },
    },
    handle: () => jsonBlobAnswer(isOpen() ? open : guarded),
  };
  const written = (open: boolean) => new Blob([JSON.stringify(openApi([...others, route], open))]);
  const open = written(true);
  const guarded = written(false);
  return route;
}
