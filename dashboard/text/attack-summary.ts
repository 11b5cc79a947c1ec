/** An attack in one line: its kind, its ports, its sources, and whose it is. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { formFor, t } from "../language.ts";
import { percent, wholeNumber } from "./format/numbers.ts";
import { vectorName } from "./format/vectors.ts";
import { customerText } from "./mitigation.ts";

/** Share of the sampled packets: a port with less of them does not name the attack. */
const PORT_SHARE_MIN = 0.5;

interface Share {
  readonly key: string;
  readonly packets: number;
}

interface Sources {
  readonly total_packets: number;
  readonly top_sources: readonly Share[];
  readonly distinct_sources?: number;
}

/** `UDP flood · from port 53 to port 80 · 1 204 sources, the largest 12 % · initech`. @param sources null: not known */
export function summaryText(attack: AttackWire, sources: Sources | null): string {
  const { classification, direction, prefix, hosts } = attack;
  const kind = classification === undefined ? t`Kind not known yet` : vectorName(classification.type);
  const parts = [
    `${kind}${direction === "outgoing" ? t`, outgoing` : ""}${prefix === undefined ? "" : t`, over ${hosts ?? t`many`} hosts`}`,
    portsText(attack),
    sources === null ? "" : sourcesText(sources),
    customerText(attack),
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

function portsText({ classification, sample }: AttackWire): string {
  const total = sample?.total_packets ?? 0;
  const from = classification?.src_port?.toString() ?? mainPort(sample?.top_src_ports ?? [], total);
  const to = mainPort(sample?.top_dst_ports ?? [], total);
  const parts = [
    from === null ? "" : t`from port ${from}`,
    to !== null ? t`to port ${to}` : (sample?.top_dst_ports.length ?? 0) > 1 ? t`to many ports` : "",
  ];
  return parts.filter((part) => part !== "").join(" ");
}

/** null: no port has most of the packets. */
function mainPort(ports: readonly Share[], total: number): string | null {
  const most = ports.find(({ packets }) => total > 0 && packets / total >= PORT_SHARE_MIN);
  return most?.key ?? null;
}

/** Also of an outgoing attack: those who send it. */
function sourcesText({ total_packets: total, top_sources: top, distinct_sources: distinct }: Sources) {
  const [largest] = top;
  if (largest === undefined || total === 0) return "";
  const share = percent(largest.packets / total);
  if (distinct === undefined) return t`largest of the sources ${largest.key}, ${share}`;
  if (distinct === 1) return t`one source, ${largest.key}`;
  const what = formFor(distinct, "source|sources");
  return t`${wholeNumber(distinct)} ${what} in ${wholeNumber(total)} sampled packets, the largest ${share}`;
}
