/** How an attack went: its traffic and what was decided, with one crosshair. Pointing at either marks the other. */
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { SeriesWire, TimelineWire } from "../../../src/http/wire/attack-series.ts";
import { names } from "../../api/known-names.ts";
import { type Resource, useResource } from "../../api/resource.ts";
import { entryAt, marksOf } from "../../text/attack-marks.ts";
import { withName } from "../../text/known-names.ts";
import { foldedEntries } from "../../text/timeline.ts";
import { AttackChart } from "./attack-chart.tsx";
import { AttackTimeline } from "./attack-timeline.tsx";

export interface Course {
  readonly series: Resource<SeriesWire>;
  readonly timeline: Resource<TimelineWire>;
}

const EVERY_MS = 2000;

export function useCourse({ id, ended_at: end }: AttackWire): Course {
  const path = `/api/v1/attacks/${encodeURIComponent(id)}`;
  const everyMs = end === undefined ? EVERY_MS : 0;
  return {
    series: useResource<SeriesWire>(`${path}/series`, everyMs),
    timeline: useResource<TimelineWire>(`${path}/timeline`, everyMs),
  };
}

function named(entries: TimelineWire["entries"]): TimelineWire["entries"] {
  return entries.map((entry) =>
    entry.neighbor === undefined ? entry : { ...entry, neighbor: withName(names.value, entry.neighbor) },
  );
}

/** A time, in seconds since the epoch, and the entry of the timeline that it was pointed at by. */
interface Pointed {
  readonly at: number;
  readonly entry: number | null;
}

export function AttackCourse({ attack, course }: { readonly attack: AttackWire; readonly course: Course }) {
  const pointed = useSignal<Pointed | null>(null);
  const { value: loaded } = course.timeline.state;
  const entries = useMemo(
    () => (loaded.kind === "ready" ? foldedEntries(named(loaded.data.entries)) : []),
    [loaded, names.value],
  );
  const marks = useMemo(() => marksOf(entries), [entries]);
  const { value } = pointed;
  const now = value === null ? null : (value.entry ?? entryAt(marks, value.at));
  return (
    <>
      <AttackChart
        attack={attack}
        resource={course.series}
        marks={marks}
        pointedAt={value?.at ?? null}
        onPoint={(at) => {
          pointed.value = at === null ? null : { at, entry: null };
        }}
      />
      <AttackTimeline
        resource={course.timeline}
        entries={entries}
        pointed={now}
        onPoint={(entry) => {
          const at = entry === null ? undefined : marks[entry];
          pointed.value = at === undefined ? null : { at, entry };
        }}
      />
    </>
  );
}
