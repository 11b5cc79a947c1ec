/**
 * The package on a system that is booted with its own stock kernel and systemd, with a real driver: unit-scenario.ts is what
 * happens there.
 */
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { evenly, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { ROOT } from "../source-tree.ts";
import { installedSystem, type Suite } from "./bare-system.ts";
import { frameToFar, GuestWire } from "./guest-wire.ts";
import { kernelImage } from "./kernel-image.ts";
import { runInGuest } from "./virtual-machine.ts";

const MINUTE_MS = 60_000;
/** Beside the package and what it brings: an init, the peer, and what the scenario looks with. */
const PACKAGES = ["systemd-sysv", "dbus", "kmod", "bird2", "iproute2", "procps", "libpcap0.8"];
const TIMEOUT_SECONDS = 1200;
const FRAMES = 500;
/** From many sources, of which the scenario blocks one. */
const SOURCES = 100;

export interface BootOrder {
  readonly suite: Suite;
  readonly deb: string;
  readonly log: string;
}

/** Returns the exit code of the scenario; null: it did not come to its end. The log has its lines. */
export async function bootPackage({ suite, deb, log }: BootOrder): Promise<number | null> {
  const [root, kernel] = [await installedSystem({ suite, deb, log }), await kernelImage(suite)];
  const wire = new GuestWire();
  try {
    const script = `apt-get install -y --no-install-recommends ${PACKAGES.join(" ")} && (systemctl disable bird || true)`;
    const environment = { DEBIAN_FRONTEND: "noninteractive" };
    await root.run(["sh", "-c", script], { log, environment, deadlineMs: 15 * MINUTE_MS });
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
        writeFileSync(log, `${line}\n`, { flag: "a" });
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
  const { outputs } = await Bun.build({ entrypoints: [entry], target: "bun" });
  const [output] = outputs;
  if (output === undefined) throw new Error("the scenario is not built");
  return output.text();
}
