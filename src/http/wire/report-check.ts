/** The check of a node's report: keys that are not known are kept as they came, known ones must be what they are said to be. */
import type { Static, TObject } from "@sinclair/typebox";
import { REPORT_DEPTH_MAX } from "../../limits.ts";
import { type FieldCheck, fieldCheck } from "../fields.ts";

/** Nested without end it could be taken, but not be given back. */
export function reportCheck<Schema extends TObject>(schema: Schema): FieldCheck<Static<Schema>> {
  const fields = fieldCheck(schema);
  return {
    schema,
    check: (value) =>
      isNestedDeeper(value, REPORT_DEPTH_MAX)
        ? { kind: "invalid_body", detail: `nested deeper than ${REPORT_DEPTH_MAX} levels` }
        : fields.check(value),
  };
}

/** No call stack is deeper than the bound. */
function isNestedDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const key in value) {
    if (Object.hasOwn(value, key) && isNestedDeeper((value as Record<string, unknown>)[key], levels - 1)) return true;
  }
  return false;
}
