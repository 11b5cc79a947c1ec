/** Shows what an order would do, while its dialog is filled in. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { FilterRulePreviewWire, SourceBlockPreviewWire } from "../../src/http/wire/order-effect.ts";
import { type Answer, command } from "../api/client.ts";
import { failureText } from "../text/failure.ts";
import { FILTER_RULES_PATH, type RuleForm, ruleOrder } from "../text/filter-rules.ts";
import { looksLikeAddress } from "../text/format/address.ts";
import { blockPreviewSentences, canPreview, rulePreviewSentences } from "../text/order-effect.ts";

const PAUSE_MS = 400;
/** The effect of an order changes with the traffic and the configuration. */
const AGAIN_MS = 10_000;

interface Asked<T> {
  /** null: no answer yet. */
  readonly shown: Answer<T> | null;
  /** Asks again, and shows the answer. */
  readonly ask: () => Promise<Answer<T>>;
}

export function useRulePreview(form: RuleForm): Asked<FilterRulePreviewWire> {
  const order = { ...ruleOrder(form), name: form.name.trim() || "unnamed", reason: "" };
  const ask = () => command<FilterRulePreviewWire>(`${FILTER_RULES_PATH}/preview`, order);
  return useAnswer(canPreview(form) ? JSON.stringify(order) : null, ask);
}

export function RuleEffect({ shown }: Pick<Asked<FilterRulePreviewWire>, "shown">) {
  return <Sentences of={shown === null ? [] : sentencesOf(shown, rulePreviewSentences)} />;
}

interface BlockEffectProps {
  readonly order: { readonly source: string; readonly victim: string; readonly ttl_seconds: number };
}

export function BlockEffect({ order: { source, victim, ttl_seconds } }: BlockEffectProps) {
  const order = { source, victim, ttl_seconds };
  const isComplete = looksLikeAddress(source) && looksLikeAddress(victim) && ttl_seconds > 0;
  const ask = () => command<SourceBlockPreviewWire>("/api/v1/dataplane/sources/preview", order);
  const { shown } = useAnswer(isComplete ? JSON.stringify(order) : null, ask);
  return <Sentences of={shown === null ? [] : sentencesOf(shown, blockPreviewSentences)} />;
}

/** The answer for what has not changed for PAUSE_MS, read again as long as it is shown. @param key of the request; null: there is none. */
export function useAnswer<T>(key: string | null, ask: () => Promise<Answer<T>>): Asked<T> {
  const [shown, setShown] = useState<{ readonly key: string | null; readonly answer: Answer<T> } | null>(null);
  const latest = useRef(key);
  latest.current = key;
  const askNow = async () => {
    const answer = await ask();
    if (latest.current === key) setShown({ key, answer });
    return answer;
  };
  useEffect(() => {
    if (key === null) return;
    let isOver = false;
    const look = async () => {
      await askNow();
      if (!isOver) timer = setTimeout(() => void look(), AGAIN_MS);
    };
    let timer = setTimeout(() => void look(), PAUSE_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [key]);
  return { shown: key !== null && shown?.key === key ? shown.answer : null, ask: askNow };
}

/** The confirmation that is typed for one order: another one needs its own. @param key of the order */
export function useTypedFor(key: string): { readonly again: string; readonly setAgain: (text: string) => void } {
  const [typed, setTyped] = useState({ key, text: "" });
  return { again: typed.key === key ? typed.text : "", setAgain: (text) => setTyped({ key, text }) };
}

function sentencesOf<T>(answer: Answer<T>, words: (data: T) => string[]): string[] {
  return answer.kind === "answer" ? words(answer.data) : [failureText(answer)];
}

function Sentences({ of }: { readonly of: readonly string[] }) {
  return (
    <div role="status" class="ban-preview">
      {of.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </div>
  );
}
