/** The scripts of the Debian package, with programs in place of those of the machine. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { DEBIAN, filled } from "../../deploy/staged-files.ts";
import { Programs } from "../fixtures/programs.ts";

/** What `prerm remove` calls to end a gobgpd, on a machine where there is the user, or is none. */
async function removed(user: "there" | "absent") {
  const code = user === "there" ? 0 : 2;
  const programs = new Programs({
    ...{ systemctl: "", rm: "" },
    getent: `exit ${code}`,
    // It fails for a user that it does not find.
    "start-stop-daemon": `echo "$@"; exit ${code}`,
  });
  try {
    const script = filled(join(DEBIAN, "prerm"), { UNITS: "floodwall.service" });
    return await programs.run(["sh", "-c", script, "prerm", "remove"]);
  } finally {
    programs.remove();
  }
}

test("the package is removed where the service's user was removed before it", async () => {
  expect(await removed("absent")).toEqual({ exitCode: 0, output: "" });
  const { exitCode, output } = await removed("there");
  expect([exitCode, output]).toEqual([0, expect.stringContaining("--user floodwall --name gobgpd")]);
});
