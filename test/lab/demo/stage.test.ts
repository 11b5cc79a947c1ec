import { expect, test } from "bun:test";
import { join } from "node:path";

/** A demonstration that starts a flood and waits for something else, as the acts do. */
const demonstration = (body: string) => `
  import { perform } from ${JSON.stringify(join(import.meta.dir, "stage.ts"))};
  await perform(async (stage) => {
    stage.undo.add(() => console.log("undone"));
    stage.lastWords = () => "the last words";
    ${body}
    await Bun.sleep(60_000);
  }, 0);`;

function start(body: string) {
  return Bun.spawn([process.execPath, "-e", demonstration(body)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
}

test("a flood that fails while another step is waited for ends the demonstration, with the reason", async () => {
  const child = start(`const flood = Promise.reject(new Error("traffic source: no such device"));`);
  expect(await child.exited).toBe(1);
  const complaint = await new Response(child.stderr).text();
  expect(complaint).toContain("FAILED  traffic source: no such device");
  expect(complaint).toContain("the last words");
  expect(await new Response(child.stdout).text()).toBe("undone\n");
});

test("what fails because it is interrupted is no fault", async () => {
  const child = start(`
    let failed;
    const flood = new Promise((_, reject) => { failed = reject; });
    stage.undo.add(async () => { failed(new Error("traffic source: killed")); await Bun.sleep(10); });
    console.log("started");`);
  const reader = child.stdout.getReader();
  await reader.read();
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
  expect(await new Response(child.stderr).text()).toBe("");
});
