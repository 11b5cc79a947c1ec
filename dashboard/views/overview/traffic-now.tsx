/** The incoming and outgoing traffic of the last minutes, by protocol. */
import { useState } from "preact/hooks";
import { type Direction, PROTOCOLS, type Protocol, total, trace, type Unit } from "../../api/traffic-trace.ts";
import { Chart, type Series } from "../../parts/chart.tsx";
import { Segments } from "../../parts/field.tsx";
import { bitRate, packetRate } from "../../text/format/numbers.ts";
import { duration } from "../../text/format/times.ts";
import { DIRECTION_NAMES } from "../../text/format/words.ts";

const PROTOCOL_NAMES: Readonly<Record<Protocol, string>> = { udp: "UDP", tcp: "TCP", icmp: "ICMP", other: "Other" };
const UNITS = [
  ["pps", "Packets"],
  ["mbps", "Bits"],
] as const;

export function TrafficNow() {
  const [unit, setUnit] = useState<Unit>("pps");
  const isSilent = trace.value.every(({ outgoing }) => total(outgoing, unit) === 0);
  return (
    <>
      <Segments label="Unit" value={unit} options={UNITS} onChange={setUnit} />
      <div class={isSilent ? "" : "pair"}>
        <DirectionChart direction="incoming" unit={unit} />
        {!isSilent && <DirectionChart direction="outgoing" unit={unit} />}
      </div>
      {isSilent && (
        <p class="muted">
          Outgoing: nothing is sent, or it is not counted, which takes <code>thresholds_outgoing</code>.
        </p>
      )}
    </>
  );
}

function DirectionChart({ direction, unit }: { readonly direction: Direction; readonly unit: Unit }) {
  const points = trace.value;
  const last = points.at(-1);
  const format = unit === "pps" ? packetRate : bitRate;
  const now = last === undefined ? 0 : total(last[direction], unit);
  const title = `${DIRECTION_NAMES[direction]}: ${format(now)}`;
  return (
    <div>
      <h3 class="number">{title}</h3>
      <Chart
        label={`${title} now; by protocol, the last ${duration((last?.at ?? 0) - (points[0]?.at ?? 0))}`}
        times={points.map(({ at }) => at)}
        series={PROTOCOLS.map(
          (protocol): Series => ({
            label: PROTOCOL_NAMES[protocol],
            color: `--chart-${protocol}`,
            values: points.map((point) => point[direction][unit][protocol]),
            form: "stacked",
          }),
        )}
        format={format}
      />
    </div>
  );
}
