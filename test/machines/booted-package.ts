/**
 * The package on a system that is booted with its own stock kernel and systemd, with a real driver: unit-scenario.ts is what
 * happens there.
 */
import { appendFileSync, copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { evenly, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { ROOT } from "../source-tree.ts";
import { apt, bareSystem, install, type Suite } from "./bare-system.ts";
import { frameToFar, GuestWire } from "./guest-wire.ts";
import { kernelImage } from "./kernel-image.ts";
import { runInGuest } from "./virtual-machine.ts";

/** Beside the package and what it brings: an init, the peer, and what the scenario looks with. */
const PACKAGES = ["systemd-sysv", "dbus", "kmod", "bird2", "iproute2", "procps", "libpcap0.8"];
const TIMEOUT_SECONDS = 1200;
const FRAMES = 500;
/** From many sources, of which the scenario blocks one. */
const SOURCES = 100;

export interface BootOrder {
  readonly suite: Suite;
  readonly deb: string;
  /** An older version, which is installed and then upgraded to `deb`; null: there is none. */
  readonly older: string | null;
  readonly log: string;
}

/** Returns the exit code of the scenario; null: it did not come to its end. The log has its lines. */
export async function bootPackage({ suite, deb, older, log }: BootOrder): Promise<number | null> {
  const kernel = await kernelImage(suite);
  const root = await bareSystem(suite, log);
  const wire = new GuestWire();
  try {
    const first = older ?? deb;
    if ((await install(root, first, log)) !== 0) throw new Error(`${first} is not installed: see ${log}`);
    if (older !== null) copyFileSync(deb, join(root.path, "srv/newer.deb"));
    const packages = `apt-get install -y --no-install-recommends ${PACKAGES.join(" ")}`;
    await apt(root, `${packages} && (systemctl disable bird || true)`, log);
    copyFileSync(join(ROOT, "build/addon/send_frames"), join(root.path, "usr/local/bin/send_frames"));
    const flood = Array.from({ length: FRAMES }, (_, i) =>
      frameToFar(`198.51.100.${1 + (i % SOURCES)}`, { sourcePort: 1024 + i }),
    );
    writeFileSync(join(root.path, "srv/flood.pcap"), pcapBytes(evenly(flood)));
    writeFileSync(join(root.path, "srv/scenario.js"), await bundledScenario());
    const { exitCode } = await runInGuest({
      kernel,
      system: root.path,
      wire,
      command: "modprobe virtio_net && BUN_BE_BUN=1 /usr/bin/floodwall /srv/scenario.js",
      timeoutSeconds: TIMEOUT_SECONDS,
      onLine: (line) => {
        console.log(`${kernel.release} | ${line}`);
        appendFileSync(log, `${line}\n`);
      },
    });
    return exitCode;
  } finally {
    wire.close();
    root.remove();
  }
}

async function bundledScenario(): Promise<string> {
  const entry = join(import.meta.dir, "unit-scenario.ts");
  const [output] = (await Bun.build({ entrypoints: [entry], target: "bun" })).outputs;
  if (output === undefined) throw new Error("the scenario is not built");
  return output.text();
}
