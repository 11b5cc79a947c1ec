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

/** Level by level, since the call stack is not endless either. */
function isNestedDeeper(value: unknown, levels: number): boolean {
  let containers: object[] = [value].filter(isContainer);
  for (let level = 1; containers.length > 0; level++) {
    if (level > levels) return true;
    containers = containers.flatMap((container): unknown[] => Object.values(container)).filter(isContainer);
  }
  return false;
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
