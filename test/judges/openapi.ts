/**
 * `make judges`: a fuzzer of others (Schemathesis) reads the description of the API and sends what it allows, and what it
 * does not. It finds no answer that the description does not have, no fault, and no valid request that is refused.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ServiceProcess } from "../fixtures/service.ts";
import { ROOT } from "../source-tree.ts";

const VERSION = "4.32.5";
const DIRECTORY = join(ROOT, "build/judges");
const PYTHON = join(DIRECTORY, "python");
const FUZZER = join(PYTHON, "bin/schemathesis");
const TOKENS = { OPERATOR: "operator-of-the-judges", AGENT: "agent-of-the-judges" };

/** What no JSON Schema can say of parameters: one comes after the other, or is a place that an earlier answer named. */
const SETTINGS = `
[parameters]
"query.from" = "2026-01-31T12:00:00Z"
"query.to" = "2026-01-31T13:00:00Z"
"query.after" = "192.0.2.1"
"query.sort" = "target"
`;

const { values } = parseArgs({ options: { examples: { type: "string", default: "100" } } });

if (!existsSync(FUZZER)) {
  await Bun.$`python3 -m venv ${PYTHON} && ${PYTHON}/bin/pip --quiet install schemathesis==${VERSION}`;
}
mkdirSync(DIRECTORY, { recursive: true });
const settings = join(DIRECTORY, "schemathesis.toml");
writeFileSync(settings, SETTINGS);
const description = join(DIRECTORY, "openapi.json");
const zones = join(DIRECTORY, "zones.yaml");
writeFileSync(zones, readFileSync(join(ROOT, "deploy/zones.yaml")));

const service = await ServiceProcess.start({
  config: `
networks: [203.0.113.0/24, 2001:db8::/32]
thresholds: { pps: 1000, mbps: 10, flows_per_sec: 100 }
mitigation: divert
bgp: { local_asn: 64500, router_id: 192.0.2.1, speaker: external, grpc: ${join(DIRECTORY, "none.sock")}, next_hop: 192.0.2.9 }
scrubbing: { next_hop: 192.0.2.7, communities: ["64500:2"], nodes: [{ name: scrub1, next_hop: 192.0.2.8 }] }
edge: { zones_file: ${zones}, nodes: [{ name: fra1 }] }
`,
  api: "tokens: [{ name: operator, token_env: OPERATOR, role: operator }, { name: agent, token_env: AGENT, role: agent }]",
  env: TOKENS,
});
let failed = 0;
try {
  writeFileSync(description, JSON.stringify((await service.get("/api/v1/openapi.json", TOKENS.OPERATOR)).body));
  for (const [role, secret] of Object.entries(TOKENS)) failed += await fuzz(role, secret);
} finally {
  await service.remove();
}
console.log(failed === 0 ? "no fault was found" : `FAILED for ${failed} of ${Object.keys(TOKENS).length} tokens`);
process.exit(failed === 0 ? 0 : 1);

/** Returns 1 where something was found. The streams of events do not end, and are left out. */
async function fuzz(role: string, secret: string): Promise<number> {
  const url = `http://127.0.0.1:${service.port}`;
  console.log(`with the token ${role}`);
  const command = [FUZZER, "--config-file", settings, "run", description, "--url", url];
  const options = ["--header", `Authorization: Bearer ${secret}`, "--max-examples", values.examples, "--checks", "all"];
  // Methods that are not there are answered 404, and what is open needs no token.
  const without = ["--exclude-checks", "unsupported_method,ignored_auth", "--exclude-path-regex", "/events$"];
  // It leaves its caches where it runs.
  const child = Bun.spawn([...command, ...options, ...without], {
    cwd: DIRECTORY,
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
  });
  return (await child.exited) === 0 ? 0 : 1;
}
