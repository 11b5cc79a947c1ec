import { beforeEach, describe, expect, test } from "bun:test";
import { divertedBan } from "../../test/fixtures/scrub/scrubbing.ts";
import { NOON } from "../../test/fixtures/views.ts";
import { exactly } from "../net/range.ts";
import { REFUSED_BANS_LISTED_MAX, readEnforced } from "./enforced-report.ts";
import { FAULT_KEPT_MS, NodeEnforcement, RESTART_BELIEVED_MS, SENT_DOCUMENTS_MAX } from "./node-enforcement.ts";
import { everyBan, type RuleDocument, RuleDocuments } from "./rule-documents.ts";

const WITHIN_MS = 15_000;
const COMPLETE = { capabilities: ["refused_bans"] };
const [ONE, TWO] = ["192.0.2.1/32", "192.0.2.2/32"];

let node: NodeEnforcement;
let nowMs: number;

beforeEach(() => {
  [node, nowMs] = [new NodeEnforcement(), 0];
});

const now = () => ({ wallMs: NOON + nowMs, monotonicMs: nowMs });

/** A document with bans of these addresses, each with a rule for this port. */
function documentOf(ports: Readonly<Record<string, number>>, expiresAt = NOON + 600_000): RuleDocument {
  const documents = new RuleDocuments(() => "global");
  for (const [target, port] of Object.entries(ports)) {
    const rules = [{ protocols: exactly(17), sourcePorts: [{ from: port, to: port }] }];
    documents.put(divertedBan({ target, rules, expiresAt }));
  }
  return documents.of(everyBan(new Set()));
}

const sent = (etag: string, document: RuleDocument) => node.sent(etag, document, now());
const report = (wire: object, concerns = () => true) =>
  node.reported(readEnforced(wire), now(), { withinMs: WITHIN_MS, concerns });
const kindOf = (prefix: string) => node.faultOf(prefix, nowMs)?.kind ?? null;

function refusing(etag: string, ...prefixes: readonly string[]): object {
  return { ...COMPLETE, rules_etag: etag, refused_bans: [{ reason: "too far", prefixes }] };
}

const BOTH = documentOf({ "192.0.2.1": 53, "192.0.2.2": 53 });

describe("a node that refuses a ban", () => {
  test("is at fault for that one alone, until it takes it #node-enforcement-refused", () => {
    sent('"a"', BOTH);
    report(refusing('"a"', TWO));
    expect([kindOf(ONE), kindOf(TWO)]).toEqual([null, "refused"]);
    expect([node.enforces(ONE), node.enforces(TWO)]).toEqual([true, false]);
    expect(node.view(nowMs)).toEqual({
      refusedBans: 1,
      refusals: [{ prefix: TWO, reason: "too far" }],
      notAppliedSince: null,
    });
    report({ ...COMPLETE, rules_etag: '"a"' });
    expect([kindOf(TWO), node.view(nowMs).refusedBans]).toEqual([null, 0]);
  });

  test("is remembered for a while after the ban has ended, and no longer #node-enforcement-ends", () => {
    sent('"a"', BOTH);
    report(refusing('"a"', TWO));
    sent('"b"', documentOf({ "192.0.2.1": 53 }));
    report({ ...COMPLETE, rules_etag: '"b"' });
    nowMs = FAULT_KEPT_MS - 1;
    expect(kindOf(TWO)).toBe("refused");
    nowMs++;
    expect([kindOf(TWO), node.view(nowMs).refusedBans]).toEqual([null, 0]);
  });

  test("is believed again when its agent was started again, but not all the time #node-enforcement-ends", () => {
    const started = (startedAt: string) => ({ ...COMPLETE, rules_etag: '"b"', started_at: startedAt });
    const again = () => {
      sent('"a"', BOTH);
      report({ ...refusing('"a"', TWO), started_at: "1" });
      sent('"b"', documentOf({}));
    };
    again();
    nowMs = RESTART_BELIEVED_MS - 1;
    report(started("2"));
    expect(kindOf(TWO)).toBe("refused");
    nowMs++;
    report(started("3"));
    expect(kindOf(TWO)).toBeNull();
  });

  test("is not at fault for one that would not go to it, or that it was not sent", () => {
    sent('"a"', BOTH);
    report(refusing('"a"', ONE), () => false);
    report(refusing('"a"', "198.51.100.1/32", "nonsense"));
    expect([kindOf(ONE), kindOf("198.51.100.1/32"), node.view(nowMs).refusedBans]).toEqual([null, null, 0]);
  });
});

describe("a node that refuses a document as a whole", () => {
  test("is at fault for what it has no good version of, also an agent that reports nothing else", () => {
    sent('"a"', documentOf({ "192.0.2.1": 53 }));
    report({ rules_etag: '"a"' });
    const later = documentOf({ "192.0.2.1": 53, "192.0.2.2": 53 });
    sent('"b"', later);
    report({ rules_etag: '"a"', document_refused: "version: 2" });
    expect([kindOf(TWO), kindOf("192.0.2.3/32")]).toEqual(["refused", "refused"]);
    sent('"c"', later);
    report({ rules_etag: '"c"' });
    expect([kindOf(ONE), kindOf(TWO), kindOf("192.0.2.3/32")]).toEqual([null, null, null]);
  });

  test("and says not what is in force, is at fault for all", () => {
    sent('"a"', BOTH);
    report({ document_refused: "no" });
    expect([kindOf(ONE), kindOf(TWO)]).toEqual(["refused", "refused"]);
  });
});

