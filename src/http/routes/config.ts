/** The command that reads the configuration file again (interface 4.3). */
import { jsonAnswer } from "../answer.ts";
import type { CommandRoute } from "../route.ts";
import type { Service } from "../service.ts";
import { ReloadWire, reloadToWire } from "../wire/reload.ts";

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
