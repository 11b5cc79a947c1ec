/** The last minute of an attack as a small line. It is read only while its row is in sight, and not for all at once. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { SeriesWire } from "../../src/http/wire/attack-series.ts";
import { useResource } from "../api/resource.ts";
import { t } from "../language.ts";
import { rateOf } from "../text/format/numbers.ts";
import { SPARK_HEIGHT, SPARK_WIDTH, sparkOf } from "../text/spark-path.ts";

/** A series may have a thousand points, and each row reads one. */
const READ_AT_ONCE_MAX = 16;
const EVERY_MS = 10_000;

/** Rows that read now. */
const reading = new Set<string>();

export function Sparkline({ id }: { readonly id: string }) {
  const holder = useRef<HTMLSpanElement>(null);
  const [isRead, setRead] = useState(false);
  useEffect(() => {
    if (holder.current === null) return;
    const stop = () => {
      reading.delete(id);
      setRead(false);
    };
    const observer = new IntersectionObserver((entries) => {
      if (entries.at(-1)?.isIntersecting !== true) return stop();
      if (reading.size >= READ_AT_ONCE_MAX) return;
      reading.add(id);
      setRead(true);
    });
    observer.observe(holder.current);
    return () => {
      observer.disconnect();
      reading.delete(id);
    };
  }, [id]);
  return (
    <span class="spark" ref={holder}>
      {isRead ? <Line id={id} /> : "–"}
    </span>
  );
}

function Line({ id }: { readonly id: string }) {
  const loaded = useResource<SeriesWire>(`/api/v1/attacks/${encodeURIComponent(id)}/series`, EVERY_MS).state.value;
  const spark = useMemo(() => (loaded.kind === "ready" ? sparkOf(loaded.data.points) : null), [loaded]);
  if (loaded.kind !== "ready" || spark === null) return <>–</>;
  const { metric } = loaded.data;
  return (
    <svg
      viewBox={`0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`}
      role="img"
      aria-label={t`Last minute: ${rateOf(metric, spark.lowest)} to ${rateOf(metric, spark.highest)}`}
    >
      <polyline points={spark.points} />
    </svg>
  );
}
