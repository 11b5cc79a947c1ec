/**
 * A stock kernel of Debian, unpacked beside its modules, and the small file system that it boots from: busybox, the
 * modules for a 9p share, and a script that enters the machine's own files.
 */
import { chmodSync, copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { dependenciesOf, fetchPackage } from "../../deploy/debian-archive.ts";

/** Suites by the kernel that operators get from them. */
export const KERNEL_SUITES = ["bookworm", "trixie", "trixie-backports"] as const;
export type KernelSuite = (typeof KERNEL_SUITES)[number];

export interface KernelImage {
  readonly suite: KernelSuite;
  /** As `uname -r` says it. */
  readonly release: string;
  /** Paths of the compressed kernel and of the first file system. */
  readonly vmlinuz: string;
  readonly initramfs: string;
  /** What stands for `/lib/modules/<release>`. */
  readonly modules: string;
}

/** The lines between which a guest prints what its command prints; around them are the words of firmware and kernel. */
export const GUEST_STARTED = "guest: started";
export const GUEST_ENDED = "guest: ended";

const META_PACKAGE = "linux-image-amd64";
const BUSYBOX = "/bin/busybox";
/** For the machine's files by 9p, with an overlay in memory over them. */
const BOOT_MODULES = ["virtio_pci", "9pnet_virtio", "9p", "overlay"];

const WITH_SBIN = { ...process.env, PATH: `${process.env["PATH"]}:/usr/sbin:/sbin` };

/** Why no other kernel can be started here, or null. */
export function virtualMachineUnavailable(): string | null {
  if (process.arch !== "x64") return "stock kernels are booted on x86-64 only";
  const needed = ["qemu-system-x86_64", "depmod", "cpio", "xz", "busybox", "flock"];
  const missing = needed.filter((command) => Bun.which(command, { PATH: WITH_SBIN.PATH }) === null);
  return missing.length === 0 ? null : `not installed: ${missing.join(", ")}`;
}

/** Throws when the packages cannot be had. */
export async function kernelImage(suite: KernelSuite): Promise<KernelImage> {
  const packages = await kernelPackages(suite);
  const folders = await Promise.all(packages.map((name) => fetchPackage({ suite, name })));
  const release = (packages[0] ?? "").slice("linux-image-".length);
  // Newer packages have everything under /usr, and kernel and modules in packages of their own.
  const bases = folders.flatMap((folder) => [folder, join(folder, "usr")]);
  const places = [`boot/vmlinuz-${release}`, `lib/modules/${release}/vmlinuz`];
  const vmlinuz = first(bases.flatMap((base) => places.map((place) => join(base, place))));
  const modules = dirname(first(bases.map((base) => join(base, "lib/modules", release, "kernel"))));
  const base = modules.slice(0, -join("/lib/modules", release).length);
  if (!existsSync(join(modules, "modules.dep.bin"))) await Bun.$`depmod -b ${base} ${release}`.env(WITH_SBIN).quiet();
  return { suite, release, vmlinuz, initramfs: await initramfs({ base, release }), modules };
}

async function kernelPackages(suite: KernelSuite): Promise<readonly string[]> {
  const image = (await dependenciesOf({ suite, name: META_PACKAGE })).find((name) => /^linux-image-\d/.test(name));
  if (image === undefined) throw new Error(`${META_PACKAGE} of ${suite} names no kernel`);
  const parts = await dependenciesOf({ suite, name: image });
  return [image, ...parts.filter((name) => /^linux-(binary|modules)-\d/.test(name))];
}

async function initramfs({ base, release }: { base: string; release: string }): Promise<string> {
  const directory = join(base, "initramfs");
  const path = `${directory}.cpio`;
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(join(directory, "bin"), { recursive: true });
  mkdirSync(join(directory, "modules"));
  copyFileSync(BUSYBOX, join(directory, "bin/busybox"));
  const order = await copyModules({ base, release, to: join(directory, "modules") });
  writeFileSync(join(directory, "init"), initScript(order, release));
  chmodSync(join(directory, "init"), 0o755);
  await Bun.$`cd ${directory} && find . | cpio --quiet -o -H newc > ${path}`.quiet();
  return path;
}

/** Returns the file names in the order in which they load. */
async function copyModules(options: { base: string; release: string; to: string }): Promise<readonly string[]> {
  const { base, release, to } = options;
  const loaded: string[] = [];
  for (const module of BOOT_MODULES) {
    // Built into some kernels, and then not found.
    const plan = Bun.$`modprobe -d ${base} -S ${release} --show-depends ${module}`.env(WITH_SBIN).nothrow().quiet();
    for (const line of (await plan.text()).split("\n")) {
      const path = /^insmod (\S+)/.exec(line)?.[1];
      const name = basename(path ?? "").replace(/\.xz$/, "");
      if (path === undefined || loaded.includes(name)) continue;
      loaded.push(name);
      // busybox reads them uncompressed only.
      if (path.endsWith(".xz")) await Bun.$`xz -dc ${path} > ${join(to, name)}`.quiet();
      else copyFileSync(path, join(to, name));
    }
  }
  return loaded;
}

/**
 * `system` is the root folder of this or of another system, read only; what the guest writes is in its memory. `exchange`
 * is a folder of the caller's, which says in `init` what is the first process from then on.
 */
function initScript(modules: readonly string[], release: string): string {
  return `#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
fail() { echo "initramfs: $1"; poweroff -f; }
mkdir -p /proc /sys /dev /system /memory /guest
mount -t proc proc /proc && mount -t sysfs sysfs /sys && mount -t devtmpfs devtmpfs /dev
for module in ${modules.join(" ")}; do insmod /modules/$module || fail "cannot load $module"; done
share=trans=virtio,version=9p2000.L,msize=512000
mount -t 9p -o ro,$share,cache=loose system /system || fail "no share of the system's files"
mount -t tmpfs -o size=75% tmpfs /memory && mkdir /memory/upper /memory/work
mount -t overlay -o lowerdir=/system,upperdir=/memory/upper,workdir=/memory/work overlay /guest || fail "no overlay"
mkdir -p /guest/exchange "/guest/lib/modules/${release}"
mount -t 9p -o $share exchange /guest/exchange || fail "no share to exchange files"
mount -t 9p -o ro,$share,cache=loose modules "/guest/lib/modules/${release}" || fail "no modules"
for system in proc sys dev; do mount --move /$system /guest/$system; done
exec switch_root /guest $(cat /guest/exchange/init)
`;
}

/** The first of them that exists. */
function first(paths: readonly string[]): string {
  const path = paths.find((candidate) => existsSync(candidate));
  if (path === undefined) throw new Error(`the kernel's packages have none of ${paths.join(", ")}`);
  return path;
}
