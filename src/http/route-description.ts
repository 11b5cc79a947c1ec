/** What a route says of itself to its users: parameters, and the answers of its own. The rest follows from its line. */
import { type TSchema, Type } from "@sinclair/typebox";
import { closed } from "./wire/closed.ts";
import { TimeText } from "./wire/request-texts.ts";

export interface RouteDescription {
  /** One sentence, without its full stop. */
  readonly summary: string;
  readonly query?: Readonly<Record<string, ParameterDescription>>;
  /** By status. A refusal that every route of its kind has need not be named. */
  readonly answers: Readonly<Record<number, AnswerDescription>>;
}

export interface ParameterDescription {
  readonly text: string;
  readonly schema: TSchema;
  readonly isRequired?: boolean;
}

export interface AnswerDescription {
  readonly text: string;
  /** Default: `{error: string}`; null: no body. */
  readonly schema?: TSchema | null;
  /** Default: application/json. */
  readonly mediaType?: string;
}

export const ErrorWire = Type.Object({ error: Type.String() }, closed);

/** Of every history (time-range.ts). */
export const RANGE_PARAMETERS: Readonly<Record<string, ParameterDescription>> = {
  from: {
    text: "RFC 3339; alone it runs to now. Default: the last hour. A range has at most 31 days.",
    schema: TimeText,
  },
  to: { text: "RFC 3339, after from; alone it reaches back one hour.", schema: TimeText },
};
