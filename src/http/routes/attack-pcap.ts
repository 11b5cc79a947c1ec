/**
 * The newest sampled packets of one attack as a capture file, all or those of one outcome. They are packets of users,
 * too: each download is audited.
 */

import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Attack } from "../../detection/attack/attack.ts";
import { SAMPLE_RECORD } from "../../native/constants.ts";
import { oneOf } from "../../schema/schema-forms.ts";
import { PACKET_OUTCOMES, type PacketOutcome } from "../../traffic/packet-outcome.ts";
import { pcapFile } from "../../traffic/pcap-file.ts";
import type { Backend } from "../backend.ts";
import { describeRefusal, refuse } from "../refusal.ts";
import type { AuditTarget, ReadRoute } from "../route.ts";
import { downloadAnswer } from "../server/answer.ts";
import { invalidQuery, parameter } from "../server/query.ts";
import { type Attacks, visibleAttack } from "./attack-course.ts";

const PCAP_TYPE = "application/vnd.tcpdump.pcap";
const OutcomeText = oneOf(...PACKET_OUTCOMES);

export function attackPcapRoute(backend: Attacks & Pick<Backend, "attackPackets">): ReadRoute {
  return {
    name: "attack_pcap",
    method: "GET",
    path: "/api/v1/attacks/:id/pcap",
    access: "viewer",
    asksHistory: true,
    about: {
      summary: "The newest sampled packets of one attack, as a capture file",
      query: {
        outcome: { text: "Only packets of which this became on this machine. Default: all.", schema: OutcomeText },
      },
      answers: {
        200: { text: "The headers, oldest first.", schema: Type.String(), mediaType: PCAP_TYPE },
        404: { text: "Unknown attack, or another tenant's; or no such packets of it are kept." },
        502: { text: "The history cannot be read." },
      },
    },
    audit: { action: "packet_download", targetType: "host", target: () => "" },
    handle: async ({ principal, params, query }) => {
      const outcome = parameter(query, "outcome");
      if (outcome !== null && !Value.Check(OutcomeText, outcome)) return invalidQuery(`unknown outcome: ${outcome}`);
      const view = await visibleAttack(backend, principal, params["id"] ?? "");
      if (view === null) return { kind: "unknown_attack" };
      const { attack } = view;
      const target = targetOf(attack);
      const packets = backend.attackPackets(attack.id, outcome);
      if (packets.length === 0) {
        const refusal = { kind: outcome === null ? "no_packets" : "no_packets_of_outcome" } as const;
        const { error: reason } = describeRefusal(refusal);
        return { kind: "outcome", response: refuse(refusal), result: "rejected", reason, target };
      }
      const name = outcome === null ? `attack-${attack.id}.pcap` : `attack-${attack.id}-${outcome}.pcap`;
      const response = downloadAnswer(pcapFile(packets, SAMPLE_RECORD.frameBytes), { type: PCAP_TYPE, name });
      return { kind: "outcome", response, result: "ok", reason: whatOf(attack, outcome), target };
    },
  };
}

/** The target of the audit row: for a carpet attack the first address of its prefix; a hostgroup has none. */
function targetOf({ target, carpet }: Attack): AuditTarget {
  if (target !== null) return { text: target, type: "host" };
  return carpet === null ? { text: "", type: "global" } : { text: carpet.prefix.split("/")[0] ?? "", type: "prefix" };
}

function whatOf({ id }: Attack, outcome: PacketOutcome | null): string {
  return outcome === null ? `attack ${id}` : `attack ${id}, ${outcome}`;
}
