import { Type } from "@sinclair/typebox";
import type { OpenRoute } from "../route.ts";
import { blobAnswer } from "../server/answer.ts";

/** The text exposition format, shared by all readers. */
export interface MetricsText {
  readonly contentType: string;
  read(): Promise<Blob>;
  /** By the configuration in force. */
  needsToken(): boolean;
}

export function metricsRoute(metrics: MetricsText): OpenRoute {
  return {
    name: "metrics",
    method: "GET",
    path: "/metrics",
    access: "open",
    needsToken: () => metrics.needsToken(),
    about: {
      summary: "Metrics in the text exposition format, at most a second old",
      answers: {
        200: {
          text: "The metrics. With `api.metrics_token` they need a viewer's token without a tenant.",
          schema: Type.String(),
          mediaType: "text/plain",
        },
      },
    },
    handle: async () => blobAnswer(await metrics.read(), metrics.contentType),
  };
}
