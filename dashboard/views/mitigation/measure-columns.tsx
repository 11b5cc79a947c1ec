/** The columns of the list of measures, and the value by which each orders it. */
import { attackOfBan } from "../../api/attack-of-ban.ts";
import { serviceNow } from "../../api/contact.ts";
import { formFor, t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { UnbanButton } from "../../parts/ban-actions.tsx";
import { BanEnds } from "../../parts/ban-end.tsx";
import { CutText } from "../../parts/cut-text.tsx";
import type { Column } from "../../parts/data-table.tsx";
import { Until } from "../../parts/moment.tsx";
import { UnblockButton } from "../../parts/source-block-actions.tsx";
import { linkTo } from "../../router.ts";
import { auditPlace } from "../../text/audit-links.ts";
import { nextStep } from "../../text/bans.ts";
import { capital, methodName } from "../../text/format/words.ts";
import {
  begunAt,
  effectPackets,
  effectText,
  endsAt,
  holderText,
  lackText,
  ownerText,
  stateOrder,
  stateWord,
  subjectOrderOf,
  wantedText,
  whyText,
} from "../../text/measure-words.ts";
import { blockName, isLiftable, MEASURE_KINDS, type Measure, measureSubject } from "../../text/measures.ts";

const SHORT_KINDS: Readonly<Record<Measure["kind"], string>> = {
  ban: capital(formFor(1, "ban|bans")),
  rule: t`Rule`,
  block: capital(formFor(1, "block|blocks")),
  node: t`Node`,
};

/** By the key of the column; `began` is no column. */
export const ORDERS: Readonly<Record<string, (measure: Measure) => number | string>> = {
  what: subjectOrderOf,
  kind: ({ kind }) => MEASURE_KINDS[kind],
  wanted: wantedText,
  state: stateOrder,
  held: holderText,
  effect: (measure) => effectPackets(measure, attackOf(measure)) ?? -1,
  owner: ownerText,
  why: whyText,
  ends: (measure) => endsAt(measure) ?? "~",
  began: begunAt,
};

interface Picking {
  /** Keys of the selected ones; null: the caller may not act. */
  readonly picked: ReadonlySet<string> | null;
  readonly onPick: (measure: Measure, isPicked: boolean) => void;
  readonly onUnblocked: () => void;
}

export function measureColumns(picking: Picking): readonly Column<Measure>[] {
  const sortable = { isSortable: true } as const;
  return [
    { key: "what", title: t`What`, cell: (measure) => <What measure={measure} picking={picking} />, ...sortable },
    { key: "kind", title: t`Kind`, cell: ({ kind }) => SHORT_KINDS[kind], width: "medium", ...sortable },
    { key: "wanted", title: t`Wanted`, cell: (measure) => <Wanted measure={measure} />, width: "medium", ...sortable },
    { key: "state", title: t`State`, cell: (measure) => <State measure={measure} />, ...sortable },
    {
      key: "ends",
      title: t`Ends`,
      cell: (measure) => <Ends measure={measure} />,
      isNumber: true,
      width: "medium",
      ...sortable,
    },
    { key: "effect", title: t`Packets`, cell: effectCell, width: "wide", isNumber: true, ...sortable },
    { key: "held", title: t`Applied by`, cell: (measure) => <Holder measure={measure} />, width: "wide", ...sortable },
    {
      key: "owner",
      title: t`Ordered by`,
      cell: (measure) => <Owner measure={measure} />,
      width: "wide",
      ...sortable,
    },
    {
      key: "why",
      title: t`Why`,
      cell: (measure) => <CutText text={measure.kind === "rule" ? "" : whyText(measure)} />,
      width: "widest",
      ...sortable,
    },
    {
      key: "act",
      title: t`Actions`,
      isTitleUnseen: true,
      cell: (measure) => <Lift measure={measure} onUnblocked={picking.onUnblocked} />,
    },
  ];
}

interface WhatProps {
  readonly measure: Measure;
  readonly picking: Picking;
}

function What({ measure, picking: { picked, onPick } }: WhatProps) {
  const subject = measureSubject(measure);
  return (
    <span class={measure.kind === "rule" ? "measure-part" : undefined}>
      {picked !== null && isLiftable(measure) && (
        <input
          type="checkbox"
          class="pick"
          aria-label={t`Select ${subject}`}
          checked={picked.has(measure.key)}
          onChange={(event) => onPick(measure, event.currentTarget.checked)}
        />
      )}
      <Subject measure={measure} text={subject} />
    </span>
  );
}

function Subject({ measure, text }: { readonly measure: Measure; readonly text: string }) {
  if (measure.kind === "block") return <>{text}</>;
  const steps =
    measure.kind === "node" ? ["scrub", measure.node.name] : ["mitigation", measure.ban.prefix, measure.ban.started_at];
  return (
    <a href={linkTo(steps)} title={text}>
      {text}
    </a>
  );
}

/** With what the escalation does next. */
function Wanted({ measure }: { readonly measure: Measure }) {
  const next = measure.kind === "ban" ? nextStep(measure.ban) : null;
  return (
    <>
      {wantedText(measure)}
      {next !== null && (
        <>
          {", "}
          <span class="muted">
            {tx`${methodName(next.action)} in ${<Until at={next.at} />}`}
            {next.isIfUnheld && t` if the attack is not stopped by then`}
          </span>
        </>
      )}
    </>
  );
}

function State({ measure }: { readonly measure: Measure }) {
  const { tone, text } = stateWord(measure);
  return <Badge tone={tone}>{text}</Badge>;
}

/** The address of a neighbor with a name is in the title. */
function Holder({ measure }: { readonly measure: Measure }) {
  const text = holderText(measure);
  return (
    <span class="row-reason" title={lackText(measure) ?? text}>
      {text.replaceAll(/ \([\da-f.:]+\)/g, "")}
    </span>
  );
}

function effectCell(measure: Measure): string {
  return effectText(measure, attackOf(measure));
}

function attackOf(measure: Measure) {
  return measure.kind === "ban" ? attackOfBan(measure.ban) : undefined;
}

/** An order leads to its audit rows, what an attack caused to the attack. */
function Owner({ measure }: { readonly measure: Measure }) {
  const text = ownerText(measure);
  // Values that a rule has in common with its ban are in the ban's row.
  if (measure.kind === "rule") return <>–</>;
  if (measure.kind === "node") return <>{text}</>;
  const attack = measure.kind === "block" || measure.ban.manual ? undefined : measure.ban.attacks?.[0];
  if (attack !== undefined) return <a href={linkTo(["attacks", attack])}>{text}</a>;
  const target = measure.kind === "block" ? measure.block.victim : measure.ban.target;
  const about = measure.kind === "block" ? blockName(measure.block) : measureSubject(measure);
  return (
    <a
      href={linkTo(["audit"], auditPlace({ target, from: begunAt(measure) }, serviceNow()))}
      aria-label={t`${text}: audit trail of ${about}`}
      title={whyText(measure) || undefined}
    >
      {text}
    </a>
  );
}

function Ends({ measure }: { readonly measure: Measure }) {
  if (measure.kind === "node" || measure.kind === "rule") return <>–</>;
  if (measure.kind === "ban") return <BanEnds ban={measure.ban} isShort />;
  return <>{tx`in ${<Until at={measure.block.expires_at} />}`}</>;
}

function Lift({ measure, onUnblocked }: { readonly measure: Measure; readonly onUnblocked: () => void }) {
  if (measure.kind === "ban") return <UnbanButton ban={measure.ban} />;
  return measure.kind === "block" ? <UnblockButton block={measure.block} onChanged={onUnblocked} /> : null;
}
