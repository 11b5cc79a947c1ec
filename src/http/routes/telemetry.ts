/** The exporters of flow telemetry (docs/interface.md#telemetry). */
import type { Backend } from "../backend.ts";
import type { ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { TelemetryWire, telemetryToWire } from "../wire/telemetry.ts";

export function telemetryRoute(backend: Pick<Backend, "telemetry">): ReadRoute {
  return {
    name: "telemetry",
    method: "GET",
    path: "/api/v1/telemetry",
    access: "viewer",
    unscopedOnly: true,
    about: {
      summary: "Exporters of sFlow, NetFlow and IPFIX: who sends what, what is lost, and what is wrong",
      answers: { 200: { text: "The ports and exporters, in the configuration's order.", schema: TelemetryWire } },
    },
    handle: () => jsonAnswer(200, telemetryToWire(backend.telemetry())),
  };
}
