import type { ExplanationWire } from '../../src/dashboard/wire.js';
import type { ExplanationCase } from '../../src/operate/explanation.js';
import { language } from './language.js';
import { zhReasons, type ReasonTexts } from './zh-reasons.js';

/** Why a job has not run, in the language of the page. The server has it in English, with times in UTC. */
export function whyText({ why, ...reason }: ExplanationWire): string {
  return language.value === 'zh' ? inChinese(reason) : why;
}

/** A case and its details. */
type Reason<Case extends ExplanationCase> = {
  readonly [C in Case]: { readonly because: C; readonly details: Parameters<ReasonTexts[C]>[0] };
}[Case];

function inChinese<Case extends ExplanationCase>({ because, details }: Reason<Case>): string {
  return zhReasons[because](details);
}
