import { escaped } from 'nest-handlers/log';
import { facts, instant, span, table } from 'nest-handlers/cli';
import type { CopyView, Explanation } from '../operate/explanation.js';
import { clusterCommand } from './cluster.js';
import { REFERENCE_FLAGS, referenceOf } from './references.js';

export const explain = clusterCommand({
  name: 'explain',
  operands: ['[REF]'],
  summary: 'Explain why a job has not run, or what became of it, and where each copy is.',
  about:
    'TAKEN, RELEASED, TIMED OUT: how many times processes took the copy, gave it back, or held it too long.',
  flags: REFERENCE_FLAGS,
  status: '0 explained; 1 job unknown or Redis unreachable',
  examples: ['nest-dq explain --tube order.cancel --key order-42'],
  async run(args, { runtime }) {
    const found = await runtime.inspector.explain(referenceOf(args));
    const isKnown = found.because !== 'unknown' && found.because !== 'ledger-away';
    return { json: found, text: show(found, runtime.now()), status: isKnown ? 0 : 1 };
  },
});

function show(found: Explanation, now: number): string {
  const { why, tube, key, id, state, dueAt, attempt, run, copies, deadLetter } = found;
  const known = facts({
    tube,
    key,
    id,
    state,
    due: dueAt && instant(dueAt, now),
    runs: attempt === undefined ? undefined : String(attempt),
    started: run && instant(run.startedAt, now),
    process: run?.process && `${run.process.pid} on ${run.process.host}`,
    'lease ends': run?.leaseEndsAt && instant(run.leaseEndsAt, now),
    died: deadLetter && `${instant(deadLetter.diedAt, now)}: ${deadLetter.why}`,
  });
  return [escaped(why), '', known, ...(copies.length > 0 ? ['', showCopies(copies)] : [])].join('\n');
}

function showCopies(copies: readonly CopyView[]): string {
  const rows = copies.map(({ node, index, state, readyIn, age, reserves, releases, timeouts }) => [
    index === 0 ? 'primary' : `backup ${index}`,
    node,
    state,
    readyIn === undefined ? '' : span(readyIn),
    age === undefined ? '' : span(age),
    reserves ?? '',
    releases ?? '',
    timeouts ?? '',
  ]);
  const head = ['COPY', 'NODE', 'STATE', 'READY IN', 'AGE', 'TAKEN', 'RELEASED', 'TIMED OUT'];
  return table(head, rows);
}
