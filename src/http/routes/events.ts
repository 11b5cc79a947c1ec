/** Attacks, bans and faults of exporters as they happen (docs/interface.md#event-stream). */
import { Type } from "@sinclair/typebox";
import type { EventFeed } from "../events/event-feed.ts";
import type { ReadRoute } from "../route.ts";

export function eventsRoute(feed: EventFeed): ReadRoute {
  return {
    name: "events",
    method: "GET",
    path: "/api/v1/events",
    access: "viewer",
    about: {
      summary: "Changes of attacks, incidents, bans and exporters, as server-sent events",
      answers: {
        200: {
          text:
            "Events `attack`, `incident` and `ban`, whose data are rows as in the lists, and `exporter`, the state and faults of an " +
            "exporter of flow telemetry, for tokens without a tenant. `reload`: the configuration has changed, " +
            "`reset`: events were missed; after both the lists must be read again. The header Last-Event-ID is honoured.",
          schema: Type.String(),
          mediaType: "text/event-stream",
        },
        429: { text: "Too many streams are open; Retry-After says when to try again." },
      },
    },
    handle: (call) => feed.subscribe(call),
  };
}
