/** Saves the report of a month for a customer, as a page that prints well. */
import { useState } from "preact/hooks";
import { download } from "../api/client.ts";
import { serviceNow } from "../api/contact.ts";
import { t } from "../language.ts";
import type { Customer } from "../text/customers.ts";
import { failureText } from "../text/failure.ts";
import { monthsBefore } from "../text/months.ts";
import { Button } from "./button.tsx";
import { Dialog, useDialog } from "./dialog.tsx";
import { ChoiceField } from "./field.tsx";
import { showOutcome } from "./outcome.tsx";
import { saveFile } from "./save-file.ts";

const MONTHS = 12;

export function MonthReportButton({ customer }: { readonly customer: Customer }) {
  const ask = useDialog((onClose) => <MonthReport customer={customer} onClose={onClose} />);
  return <Button onClick={ask}>{t`Report of a month …`}</Button>;
}

interface MonthReportProps {
  readonly customer: Customer;
  readonly onClose: () => void;
}

function MonthReport({ customer: { kind, name }, onClose }: MonthReportProps) {
  const [months] = useState(() => monthsBefore(serviceNow(), MONTHS));
  // The newest whole one.
  const [chosen, setChosen] = useState(months[1]?.name ?? "");
  const [isBusy, setBusy] = useState(false);
  const save = async () => {
    const month = months.find((one) => one.name === chosen);
    if (month === undefined) return;
    setBusy(true);
    const key = kind === "tenant" ? "tenant" : "group";
    const answer = await download(
      `/api/v1/report?${new URLSearchParams({ from: month.from, to: month.to, [key]: name })}`,
    );
    setBusy(false);
    onClose();
    if (answer.kind === "answer") saveFile(`report-${name}-${chosen}.html`, answer.data);
    else showOutcome(t`No report: ${failureText(answer)}.`);
  };
  return (
    <Dialog title={t`Report of a month`} onClose={onClose}>
      <p>{t`All attacks on ${name} that ended in the month, as a page to print. Times are UTC.`}</p>
      <ChoiceField
        label={t`Month`}
        value={chosen}
        options={months.map((month) => [month.name, month.name])}
        onChange={setChosen}
      />
      <div class="dialog-buttons">
        <Button onClick={onClose}>{t`Cancel`}</Button>
        <Button look="primary" isBusy={isBusy} onClick={() => void save()}>{t`Save`}</Button>
      </div>
    </Dialog>
  );
}
