import { expect, test } from "bun:test";
import { FILTER_VERDICTS } from "../native/constants.ts";
import { outcomeOf } from "./packet-outcome.ts";

test("every verdict of the filter has the outcome that it is named for", () => {
  const names = { pass: "passed", drop: "dropped", answer: "answered" } as const;
  for (const verdict of FILTER_VERDICTS) {
    const [prefix = ""] = verdict.split("_");
    expect([verdict, outcomeOf(verdict)]).toEqual([verdict, names[prefix as keyof typeof names]]);
  }
});
