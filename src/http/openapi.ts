/** The OpenAPI 3.1 description of the API, generated from the routes. */
import type { TSchema } from "@sinclair/typebox";
import type { Access } from "../access/principal.ts";
import type { CommandRoute, ReadRoute, Route } from "./route.ts";
import { type AnswerDescription, ErrorWire, type ParameterDescription } from "./route-description.ts";
import { noFields } from "./server/fields.ts";

export interface OpenApi {
  readonly openapi: string;
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description: string;
    readonly license: object;
  };
  readonly servers: readonly { readonly url: string }[];
  /** By path, then by method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: object;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly object[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, OperationResponse>>;
}

interface OperationResponse {
  readonly description: string;
  /** By media type. */
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly required: boolean;
  readonly description: string;
  readonly schema: TSchema | { readonly type: "string" };
}

const ERROR_REFERENCE = { $ref: "#/components/schemas/Error" };

/** Refusals of all guarded routes, and of all commands. */
const GUARDED_REFUSALS: Readonly<Record<number, AnswerDescription>> = {
  400: { text: "The URL, a parameter or the body is not valid." },
  401: { text: "No valid token, or several tokens with different rights share its secret." },
  403: { text: "The token's role, tenant or node does not allow it." },
  500: { text: "A fault of the service; its log has the details." },
  503: { text: "The service is starting, or could not save the change." },
};
const COMMAND_REFUSALS: Readonly<Record<number, AnswerDescription>> = {
  413: { text: "The body is too large." },
  415: { text: "The Content-Type is not application/json." },
};

const ROLE_TEXTS: Readonly<Record<Access, string>> = {
  viewer: "Role: viewer or operator.",
  operator: "Role: operator.",
  agent: "Role: agent.",
  agent_or_unscoped_operator: "Role: agent, or operator without a tenant.",
  link: "Role: none; the secret of a shared link in place of a token.",
};

/** @param isOpen no token is configured. */
export function openApi(routes: readonly Route[], isOpen: boolean): OpenApi {
  const bearer = { bearer: [] };
  const security = isOpen ? [{}, bearer] : [bearer];
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, security) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Floodwall",
      version: "1",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      description:
        "Times are RFC 3339 in UTC. A field that has no value is absent, never null. Every refusal is {error: string}. " +
        "If a query has a key several times, the last value is used; keys that are not named here are refused, except by the polls of nodes. GET routes answer HEAD too. " +
        "With no token configured the API is open, and needs no Authorization header.",
    },
    servers: [{ url: "/" }],
    paths,
    components: {
      schemas: { Error: ErrorWire },
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
    },
  };
}

function operationOf(route: Route, security: readonly object[]): Operation {
  const { name, about, path } = route;
  const names = [...path.matchAll(/:(\w+)/g)].map((match) => match[1] as string);
  const query = Object.entries(about?.query ?? {});
  const common = {
    operationId: name,
    summary: about?.summary ?? name,
    parameters: [...names.map(pathParameter), ...query.map(([key, parameter]) => queryParameter(key, parameter))],
  };
  if (route.access === "open") return { ...common, security: [], responses: responsesOf(about?.answers ?? {}) };
  const isCommand = route.method !== "GET";
  const refusals = isCommand ? { ...GUARDED_REFUSALS, ...COMMAND_REFUSALS } : GUARDED_REFUSALS;
  return {
    ...common,
    description: roleText(route),
    security,
    ...(route.method === "POST" || route.method === "PUT" ? requestBodyOf(route) : {}),
    responses: responsesOf({ ...refusals, ...about?.answers }),
  };
}

function roleText({ access, unscopedOnly }: ReadRoute | CommandRoute): string {
  return `${ROLE_TEXTS[access]}${unscopedOnly === true ? " Refused to tokens with a tenant." : ""}`;
}

function requestBodyOf({ body }: CommandRoute): { requestBody: object } {
  // Even a request without fields needs its Content-Type.
  const { schema } = body ?? noFields;
  return { requestBody: { required: true, content: { "application/json": { schema } } } };
}

function responsesOf(answers: Readonly<Record<number, AnswerDescription>>): Record<string, OperationResponse> {
  return Object.fromEntries(
    Object.entries(answers).map(([status, { text, schema = ERROR_REFERENCE, mediaType = "application/json" }]) => [
      status,
      schema === null ? { description: text } : { description: text, content: { [mediaType]: { schema } } },
    ]),
  );
}

function pathParameter(name: string): Parameter {
  return { name, in: "path", required: true, description: `The ${name}.`, schema: { type: "string" } };
}

function queryParameter(name: string, { text, schema, isRequired = false }: ParameterDescription): Parameter {
  return { name, in: "query", required: isRequired, description: text, schema };
}
