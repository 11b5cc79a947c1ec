/**
 * `make start` and `make lab`: shows Floodwall at work, step by step and with times: its main job first, then the other
 * ways to stop a flood. With --once it runs each act once and exits 0 only if every step was seen; without, it goes on
 * until interrupted. Without root it replays a capture instead, in dry run.
 */
import { parseArgs } from "node:util";
import { namespacesUnavailable } from "../namespaces.ts";
import { NETWORK, NETWORK6, World } from "../world.ts";
import { showBlackhole } from "./blackhole-act.ts";
import { showDivert, showFlowspec, showLadder } from "./mitigation-acts.ts";
import { showReplay } from "./replay-demo.ts";
import { perform, type Stage } from "./stage.ts";

const ACTS = [showBlackhole, showFlowspec, showDivert, showLadder];
const PAUSE_SECONDS = 10;

const { values } = parseArgs({ options: { once: { type: "boolean", default: false } } });
const { once } = values;
const port = Number(process.env["PORT"] ?? 8080);
const unavailable = namespacesUnavailable();
if (unavailable !== null) console.log(`skipped: the lab on real packets, XDP and BGP: ${unavailable}`);
await perform(unavailable === null ? showWorld : (stage) => showReplay(stage, { port, once }), 0);

async function showWorld(stage: Stage): Promise<void> {
  stage.step("world", "attacker ── box with Floodwall ── BGP peer with BIRD, in network namespaces of their own");
  const world = await World.create({ apiPort: port, hysteresisSeconds: 3, mode: "mirror" });
  stage.undo.add(() => world.close());
  stage.lastWords = () => `\nthe service's last words:\n${world.service.output.slice(-4000)}`;
  stage.step("ready", `protecting ${NETWORK}, ${NETWORK6}; BGP session up`);
  stage.step("page", `http://127.0.0.1:${port}/ is the dashboard, and /api/v1/status the state as JSON`);
  for (;;) {
    for (const show of ACTS) await show(world, stage);
    if (once) break;
    stage.step("pause", `${PAUSE_SECONDS} s to the next flood; Ctrl-C ends`);
    await Bun.sleep(PAUSE_SECONDS * 1000);
  }
  stage.step("done", "every step was seen");
}