describe("a node that does not put in force what it got", () => {
  test("is at fault from the first report after its time, for what changed #node-enforcement-not-applied", () => {
    const unchanged = divertedBan({ target: "192.0.2.1" });
    const documents = new RuleDocuments(() => "global");
    documents.put(unchanged);
    sent('"a"', documents.of(everyBan(new Set())));
    report({ ...COMPLETE, rules_etag: '"a"' });
    documents.put(divertedBan({ target: "192.0.2.2", rules: [{ protocols: exactly(17) }] }));
    documents.refresh();
    sent('"b"', documents.of(everyBan(new Set())));
    nowMs = WITHIN_MS;
    report({ ...COMPLETE, rules_etag: '"a"' });
    expect(kindOf(TWO)).toBeNull();
    nowMs++;
    expect(kindOf(TWO)).toBeNull();
    report({ ...COMPLETE, rules_etag: '"a"' });
    expect([kindOf(ONE), kindOf(TWO), kindOf("192.0.2.3/32")]).toEqual([null, "not_applied", "not_applied"]);
    expect(node.view(nowMs).notAppliedSince).toBe(NOON);
    report({ ...COMPLETE, rules_etag: '"b"' });
    expect([kindOf(TWO), kindOf("192.0.2.3/32"), node.view(nowMs).notAppliedSince]).toEqual([null, null, null]);
  });

  test("is at fault too for a ban that has changed or has expired there", () => {
    sent('"a"', documentOf({ "192.0.2.1": 53, "192.0.2.2": 53 }, NOON + 10_000));
    report({ ...COMPLETE, rules_etag: '"a"' });
    sent('"b"', documentOf({ "192.0.2.1": 80, "192.0.2.2": 53 }));
    nowMs = WITHIN_MS + 1;
    report({ ...COMPLETE, rules_etag: '"a"' });
    expect([kindOf(ONE), kindOf(TWO)]).toEqual(["not_applied", "not_applied"]);
  });

  test("is not at fault if its agent does not report what is in force #node-enforcement-not-applied", () => {
    sent('"a"', BOTH);
    nowMs = 10 * WITHIN_MS;
    for (const wire of [{}, { rules_etag: "7" }, { capabilities: ["port_ranges"], rules_etag: '"x"' }]) report(wire);
    expect([kindOf(ONE), node.view(nowMs).notAppliedSince]).toEqual([null, null]);
  });

  test("is not at fault while it keeps up with documents that change all the time", () => {
    for (let i = 0; i < 200; i++) {
      sent(`"${i}"`, BOTH);
      nowMs += 1000;
      report({ ...COMPLETE, rules_etag: `"${i}"` });
    }
    expect(node.view(nowMs).notAppliedSince).toBeNull();
  });
});

describe("reports that make no sense #scrub-report-refused-bans", () => {
  test.each<[string, object]>([
    ["a list that is none", { refused_bans: 7 }],
    ["groups that are none", { refused_bans: [null, 1, "x", { reason: {}, prefixes: {} }] }],
    ["a total that is none", { refused_bans_total: "many" }],
    ["a negative total", { refused_bans_total: -5 }],
    ["a total that is no whole number", { refused_bans_total: 1.5 }],
    ["a tag that is none", { rules_etag: 7, started_at: [], document_refused: {} }],
  ])("%s", (_, wire) => {
    sent('"a"', BOTH);
    report({ ...COMPLETE, ...wire });
    expect([kindOf(ONE), node.view(nowMs)]).toEqual([null, { refusedBans: 0, refusals: [], notAppliedSince: null }]);
  });

  test("are bounded in what is kept of them", () => {
    const prefixes = Array.from({ length: 60_000 }, (_, i) => `10.0.${i >> 8}.${i & 255}/32`);
    const wire = { refused_bans: [{ reason: "\n".repeat(5000), prefixes }], started_at: "x".repeat(5000) };
    const read = readEnforced({ ...COMPLETE, ...wire });
    expect(read.refused.size).toBe(REFUSED_BANS_LISTED_MAX);
    expect([...read.refused.values()][0]).toMatch(/^\?{120}$/);
    expect(read.startedAt).toHaveLength(120);
  });

  test("a node that takes documents and never reports keeps a bounded number of them", () => {
    for (let i = 0; i < 10 * SENT_DOCUMENTS_MAX; i++) sent(`"${i}"`, BOTH);
    nowMs = WITHIN_MS + 1;
    report({ ...COMPLETE, rules_etag: '"5"' });
    expect(node.view(nowMs).notAppliedSince).toBe(NOON);
    report({ ...COMPLETE, rules_etag: `"${10 * SENT_DOCUMENTS_MAX - SENT_DOCUMENTS_MAX + 2}"` });
    report({ ...COMPLETE, rules_etag: `"${10 * SENT_DOCUMENTS_MAX - 1}"` });
    expect(node.view(nowMs).notAppliedSince).toBeNull();
  });
});
