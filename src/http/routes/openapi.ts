import { Type } from "@sinclair/typebox";
import { openApi } from "../openapi.ts";
import type { ReadRoute, Route } from "../route.ts";
import { jsonBlobAnswer } from "../server/answer.ts";

/** Generated at its first request, once for an open API and once for one with tokens: a reload may add the first token. */
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
    handle: () => jsonBlobAnswer(description(isOpen())),
  };
  const written = new Map<boolean, Blob>();
  const description = (open: boolean): Blob => {
    const blob = written.get(open) ?? new Blob([JSON.stringify(openApi([...others, route], open))]);
    written.set(open, blob);
    return blob;
  };
  return route;
}
