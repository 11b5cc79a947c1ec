/** The columns of ban lists: for active bans what happens next, for the others why they are not active. */
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { Badge } from "../../parts/badge.tsx";
import { UnbanButton } from "../../parts/ban-actions.tsx";
import type { Column, Sort } from "../../parts/data-table.tsx";
import { Moment, Since, Until } from "../../parts/moment.tsx";
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

const WHY: Column<BanWire> = { key: "why", title: "Why", cell: banWhy, order: banWhy };

const BY: Column<BanWire> = {
  key: "by",
  title: "By",
  cell: byText,
  order: byText,
  width: "wide",
};

const BEGAN: Column<BanWire> = {
  key: "began",
  title: "Began",
  cell: ({ started_at: at }) => <Moment at={at} />,
  order: ({ started_at: at }) => at,
  width: "medium",
};

const DROPPED: Column<BanWire> = {
  key: "dropped",
  title: "Dropped here",
  cell: ({ dropped_packets: packets }) => (packets === undefined ? "–" : `${scaled(packets)} packets`),
  order: ({ dropped_packets: packets }) => packets ?? -1,
  isNumber: true,
  width: "wide",
};

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
    {
      key: "since",
      title: "For",
      cell: ({ started_at: at }) => <Since at={at} />,
      order: ({ started_at: at }) => -Date.parse(at),
      isNumber: true,
      width: "wide",
    },
    {
      key: "ends",
      title: "Ends in",
      cell: ({ expires_at: at }) => <Until at={at} />,
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
    {
      key: "lasted",
      title: "Lasted",
      cell: (ban) => duration(lastedSeconds(ban)),
      order: lastedSeconds,
      isNumber: true,
      width: "medium",
    },
    {
      key: "ended",
      title: "Ended",
      cell: ({ withdrawn_at: at }) => (at === undefined ? "–" : <Moment at={at} />),
      order: ({ withdrawn_at: at }) => at ?? "",
    },
  ],
};

export const FIRST_SORTS: Readonly<Record<BanWire["state"], Sort>> = {
  active: { key: "since", isDescending: false },
  rejected: { key: "began", isDescending: true },
  withdrawn: { key: "ended", isDescending: true },
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
