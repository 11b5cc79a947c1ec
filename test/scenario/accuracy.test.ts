/** A few of the labelled captures that `make accuracy` runs all of. */
import { expect, test } from "bun:test";
import { faultOf, scoreOf } from "../fixtures/captures/accuracy-score.ts";
import { attackSpecs, lookAlikeSpecs } from "../fixtures/captures/attack-captures.ts";

const SPECS = [...attackSpecs(), ...lookAlikeSpecs()];
const named = (name: string) => SPECS.filter((spec) => spec.name === name).map((spec) => [name, spec] as const);

test("there are captures of every vector at every level, and each has a name of its own", () => {
  expect(SPECS.length).toBeGreaterThan(100);
  expect(new Set(SPECS.map(({ name }) => name)).size).toBe(SPECS.length);
});

test.each([
  ...named("dns_amplification by pps at 10"),
  ...named("dns_amplification by frag_pps at 2"),
  ...named("ntp_amplification by udp_pps at 2"),
  ...named("memcached_amplification by mbps at 2"),
  ...named("syn_flood by tcp_syn_pps at 2"),
  ...named("syn_flood by flows_per_sec at 2"),
  ...named("gre_flood by pps at 2"),
  ...named("mixed by pps at 10"),
  ...named("syn_flood, then udp_flood"),
  ...named("dns_amplification and syn_flood"),
  ...named("flash crowd, IPv6"),
  ...named("DNS resolver, IPv4"),
])("%s is found for what it is", (_, spec) => {
  const score = scoreOf(spec);
  expect(faultOf(score)).toBeNull();
  expect(score.found === null).toBe(spec.vector === null);
  // Early enough that a rule of ten times the threshold is out within a few tenths of a second.
  if (spec.level >= 10) expect(score.found?.classifiedAfterMs).toBeLessThanOrEqual(200);
});
