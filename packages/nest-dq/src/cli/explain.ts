import {
  column,
  facts,
  instant,
  instantCell,
  type Line,
  span,
  type Table,
  table,
  WrongArguments,
} from 'nest-handlers/cli';
import type { FailedAttempt } from '../api/dead-letter.js';
import type { BackoffView, CopyView, Explanation } from '../operate/explanation.js';
import { clusterCommand } from './cluster.js';
import { finishedFacts } from './finished.js';
import { reportedText } from './jobs.js';
import { downLine, ledgerFailure, LEDGER_STATUS } from './ledger-down.js';
import { outageOf } from './outage.js';
import { foundReference, REFERENCE_FLAGS, unfound } from './references.js';
import { warnedOfUnknown } from './unknown-tube.js';

export const explain = clusterCommand({
  name: 'explain',
  withoutRedis: true,
  operands: ['[REF]'],
  summary: 'Explain why a job has not run, or what became of it, and where each copy is.',
  about:
    'Instead of a reference, REF may be the key or id of a job, which is looked for in all tubes.\n' +
    'RESERVES, RELEASES, TIMEOUTS: how many times processes took the copy, gave it back, or held it too long.',
  flags: REFERENCE_FLAGS,
  status: '0 explained; 1 job unknown; 2 Redis unusable',
  examples: ['nest-dq explain --tube order.cancel --key order-42'],
  async run(args, { runtime, cluster, settings, redisCause }) {
    const outage = await outageOf({ up: redisCause === undefined }, cluster, settings.prefix);
    const now = runtime.now();
    // Tubes are searched in Redis, so there it is the one cause.
    const ref = await foundReference(args, runtime.inspector).catch((error: unknown) => {
      throw redisCause === undefined || error instanceof WrongArguments
        ? error
        : ledgerFailure(redisCause, outage, now);
    });
    if (!ref) return unfound(args);
    const found = await runtime.inspector.explain(ref);
    const tube = args.text('tube', 'the name of a tube');
    if (found.because === 'unknown' && tube !== undefined) await warnedOfUnknown(runtime.inspector, tube);
    return {
      json: found,
      text: showExplanation(
        found,
        now,
        redisCause === undefined ? [] : downLine({ up: false, reason: redisCause }, outage, now),
      ),
      status: found.because === 'ledger-away' ? LEDGER_STATUS : found.because === 'unknown' ? 1 : 0,
    };
  },
});

/** `redisDown`: the line that says why Redis can't be used, if so. */
export function showExplanation(found: Explanation, now: number, redisDown: readonly Line[] = []): Line[] {
  const { why, tube, key, id, dueAt, firstDueAt, addedAt, movedAt, run, progress, copies } = found;
  const { finished, deadLetter } = found;
  const { failedAttempts = [], group, priority, backoff, headers, expiresAt } = found;
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
    expires: expiresAt && instant(expiresAt, now),
    attempt: attemptText(found),
    backoff: backoff && backoffText(backoff),
    group,
    priority,
    headers: headers && JSON.stringify(headers),
    started: run && instant(run.startedAt, now),
    process: run?.process && `${run.process.pid} on ${run.process.host}`,
    progress: progress && reportedText(progress, now),
    ...(finished && finishedFacts(finished, now)),
    'lease ends': run?.leaseEndsAt && instant(run.leaseEndsAt, now),
    died: deadLetter && `${instant(deadLetter.diedAt, now)}: ${deadLetter.why}`,
  });
  const isAway = found.because === 'ledger-away';
  const unreported = unreportedText(found);
  return [
    // Its sentence would give the reason once more, as another call met it.
    ...redisDown,
    ...(redisDown.length > 0 && isAway ? [] : [why]),
    '',
    ...known,
    ...(failedAttempts.length > 0 ? ['', showAttempts(failedAttempts, now)] : []),
    ...(unreported === undefined ? [] : ['', unreported]),
    ...(copies.length > 0 ? ['', showCopies(copies)] : []),
    ...(copies.length === 0 && isAway
      ? ['', "due time and copies can't be looked up without Redis, unless you pass the job's reference"]
      : []),
  ];
}

function attemptText({ attempt, maxAttempts }: Explanation): string | undefined {
  if (attempt === undefined) return undefined;
  return maxAttempts === undefined ? String(attempt) : `${attempt} of ${maxAttempts}`;
}

/** Attempts kept by the ledger: errors of earlier ones are gone. */
const KEPT_ATTEMPTS = 3;

/** Names the latest attempts that ended without a report; undefined if there are none. */
function unreportedText({
  state,
  attempt = 0,
  failedAttempts = [],
  because,
}: Explanation): string | undefined {
  if ((state !== 'retrying' && state !== 'running') || because === 'left') return undefined;
  const ended = state === 'running' ? attempt - 1 : attempt;
  const first = Math.max(1, ended - KEPT_ATTEMPTS + 1);
  const missing: number[] = [];
  for (let each = first; each <= ended; each++) {
    if (!failedAttempts.some((failed) => failed.attempt === each)) missing.push(each);
  }
  if (missing.length === 0) return undefined;
  const who = `attempt${missing.length > 1 ? 's' : ''} ${missing.join(', ')}`;
  const orElse = failedAttempts.length === 0 ? ', or errors are not kept (`keepErrors`)' : '';
  return `${who} reported nothing: the lease expired, because the process ended or was cut off${orElse}`;
}

function backoffText({ type, delay, max, jitter }: BackoffView): string {
  const delays =
    type === 'fixed' ? `fixed, ${span(delay)}` : `exponential, from ${span(delay)} to ${span(max)}`;
  return jitter === 0 ? delays : `${delays}, up to ${Math.round(jitter * 100)} % less`;
}

function showAttempts(attempts: readonly FailedAttempt[], now: number): Table {
  const rows = attempts.map(({ attempt, startedAt, took, process, error }) => [
    attempt,
    instantCell(startedAt, now),
    span(took),
    process,
    `${error.name}: ${error.message}`.replaceAll(/\s+/g, ' '),
  ]);
  return table(
    ['FAILED', column('time', 'STARTED'), column('time', 'TOOK'), 'PROCESS', column('reason', 'ERROR')],
    rows,
  );
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
  const head = [
    'COPY',
    'NODE',
    'STATE',
    column('time', 'READY IN'),
    column('time', 'AGE'),
    'RESERVES',
    'RELEASES',
    'TIMEOUTS',
  ];
  return table(head, rows);
}
