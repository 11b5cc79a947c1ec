/** The attacks that are kept in the history, by date and address. */
import { useMemo, useState } from "preact/hooks";
import type { AttackWire, EndedAttacksWire } from "../../../src/http/wire/attack.ts";
import { serviceNow } from "../../api/contact.ts";
import { useResource } from "../../api/resource.ts";
import { Button } from "../../parts/button.tsx";
import { Empty, StorageOff, WrongFilter } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Show } from "../../parts/show.tsx";
import { SpanFields, spanOf, TargetField, useRightPath } from "../../parts/span-fields.tsx";
import { linkTo, place } from "../../router.ts";
import { rangeQuery } from "../../text/time-span.ts";

const HOUR_MS = 3_600_000;

interface AttackHistoryProps {
  readonly columns: readonly Column<{ readonly attack: AttackWire; readonly ban: undefined }>[];
}

export function AttackHistory({ columns }: AttackHistoryProps) {
  const { query } = place.value;
  const span = spanOf(query);
  const target = query.get("target") ?? "";
  const toId = span.kind === "between" ? query.get("to_id") : null;
  const [isSpanWrong, setSpanWrong] = useState(false);
  const [isTargetWrong, setTargetWrong] = useState(false);
  // The range starts at the time when it was chosen.
  const { path, from } = useMemo(() => {
    const others = { ...(target === "" ? {} : { target }), ...(toId === null ? {} : { to_id: toId }) };
    const asked = rangeQuery(span, serviceNow(), others);
    const to = asked.get("to");
    const hourBefore = (to === null ? serviceNow() : Date.parse(to)) - HOUR_MS;
    if (!asked.has("from")) asked.set("from", new Date(hourBefore).toISOString());
    return { path: `/api/v1/attacks/history?${asked}`, from: asked.get("from") as string };
  }, [JSON.stringify(span), target, toId]);
  const found = useResource<EndedAttacksWire>(useRightPath(path, span), 0);
  return (
    <>
      <div class="filters">
        <SpanFields span={span} onWrong={setSpanWrong}>
          <TargetField key={target} target={target} onWrong={setTargetWrong} />
        </SpanFields>
      </div>
      {isSpanWrong || isTargetWrong ? (
        <WrongFilter what="attacks" />
      ) : (
        <Show loaded={found.state.value} what="attacks of the history" onRetry={() => void found.refresh()}>
          {(data) =>
            data.available ? <Found data={data} from={from} columns={columns} /> : <StorageOff what="history" />
          }
        </Show>
      )}
    </>
  );
}

interface FoundProps extends AttackHistoryProps {
  readonly data: EndedAttacksWire;
  /** Begin of the range. */
  readonly from: string;
}

function Found({ data: { attacks, next }, from, columns }: FoundProps) {
  if (attacks.length === 0) {
    return <Empty title="No attack ended in this time range">Choose a longer one, or take the address away.</Empty>;
  }
  return (
    <>
      <DataTable
        label="Attacks of the history"
        columns={columns}
        rows={attacks.map((attack) => ({ attack, ban: undefined }))}
        rowKey={({ attack }) => attack.id}
      />
      {next !== undefined && (
        <p class="choices">
          <span>These are the newest {attacks.length}; there are older ones.</span>
          <Button onClick={() => goTo(from, next)}>Older ones</Button>
        </p>
      )}
    </>
  );
}

/** An entry of the browser's history, so that its Back button leads to the newer ones. */
function goTo(from: string, page: NonNullable<EndedAttacksWire["next"]>): void {
  const { steps, query } = place.value;
  location.hash = linkTo(steps, { ...Object.fromEntries(query), range: "own", from, ...page });
}
