/** Shared links: the list, the two commands, and what a link shows (docs/interface.md#shared-links). */

import type { SharedLink } from "../../access/guest-links.ts";
import type { Principal } from "../../access/principal.ts";
import type { IncidentView, ListedIncident } from "../../incident/incident-view.ts";
import { SHARED_INCIDENTS_MAX } from "../../limits.ts";
import { type IpAddress, parseAddress } from "../../net/address.ts";
import { canonicalPrefix } from "../../net/prefix.ts";
import { timestamp } from "../../schema/timestamp.ts";
import type { Backend } from "../backend.ts";
import type { Refusal } from "../refusal.ts";
import type { AuditRule, CommandRoute, Outcome, ReadRoute, Route } from "../route.ts";
import { jsonAnswer, jsonBlobAnswer } from "../server/answer.ts";
import { type Reader, type Slicing, TablePass } from "../table-pass.ts";
import { attackOfTenant, attackToWire } from "../wire/attack.ts";
import { seriesToWire, timelineToWire } from "../wire/attack-series.ts";
import {
  NewSharedLinkWire,
  type SharedLinkRequest,
  SharedLinksWire,
  SharedWire as SharedSchema,
  type SharedWire,
  sharedLinkCheck,
  sharedLinkToWire,
} from "../wire/guest-link.ts";
import { type IncidentRowWire, incidentRow, incidentToWire } from "../wire/incident.ts";
import { endedText, ORDER_END, type OrderEndReason } from "../wire/order-end-reason.ts";
import { visibleAttack } from "./attack-course.ts";

const PATH = "/api/v1/shared-links";

const audit = <Fields>(target: AuditRule<Fields>["target"]): AuditRule<Fields> => ({
  action: "shared_link",
  targetType: "link",
  target,
});

export function sharedLinkRoutes(backend: Backend, slicing: Slicing): readonly Route[] {
  return [sharedLinksRoute(backend), shareRoute(backend), revokeRoute(backend), sharedRoute(backend, slicing)];
}

function sharedLinksRoute(backend: Backend): ReadRoute {
  return {
    name: "shared_links",
    method: "GET",
    path: PATH,
    access: "viewer",
    about: {
      summary: "The links that show one attack, incident or customer to people without a token",
      answers: { 200: { text: "Those that have not expired, the oldest first.", schema: SharedLinksWire } },
    },
    handle: ({ principal }) => {
      const { sharedLinks } = backend;
      const links = sharedLinks.all().filter((link) => isOwn(principal, link));
      return jsonAnswer(200, {
        allowed: sharedLinks.isAllowed,
        links: links.map((link) => sharedLinkToWire(link, principal)),
      });
    },
  };
}

function shareRoute(backend: Backend): CommandRoute<SharedLinkRequest> {
  return {
    name: "share",
    method: "POST",
    path: PATH,
    access: "operator",
    body: sharedLinkCheck,
    asksHistory: true,
    about: {
      summary: "Make a link that shows one attack, incident or customer to people without a token, for a time",
      answers: {
        201: { text: "The link, with its secret.", schema: NewSharedLinkWire },
        404: { text: "What is to be shared is unknown, or another tenant's." },
        409: { text: "`api.shared_links` is off, or there are too many." },
        502: { text: "The history cannot be read." },
      },
    },
    audit: audit((_, fields) => fields?.key ?? ""),
    handle: async ({ principal }, { reason, ...request }): Promise<Outcome | Refusal> => {
      const found = await ownerOf(backend, principal, request);
      if (found === null) return { kind: "unknown_subject" };
      const { operator, tenant } = principal;
      const answer = await backend.sharedLinks.share({ ...request, owner: found.owner, by: { operator, tenant } });
      if (answer.kind === "refused") return { kind: "shared_link_refused", refusal: answer.refusal };
      const { link, secret } = answer;
      const said = `${link.kind} ${link.key} until ${timestamp(link.expiresAt)}, link ${link.id}`;
      return {
        kind: "outcome",
        response: jsonAnswer(201, { ...sharedLinkToWire(link, principal), secret }),
        result: "set",
        reason: endedText(said, { reason }),
      };
    },
  };
}

function revokeRoute(backend: Backend): CommandRoute<OrderEndReason> {
  return {
    name: "revoke",
    ...ORDER_END,
    path: `${PATH}/:id`,
    access: "operator",
    about: {
      summary: "End a shared link before it expires",
      answers: { 204: { text: "It shows nothing any more.", schema: null }, 404: { text: "Unknown, or another's." } },
    },
    audit: audit(({ params }) => (params["id"] ?? "").slice(0, 36)),
    handle: async ({ principal, params }, end): Promise<Outcome | Refusal> => {
      const link = backend.sharedLinks.all().find(({ id }) => id === params["id"]);
      if (link === undefined || !isOwn(principal, link) || !(await backend.sharedLinks.revoke(link.id))) {
        return { kind: "unknown_shared_link" };
      }
      const response = new Response(null, { status: 204 });
      return { kind: "outcome", response, result: "cleared", reason: endedText(`${link.kind} ${link.key}`, end) };
    },
  };
}

