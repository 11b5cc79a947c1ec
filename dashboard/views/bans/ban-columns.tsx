/** The columns of ban lists: for active bans what happens next, for the others why they are not active. */
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { Badge } from "../../parts/badge.tsx";
import { UnbanButton } from "../../parts/ban-actions.tsx";
import { BanEnds } from "../../parts/ban-end.tsx";
import { momentColumn, numberColumn, sinceColumn, textColumn } from "../../parts/columns.tsx";
import type { Column, Sort } from "../../parts/data-table.tsx";
import { Until } from "../../parts/moment.tsx";
import { linkTo } from "../../router.ts";
import { banSubject, banWhy, nextStep } from "../../text/bans.ts";
import { scaled } from "../../text/format/numbers.ts";
import { subjectOrder } from "../../text/format/subject-order.ts";
import { duration } from "../../text/format/times.ts";
import { methodName } from "../../text/format/words.ts";
import { RouteState } from "./bans-panel.tsx";

const SUBJECT: Column<BanWire> = {
  key: "subject",
  title: "Address",
  cell: (ban) => <a href={linkTo(["bans", ban.prefix, ban.started_at])}>{banSubject(ban)}</a>,
  order: ({ prefix }) => subjectOrder(prefix),
};

const METHOD: Column<BanWire> = {
  key: "method",
  title: "Method",
  cell: ({ method, node }) => (node === undefined ? methodName(method) : `Divert to ${node}`),
  order: ({ method, node }) => `${method} ${node ?? ""}`,
  width: "medium",
};

const WHY = textColumn("Why", banWhy);
const BY = textColumn("By", byText, "wide");
const BEGAN = momentColumn("Began", ({ started_at: at }: BanWire) => at, "medium");
const DROPPED = numberColumn("Dropped here", ({ dropped_packets: packets }: BanWire) => packets, {
  format: (packets) => `${scaled(packets)} packets`,
  width: "wide",
});

const DRY_RUN: Column<BanWire> = {
  key: "dry",
  title: "Dry run",
  cell: ({ dry_run: isDry }) => (isDry ? <Badge tone="warn">dry run</Badge> : "–"),
  order: ({ dry_run: isDry }) => (isDry ? 1 : 0),
  width: "wide",
};

export const BAN_LISTS: Readonly<Record<BanWire["state"], readonly Column<BanWire>[]>> = {
  active: [
    SUBJECT,
    METHOD,
    { key: "route", title: "Route", cell: (ban) => <RouteState ban={ban} />, order: routeOrder },
    { ...WHY, width: "wide" },
    { key: "next", title: "Next", cell: (ban) => <Next ban={ban} />, width: "medium" },
    DROPPED,
    BY,
    sinceColumn("For", ({ started_at: at }) => at, "wide"),
    {
      key: "ends",
      title: "Ends",
      cell: (ban) => <BanEnds ban={ban} isShort />,
      order: ({ expires_at: at }) => -Date.parse(at),
      isNumber: true,
    },
    { key: "act", title: "Actions", isTitleUnseen: true, cell: (ban) => <UnbanButton ban={ban} /> },
  ],
  rejected: [SUBJECT, METHOD, WHY, BY, DRY_RUN, BEGAN],
  withdrawn: [
    SUBJECT,
    METHOD,
    WHY,
    BY,
    DRY_RUN,
    { ...BEGAN, width: "wide" },
    numberColumn("Lasted", lastedSeconds, { format: duration, width: "medium" }),
    momentColumn("Ended", ({ withdrawn_at: at }) => at),
  ],
};

export const FIRST_SORTS: Readonly<Record<BanWire["state"], Sort>> = {
  active: { key: "For", isDescending: false },
  rejected: { key: "Began", isDescending: true },
  withdrawn: { key: "Ended", isDescending: true },
};

function Next({ ban }: { readonly ban: BanWire }) {
  const next = nextStep(ban);
  if (next === null) return "–";
  return (
    <>
      {methodName(next.action)} in <Until at={next.at} />
    </>
  );
}

function byText({ manual }: BanWire): string {
  return manual ? "an operator" : "detection";
}

/** Bans that no router has received come first. */
function routeOrder({ dry_run: isDry, announced, announce_error: error }: BanWire): number {
  if (error !== undefined) return 0;
  return announced === true ? 2 : isDry ? 3 : 1;
}

function lastedSeconds({ started_at: from, withdrawn_at: to }: BanWire): number {
  return to === undefined ? 0 : (Date.parse(to) - Date.parse(from)) / 1000;
}
