/** The composition of the attacks of a range, by any field, with the unknown part. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { t } from "../language.ts";
import { attackValues, type FilterField, interfaceText } from "./filter.ts";

export interface AttackShare {
  readonly key: string;
  readonly packets: number;
  /** Share of the packets of all attacks. */
  readonly share: number;
  /** It is what remains of the whole. */
  readonly isRest?: true;
}

/** Fields of which a packet has none or several hundred others. */
const RESTS: Partial<Record<FilterField, string>> = { src_port: t`others, or none`, dst_port: t`others, or none` };
const REST = t`not known, or others`;

/** Parts of an attack's packets by the values of a field: shares of the sample, of all that was counted. */
export function partsOf(attack: AttackWire, field: FilterField): readonly (readonly [key: string, share: number])[] {
  const { sample } = attack;
  const listed = sampleList(attack, field);
  if (listed === null) return attackValues(attack, field).map((key) => [key, 1]);
  const total = sample?.total_packets ?? 0;
  if (total === 0) return [];
  return listed.map(({ key, packets, share }) => [key, share ?? packets / total]);
}

/** null: it is a property of the whole attack. */
function sampleList(
  { sample }: AttackWire,
  field: FilterField,
): readonly { readonly key: string; readonly packets: number; readonly share?: number }[] | null {
  const interfaces = sample?.top_interfaces ?? [];
  switch (field) {
    case "protocol":
      return sample?.protocols ?? [];
    case "asn":
      return sample?.top_asns ?? [];
    case "country":
      return sample?.top_countries ?? [];
    case "prefix":
      return sample?.top_prefixes ?? [];
    case "src_port":
      return sample?.top_src_ports ?? [];
    case "dst_port":
      return sample?.top_dst_ports ?? [];
    case "interface":
      return interfaces.map((each) => ({ ...each, key: interfaceText(each) }));
    case "exporter":
      return interfaces.map((each) => ({ ...each, key: each.exporter }));
    case "hostgroup":
    case "customer":
    case "host":
    case "kind":
      return null;
    default:
      return field satisfies never;
  }
}

/** The largest first, and the rest last: the shares sum to 1. @param most rows before the rest */
export function attackShares(attacks: readonly AttackWire[], field: FilterField, most: number): AttackShare[] {
  const sums = new Map<string, number>();
  let total = 0;
  for (const attack of attacks) {
    const packets = attack.volume?.packets ?? 0;
    total += packets;
    for (const [key, share] of partsOf(attack, field)) sums.set(key, (sums.get(key) ?? 0) + packets * share);
  }
  if (total === 0) return [];
  const rows = [...sums]
    .map(([key, packets]) => ({ key, packets, share: packets / total }))
    .filter(({ packets }) => packets > 0)
    .sort((a, b) => b.packets - a.packets || (a.key < b.key ? -1 : 1))
    .slice(0, most);
  const packets = Math.max(0, total - rows.reduce((sum, row) => sum + row.packets, 0));
  // Sums of fractions are not exact.
  if (packets / total < 1e-9) return rows;
  return [...rows, { key: RESTS[field] ?? REST, packets, share: packets / total, isRest: true }];
}
