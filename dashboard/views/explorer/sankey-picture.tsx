/** The flows of attacks from origins to victims as a picture; its numbers are in the table below it. */

import { t } from "../../language.ts";
import { percent } from "../../text/format/numbers.ts";
import type { Sankey, SankeyNode } from "../../text/sankey.ts";

const WIDTH = 800;
const HEIGHT = 280;
const NODE_WIDTH = 10;
/** Room for the names on both sides. */
const NAMES = 220;
const NAME_CHARACTERS = 30;
const [LEFT, RIGHT] = [NAMES, WIDTH - NAMES];
const COLORS = ["udp", "tcp", "icmp", "other", "rate", "baseline"];

export function SankeyPicture({ sankey: { origins, victims, bands } }: { readonly sankey: Sankey }) {
  const largest = bands.toSorted((a, b) => b.share - a.share).slice(0, 5);
  const label = largest.map(({ from, to, share }) => t`${from} to ${to} ${percent(share)}`).join(", ");
  const colorOf = (key: string) => COLORS[origins.findIndex((node) => node.key === key) % COLORS.length];
  return (
    <figure class="sankey">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={t`From origins to hostgroups: ${label}`}>
        {bands.map(({ from, to, leaves, arrives, height }) => (
          <path
            key={`${from}\n${to}`}
            d={bandPath(leaves * HEIGHT, arrives * HEIGHT, Math.max(1, height * HEIGHT))}
            fill={`var(--chart-${colorOf(from)})`}
          />
        ))}
        {origins.map((node) => (
          <Node key={node.key} node={node} x={LEFT - NODE_WIDTH} anchor="end" />
        ))}
        {victims.map((node) => (
          <Node key={node.key} node={node} x={RIGHT} anchor="start" />
        ))}
      </svg>
    </figure>
  );
}

interface NodeProps {
  readonly node: SankeyNode;
  readonly x: number;
  readonly anchor: "start" | "end";
}

function Node({ node: { key, share, top, height }, x, anchor }: NodeProps) {
  const text = key.length > NAME_CHARACTERS ? `${key.slice(0, NAME_CHARACTERS)}…` : key;
  return (
    <g>
      <rect x={x} y={top * HEIGHT} width={NODE_WIDTH} height={Math.max(1, height * HEIGHT)} />
      <text x={anchor === "end" ? x - 6 : x + NODE_WIDTH + 6} y={(top + height / 2) * HEIGHT + 4} text-anchor={anchor}>
        {text} {percent(share)}
      </text>
    </g>
  );
}

function bandPath(leaves: number, arrives: number, height: number): string {
  const middle = (LEFT + RIGHT) / 2;
  return [
    `M${LEFT} ${leaves}`,
    `C${middle} ${leaves} ${middle} ${arrives} ${RIGHT} ${arrives}`,
    `V${arrives + height}`,
    `C${middle} ${arrives + height} ${middle} ${leaves + height} ${LEFT} ${leaves + height}`,
    "Z",
  ].join("");
}
