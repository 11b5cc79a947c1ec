import { Type } from "@sinclair/typebox";
import type { OpenRoute } from "../route.ts";
import { textAnswer } from "../server/answer.ts";

/** The text exposition format. */
export interface MetricsText {
  readonly contentType: string;
  text(): Promise<string>;
}

export function metricsRoute(metrics: MetricsText): OpenRoute {
  return {
    name: "metrics",
    method: "GET",
    path: "/metrics",
    access: "open",
    about: {
      summary: "Metrics in the text exposition format",
      answers: { 200: { text: "The metrics.", schema: Type.String(), mediaType: "text/plain" } },
    },
    handle: async () => textAnswer(200, await metrics.text(), metrics.contentType),
  };
}
