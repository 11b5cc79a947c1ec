/** The exporters of flow telemetry (docs/interface.md#telemetry). */
import { parseAddress } from "../../net/address.ts";
import type { Backend } from "../backend.ts";
import type { ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { parameter } from "../server/query.ts";
import { AddressText } from "../wire/request-texts.ts";
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
      query: { address: { text: "Exporters at this address alone, with their interfaces.", schema: AddressText } },
      answers: { 200: { text: "The ports and exporters, in the configuration's order.", schema: TelemetryWire } },
    },
    handle: ({ query }) => {
      const text = parameter(query, "address");
      const address = text === null ? null : parseAddress(text);
      if (text !== null && address === null) return { kind: "invalid_ip", text };
      return jsonAnswer(200, telemetryToWire(backend.telemetry(), address));
    },
  };
}
