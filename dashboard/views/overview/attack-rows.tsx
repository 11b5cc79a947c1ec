/** Attacks in progress as rows, the most urgent first: for when there are too many for cards. */
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { BanButton, UnbanButton } from "../../parts/ban-actions.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Until } from "../../parts/moment.tsx";
import { Sparkline } from "../../parts/sparkline.tsx";
import { linkTo } from "../../router.ts";
import { aboutMark, passedMark } from "../../text/attack-size.ts";
import { nextStep } from "../../text/bans.ts";
import { bitRate, packetRate, percent, plusMinus, scaled } from "../../text/format/numbers.ts";
import { vectorName } from "../../text/format/vectors.ts";
import { methodName } from "../../text/format/words.ts";
import { attackSubject, banOf, customerText, effectOf, isSpared } from "../../text/mitigation.ts";

interface Row {
  readonly attack: AttackWire;
  readonly ban: BanWire | undefined;
}

const COLUMNS: readonly Column<Row>[] = [
  {
    key: "subject",
    title: t`Victim`,
    cell: ({ attack }) => <a href={linkTo(["attacks", attack.id])}>{attackSubject(attack)}</a>,
  },
  {
    key: "customer",
    title: t`Customer`,
    cell: ({ attack }) => customerText(attack),
    width: "wide",
  },
  {
    key: "kind",
    title: t`Kind`,
    cell: ({ attack: { classification, direction } }) =>
      `${classification === undefined ? t`Not known yet` : vectorName(classification.type)}${direction === "outgoing" ? t`, outgoing` : ""}`,
    width: "medium",
  },
  {
    key: "bits",
    title: t`Bits`,
    cell: ({ attack: { rates, sampling_error: error } }) => bitRate(rates.mbps) + plusMinus(error?.mbps),
    isNumber: true,
  },
  {
    key: "packets",
    title: t`Packets`,
    cell: ({ attack: { rates, sampling_error: error } }) => packetRate(rates.pps) + plusMinus(error?.pps),
    isNumber: true,
    width: "medium",
  },
  { key: "minute", title: t`Last minute`, cell: ({ attack }) => <Sparkline id={attack.id} />, width: "wider" },
  { key: "state", title: t`Mitigation`, cell: (row) => <State {...row} /> },
  { key: "next", title: t`Next step`, cell: (row) => <Next {...row} />, width: "medium" },
  {
    key: "passed",
    title: t`Passed`,
    cell: ({ attack: { volume } }) =>
      volume?.passed_packets === undefined
        ? "–"
        : `${passedMark(volume)}${scaled(volume.passed_packets)} (${aboutMark(volume)}${percent(volume.passed_packets / Math.max(1, volume.packets))})`,
    isNumber: true,
    width: "medium",
  },
  { key: "act", title: t`Actions`, isTitleUnseen: true, cell: (row) => <Action {...row} /> },
];

/** Where this machine drops nothing, the column would be empty. */
const WITHOUT_DROPS = COLUMNS.filter(({ key }) => key !== "passed");

interface AttackRowsProps {
  /** In the order of their urgency. */
  readonly attacks: readonly AttackWire[];
  readonly bans: readonly BanWire[];
}

export function AttackRows({ attacks, bans }: AttackRowsProps) {
  const areDropsKnown = attacks.some(({ volume }) => volume?.dropped_packets !== undefined);
  return (
    <div class="rows-now">
      <DataTable
        label={t`Attacks in progress`}
        columns={areDropsKnown ? COLUMNS : WITHOUT_DROPS}
        rows={attacks.map((attack) => ({ attack, ban: banOf(attack, bans) }))}
        rowKey={({ attack }) => attack.id}
      />
    </div>
  );
}

function State({ attack, ban }: Row) {
  const { tone, title } = effectOf(attack, ban);
  return <Badge tone={tone}>{title}</Badge>;
}

/** The next step of the escalation; for an attack that is not banned, the reason. */
function Next({ attack, ban }: Row) {
  const { detail } = effectOf(attack, ban);
  if (attack.ban_state === "rejected" && detail !== null) {
    return (
      <span class="row-reason" title={detail}>
        {detail}
      </span>
    );
  }
  const next = ban === undefined ? null : nextStep(ban);
  if (next === null) return <span class="muted">{t`None`}</span>;
  return (
    <>
      {tx`${methodName(next.action)} in ${<Until at={next.at} />}`}
      {next.isIfUnheld && t` if the attack is not stopped by then`}
    </>
  );
}

function Action({ attack: { target }, ban }: Row) {
  if (ban?.state === "active") return <UnbanButton ban={ban} />;
  return target !== undefined && !isSpared(ban) ? <BanButton target={target} /> : null;
}
