import { tableLine } from 'test-servers';
import { isClean, type Tally } from './tally.js';

/** The table at the end, and a sentence that says whether all promises held. */
export function report(tally: Tally): string {
  const { lateness } = tally;
  const ms = (value: number) => `${Math.round(value)} ms`;
  const rows: [string, number | string][] = [
    ['scheduled', tally.scheduled],
    ['ran', tally.ran],
    ['revoked', tally.revoked],
    ...(tally.unsure > 0 ? [['revoked too late to tell', tally.unsure] as [string, number]] : []),
    ['retried', tally.retried],
    ['lost', tally.lost],
    ['early', tally.early],
    ['duplicates', tally.duplicates],
    ['ran after revoke', tally.ranAfterRevoke],
    ['lateness p50', ms(lateness.p50)],
    ['lateness p99', ms(lateness.p99)],
    ['lateness max', ms(lateness.max)],
  ];
  const lines = rows.map(([name, value]) => tableLine([`  ${name}`, String(value)], [26, 9], ''));
  const verdict = isClean(tally)
    ? 'Nothing was lost, early, run twice, or run after being revoked.'
    : 'A promise was broken: see lost, early, duplicates and ran after revoke.';
  return ['', ...lines, '', verdict].join('\n');
}
