/** What the kernel drops of labelled captures: every vector once; `make captures` runs all of them. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { VECTORS } from "../../src/detection/attack/vector.ts";
import { kernelFaultOf, kernelScoreOf, LooseFilter } from "../fixtures/captures/kernel-capture.ts";
import { linkText, suiteSpecs } from "../fixtures/captures/suite-captures.ts";
import { bpfUnavailable } from "../fixtures/dataplane/bpf-directory.ts";

const ALL = suiteSpecs();
const named = (name: string) => ALL.filter((spec) => spec.name === name).map((spec) => [name, spec] as const);
const SHORT = [
  // One strength has one kind of link.
  ...VECTORS.flatMap((vector, i) => named(`${vector} by pps at ${i % 4 < 2 ? 2 : 10}`)),
  ...named("syn_flood, then udp_flood"),
  ...named("dns_amplification and syn_flood"),
  ...named("ntp_amplification and cldap_amplification"),
  ...named("udp_flood, extension headers"),
  ...named("dns_amplification, extension headers"),
  ...named("carpet of ntp_amplification, IPv4"),
  ...named("carpet of udp_flood, IPv6"),
];
const DEADLINE_MS = 60_000;

test("each vector, each kind of link and each kind of mixture is among them", () => {
  expect(SHORT.length).toBe(VECTORS.length + 7);
  expect(new Set(ALL.map(({ name }) => name)).size).toBe(ALL.length);
  const links = new Set(SHORT.map(([, spec]) => linkText(spec)));
  const wanted = ["IPv4", "IPv4, VLAN", "IPv4, QinQ", "IPv6", "IPv6, VLAN", "IPv6, QinQ", "IPv6, extensions"];
  expect(wanted.filter((link) => !links.has(link))).toEqual([]);
});

describe.skipIf(bpfUnavailable !== null)(`kernel${bpfUnavailable === null ? "" : ` (${bpfUnavailable})`}`, () => {
  let loose: LooseFilter;
  beforeAll(() => {
    loose = new LooseFilter();
  });
  afterAll(() => loose.close());

  test.each(SHORT)(
    "drops %s, and nothing that users send",
    (_, spec) => {
      const score = kernelScoreOf(spec, loose.filter);
      expect(kernelFaultOf(score)).toBeNull();
      expect(score.attackFrames).toBeGreaterThan(1000);
      expect(score.legitimateFrames).toBeGreaterThan(100);
    },
    DEADLINE_MS,
  );
});
