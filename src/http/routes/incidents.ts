/** Incidents: the list in pages, one of them, and what people add to it. A foreign incident is an unknown one. */
import { Type } from "@sinclair/typebox";
import type { Principal } from "../../access/principal.ts";
import { INCIDENT_STATES } from "../../incident/incident.ts";
import type { IncidentAnswer } from "../../incident/incident-options.ts";
import type { IncidentHead, IncidentView, ListedIncident } from "../../incident/incident-view.ts";
import type { NoteOrder, WorkOrder } from "../../incident/work.ts";
import type { Backend } from "../backend.ts";
import { during, type Filters, filterOf, isFault, named, within, word } from "../filters.ts";
import { type ListViewing, ListViews, TOO_MANY_PAGES } from "../list-views.ts";
import type { Refusal } from "../refusal.ts";
import type { AuditRule, Call, CommandRoute, Outcome, ReadRoute } from "../route.ts";
import { jsonAnswer } from "../server/answer.ts";
import { invalidQuery, parameter } from "../server/query.ts";
import type { Reader } from "../table-pass.ts";
import {
  type IncidentRowWire,
  IncidentsWire,
  IncidentWire,
  incidentNoteCheck,
  incidentOrderCheck,
  incidentRow,
  incidentToWire,
} from "../wire/incident.ts";
import { NameText } from "../wire/request-texts.ts";

type Incidents = Pick<Backend, "incidents">;

const PATH = "/api/v1/incidents";
const PAGE_ROWS = 100;

/** A tenant does not find by names that it does not see. */
const filtersFor = ({ tenant: reader }: Pick<Principal, "tenant">): Filters<IncidentHead> => ({
  state: word("Only those in this state.", INCIDENT_STATES, ({ state }) => state),
  tenant: named("Only those of this tenant.", ({ tenant }) => tenant),
  hostgroup: named("Only those that began in this hostgroup.", ({ group }) => group),
  direction: word("Only in this direction.", ["incoming", "outgoing"], ({ direction }) => direction),
  kind: named("Only those of this kind of attack.", ({ kind }) => kind),
  target: within("Only with a victim at this address, or inside this prefix.", ({ victims }) => victims()),
  owner: named("Only those that this token took.", ({ work: { owner } }) =>
    owner !== null && (reader === null || owner.by.tenant === reader) ? owner.by.operator : null,
  ),
  ...during<IncidentHead>(({ startedAt, endedAt }) => ({ start: startedAt, end: endedAt })),
});
const PARAMETERS = {
  ...filtersFor({ tenant: null }),
  limit: { text: "Incidents on the page.", schema: Type.Integer({ minimum: 1, maximum: PAGE_ROWS }) },
  before: { text: "Only those before this id: the `next` of the page before.", schema: NameText },
};

/** A longer text is the id of none, and is shortened in the audit trail. */
const ID_CHARACTERS_MAX = 36;

const ABSENT = { 404: { text: "Unknown incident, or another tenant's." } } as const;
const COMMAND_ANSWERS = {
  200: { text: "The incident as it is now.", schema: IncidentWire },
  ...ABSENT,
  409: { text: "An operator decided it, the caller is not its owner, or there are too many notes." },
} as const;

export function incidentsRoute(backend: Incidents, viewing: ListViewing): ReadRoute {
  const incidents = new ListViews(() => backend.incidents.listed(), viewing, PARAMETERS);
  return {
    name: "incidents",
    method: "GET",
    path: PATH,
    access: "viewer",
    about: {
      summary: "Incidents, newest first: attacks on one customer, of one kind, that follow each other",
      query: PARAMETERS,
      answers: { 200: { text: `At most ${PAGE_ROWS}.`, schema: IncidentsWire }, ...TOO_MANY_PAGES },
    },
    handle: (call) => {
      const { principal, query } = call;
      const isWanted = filterOf(filtersFor(principal), query);
      if (isFault(isWanted)) return isWanted;
      const limit = parameter(query, "limit") ?? String(PAGE_ROWS);
      if (!/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > PAGE_ROWS) {
        return invalidQuery(`limit must be a whole number from 1 to ${PAGE_ROWS}: ${limit}`);
      }
      const before = parameter(query, "before");
      const isOnPage = (head: IncidentHead) =>
        (before === null || head.id < before) && maySee(principal, head) && isWanted(head);
      return incidents.answer(call, () => new IncidentsPage(isOnPage, Number(limit), principal));
    },
  };
}

class IncidentsPage implements Reader<ListedIncident> {
  readonly #isOnPage: (head: IncidentHead) => boolean;
  readonly #limit: number;
  readonly #reader: Pick<Principal, "tenant">;
  readonly #rows: IncidentRowWire[] = [];
  #hasMore = false;

