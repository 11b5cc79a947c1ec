/** Sets and clears the challenge lever of a zone (docs/interface.md#lever-command). */

import type { Principal } from "../../../access/principal.ts";
import type { Lever } from "../../../edge/zones/levers.ts";
import { EDGE_ORDER_BYTES_MAX } from "../../../limits.ts";
import type { Clock } from "../../../system/clock.ts";
import type { Backend } from "../../backend.ts";
import type { Refusal } from "../../refusal.ts";
import type { AuditRule, Call, CommandRoute, Outcome } from "../../route.ts";
import { jsonAnswer } from "../../server/answer.ts";
import { type LeverRequest, LeverWire, leverCheck, leverToWire } from "../../wire/edge/lever.ts";
import { commanderOf } from "../../wire/order-end-reason.ts";
import type { ZoneAccess } from "../../zone-access.ts";

interface LeverSources {
  readonly backend: Pick<Backend, "edge" | "settled">;
  readonly access: ZoneAccess;
  readonly clock: Pick<Clock, "wallMs">;
}

const PATH = "/api/v1/edge/zones/:name/challenge";
const UNKNOWN = { text: "There is no such zone, or it is not the tenant's." };
/** A longer name is not a hostname of a zone, and is shortened in the audit trail. */
const NAME_CHARACTERS_MAX = 253;

export function setLeverRoute(sources: LeverSources): CommandRoute<LeverRequest> {
  return {
    name: "edge_lever",
    method: "POST",
    path: PATH,
    access: "operator",
    checkPath: (call) => pathRefusal(sources, call),
    body: leverCheck,
    bodyBytesMax: EDGE_ORDER_BYTES_MAX,
    about: {
      summary: "Set for a time how a zone challenges visitors, instead of its file's setting; mode off ends that",
      answers: {
        200: { text: "The setting that now applies to the zone.", schema: LeverWire },
        404: UNKNOWN,
        409: { text: "The zone's policy.mode is none, or too many levers are set." },
      },
    },
    audit: AUDIT,
    handle: (call, order) => (order.mode === "off" ? clear(sources, call, order.reason) : set(sources, call, order)),
  };
}

export function clearLeverRoute(sources: LeverSources): CommandRoute {
  return {
    name: "edge_lever_clear",
    method: "DELETE",
    path: PATH,
    access: "operator",
    checkPath: (call) => pathRefusal(sources, call),
    body: null,
    bodyBytesMax: EDGE_ORDER_BYTES_MAX,
    about: {
      summary: "Clear the lever, so that the zone follows its file again",
      answers: { 200: { text: "The setting that now applies to the zone.", schema: LeverWire }, 404: UNKNOWN },
    },
    audit: AUDIT,
    handle: (call) => clear(sources, call, ""),
  };
}

const AUDIT: AuditRule<unknown> = {
  action: "edge_challenge",
  targetType: "zone",
  target: (call) => zoneName(call).slice(0, NAME_CHARACTERS_MAX),
};

/** Checked before the body is read, so that a foreign zone gets the same answer for every body. */
function pathRefusal(sources: LeverSources, call: Call): Refusal | null {
  const { access } = sources;
  const { edge } = sources.backend;
  if (!access.allows("edge_lever", call.principal, edge.nodes.zone(zoneName(call)))) return { kind: "foreign_lever" };
  return isThere(sources, call) ? null : { kind: "unknown_zone" };
}

/** A zone that was removed from the file exists while it has a lever. */
function isThere({ backend: { edge }, clock }: LeverSources, call: Call): boolean {
  const name = zoneName(call);
  return edge.nodes.zone(name) !== null || edge.levers.of(name, clock.wallMs()) !== null;
}

async function set(
  sources: LeverSources,
  call: Call,
  order: Exclude<LeverRequest, { mode: "off" }>,
): Promise<Outcome | Refusal> {
  const { clock } = sources;
  const { edge } = sources.backend;
  const zone = edge.nodes.zone(zoneName(call));
  if (zone === null || isForeign(call.principal, zone)) return { kind: "unknown_zone" };
  const answer = await edge.levers.set(zone, order, clock.wallMs(), commanderOf(call, {}));
  if (answer.kind === "refused") return { kind: "lever_refused", refusal: answer.refusal };
  return outcomeOf(sources, call, { result: "set", reason: order.reason, isSaved: answer.isSaved });
}

/** A caller without a tenant may also clear it for a zone that was removed from the file. */
async function clear(sources: LeverSources, call: Call, reason: string): Promise<Outcome | Refusal> {
  const { levers, nodes } = sources.backend.edge;
  const name = zoneName(call);
  if (isForeign(call.principal, nodes.zone(name)) || !isThere(sources, call)) return { kind: "unknown_zone" };
  const isSaved = await levers.clear(name, commanderOf(call, { reason }));
  return outcomeOf(sources, call, { result: "cleared", reason, isSaved });
}

/** A reload may have happened while the body was received. */
function isForeign({ tenant }: Principal, zone: { readonly tenant: string | null } | null): boolean {
  return tenant !== null && zone?.tenant !== tenant;
}

interface Ordered {
  readonly result: "set" | "cleared";
  readonly reason: string;
  readonly isSaved: boolean;
}

async function outcomeOf(
  { backend, clock }: LeverSources,
  call: Call,
  { result, reason, isSaved }: Ordered,
): Promise<Outcome> {
  const name = zoneName(call);
  const { edge } = backend;
  const settled = await backend.settled(isSaved, "levers", name);
  const lever: Lever | null = edge.levers.of(name, clock.wallMs());
  const nodes = edge.nodes.nodesOf(name).map((node) => ({
    name: node,
    isAlive: edge.nodes.isAlive(node),
    dryRun: edge.reportedDryRun(node),
  }));
  const response = jsonAnswer(200, leverToWire({ name, zone: edge.nodes.zone(name), lever, settled, nodes }));
  // The lever is in force in global dry run too (docs/interface.md#lever-override-in-force).
  return { kind: "outcome", response, result, reason, dryRun: false };
}

function zoneName({ params }: Call): string {
  return (params["name"] ?? "").toLowerCase();
}
