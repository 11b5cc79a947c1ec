/** What is configured, and the command that reads the file again (docs/interface.md#reload). */

import type { Service } from "../backend.ts";
import type { CommandRoute, ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { ConfiguredWire, configuredToWire } from "../wire/configured.ts";
import { ReloadWire, reloadToWire } from "../wire/reload.ts";

export function configRoute(service: Pick<Service, "configured">): ReadRoute {
  return {
    name: "config",
    method: "GET",
    path: "/api/v1/config",
    access: "viewer",
    about: {
      summary: "The configuration in force, as far as it says how attacks are found and what is done about them",
      answers: {
        200: { text: "Hostgroups, and for an unscoped token the service as a whole.", schema: ConfiguredWire },
      },
    },
    handle: ({ principal }) => jsonAnswer(200, configuredToWire(service.configured(), principal)),
  };
}

export function reloadRoute(service: Service): CommandRoute {
  return {
    name: "config_reload",
    method: "POST",
    path: "/api/v1/config/reload",
    access: "operator",
    unscopedOnly: true,
    body: null,
    about: {
      summary: "Read the configuration file again, as SIGHUP does",
      answers: { 200: { text: "The new configuration is in force.", schema: ReloadWire } },
    },
    audit: { action: "config_reload", targetType: "global", target: () => "" },
    handle: async () => {
      const outcome = await service.reload();
      if (outcome.kind === "invalid") return { kind: "invalid_config", problems: outcome.problems };
      const response = jsonAnswer(200, reloadToWire(service.status(null), outcome.needsRestart));
      return { kind: "outcome", response, result: "ok" };
    },
  };
}