  constructor(isOnPage: (head: IncidentHead) => boolean, limit: number, reader: Pick<Principal, "tenant">) {
    this.#isOnPage = isOnPage;
    this.#limit = limit;
    this.#reader = reader;
  }

  see({ head, view }: ListedIncident): void {
    if (this.#hasMore || !this.#isOnPage(head)) return;
    if (this.#rows.length === this.#limit) this.#hasMore = true;
    else this.#rows.push(incidentRow(view(), this.#reader));
  }

  answer(): Blob {
    const next = this.#hasMore ? this.#rows.at(-1)?.id : undefined;
    return new Blob([JSON.stringify({ incidents: this.#rows, next })]);
  }
}

export function incidentRoute(backend: Incidents): ReadRoute {
  return {
    name: "incident",
    method: "GET",
    path: `${PATH}/:id`,
    access: "viewer",
    about: {
      summary: "One incident with its attacks and notes",
      answers: { 200: { text: "The incident.", schema: IncidentWire }, ...ABSENT },
    },
    handle: ({ principal, params }) => {
      const view = visible(backend, principal, params);
      if (view === null) return { kind: "unknown_incident" };
      return jsonAnswer(200, incidentToWire(view, principal));
    },
  };
}

export function incidentOrderRoute(backend: Incidents): CommandRoute<WorkOrder> {
  return {
    name: "incident_order",
    method: "POST",
    path: `${PATH}/:id`,
    access: "operator",
    checkPath: ({ principal, params }) =>
      visible(backend, principal, params) === null ? { kind: "unknown_incident" } : null,
    body: incidentOrderCheck,
    about: {
      summary: "Take or release an incident, acknowledge it, say what it was, acknowledge notes for the next shift",
      answers: COMMAND_ANSWERS,
    },
    audit: AUDIT,
    handle: (call, order) =>
      onVisible(backend, call, async (id) =>
        outcomeOf(call, await backend.incidents.order(id, order, call.principal), orderText(order)),
      ),
  };
}

export function incidentNoteRoute(backend: Incidents): CommandRoute<NoteOrder> {
  return {
    name: "incident_note",
    method: "POST",
    path: `${PATH}/:id/notes`,
    access: "operator",
    checkPath: ({ principal, params }) =>
      visible(backend, principal, params) === null ? { kind: "unknown_incident" } : null,
    body: incidentNoteCheck,
    about: { summary: "Add a note to an incident, also one for the next shift", answers: COMMAND_ANSWERS },
    audit: AUDIT,
    handle: (call, note) =>
      onVisible(backend, call, async (id) => {
        const reason = `${note.isHandover ? "note for the next shift" : "note"}: ${note.text}`;
        return outcomeOf(call, await backend.incidents.note(id, note, call.principal), reason);
      }),
  };
}

/** The tenant of an incident is that of the configuration in force. */
function maySee({ tenant }: Pick<Principal, "tenant">, view: Pick<IncidentView, "tenant">): boolean {
  return tenant === null || view.tenant === tenant;
}

function visible(backend: Incidents, principal: Principal, params: Call["params"]): IncidentView | null {
  const view = backend.incidents.get(params["id"] ?? "");
  return view !== null && maySee(principal, view) ? view : null;
}

/** A reload may have happened while the body was received. */
function onVisible(
  backend: Incidents,
  { principal, params }: Call,
  act: (id: string) => Promise<Outcome | Refusal>,
): Refusal | Promise<Outcome | Refusal> {
  const view = visible(backend, principal, params);
  return view === null ? { kind: "unknown_incident" } : act(view.id);
}

function outcomeOf({ principal }: Call, answer: IncidentAnswer, reason: string): Outcome | Refusal {
  if (answer.kind === "refused") {
    const { refusal } = answer;
    return refusal === "unknown" ? { kind: "unknown_incident" } : { kind: "incident_refused", refusal };
  }
  const { view, isSaved } = answer;
  const response = jsonAnswer(200, incidentToWire(view, principal, { isSaved }));
  return { kind: "outcome", response, result: "set", reason };
}

/** `owner taken, acknowledged, classified as real`. */
function orderText({ owner, acknowledge, classification, handover }: WorkOrder): string {
  return [
    owner === undefined ? "" : owner === "take" ? "owner taken" : "owner released",
    acknowledge === true ? "acknowledged" : "",
    classification === undefined
      ? ""
      : classification === null
        ? "classification removed"
        : `classified as ${classification}`,
    handover === undefined ? "" : "notes for the next shift acknowledged",
  ]
    .filter((text) => text !== "")
    .join(", ");
}

const AUDIT: AuditRule<unknown> = {
  action: "incident",
  targetType: "incident",
  target: ({ params }) => (params["id"] ?? "").slice(0, ID_CHARACTERS_MAX),
};
