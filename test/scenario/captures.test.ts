/** A few of the labelled captures that `make accuracy` and `make captures` run all of: what is found, what the kernel drops. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { VECTORS } from "../../src/detection/attack/vector.ts";
import { faultOf, scoreOf } from "../fixtures/captures/accuracy-score.ts";
import { attackSpecs, type CaptureSpec, lookAlikeSpecs } from "../fixtures/captures/attack-captures.ts";
import { kernelFaultOf, kernelScoreOf, LooseFilter } from "../fixtures/captures/kernel-capture.ts";
import { suiteSpecs } from "../fixtures/captures/suite-captures.ts";
import { bpfUnavailable } from "../fixtures/dataplane/bpf-directory.ts";

setDefaultTimeout(60_000);

const named = (specs: readonly CaptureSpec[], ...names: readonly string[]) =>
  names.map((wanted) => {
    const [spec, ...more] = specs.filter(({ name }) => name === wanted);
    if (spec === undefined || more.length > 0) throw new Error(`there is not one capture ${wanted}`);
    return [wanted, spec] as const;
  });

test.each(
  named(
    [...attackSpecs(), ...lookAlikeSpecs()],
    ...["dns_amplification by pps at 10", "dns_amplification by frag_pps at 2", "ntp_amplification by udp_pps at 2"],
    ...["memcached_amplification by mbps at 2", "syn_flood by tcp_syn_pps at 2", "syn_flood by flows_per_sec at 2"],
    ...["gre_flood by pps at 2", "mixed by pps at 10", "syn_flood, then udp_flood", "dns_amplification and syn_flood"],
    ...["flash crowd, IPv6", "DNS resolver, IPv4"],
  ),
)("%s is found for what it is", (_, spec) => {
  const score = scoreOf(spec);
  expect(faultOf(score)).toBeNull();
  expect(score.found === null).toBe(spec.vector === null);
  // Early enough that a rule of ten times the threshold is out within a few tenths of a second.
  if (spec.level >= 10) expect(score.found?.classifiedAfterMs).toBeLessThanOrEqual(200);
});

describe.skipIf(bpfUnavailable !== null)(`kernel${bpfUnavailable === null ? "" : ` (${bpfUnavailable})`}`, () => {
  let loose: LooseFilter;
  beforeAll(() => {
    loose = new LooseFilter();
  });
  afterAll(() => loose.close());

  test.each(
    named(
      suiteSpecs(),
      // One strength has one kind of link. Amplifications differ in their ports: some of them.
      ...VECTORS.map((vector, i) => `${vector} by pps at ${i % 4 < 2 ? 2 : 10}`).filter(
        (name, i) => !name.includes("_amplification") || i % 3 === 0,
      ),
      ...["syn_flood, then udp_flood", "dns_amplification and syn_flood", "ntp_amplification and cldap_amplification"],
      ...["udp_flood, extension headers", "dns_amplification, extension headers"],
      ...["carpet of ntp_amplification, IPv4", "carpet of udp_flood, IPv6"],
    ),
  )("drops %s, and nothing that users send", (_, spec) => {
    const score = kernelScoreOf(spec, loose.filter);
    expect(kernelFaultOf(score)).toBeNull();
    expect(score.attackFrames).toBeGreaterThan(1000);
    expect(score.legitimateFrames).toBeGreaterThan(100);
  });
});
