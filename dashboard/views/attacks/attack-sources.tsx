/** Where an attack comes from: the newest sources while it lasts, else those of its sample. */
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { AttackSourcesWire } from "../../../src/http/wire/attack-sources.ts";
import { useResource } from "../../api/resource.ts";
import { t } from "../../language.ts";
import { Callout } from "../../parts/callout.tsx";
import { Panel } from "../../parts/panel.tsx";
import { BlockButton } from "../../parts/source-block-actions.tsx";
import type { Accepted } from "../../text/attack-advice.ts";
import { wholeNumber } from "../../text/format/numbers.ts";
import { said } from "../../text/service-words.ts";
import { type SpoofingHint, spoofingHint } from "../../text/spoofing.ts";
import { originsOf, Shares } from "./attack-sample.tsx";

/** The lists of a sample, and with a hint those of the newest packets. */
export type Sources = Pick<
  AttackSourcesWire,
  "total_packets" | "top_sources" | "top_asns" | "top_countries" | "top_interfaces"
> &
  Partial<AttackSourcesWire>;

const EVERY_MS = 5000;

/** null: nothing is known. */
export function useSources({ id, ended_at: end, sample }: AttackWire): Sources | null {
  const path = `/api/v1/attacks/${encodeURIComponent(id)}/sources`;
  const { value } = useResource<AttackSourcesWire>(path, end === undefined ? EVERY_MS : 0).state;
  return value.kind === "ready" && value.data.available ? value.data : (sample ?? null);
}

interface AttackSourcesProps {
  readonly attack: AttackWire;
  readonly sources: Sources | null;
  /** null: not known, or the victim is no single address. */
  readonly accepted: Accepted | null;
}

export function AttackSources({ attack, sources, accepted }: AttackSourcesProps) {
  if (sources === null) return null;
  const { total_packets: total, top_sources: top, top_prefixes: prefixes = [] } = sources;
  const { target, direction, active } = attack;
  const isIncoming = direction === "incoming";
  return (
    <Panel title={isIncoming ? t`Sources` : t`Senders`} isWide>
      <p class="muted">{t`${
        "available" in sources
          ? t`Of the newest ${wholeNumber(total)} sampled packets${active ? t`, read again every few seconds` : ""}.`
          : t`Of the ${wholeNumber(total)} packets that were sampled at its detection.`
      } Users of the victim may be among them.`}</p>
      {isIncoming && isComplete(sources) && <Hint hint={spoofingHint(sources, attack.classification?.type)} />}
      <div class="quarters">
        <Shares
          title={t`By address`}
          isWide
          rest={t`others`}
          total={total}
          shares={top}
          {...originsOf(sources)}
          {...(isIncoming &&
            accepted?.block === null &&
            target !== undefined && {
              action: ({ key }: { readonly key: string }) => {
                const refusal = sources.not_blockable?.find(({ source }) => source === key)?.reason;
                if (refusal === undefined) return <BlockButton source={key} victim={target} onChanged={() => {}} />;
                return <span class="muted" title={said(refusal)}>{t`not blockable`}</span>;
              },
            })}
        />
        <Shares title={t`By prefix`} total={total} shares={prefixes} rest={t`others`} />
        <Shares title={t`By network`} total={total} shares={sources.top_asns ?? []} rest={NOT_KNOWN} />
        <Shares title={t`By country`} total={total} shares={sources.top_countries ?? []} rest={NOT_KNOWN} />
        <Shares title={t`Comes in by`} total={1} shares={interfaceShares(sources)} rest={NOT_KNOWN} />
      </div>
    </Panel>
  );
}

/** For an entry that the files do not have, or that is not among the largest. */
const NOT_KNOWN = t`not known, or others`;

/** By the packets that the sampled ones stand for: exporters sample at different rates. */
function interfaceShares({ top_interfaces: interfaces = [] }: Sources) {
  return interfaces.map(({ exporter, interface: number, name, share, bytes }) => ({
    key: `${exporter} ${name ?? t`interface ${number}`}`,
    packets: share,
    bytes,
  }));
}

/** The sample of the detection has no counts for a hint. */
function isComplete(sources: Sources): sources is AttackSourcesWire {
  return "distinct_sources" in sources;
}

function Hint({ hint: { kind, title, reasons } }: { readonly hint: SpoofingHint }) {
  return (
    <Callout tone={kind === "forged" ? "warn" : "info"} title={title}>
      {reasons.map((reason) => (
        <p key={reason}>{reason}</p>
      ))}
      <p class="muted">{t`A hint from a sample of the packets, not a verdict.`}</p>
    </Callout>
  );
}
