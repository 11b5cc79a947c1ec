/** The active, refused and ended bans, and the view of one ban. */
import { useMemo, useState } from "preact/hooks";
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { ENDED_BANS_KEPT } from "../../../src/limits.ts";
import { bans } from "../../api/live.ts";
import { banKey } from "../../api/tables.ts";
import { BanButton } from "../../parts/ban-actions.tsx";
import { Empty } from "../../parts/callout.tsx";
import { Segments } from "../../parts/field.tsx";
import { Panel } from "../../parts/panel.tsx";
import { SearchedTable } from "../../parts/searched-table.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo, place, setQuery } from "../../router.ts";
import { banText } from "../../text/bans.ts";
import { wholeNumber } from "../../text/format/numbers.ts";
import type { ViewProps } from "../../view.ts";
import { BAN_LISTS, FIRST_SORTS } from "./ban-columns.tsx";
import { BanPage } from "./ban-page.tsx";

type State = BanWire["state"];

const STATES: readonly State[] = ["active", "rejected", "withdrawn"];
const TITLES: Readonly<Record<State, string>> = { active: "In force", rejected: "Refused", withdrawn: "Ended" };
const LABELS: Readonly<Record<State, string>> = {
  active: "Bans in force",
  rejected: "Refused bans",
  withdrawn: "Ended bans",
};

export function Bans({ steps }: ViewProps) {
  const [prefix, startedAt] = steps;
  if (prefix === undefined || startedAt === undefined) return <BanList />;
  return <BanPage prefix={prefix} startedAt={startedAt} />;
}

function BanList() {
  const which = STATES.find((state) => state === place.value.query.get("which")) ?? "active";
  return (
    <Panel
      title={TITLES[which]}
      actions={
        <div class="panel-actions">
          <Segments
            label="Which bans"
            value={which}
            options={STATES.map((state) => [state, TITLES[state]] as const)}
            onChange={(state) => setQuery({ which: state === "active" ? null : state })}
          />
          <BanButton />
        </div>
      }
    >
      <Show loaded={bans.value} what="bans">
        {(all) => <Listed all={all} which={which} />}
      </Show>
    </Panel>
  );
}

interface ListedProps {
  readonly all: readonly BanWire[];
  readonly which: State;
}

function Listed({ all, which }: ListedProps) {
  const [sorts, setSorts] = useState(FIRST_SORTS);
  const own = useMemo(() => all.filter(({ state }) => state === which), [all, which]);
  if (own.length === 0) return <None which={which} />;
  return (
    <>
      <SearchedTable
        label={LABELS[which]}
        what="ban"
        placeholder="address, method, reason, manual"
        isCounted
        columns={BAN_LISTS[which]}
        rows={own}
        rowKey={banKey}
        textOf={banText}
        sort={sorts[which]}
        onSort={(next) => setSorts({ ...sorts, [which]: next })}
      />
      {which === "withdrawn" && own.length >= ENDED_BANS_KEPT && (
        <p class="muted">
          The last {wholeNumber(ENDED_BANS_KEPT)} are kept here; older ones are in the{" "}
          <a href={linkTo(["audit"], { action: "ban" })}>audit trail</a>.
        </p>
      )}
    </>
  );
}

function None({ which }: { readonly which: State }) {
  switch (which) {
    case "active":
      return <Empty title="No ban in force">Bans come with attacks, or by hand.</Empty>;
    case "rejected":
      return (
        <Empty title="No ban was refused">
          A refused ban, for example of a whitelisted address, is listed while its attack lasts.
        </Empty>
      );
    case "withdrawn":
      return <Empty title="No ban has ended yet">Those that end are kept here, with the reason why.</Empty>;
    default:
      return which satisfies never;
  }
}
