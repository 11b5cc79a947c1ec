/** The configuration in force, and the command to reload it (docs/interface.md#reload). */

import type { Tenant } from "../../access/fair-queue.ts";
import { reloadText } from "../../audit/automatic-audit.ts";
import { NO_CHANGES } from "../../mitigation/wanted-changes.ts";
import type { Backend, Configured } from "../backend.ts";
import type { CommandRoute, ReadRoute } from "../route.ts";
import { jsonAnswer, jsonBlobAnswer } from "../server/answer.ts";
import { JsonArray } from "../server/json-array.ts";
import { type Reader, type Slicing, TablePass } from "../table-pass.ts";
import { ConfiguredWire, configuredGroupToWire, serviceToWire } from "../wire/configured.ts";
import { endedText, type OrderEndReason, orderEndCheck } from "../wire/order-end-reason.ts";
import { ReloadPreviewWire, ReloadWire, reloadToWire, wantedToWire } from "../wire/reload.ts";

export function configRoute(backend: Pick<Backend, "configured">, slicing: Slicing): ReadRoute {
  // A configuration may name a hundred thousand prefixes.
  const groups = new TablePass(() => backend.configured().hostgroups.keys(), slicing);
  return {
    name: "config",
    method: "GET",
    path: "/api/v1/config",
    access: "viewer",
    about: {
      summary: "The configuration of detection and mitigation that is in force",
      answers: {
        200: { text: "Hostgroups, and for an unscoped token the service as a whole.", schema: ConfiguredWire },
      },
    },
    handle: async ({ principal: { tenant } }) => {
      const makeReader = () => new ConfiguredReader(backend.configured(), tenant);
      return jsonBlobAnswer(await groups.read(JSON.stringify(tenant), makeReader, tenant));
    },
  };
}

/** The networks of the hostgroups, by their indices. */
class ConfiguredReader implements Reader<number> {
  readonly #configured: Configured;
  readonly #tenant: Tenant;
  readonly #array = new JsonArray();

  constructor(configured: Configured, tenant: Tenant) {
    this.#configured = configured;
    this.#tenant = tenant;
  }

  see(index: number): void {
    const group = configuredGroupToWire(index, this.#configured, { tenant: this.#tenant });
    if (group !== null) this.#array.addNow(group);
  }

  answer(): Blob {
    const service = this.#tenant === null ? `,"service":${JSON.stringify(serviceToWire(this.#configured))}` : "";
    return new Blob(['{"hostgroups":', ...this.#array.parts(), service, "}"]);
  }
}

export function reloadRoute(backend: Backend): CommandRoute<OrderEndReason> {
  return {
    name: "config_reload",
    method: "POST",
    path: "/api/v1/config/reload",
    access: "operator",
    unscopedOnly: true,
    body: orderEndCheck,
    isBodyOptional: true,
    about: {
      summary: "Read the configuration file again, as SIGHUP does",
      answers: { 200: { text: "The new configuration is in force.", schema: ReloadWire } },
    },
    audit: { action: "config_reload", targetType: "global", target: () => "" },
    handle: async (_, given) => {
      const outcome = await backend.reload();
      if (outcome.kind === "invalid") return { kind: "invalid_config", problems: outcome.problems };
      const response = jsonAnswer(200, reloadToWire(backend.status(null), outcome.needsRestart, outcome.routes));
      const reason = endedText(reloadText(outcome.changed, outcome.changes), given);
      return { kind: "outcome", response, result: "ok", reason };
    },
  };
}

const ENDED_BANS_SHOWN = 100;

export function reloadPreviewRoute(backend: Pick<Backend, "reloadPreview">): CommandRoute {
  return {
    name: "config_reload_preview",
    method: "POST",
    path: "/api/v1/config/reload/preview",
    access: "operator",
    unscopedOnly: true,
    body: null,
    about: {
      summary: "What a reload would change now; nothing is done",
      answers: { 200: { text: "The changes, by section of the file.", schema: ReloadPreviewWire } },
    },
    handle: async () => {
      const preview = await backend.reloadPreview();
      if (preview.kind === "invalid") return { kind: "invalid_config", problems: preview.problems };
      const { changes, needsRestart, warnings, endedBans, routes = NO_CHANGES } = preview;
      const body: ReloadPreviewWire = {
        changes: changes.map(({ section, details }) => ({ section, details: [...details] })),
        needs_restart: [...needsRestart],
        ends_bans: endedBans.slice(0, ENDED_BANS_SHOWN),
        ends_bans_count: endedBans.length,
        warnings: [...warnings],
        ...wantedToWire(routes),
      };
      return jsonAnswer(200, body);
    },
  };
}
