/** Checks the fields of a request's body against the route's schema: missing, wrong type, or unknown, each by name. */
import type { Static, TObject, TSchema } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { type ValueError, ValueErrorType } from "@sinclair/typebox/errors";
import { closedObject } from "../../schema/schema-forms.ts";
import type { Refusal } from "../refusal.ts";

export type Fields<T> = { readonly kind: "fields"; readonly fields: T };

export interface FieldCheck<T> {
  /** The schema in the API's description, which may be stricter than the check here. */
  readonly schema: TSchema;
  /** @param text the JSON that `value` was parsed from. */
  check(value: unknown, text: string): Fields<T> | Refusal;
}

/** A check that needs nothing but the value. */
interface SchemaCheck<T> extends FieldCheck<T> {
  check(value: unknown): Fields<T> | Refusal;
}

/** The schema itself must say `additionalProperties: false`, so that everything it allows is in one place. */
export function fieldCheck<Schema extends TObject>(schema: Schema): SchemaCheck<Static<Schema>> {
  const compiled = TypeCompiler.Compile(schema);
  return {
    schema,
    check(value) {
      if (compiled.Check(value)) return { kind: "fields", fields: value };
      const error = compiled.Errors(value).First();
      return { kind: "invalid_body", detail: error === undefined ? "not as the schema has it" : explain(error) };
    },
  };
}

/** For commands without fields: an empty object is accepted like no body. */
export const noFields: FieldCheck<unknown> = fieldCheck(closedObject({}));

function explain(error: ValueError): string {
  // A JSON pointer; its escapes are reverted.
  const field = error.path.slice(1).replaceAll("~1", "/").replaceAll("~0", "~");
  switch (error.type) {
    case ValueErrorType.ObjectAdditionalProperties:
      return `unknown field ${JSON.stringify(field)}`;
    case ValueErrorType.ObjectRequiredProperty:
      return `${field} is required`;
    case ValueErrorType.Object:
      return "not an object";
    case ValueErrorType.String:
      return `${field} must be a string`;
    case ValueErrorType.Number:
      return `${field} must be a number`;
    default:
      return `${field}: ${error.message.toLowerCase()}`;
  }
}
