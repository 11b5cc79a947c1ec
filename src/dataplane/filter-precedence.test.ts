/** Which rule decides about a packet, as docs/architecture.md has it in two tables, in the real kernel. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { BpfDirectory, bpfUnavailable } from "../../test/fixtures/dataplane/bpf-directory.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { operatorRule } from "../../test/fixtures/mitigation/operator-rules.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { ethernet, ip, udp } from "../../test/fixtures/packets/frames.ts";
import { operatorKernelRules } from "../mitigation/operator/operator-kernel-rules.ts";
import type { OperatorRule } from "../mitigation/operator/operator-rule.ts";
import { ANY_MATCH } from "../mitigation/rules/match.ts";
import { wideRule } from "../mitigation/rules/rule.ts";
import { exactly } from "../net/range.ts";
import { type KernelFilter, openKernelFilter } from "./kernel-filter.ts";

const SECTION = /### Which rule decides about a packet\n([\s\S]*?)\n## /;
const page = readFileSync(new URL("../../docs/architecture.md", import.meta.url), "utf8");
const rows = [...(SECTION.exec(page)?.[1] ?? "").matchAll(/^\| (.*) \|$/gm)].map(([, row = ""]) => row.split(" | "));

const [VICTIM, SOURCE, NETWORK] = ["192.0.2.7", "198.51.100.7", prefix("192.0.2.0/24")];
const HOST = prefix(`${VICTIM}/32`);
const ENDS = { src: SOURCE, dst: VICTIM };
const ANY_UDP = { ...ANY_MATCH, protocols: exactly(17) };
const DNS = { ...ANY_UDP, destinationPorts: [{ from: 53, to: 53 }] };

const query = ethernet(ip(ENDS, udp({ destinationPort: 53 })));
const other = ethernet(ip(ENDS, udp({ destinationPort: 80 })));
/** Fragmentation needed, about a packet that the victim sent. */
const tooBig = ethernet(
  ip(ENDS, {
    ...{ protocol: 1, checksumAt: 2 },
    bytes: new Uint8Array([3, 4, 0, 0, 0, 0, 5, 0, ...ip({ src: VICTIM, dst: SOURCE }, udp()).bytes]),
  }),
);

describe.skipIf(bpfUnavailable !== null)(`precedence${bpfUnavailable === null ? "" : ` (${bpfUnavailable})`}`, () => {
  let directory: BpfDirectory;
  let filter: KernelFilter;

  beforeAll(() => {
    directory = new BpfDirectory();
    const bounds = { maxPairs: 16, maxRules: 16, maxPrefixes: 64, maxSources: 1000 };
    filter = openKernelFilter({ pinPath: directory.path, interfaces: [], xdpMode: "auto", ...bounds });
  });
  afterAll(() => {
    filter.close("detach");
    directory.close();
  });

  const expiresAtMs = Date.now() + 3_600_000;
  const pair = { source: address(SOURCE), victim: address(VICTIM), expiresAtMs };
  const ofBan = { id: "ban", rule: wideRule(HOST, { kind: "discard" }), expiresAtMs };

  function operators(...rules: Partial<OperatorRule>[]) {
    const made = rules.map((rule, i) => operatorRule({ name: `r${i}`, ...rule }));
    return operatorKernelRules({ rules: made, networks: [], attacked: [], wallMs: Date.now(), room: 100 });
  }

  /** The verdict on the frame. */
  function verdictOn(frame: Uint8Array): string | undefined {
    const before = filter.status().verdicts;
    filter.native.drops(frame);
    const after = Object.entries(filter.status().verdicts);
    return after.find(([name, { packets }]) => packets > before[name as keyof typeof before].packets)?.[0];
  }

  test("the steps that the document has are tried in its order", () => {
    const dropped = operators({ action: "drop", destinations: [NETWORK] });
    filter.setAllowlist([prefix(`${SOURCE}/32`)]);
    filter.setWhitelist([HOST]);
    filter.putPairs([pair]);
    filter.setRules([{ ...ofBan, rule: { ...ofBan.rule, action: { kind: "pass" } } }], dropped);
    const found: (string | undefined)[][] = [];
    const step = (name: string | undefined, frame: Uint8Array, takeAway: () => void) => {
      found.push([name, verdictOn(frame)]);
      takeAway();
    };
    const steps = rows.filter(([number = ""]) => /^\d$/.test(number)).map(([, name = ""]) => name);
    expect(steps).toHaveLength(7);
    const [allowlist, whitelist, blocks, icmp, operator, bans, none] = steps;
    step(allowlist, tooBig, () => filter.setAllowlist([]));
    step(whitelist, tooBig, () => filter.setWhitelist([]));
    step(blocks, tooBig, () => filter.removePairs([pair]));
    step(icmp, tooBig, () => {});
    step(operator, query, () => filter.setRules([{ ...ofBan, rule: { ...ofBan.rule, action: { kind: "pass" } } }]));
    step(bans, query, () => filter.setRules([]));
    step(none, query, () => {});
    expect(found).toEqual([
      [expect.stringContaining("allowlist"), "pass_allowlist"],
      [expect.stringContaining("protected_whitelist"), "pass_whitelist"],
      [expect.stringContaining("source blocks"), "drop_source"],
      [expect.stringContaining("ICMP"), "pass_icmp"],
      [expect.stringContaining("rules of the operator"), "drop_rule"],
      [expect.stringContaining("rules of bans"), "pass_rule"],
      [expect.stringContaining("none"), "pass_default"],
    ]);
  });

  test("the example of both precedences is what the kernel does", () => {
    const [, ofOperator = "", ofBans = ""] = rows.find(([first = ""]) => first.startsWith("example")) ?? [];
    filter.setRules(
      [],
      operators(
        { action: "drop", destinations: [NETWORK], match: ANY_UDP },
        { action: "pass", destinations: [HOST], match: DNS },
      ),
    );
    const isSaid = (text: string) => ({
      query: /to port 53 of \.7 passes/.test(text) ? "pass_rule" : "drop_rule",
      other: "drop_rule",
    });
    expect({ query: verdictOn(query), other: verdictOn(other) }).toEqual(isSaid(ofOperator));
    const drop = { ...wideRule(NETWORK, { kind: "discard" }), protocols: exactly(17) };
    const pass = { ...ANY_MATCH, ...DNS, destination: HOST, action: { kind: "pass" } as const };
    filter.setRules([drop, pass].map((rule, i) => ({ id: `${i}`, rule, expiresAtMs })));
    expect({ query: verdictOn(query), other: verdictOn(other) }).toEqual(isSaid(ofBans));
    expect([isSaid(ofOperator).query, isSaid(ofBans).query]).toEqual(["drop_rule", "pass_rule"]);
  });
});
