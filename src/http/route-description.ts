/**
 * The description of a route for its users: parameters and its own answers. The rest follows from the route's
 * definition.
 */
import { type TSchema, Type } from "@sinclair/typebox";
import { BUCKETS_MAX, STEP_SECONDS_MAX } from "../limits.ts";
import { closedObject } from "../schema/schema-forms.ts";
import { TimeText } from "./wire/request-texts.ts";

export interface RouteDescription {
  /** One sentence, without the full stop. */
  readonly summary: string;
  readonly query?: Readonly<Record<string, ParameterDescription>>;
  /** By status. Refusals that all routes of the kind share are added automatically. */
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

export const ErrorWire = closedObject({ error: Type.String() });

/** Parameters of all history routes (time-range.ts). */
export const RANGE_PARAMETERS: Readonly<Record<string, ParameterDescription>> = {
  from: {
    text: "RFC 3339; alone it runs to now. Default: the last hour. A range has at most 31 days.",
    schema: TimeText,
  },
  to: { text: "RFC 3339, after from; alone it reaches back one hour.", schema: TimeText },
};

export const STEP_PARAMETER: ParameterDescription = {
  text: `Seconds of a bucket, default 60; raised so that a range has at most ${BUCKETS_MAX} of them.`,
  schema: Type.Integer({ minimum: 1, maximum: STEP_SECONDS_MAX }),
};