/** Its caller presents the secret of a link as others present a token. */
function sharedRoute(backend: Backend, slicing: Slicing): ReadRoute {
  const incidents = new TablePass(() => backend.incidents.listed(), slicing);
  return {
    name: "shared",
    method: "GET",
    path: "/api/v1/shared",
    access: "link",
    asksHistory: true,
    about: {
      summary: "What a shared link shows: one attack, incident or customer, as its tenant sees it",
      answers: {
        200: { text: "What it is now.", schema: SharedSchema },
        404: { text: "It is not kept any more, or has another owner now." },
        502: { text: "The history cannot be read." },
      },
    },
    handle: async ({ principal }) => {
      const link = backend.sharedLinks.all().find(({ id }) => id === principal.link);
      const shown = link === undefined ? null : await shownBy(backend, link, incidents);
      return shown ?? { kind: "unknown_subject" };
    },
  };
}

/** Names of callers without a tenant, exporters and neighbors are hidden as from a tenant; so are all notes. */
const STRANGER: Principal = { kind: "principal", operator: "", role: "viewer", tenant: "", node: null };

async function shownBy(
  backend: Backend,
  link: SharedLink,
  incidents: TablePass<ListedIncident>,
): Promise<Response | null> {
  const { kind, key, owner } = link;
  const expires = { expires_at: timestamp(link.expiresAt) };
  switch (kind) {
    case "attack": {
      const view = await backend.attack(key, owner);
      if (view === null || backend.tenancy().ownerOf(view.attack) !== owner) return null;
      const { attack } = view;
      return sharedAnswer({
        ...expires,
        attack: attackToWire(attackOfTenant(view, STRANGER.tenant), owner),
        timeline: timelineToWire(attack, STRANGER.tenant),
        series: seriesToWire({ attack, series: backend.attackSeries(attack.id) }),
      });
    }
    case "incident": {
      const view = backend.incidents.get(key);
      if (view === null || !isOf(backend, view, owner)) return null;
      return sharedAnswer({
        ...expires,
        incident: { ...incidentToWire(view, STRANGER), notes: [], note_count: 0, open_handovers: 0 },
      });
    }
    case "tenant":
    case "hostgroup":
      return jsonBlobAnswer(await incidents.read(link.id, () => new CustomerIncidents(backend, link), owner));
    default:
      return kind satisfies never;
  }
}

function sharedAnswer(shown: SharedWire): Response {
  return jsonAnswer(200, shown);
}

/** The newest incidents of a customer: each may have a thousand attacks. */
class CustomerIncidents implements Reader<ListedIncident> {
  readonly #backend: Backend;
  readonly #link: SharedLink;
  readonly #rows: IncidentRowWire[] = [];

  constructor(backend: Backend, link: SharedLink) {
    this.#backend = backend;
    this.#link = link;
  }

  see({ head, view: viewOf }: ListedIncident): void {
    const { kind, key, owner } = this.#link;
    if (this.#rows.length === SHARED_INCIDENTS_MAX || (kind === "tenant" ? head.tenant : head.group) !== key) return;
    const view = viewOf();
    if (isOf(this.#backend, view, owner)) {
      this.#rows.push({ ...incidentRow(view, STRANGER), note_count: 0, open_handovers: 0 });
    }
  }

  answer(): Blob {
    return new Blob([JSON.stringify({ expires_at: timestamp(this.#link.expiresAt), incidents: this.#rows })]);
  }
}

/**
 * Whether the incident is the owner's: one that was when it began stays so while the hostgroup does. One that no tenant
 * owns may have victims of one since a reload, which are not shown to others.
 */
function isOf(backend: Backend, view: IncidentView, owner: string | null): boolean {
  const { tenant, group } = view;
  const tenancy = backend.tenancy();
  if (tenant !== owner) return false;
  if (owner !== null) return tenancy.hasGroup({ tenant: owner }, group);
  return view.members().every(({ victim }) => tenancy.ownerOf({ target: addressOf(victim), group }) === null);
}

/** The first one of a prefix. */
function addressOf(victim: string | null): IpAddress | null {
  return victim === null ? null : (parseAddress(victim) ?? canonicalPrefix(victim).address);
}

/** The owner of what is to be shared; null: it is unknown, or not the caller's. */
async function ownerOf(
  backend: Backend,
  principal: Principal,
  { kind, key }: Pick<SharedLink, "kind" | "key">,
): Promise<{ readonly owner: string | null } | null> {
  const tenancy = backend.tenancy();
  const isVisible = (owner: string | null) => principal.tenant === null || principal.tenant === owner;
  switch (kind) {
    case "attack": {
      const view = await visibleAttack(backend, principal, key);
      return view === null ? null : { owner: tenancy.ownerOf(view.attack) };
    }
    case "incident": {
      const view = backend.incidents.get(key);
      if (view === null || !isVisible(view.tenant) || !isOf(backend, view, view.tenant)) return null;
      return { owner: view.tenant };
    }
    case "tenant":
      return isVisible(key) && tenancy.groupsOf(key).size > 0 ? { owner: key } : null;
    case "hostgroup": {
      const owner = tenancy.ownerOf({ target: null, group: key });
      return isVisible(owner) && tenancy.hasGroup({ tenant: null }, key) ? { owner } : null;
    }
    default:
      return kind satisfies never;
  }
}

/** A tenant has those that its own callers made. */
function isOwn({ tenant }: Principal, { by }: SharedLink): boolean {
  return tenant === null || by.tenant === tenant;
}
