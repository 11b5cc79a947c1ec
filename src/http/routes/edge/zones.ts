/** The zone documents of edge nodes, as a long poll (docs/interface.md#edge-zones-poll). */
import { Type } from "@sinclair/typebox";
import type { ZonePolls } from "../../holds/zone-polls.ts";
import type { ReadRoute } from "../../route.ts";
import { ZoneDocumentWire } from "../../wire/edge/zone.ts";

export function zonesRoute(polls: ZonePolls): ReadRoute {
  return {
    name: "zones",
    method: "GET",
    path: "/api/v1/edge/zones",
    access: "agent_or_unscoped_operator",
    node: "query",
    about: {
      summary:
        "The zones of an edge node, with all that it needs to serve them, as a long poll: with If-None-Match " +
        "equal to the ETag the answer waits for a change, 25 s at most. It has signing keys: keep it where only its owner " +
        "can read it",
      query: {
        node: {
          text:
            "The name of the polling edge node, which counts as alive if its token is an agent's. A token that is bound to " +
            "a node must give it. Without it an operator gets every zone, an agent those of every node.",
          schema: Type.String(),
        },
      },
      answers: {
        200: { text: "The document, with its ETag.", schema: ZoneDocumentWire },
        304: { text: "The document has not changed.", schema: null },
        404: { text: "There is no such edge node." },
        429: { text: "Too many polls are parked; with Retry-After." },
        503: { text: "The zones are not known: keep the last document." },
      },
    },
    handle: (call) => polls.poll(call),
  };
}
