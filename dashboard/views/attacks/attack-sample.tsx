/** The sampled packets of an attack at its detection: largest ports and protocols, and some of the packets. */
import type { ComponentChildren } from "preact";
import type { SampleWire } from "../../../src/http/wire/traffic/sample.ts";
import { t, tx } from "../../language.ts";
import { Empty } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { byteCount, percent, wholeNumber } from "../../text/format/numbers.ts";
import { protocolWord, tcpFlagNames } from "../../text/format/words.ts";
import { withRest } from "../../text/share-rows.ts";

type Source = SampleWire["top_sources"][number];
type Share = SampleWire["protocols"][number];
type SampledFlow = NonNullable<SampleWire["flows"]>[number];

export function AttackSample({ sample }: { readonly sample: SampleWire | undefined }) {
  if (sample === undefined) {
    return (
      <Panel title={t`Sample`} isWide>
        <Empty
          title={t`No sample`}
        >{tx`No sample was taken yet, or samples are off: see ${<code>samples.enabled</code>}.`}</Empty>
      </Panel>
    );
  }
  const { total_packets: total, flows = [] } = sample;
  return (
    <Panel title={t`Sample of ${wholeNumber(total)} packets at its detection`} isWide>
      <div class="quarters">
        <Shares title={t`From port`} total={total} shares={sample.top_src_ports} rest={t`others, or none`} />
        <Shares title={t`To port`} total={total} shares={sample.top_dst_ports} rest={t`others, or none`} />
        <Shares
          title={t`Protocols`}
          total={total}
          shares={sample.protocols.map((share) => ({ ...share, key: protocolWord(share.key) }))}
          rest={t`others`}
        />
      </div>
      {flows.length > 0 && (
        <>
          <h3>{t`Some of its packets`}</h3>
          <DataTable
            label={t`Sampled packets`}
            columns={FLOW_COLUMNS}
            rows={flows.map(numbered)}
            rowKey={({ number }) => String(number)}
          />
        </>
      )}
    </Panel>
  );
}

interface SharesProps {
  readonly title: string;
  readonly total: number;
  readonly shares: readonly Share[];
  /** The name of what is missing to the total. */
  readonly rest: string;
  /** It takes two places. */
  readonly isWide?: boolean;
  readonly origin?: (share: Source) => string;
  readonly action?: (share: Share) => ComponentChildren;
}

export function Shares({ title, total, shares, rest, isWide, origin, action }: SharesProps) {
  const isRest = (share: Share) => !shares.includes(share);
  const columns: readonly Column<Share>[] = [
    { key: "key", title, cell: ({ key }) => key },
    ...(origin === undefined
      ? []
      : [
          {
            key: "origin",
            title: t`Where`,
            cell: (share: Share) => (isRest(share) ? "–" : origin(share)),
            width: "medium" as const,
          },
        ]),
    { key: "share", title: t`Packets`, cell: ({ packets }) => percent(packets / Math.max(1, total)), isNumber: true },
    {
      key: "bytes",
      title: t`Bytes`,
      cell: (share) => (isRest(share) ? "–" : byteCount(share.bytes)),
      isNumber: true,
      width: "wide",
    },
    ...(action === undefined
      ? []
      : [
          {
            key: "act",
            title: t`Actions`,
            isTitleUnseen: true as const,
            cell: (share: Share) => (isRest(share) ? null : action(share)),
          },
        ]),
  ];
  return shares.length === 0 ? null : (
    <div class={isWide === true ? "share-wide" : ""}>
      <DataTable label={title} columns={columns} rows={withRest(shares, total, rest)} rowKey={({ key }) => key} />
    </div>
  );
}

/** The column is hidden if no row has a value. */
export function originsOf({ top_sources: sources }: Pick<SampleWire, "top_sources">): {
  readonly origin?: (share: Source) => string;
} {
  return sources.some((source) => originText(source) !== "–") ? { origin: originText } : {};
}

function originText({ asn, as_name: name, country }: Source): string {
  return [asn === undefined ? null : `AS${asn}`, name, country].filter((part) => part != null).join(" ") || "–";
}

type NumberedFlow = SampledFlow & { readonly number: number };

/** Two packets may be identical. */
function numbered(flow: SampledFlow, number: number): NumberedFlow {
  return { ...flow, number };
}

const FLOW_COLUMNS: readonly Column<NumberedFlow>[] = [
  { key: "src", title: t`Source`, cell: ({ src, src_port: port }) => endText(src, port) },
  { key: "dst", title: t`Destination`, cell: ({ dst, dst_port: port }) => endText(dst, port) },
  { key: "proto", title: t`Protocol`, cell: ({ proto }) => protocolWord(proto), width: "medium" },
  {
    key: "flags",
    title: t`Flags`,
    cell: ({ tcp_flags: flags }) => (flags === undefined ? "–" : tcpFlagNames(flags)),
    width: "wide",
  },
  { key: "bytes", title: t`Bytes`, cell: ({ bytes }) => bytes, isNumber: true, width: "medium" },
];

function endText(address: string, port: number | undefined): string {
  if (port === undefined) return address;
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}
