/** What a ticket or a customer gets of an attack: its report, its traffic as CSV, and its sampled packets. */
import { useState } from "preact/hooks";
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import { download } from "../../api/client.ts";
import { serviceNow } from "../../api/contact.ts";
import { Button } from "../../parts/button.tsx";
import { failureText } from "../../parts/callout.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { tellOutcome } from "../../parts/outcome.tsx";
import { saveFile } from "../../parts/save-file.ts";
import { attackReport, seriesCsv } from "../../text/attack-report.ts";
import type { Course } from "./attack-course.tsx";
import type { Sources } from "./attack-sources.tsx";

export interface AttackTakeAwayProps {
  readonly attack: AttackWire;
  readonly course: Course;
  readonly sources: Sources | null;
}

export function AttackTakeAway({ attack, course, sources }: AttackTakeAwayProps) {
  const { value: series } = course.series.state;
  const { value: timeline } = course.timeline.state;
  const points = series.kind === "ready" ? series.data.points : [];
  const report = () =>
    attackReport({
      attack,
      timeline: timeline.kind === "ready" ? timeline.data.entries : [],
      sources,
      nowMs: serviceNow(),
    });
  return (
    <>
      <CopyButton textOf={report} />
      <Button
        isDisabled={points.length === 0}
        onClick={() => saveFile(`attack-${attack.id}.csv`, new Blob([seriesCsv({ points })], { type: "text/csv" }))}
      >
        Traffic as CSV
      </Button>
      <PacketsButton id={attack.id} />
    </>
  );
}

/** Without a secure context, or if the user has denied it, a browser gives no access to the clipboard. */
function CopyButton({ textOf }: { readonly textOf: () => string }) {
  const [shown, setShown] = useState<string | null>(null);
  const copy = async () => {
    const text = textOf();
    try {
      await navigator.clipboard.writeText(text);
      tellOutcome("The report is copied.");
    } catch {
      setShown(text);
    }
  };
  return (
    <>
      <Button onClick={() => void copy()}>Copy report</Button>
      {shown !== null && (
        <Dialog title="Report" onClose={() => setShown(null)}>
          <p>The browser does not let the page copy: mark the text and copy it.</p>
          <textarea
            class="report"
            aria-label="Report"
            readOnly
            rows={16}
            value={shown}
            onFocus={(event) => event.currentTarget.select()}
          />
          <div class="dialog-buttons">
            <Button onClick={() => setShown(null)}>Close</Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

function PacketsButton({ id }: { readonly id: string }) {
  const [isBusy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    const answer = await download(`/api/v1/attacks/${encodeURIComponent(id)}/pcap`);
    setBusy(false);
    if (answer.kind === "answer") saveFile(`attack-${id}.pcap`, answer.data);
    else tellOutcome(`No capture file: ${failureText(answer)}.`);
  };
  return (
    <Button isBusy={isBusy} onClick={() => void save()}>
      Packets as pcap
    </Button>
  );
}
