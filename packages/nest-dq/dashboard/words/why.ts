import type { ExplanationWire } from '../../src/dashboard/wire.js';
import type { ExplanationCase } from '../../src/operate/explanation.js';
import { language, t } from './language.js';
import { time } from './say.js';
import { zhReasons, type ReasonTexts } from './zh-reasons.js';

/** As the server writes times, in UTC. */
const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;

/** Why a job has not run, in the language of the page, with times as the whole page has them. The server has it in English. */
export function whyText({ why, ...reason }: ExplanationWire): string {
  if (reason.because === 'ledger-away') return t('job.ledgerAway'); // the status bar says why
  if (language.value === 'zh') return inChinese(reason);
  return why.replaceAll(INSTANT, (instant) => time(Date.parse(instant)));
}

/** A case and its details. */
type Reason<Case extends ExplanationCase> = {
  readonly [C in Case]: { readonly because: C; readonly details: Parameters<ReasonTexts[C]>[0] };
}[Case];

function inChinese<Case extends ExplanationCase>({ because, details }: Reason<Case>): string {
  return zhReasons[because](details);
}
