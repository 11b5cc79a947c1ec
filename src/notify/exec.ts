/**
 * Runs an operator's program for each event with the event as JSON on its standard input. It gets no shell, no
 * arguments, none of the service's environment and none of its capabilities. Its process group is killed when it exits
 * or when its time is over.
 */
import { withoutCapabilities } from "../system/capabilities.ts";
import type { Channel, ChannelContext } from "./channel.ts";
import { DeliveryFault, deliveryFault } from "./delivery-fault.ts";
import { eventToWire } from "./event-wire.ts";
import type { ExecConfig } from "./notify-config.ts";

const ENVIRONMENT = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LANG: "C.UTF-8" };

export function execChannel(config: ExecConfig, context: ChannelContext): Channel {
  return {
    audience: "programs",
    deadlineMs: config.timeoutSeconds * 1000,
    async deliver(events, signal) {
      for (const event of events) {
        const code = await runProgram(config.command, `${JSON.stringify(eventToWire(event, context))}\n`, signal);
        if (code !== 0) throw new DeliveryFault(`ended with code ${code}`);
      }
    },
  };
}

/** Returns its exit code. Rejects with a DeliveryFault where it cannot be started or is not done in time. */
export async function runProgram(command: string, input: string, signal: AbortSignal): Promise<number> {
  const child = start(command, input);
  const abort = () => endGroup(child.pid);
  signal.addEventListener("abort", abort);
  try {
    const code = await child.exited;
    if (signal.aborted) throw new DeliveryFault("not done in time");
    return code;
  } finally {
    signal.removeEventListener("abort", abort);
    // Processes that it left running would accumulate with each event.
    endGroup(child.pid);
  }
}

function start(command: string, input: string) {
  try {
    return Bun.spawn(withoutCapabilities([command], { binds: false }), {
      cwd: "/",
      env: ENVIRONMENT,
      stdin: new TextEncoder().encode(input),
      stdout: "ignore",
      stderr: "ignore",
      // A session, and so a process group, of its own.
      detached: true,
    });
  } catch (cause) {
    throw deliveryFault(cause);
  }
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group is empty already.
  }
}
