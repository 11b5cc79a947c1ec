/** Users of the scrubbing lab count what was served, and what was not. */
import { expect, test } from "bun:test";
import { eventually } from "../../fixtures/service.ts";
import { Crowd, Program, Session, wallMs } from "./user.ts";

const ALWAYS = Number.POSITIVE_INFINITY;

test("a session is served while its lines come back, and not when its program is gone", async () => {
  const living = new Session(["cat"], 20);
  const dying = new Session(["head", "-n", "2"], 20);
  const both = new Crowd(living, dying);
  await eventually(() => dying.served === 2 && living.served > 10, "the lines do not come back");
  // A line counts as lost when the user's patience ends.
  await eventually(() => dying.between(0, ALWAYS).requests > 10, "lost lines are not counted");
  await both.stop();
  expect(dying.served).toBe(2);
  const { requests, served } = living.between(0, ALWAYS);
  expect(served).toBe(requests);
  expect(both.served).toBe(2);
  expect(both.between(0, ALWAYS)).toMatchObject({
    served: served + 2,
    requests: requests + dying.between(0, ALWAYS).requests,
  });
});

test("a program says of its requests what came of them, and lines about others do not count", async () => {
  const command = ["sh", "-c", "echo hello; echo 200; echo 500; exec sleep 60"];
  const read = (line: string) =>
    line === "hello" ? null : { startedAtMs: wallMs(), tookMs: 5, isServed: line === "200" };
  const program = new Program({ command, read });
  await eventually(() => program.between(0, ALWAYS).requests === 2, "its lines were not read");
  await program.stop();
  expect(program.between(0, ALWAYS)).toEqual({ requests: 2, served: 1, medianMs: 5, slowestMs: 5 });
});
