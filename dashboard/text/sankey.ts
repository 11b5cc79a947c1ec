/** The flows of attacks from where they came to whom they hit, laid out as bands between two columns. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { attackShares, partsOf } from "./attack-shares.ts";
import type { FilterField } from "./filter.ts";

export interface SankeyNode {
  readonly key: string;
  readonly share: number;
  /** From 0 to 1, with gaps between the nodes of a column. */
  readonly top: number;
  readonly height: number;
}

interface SankeyBand {
  readonly from: string;
  readonly to: string;
  readonly share: number;
  /** Where it leaves and arrives, and how wide it is, as above. */
  readonly leaves: number;
  readonly arrives: number;
  readonly height: number;
}

export interface Sankey {
  readonly origins: readonly SankeyNode[];
  readonly victims: readonly SankeyNode[];
  readonly bands: readonly SankeyBand[];
}

/** Nodes of each column; others are one node. */
const NODES_MAX = 8;
/** Part of the height that is gaps. */
const GAPS = 0.15;
const SCALE = 1 - GAPS;

/** null: the attacks have no packets, or nothing is known of their origin. */
export function sankeyOf(
  attacks: readonly AttackWire[],
  { origin, victim }: { readonly origin: FilterField; readonly victim: FilterField },
): Sankey | null {
  const [from, to] = [origin, victim].map((field) => attackShares(attacks, field, NODES_MAX)) as [
    ReturnType<typeof attackShares>,
    ReturnType<typeof attackShares>,
  ];
  if (!from.some(({ isRest }) => isRest !== true) || to.length === 0) return null;
  const nameIn = (rows: typeof from) => {
    const keys = new Set(rows.filter(({ isRest }) => isRest !== true).map(({ key }) => key));
    const rest = rows.find(({ isRest }) => isRest === true)?.key ?? "";
    return (key: string) => (keys.has(key) ? key : rest);
  };
  const [originName, victimName] = [nameIn(from), nameIn(to)];
  const total = attacks.reduce((sum, { volume }) => sum + (volume?.packets ?? 0), 0);
  const flows = new Map<string, Map<string, number>>();
  for (const attack of attacks) {
    const whole = (attack.volume?.packets ?? 0) / total;
    for (const [target, share] of withRest(partsOf(attack, victim))) {
      for (const [source, part] of withRest(partsOf(attack, origin))) {
        const row = flows.get(originName(source)) ?? new Map<string, number>();
        flows.set(originName(source), row);
        row.set(victimName(target), (row.get(victimName(target)) ?? 0) + whole * share * part);
      }
    }
  }
  const [origins, victims] = [column(from), column(to)];
  const arrived = new Map(victims.map(({ key, top }) => [key, top]));
  const bands = origins.flatMap((node) => {
    let leaves = node.top;
    return victims.flatMap(({ key: to }) => {
      const share = flows.get(node.key)?.get(to) ?? 0;
      if (share <= 0) return [];
      const height = share * SCALE;
      const arrives = arrived.get(to) ?? 0;
      const band = { from: node.key, to, share, leaves, arrives, height };
      leaves += height;
      arrived.set(to, arrives + height);
      return [band];
    });
  });
  return { origins, victims, bands };
}

/** With what is not known, under a name that no part has. */
function withRest(parts: ReturnType<typeof partsOf>): ReturnType<typeof partsOf> {
  const rest = 1 - parts.reduce((sum, [, share]) => sum + share, 0);
  return rest > 1e-9 ? [...parts, ["", rest]] : parts;
}

function column(rows: readonly { readonly key: string; readonly share: number }[]): SankeyNode[] {
  const gap = rows.length > 1 ? GAPS / (rows.length - 1) : 0;
  let top = 0;
  return rows.map(({ key, share }) => {
    const node = { key, share, top, height: share * SCALE };
    top += node.height + gap;
    return node;
  });
}
