/**
 * The routes by which edge nodes take turns ordering certificates and share challenges
 * (docs/interface.md#acme-command).
 */

import type { Edge } from "../../../edge/edge.ts";
import type { ChallengeOrder } from "../../../edge/zones/acme-issuance.ts";
import { EDGE_ORDER_BYTES_MAX, LIVE_CHALLENGES_MAX } from "../../../limits.ts";
import type { Refusal } from "../../refusal.ts";
import type { Call, CommandRoute } from "../../route.ts";
import { emptyAnswer, jsonAnswer } from "../../server/answer.ts";
import { challengeCheck, type SlotOrder, SlotWire, slotCheck, slotToWire } from "../../wire/edge/acme.ts";

type AcmeEdge = Pick<Edge, "nodes" | "issuance">;

const UNKNOWN = { text: "There is no such edge node, or no such zone of it." };

export function acmeSlotRoute({ nodes, issuance }: AcmeEdge): CommandRoute<SlotOrder> {
  return {
    name: "acme_slot",
    method: "POST",
    path: "/api/v1/edge/nodes/:name/acme/slot",
    access: "agent",
    node: "path",
    checkPath: (call) => nodeRefusal(nodes, call),
    body: slotCheck,
    bodyBytesMax: EDGE_ORDER_BYTES_MAX,
    about: {
      summary: "Request the slot for ordering a zone's certificate, or return it",
      answers: {
        200: { text: "The node has the slot; or the slot's holder, and when to request it again.", schema: SlotWire },
        204: { text: "The node does not have it any more.", schema: null },
        404: UNKNOWN,
        503: { text: "The brains of the cluster cannot agree on slots for now; with Retry-After." },
      },
    },
    handle: async (call, order) => {
      const refusal = nodeRefusal(nodes, call);
      if (refusal !== null) return refusal;
      if (order.kind === "release") {
        await issuance.releaseSlot(nodeName(call), order.zone);
        return emptyAnswer();
      }
      const answer = await issuance.requestSlot(nodeName(call), order.zone);
      if (answer.kind === "unavailable") return { kind: "slots_unavailable" };
      return answer.kind === "unknown_zone" ? answer : jsonAnswer(200, slotToWire(answer));
    },
  };
}

export function acmeChallengeRoute({ nodes, issuance }: AcmeEdge): CommandRoute<ChallengeOrder> {
  return {
    name: "acme_challenges",
    method: "POST",
    path: "/api/v1/edge/nodes/:name/acme/challenges",
    access: "agent",
    node: "path",
    checkPath: (call) => nodeRefusal(nodes, call),
    body: challengeCheck,
    bodyBytesMax: EDGE_ORDER_BYTES_MAX,
    about: {
      summary: "Publish an HTTP-01 challenge that all nodes of the zone answer for ten minutes",
      answers: {
        204: { text: "The challenge is in the zone documents.", schema: null },
        404: UNKNOWN,
        409: { text: "The node does not hold the slot, or the live challenge has another key authorization." },
        429: { text: `The node has ${LIVE_CHALLENGES_MAX} live challenges; with Retry-After.` },
      },
    },
    handle: async (call, order) => {
      const refusal = nodeRefusal(nodes, call);
      if (refusal !== null) return refusal;
      const answer = await issuance.publish(nodeName(call), order);
      if (answer.kind === "refused") return { kind: "challenge_refused", refusal: answer.refusal };
      return answer.kind === "unknown_zone" ? answer : emptyAnswer();
    },
  };
}

/** A reload may remove the node while the body is being received. */
function nodeRefusal(nodes: AcmeEdge["nodes"], call: Call): Refusal | null {
  return nodes.has(nodeName(call)) ? null : { kind: "unknown_edge_node" };
}

function nodeName({ params }: Call): string {
  return params["name"] ?? "";
}
