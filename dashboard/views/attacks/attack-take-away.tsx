/** An attack's files for a ticket or a customer: its report, its traffic as CSV, and its sampled packets. */

import { useState } from "preact/hooks";
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { AttackSourcesWire } from "../../../src/http/wire/attack-sources.ts";
import type { PacketOutcome } from "../../../src/traffic/packet-outcome.ts";
import { download } from "../../api/client.ts";
import { serviceNow } from "../../api/contact.ts";
import { t } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { CopyAddress, CopyButton } from "../../parts/copy-button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { showOutcome } from "../../parts/outcome.tsx";
import { saveFile } from "../../parts/save-file.ts";
import { ShareButton } from "../../parts/share-button.tsx";
import { attackReport, seriesCsv } from "../../text/attack-report.ts";
import { failureText } from "../../text/failure.ts";
import { wholeNumber } from "../../text/format/numbers.ts";
import { momentText } from "../../text/format/times.ts";
import type { Course } from "./attack-course.tsx";
import type { Sources } from "./attack-sources.tsx";

type KeptPackets = AttackSourcesWire["kept_packets"];

interface AttackTakeAwayProps {
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
      localTime: new Date().getTimezoneOffset() === 0 ? null : (ms) => momentText(ms, serviceNow()),
    });
  return (
    <>
      <CopyButton text={t`Copy report`} title={t`Report`} done={t`The report is copied.`} textOf={report} />
      {attack.target !== undefined && <CopyAddress address={attack.target} />}
      <PageButton id={attack.id} />
      <Button
        isDisabled={points.length === 0}
        onClick={() =>
          saveFile(`attack-${attack.id}.csv`, new Blob([seriesCsv({ points }, attack)], { type: "text/csv" }))
        }
      >{t`Traffic as CSV`}</Button>
      <PacketsButton id={attack.id} kept={sources?.kept_packets} />
      <ShareButton kind="attack" of={attack.id} />
    </>
  );
}

/** The page needs nothing else: it is opened and printed without the service. */
function PageButton({ id }: { readonly id: string }) {
  const [isBusy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    const answer = await download(`/api/v1/attacks/${encodeURIComponent(id)}/report`);
    setBusy(false);
    if (answer.kind === "answer") saveFile(`attack-${id}.html`, answer.data);
    else showOutcome(t`No report: ${failureText(answer)}.`);
  };
  return <Button isBusy={isBusy} onClick={() => void save()}>{t`Report to print`}</Button>;
}

const OUTCOMES: readonly (readonly [PacketOutcome, string])[] = [
  ["passed", t`passed`],
  ["dropped", t`dropped`],
  ["answered", t`answered for a proof of the source's address`],
];

/** Asks which packets, where what became of them is known. */
function PacketsButton({ id, kept }: { readonly id: string; readonly kept: KeptPackets | undefined }) {
  const [isBusy, setBusy] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const save = async (outcome: PacketOutcome | null) => {
    setBusy(true);
    const query = outcome === null ? "" : `?outcome=${outcome}`;
    const answer = await download(`/api/v1/attacks/${encodeURIComponent(id)}/pcap${query}`);
    setBusy(false);
    setAsking(false);
    const name = outcome === null ? `attack-${id}.pcap` : `attack-${id}-${outcome}.pcap`;
    if (answer.kind === "answer") saveFile(name, answer.data);
    else showOutcome(t`No capture file: ${failureText(answer)}.`);
  };
  const isJudged = kept !== undefined && kept.passed + kept.dropped + kept.answered > 0;
  return (
    <>
      <Button
        isBusy={isBusy}
        onClick={() => (isJudged ? setAsking(true) : void save(null))}
      >{t`Packets as pcap`}</Button>
      {isJudged && isAsking && (
        <Dialog title={t`Which packets?`} onClose={() => setAsking(false)}>
          <p>{t`The newest sampled packets of its target, by what became of them on this machine.`}</p>
          <p class="choices">
            <Button isBusy={isBusy} onClick={() => void save(null)}>{t`All ${wholeNumber(kept.total)}`}</Button>
            {OUTCOMES.map(([outcome, text]) => (
              <Button key={outcome} isBusy={isBusy} isDisabled={kept[outcome] === 0} onClick={() => void save(outcome)}>
                {wholeNumber(kept[outcome])} {text}
              </Button>
            ))}
          </p>
          <div class="dialog-buttons">
            <Button onClick={() => setAsking(false)}>{t`Cancel`}</Button>
          </div>
        </Dialog>
      )}
    </>
  );
}
