/** The fields of a ban with terms of its own. */
import { t } from "../language.ts";
import { BAN_METHODS, BAN_TIMES, type BanForm } from "../text/ban-order.ts";
import { ChoiceField, TextField } from "./field.tsx";

const PROTOCOLS = ["", "tcp", "udp", "icmp", "icmpv6", "gre"].map(
  (each) => [each, each === "" ? t`any` : each] as const,
);
const FRAGMENTS = [
  ["", t`any`],
  ["yes", t`Only fragments`],
  ["no", t`No fragments`],
] as const;
const DRY_RUNS = [
  ["", t`As the configuration says`],
  ["yes", t`Only recorded`],
] as const;

interface BanTermsProps {
  readonly form: BanForm;
  readonly onChange: (changes: Partial<BanForm>) => void;
  readonly hasNeighbors: boolean;
}

export function BanTerms({ form, onChange, hasNeighbors }: BanTermsProps) {
  const text = (
    key: "ports" | "sourcePorts" | "flags" | "lengths" | "source" | "mbps" | "neighbors" | "communities" | "template",
    label: string,
    placeholder: string,
  ) => (
    <TextField
      label={label}
      value={form[key]}
      onInput={(value) => onChange({ [key]: value })}
      placeholder={placeholder}
    />
  );
  return (
    <details>
      <summary>{t`Method, time and rules`}</summary>
      <div class="filters">
        <ChoiceField
          label={t`Method`}
          value={form.method}
          options={BAN_METHODS}
          onChange={(method) => onChange({ method })}
        />
        <ChoiceField
          label={t`For`}
          value={form.seconds}
          options={BAN_TIMES}
          onChange={(seconds) => onChange({ seconds })}
        />
        <ChoiceField
          label={t`Dry run`}
          value={form.dryRun}
          options={DRY_RUNS}
          onChange={(dryRun) => onChange({ dryRun })}
        />
      </div>
      <div class="filters">
        <ChoiceField
          label={t`Protocol`}
          value={form.protocol}
          options={PROTOCOLS}
          onChange={(protocol) => onChange({ protocol })}
        />
        {text("ports", t`Ports`, "443, 8000-8099")}
        {text("sourcePorts", t`Source ports`, "19, 53")}
        {text("source", t`Source`, "198.51.100.0/24")}
      </div>
      <div class="filters">
        {text("flags", t`TCP flags`, "syn, !ack")}
        <ChoiceField
          label={t`Fragments`}
          value={form.fragment}
          options={FRAGMENTS}
          onChange={(fragment) => onChange({ fragment })}
        />
        {text("lengths", t`Packet lengths, bytes`, "468, 1200-1500")}
      </div>
      <div class="filters">
        {text("mbps", t`Rate, Mbit/s`, "50")}
        {hasNeighbors && text("neighbors", t`Only to neighbors`, "edge1, edge2")}
        {hasNeighbors && text("communities", t`Communities`, "64500:7")}
        {text("template", t`Order template`, "cut-web")}
      </div>
    </details>
  );
}
