import { facts, instant, type Line, span, styled, type Table, table } from 'nest-handlers/cli';
import type { FailedAttempt } from '../api/dead-letter.js';
import type { BackoffView, CopyView, Explanation } from '../operate/explanation.js';
import { clusterCommand } from './cluster.js';
import { finishedFacts } from './finished.js';
import { LEDGER_STATUS, ledgerDown } from './ledger-down.js';
import { REFERENCE_FLAGS, referenceOf } from './references.js';
import { warnedOfUnknown } from './unknown-tube.js';

export const explain = clusterCommand({
  name: 'explain',
  withoutRedis: true,
  operands: ['[REF]'],
  summary: 'Explain why a job has not run, or what became of it, and where each copy is.',
  about:
    'TAKEN, RELEASED, TIMED OUT: how many times processes took the copy, gave it back, or held it too long.',
  flags: REFERENCE_FLAGS,
  status: '0 explained; 1 job unknown; 2 Redis unusable',
  examples: ['nest-dq explain --tube order.cancel --key order-42'],
  async run(args, { runtime, redisCause }) {
    const found = await runtime.inspector.explain(referenceOf(args));
    const tube = args.text('tube', 'the name of a tube');
    if (found.because === 'unknown' && tube !== undefined) await warnedOfUnknown(runtime.inspector, tube);
    const down = redisCause === undefined ? [] : [styled('red', ledgerDown(redisCause)), ''];
    return {
      json: found,
      text: [...down, ...show(found, runtime.now())],
      status: found.because === 'ledger-away' ? LEDGER_STATUS : found.because === 'unknown' ? 1 : 0,
    };
  },
});

function show(found: Explanation, now: number): Line[] {
  const { why, tube, key, id, dueAt, firstDueAt, addedAt, movedAt, run, copies, finished, deadLetter } =
    found;
  const { failedAttempts = [], group, priority, backoff, headers } = found;
  const isThere = found.because !== 'unknown' || dueAt !== undefined;
  const known = facts({
    tube,
    key,
    id: isThere || key === undefined ? id : undefined, // of a key without a job, it would be made up
    state: found.state === 'waiting' && dueAt && dueAt.getTime() <= now ? 'due' : found.state,
    added: addedAt && instant(addedAt, now),
    moved: movedAt && instant(movedAt, now),
    'first due': firstDueAt && instant(firstDueAt, now),
    due: dueAt && instant(dueAt, now),
    attempt: attemptText(found),
    backoff: backoff && backoffText(backoff),
    group,
    priority,
    headers: headers && JSON.stringify(headers),
    started: run && instant(run.startedAt, now),
    process: run?.process && `${run.process.pid} on ${run.process.host}`,
    ...(finished && finishedFacts(finished, now)),
    'lease ends': run?.leaseEndsAt && instant(run.leaseEndsAt, now),
    died: deadLetter && `${instant(deadLetter.diedAt, now)}: ${deadLetter.why}`,
  });
  return [
    why,
    '',
    ...known,
    ...(failedAttempts.length > 0 ? ['', showAttempts(failedAttempts, now)] : []),
    ...(copies.length > 0 ? ['', showCopies(copies)] : []),
  ];
}

function attemptText({ attempt, maxAttempts }: Explanation): string | undefined {
  if (attempt === undefined) return undefined;
  return maxAttempts === undefined ? String(attempt) : `${attempt} of ${maxAttempts}`;
}

function backoffText({ type, delay, max, jitter }: BackoffView): string {
  const delays =
    type === 'fixed' ? `fixed, ${span(delay)}` : `exponential, from ${span(delay)} to ${span(max)}`;
  return jitter === 0 ? delays : `${delays}, up to ${Math.round(jitter * 100)} % less`;
}

function showAttempts(attempts: readonly FailedAttempt[], now: number): Table {
  const rows = attempts.map(({ attempt, startedAt, took, process, error }) => [
    attempt,
    instant(startedAt, now),
    span(took),
    process,
    `${error.name}: ${error.message}`.replaceAll(/\s+/g, ' '),
  ]);
  return table(['FAILED', 'STARTED', 'TOOK', 'PROCESS', 'ERROR'], rows);
}

function showCopies(copies: readonly CopyView[]): Table {
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
