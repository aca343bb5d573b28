import type { CopyView, Explanation } from '../operate/explanation.js';
import { clusterCommand } from './cluster.js';
import { facts, instant, span, table } from './output.js';
import { REFERENCE_FLAGS, referenceOf } from './references.js';

export const explain = clusterCommand({
  name: 'explain',
  operands: ['[REF]'],
  summary: 'Says why a job has not run, or what became of it, and where each copy is.',
  flags: REFERENCE_FLAGS,
  status: '0 explained, 1 nothing is known of the job, or Redis is away',
  examples: ['nest-dq explain --tube order.cancel --key order-42'],
  async run(args, { runtime }) {
    const found = await runtime.inspector.explain(referenceOf(args));
    const isKnown = found.because !== 'unknown' && found.because !== 'ledger-away';
    return { json: found, text: show(found, runtime.clock.wall()), status: isKnown ? 0 : 1 };
  },
});

function show({ why, tube, key, id, state, dueAt, attempt, run, copies }: Explanation, now: number): string {
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
  });
  return [why, '', known, ...(copies.length > 0 ? ['', showCopies(copies)] : [])].join('\n');
}

function showCopies(copies: readonly CopyView[]): string {
  const rows = copies.map(({ node, index, state, readyIn, age }) => [
    index === 0 ? 'primary' : `backup ${index}`,
    node,
    state,
    readyIn === undefined ? '' : span(readyIn),
    age === undefined ? '' : span(age),
  ]);
  return table(['COPY', 'NODE', 'STATE', 'READY IN', 'AGE'], rows);
}
