/** Which hostgroups or hosts the explorer shows: the busiest at first, others typed with completion, or removed again. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { HostsWire } from "../../../src/http/wire/traffic/host.ts";
import type { TopTrafficWire } from "../../../src/http/wire/traffic/top-traffic.ts";
import { serviceNow } from "../../api/contact.ts";
import { useResource } from "../../api/resource.ts";
import { groupRates } from "../../api/running.ts";
import { t } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { TextField } from "../../parts/field.tsx";
import { chosenFilter } from "../../parts/filter-bar.tsx";
import { chosenRange } from "../../parts/range-choice.tsx";
import { place, setQuery } from "../../router.ts";
import {
  type Exploration,
  GROUPINGS,
  type Grouping,
  isNamedByFilter,
  isPart,
  LINES_MAX,
  namesOf,
  type PartGrouping,
  toggled,
} from "../../text/exploration.ts";
import { looksLikeAddress } from "../../text/format/address.ts";
import { rangeEnds } from "../../text/format/ranges.ts";

const HOSTS_OFFERED = 50;
const BUSIEST = 5;
const EVERY_MS = 10_000;

export function NameChoice({ by, only, direction }: Pick<Exploration, "by" | "only" | "direction">) {
  if (by === "host") return <HostChoice key={by} only={only} />;
  if (isPart(by)) return <PartChoice key={by} by={by} only={only} />;
  return <GroupChoice key={by} by={by} only={only} direction={direction} />;
}

type ChoiceProps = Pick<Exploration, "only" | "direction">;

function GroupChoice({ by, only, direction }: ChoiceProps & { readonly by: "protocol" | "hostgroup" }) {
  const { value } = groupRates.state;
  const groups = value.kind === "ready" ? value.data.hostgroups : [];
  const rate = (group: (typeof groups)[number]) => (direction === "incoming" ? group.rates.pps : group.rates_out.pps);
  const names = groups.toSorted((a, b) => rate(b) - rate(a)).map(({ name }) => name);
  const isOne = by === "protocol";
  return (
    <Names
      by={by}
      label={isOne ? t`Only of the hostgroup` : t`Hostgroup`}
      what={t`hostgroup`}
      only={only}
      known={names}
      isOne={isOne}
      faultOf={(name) => (names.includes(name) ? null : t`There is no such hostgroup.`)}
    />
  );
}

function HostChoice({ only }: Pick<ChoiceProps, "only">) {
  const busiest = useResource<HostsWire>(`/api/v1/hosts?sort=-pps&limit=${HOSTS_OFFERED}`, EVERY_MS);
  const { value } = busiest.state;
  const known = value.kind === "ready" ? value.data.hosts.map(({ target }) => target) : [];
  return (
    <Names
      by="host"
      label={t`Address`}
      what={t`host`}
      only={only}
      known={known}
      faultOf={(name) => (looksLikeAddress(name) ? null : t`A complete address.`)}
    />
  );
}

/** Offers the largest of the range. */
function PartChoice({ by, only }: Pick<ChoiceProps, "only"> & { readonly by: PartGrouping }) {
  const range = chosenRange();
  const path = useCallback(() => {
    const query = { by, ...rangeEnds(range, serviceNow()), limit: String(HOSTS_OFFERED) };
    return `/api/v1/traffic/top?${new URLSearchParams(query)}`;
  }, [by, range]);
  const { value } = useResource<TopTrafficWire>(path, 0).state;
  const known = value.kind === "ready" ? value.data.parts.map(({ key }) => key) : [];
  return (
    <Names
      by={by}
      label={GROUPINGS[by]}
      what={GROUPINGS[by].toLowerCase()}
      only={only}
      known={known}
      faultOf={(name) => (known.includes(name) ? null : t`None of the largest in this range.`)}
    />
  );
}

interface NamesProps {
  readonly by: Grouping;
  readonly label: string;
  readonly what: string;
  readonly only: readonly string[];
  /** The busiest first. */
  readonly known: readonly string[];
  /** At most one may be chosen. */
  readonly isOne?: boolean;
  readonly faultOf: (name: string) => string | null;
}

function Names({ by, label, what, only, known, isOne = false, faultOf }: NamesProps) {
  const [typed, setTyped] = useState("");
  const [fault, setFault] = useState<string | null>(null);
  const isFull = only.length >= (isOne ? 1 : LINES_MAX);
  const chooseBusiest = () =>
    setQuery({
      only: known.slice(0, BUSIEST).reduce<string | null>((all, name) => toggled(namesOf(all), name), null),
    });
  // Once: all of them may be removed again.
  const wasChosen = useRef(place.value.query.has("only"));
  useEffect(() => {
    if (isOne || wasChosen.current || known.length === 0) return;
    wasChosen.current = true;
    if (!isNamedByFilter(by, chosenFilter(), known)) chooseBusiest();
  }, [known.length]);
  const add = () => {
    const name = typed.trim();
    if (name === "") return;
    const wrong = isFull && !isOne ? t`At most ${LINES_MAX}: remove one first.` : faultOf(name);
    setFault(wrong);
    if (wrong !== null) return;
    setTyped("");
    if (isOne) setQuery({ only: name });
    else if (!only.includes(name)) setQuery({ only: toggled(only, name) });
  };
  return (
    <div class="filters">
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          add();
        }}
      >
        <TextField
          label={label}
          type="search"
          value={typed}
          onInput={(text) => {
            setTyped(text);
            setFault(null);
          }}
          fault={fault}
          offered={known.filter((name) => !only.includes(name))}
        />
        <Button type="submit">{isOne ? t`Choose` : t`Add`}</Button>
      </form>
      {!isOne && known.length > 0 && <Button look="quiet" onClick={chooseBusiest}>{t`The busiest`}</Button>}
      {only.map((name) => (
        <Button
          key={name}
          look="quiet"
          label={t`Remove the ${what} ${name}`}
          onClick={() => setQuery({ only: toggled(only, name) })}
        >
          {name} ×
        </Button>
      ))}
    </div>
  );
}
