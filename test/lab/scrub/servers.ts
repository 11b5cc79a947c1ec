/** Debian's servers on the scrubbing lab's victim: nginx, OpenSSH and iperf3. Each ends with its namespace. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../fixtures/run-command.ts";
import { eventually } from "../../fixtures/service.ts";
import type { Undo } from "../../fixtures/undo.ts";
import type { Namespace } from "../namespaces.ts";
import { VICTIM } from "./scrub-network.ts";

/** Requests of a page: itself, a style sheet and this number of pictures. */
export const PICTURES = 6;
const PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8"/></svg>';
/** A new connection after this number of requests. */
const KEEPALIVE_REQUESTS = 20;

/** Serves `/page`, the text `served /page`, and `/`, a page with pictures, at each address of the victim. */
export async function nginx(victim: Namespace, undo: Undo): Promise<void> {
  const directory = undo.folder("nginx");
  const pictures = Array.from({ length: PICTURES }, (_, i) => `<img src="/${i}.svg">`).join("");
  const page = `<!doctype html><title>served</title><link rel="stylesheet" href="/style.css">${pictures}`;
  const files = { page: "served /page", "index.html": page, "style.css": "img { border: 1px solid }" };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  for (let i = 0; i < PICTURES; i++) writeFileSync(join(directory, `${i}.svg`), PICTURE);
  const config = join(directory, "nginx.conf");
  writeFileSync(
    config,
    `daemon off; user root; worker_processes 1; pid ${directory}/pid; error_log stderr;
events {}
http {
  access_log off; log_not_found off; keepalive_requests ${KEEPALIVE_REQUESTS}; add_header Cache-Control no-store;
  types { text/html html; text/css css; image/svg+xml svg; }
  server { listen 80; root ${directory}; }
}
`,
  );
  await start(victim, ["nginx", "-p", directory, "-c", config], 80);
}

/** Resolves with the command that runs another one on the victim, by a login with a key. */
export async function sshd(victim: Namespace, undo: Undo): Promise<(command: string) => string[]> {
  const directory = undo.folder("sshd");
  const path = (name: string) => join(directory, name);
  for (const key of ["host", "user"]) runCommand(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path(key)]);
  // As Debian's unit does.
  mkdirSync("/run/sshd", { recursive: true, mode: 0o755 });
  const settings = [
    ...[`ListenAddress ${VICTIM}:22`, `HostKey ${path("host")}`, `AuthorizedKeysFile ${path("user.pub")}`],
    ...["PidFile none", "UsePAM no", "StrictModes no", "PermitRootLogin yes", "PasswordAuthentication no"],
  ];
  writeFileSync(path("sshd_config"), `${settings.join("\n")}\n`);
  const server = runCommand(["sh", "-c", "command -v sshd"]).trim();
  await start(victim, [server, "-D", "-e", "-q", "-f", path("sshd_config")], 22);
  const options = ["BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR"];
  const flags = options.flatMap((option) => ["-o", option]);
  return (command) => ["ssh", "-F", "none", "-i", path("user"), ...flags, `root@${VICTIM}`, command];
}

/** What the server prints is of what arrived. */
export function iperfServer(victim: Namespace, port: number): string[] {
  return victim.command(["iperf3", "-s", "-B", VICTIM, "-p", String(port), "-i", "0.5", "-f", "m", "--forceflush"]);
}

async function start(victim: Namespace, command: readonly string[], port: number): Promise<void> {
  const server = Bun.spawn(victim.command(command), { stdin: "ignore", stdout: "ignore", stderr: "inherit" });
  await listening(victim, port, () => server.exitCode === null);
}

/** Resolves when something listens there. */
export async function listening(victim: Namespace, port: number, isUp: () => boolean = () => true): Promise<void> {
  await eventually(
    () => victim.run(["ss", "-Hltn", `sport = :${port}`]) !== "",
    () => (isUp() ? `nothing listens on port ${port}` : `the server for port ${port} ended`),
  );
}
