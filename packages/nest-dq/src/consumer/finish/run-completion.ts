import { hostname } from 'node:os';
import { RetryingBatcher } from '../../ledger/batcher.js';
import type { CompleteAnswer, CompleteRequest, FailedRun, KeptDone, Letter } from '../../ledger/requests.js';
import { startByOf } from '../../copies/expiry.js';
import { formatRef } from '../../copies/job-ref.js';
import { failureText, type Completion } from '../run/outcome.js';
import type { Run } from '../run/run.js';
import type { TubeContext } from '../tube-context.js';
import { makeDeadLetter } from '../../copies/make-dead-letter.js';
import type { AfterFailure } from '../report.js';
import type { Delivery } from '../reserve/delivery.js';
import type { KeepDone } from '../keep-done.js';
import { resultText } from './result-text.js';

/**
 * Sends the completions of runs to the ledger until it accepts them. The fence makes repeats harmless. If the ledger never
 * accepts one, the job can run again once its lease has ended.
 */
export class RunCompletion extends RetryingBatcher<Run, CompleteAnswer> {
  constructor(private readonly context: TubeContext) {
    const { tube, ledger, clock, report } = context;
    super(ledger, clock, {
      call: (runs) => ledger.complete(runs.map((run) => requestOf(context, run))),
      answered: (run, answer) => run.taken(answer),
      trouble: (run, error) => report.ledgerTrouble(tube, run.id, error),
    });
  }

  /** Resolves with the ledger's answer; never settles after `close`. */
  complete(run: Run, completion: Completion): Promise<CompleteAnswer> {
    run.completion = completion;
    if (completion.kind === 'later') run.nextDue = completion.next.due;
    else if (completion.kind === 'retry')
      // A retry that would come too late never starts, so the job expires without waiting for it.
      run.nextDue = Math.min(
        Math.ceil(this.context.ledger.now() + completion.delay),
        run.startBy ?? Infinity,
      );
    return new Promise((resolve) => {
      run.taken = resolve;
      this.add(run);
    });
  }
}

function requestOf(context: TubeContext, run: Run): CompleteRequest {
  const { delivery, grant, lastOk, permit } = run;
  const { id, generation, born } = delivery.header;
  const { fence, attempt, due } = grant;
  const { owed } = delivery;
  const outcome = outcomeIn(context, run);
  // Copied field by field, since spreading `run.ref` costs ten times as much.
  const request = { id, generation, born, due, fence, attempt, lastOk, permit, owed, outcome };
  // If a plain job waits again, its record gets the places of its copies. Only a primary knows all of them.
  const { kind } = outcome;
  const livesOn = kind === 'retry' || kind === 'back' || kind === 'later';
  if (!livesOn || generation !== 0 || !delivery.primary) return request;
  return { ...request, places: delivery.allPlaces };
}

function outcomeIn(context: TubeContext, run: Run): CompleteRequest['outcome'] {
  const { completion, delivery, nextDue } = run;
  switch (completion!.kind) {
    case 'done': {
      const { keepDone } = context;
      return keepDone && run.job ? { kind: 'done', kept: keptOf(context, run, keepDone) } : completion!;
    }
    case 'retry':
      return { kind: 'retry', due: nextDue, failure: failureOf(context, run, completion!.error) };
    case 'dead': {
      const { death, error } = completion!;
      return {
        kind: 'dead',
        death,
        places: delivery.places,
        failure: failureOf(context, run, error),
      };
    }
    case 'again':
    case 'later': {
      const { generation, due, announced, owed, places } = completion!.next;
      const next = { generation, due, announced, owed, places };
      if (completion!.kind === 'again') return { kind: 'again', ...next };
      const startBy = startByOf({ due, expires: delivery.header.expires }, context.handling.expireAfter);
      return { kind: 'later', ...next, startBy };
    }
    default:
      return completion!;
  }
}

const THIS_PROCESS = `${hostname()}:${process.pid}`;

/** Returns a failed run for people to see; undefined if none is kept, or its handler never saw the job. */
function failureOf(
  { keepErrors, ledger, clock }: TubeContext,
  run: Run,
  error: Error,
): FailedRun | undefined {
  if (!keepErrors || !run.job) return undefined;
  const startedAt = Math.round(ledger.now() - (clock.now() - run.startedAt));
  const took = Math.max(0, Math.round(tookOf(run)));
  return { attempt: run.grant.attempt, startedAt, took, process: THIS_PROCESS, ...failureText(error) };
}

/** Returns a job that is done for people to see. A cluster that encrypts its jobs shows neither its key nor its result in Redis. */
function keptOf({ cluster }: TubeContext, run: Run, { period, max, result }: KeepDone): KeptDone {
  const isSecret = cluster.settings.seal?.settings.encrypt === true;
  const { key, born } = run.delivery.header;
  return {
    run: {
      took: Math.max(0, Math.round(tookOf(run))),
      attempt: run.grant.attempt,
      process: THIS_PROCESS,
      ...(key !== undefined && !isSecret && { key }),
      ...(born > 0 && { born }),
      ...(result && !isSecret && resultText(run.result)),
      ...(run.progress && { progress: run.progress }),
    },
    period,
    max,
  };
}

/** Logs and emits the outcome of a run, once the ledger has accepted its completion. */
export function reportRun(context: TubeContext, run: Run, answer: Exclude<CompleteAnswer, 'refused'>): void {
  const completion = run.completion!;
  if (completion.kind === 'back') return;
  if (completion.kind === 'retry' || completion.kind === 'dead') {
    const next = completion.kind === 'retry' ? new Date(run.nextDue) : 'dead';
    reportFailure(context, run, completion.error, answer === 'over' ? 'over' : next);
  } else if (run.job) {
    const { events, tube } = context;
    events.tally.ended(tube, 'completed', tookOf(run));
    if (events.heard('completed'))
      events.emit('completed', { job: run.job, took: tookOf(run), result: run.result });
  }
  if (completion.kind !== 'dead' || answer === 'over') return;
  const { due, attempt } = run.grant;
  reportDeath(context, run.delivery, { ...completion.death, due, attempt });
}

/** Emits and counts a job that expired. */
export function reportExpired(
  { cluster, tube, storedAs, events, handling }: TubeContext,
  { header, allPlaces }: Delivery,
): void {
  events.tally.count(tube, 'expired');
  if (!events.heard('expired')) return;
  const { id, key, born, due, copies } = header;
  const ref = formatRef(
    { tube: storedAs, id, key, born, due, copies, places: allPlaces },
    cluster.settings.seal,
  );
  const expiredAt = new Date(startByOf(header, handling.expireAfter)!);
  events.emit('expired', {
    id,
    ref,
    tube,
    ...(key !== undefined && { key }),
    dueAt: new Date(due),
    expiredAt,
  });
}

/** Logs and emits a dead job. The letter is built from the held copy, without asking a server. */
export function reportDeath(
  { cluster, tube, storedAs, report, events, ledger, handling }: TubeContext,
  { header, content, places }: Delivery,
  end: Pick<Letter, 'why' | 'error' | 'due' | 'attempt'>,
): void {
  report.dead(tube, header, end);
  events.tally.count(tube, 'dead');
  if (!events.heard('dead')) return;
  const { id, born, generation } = header;
  const letter = { ...end, died: ledger.now(), id, born, generation, places };
  const copy = { header, content };
  const { seal } = cluster.settings;
  const { codecs } = handling;
  events.emit('dead', { letter: makeDeadLetter({ tube, storedAs, letter, copy, seal, codecs }) });
}

function reportFailure({ report, events }: TubeContext, run: Run, error: Error, next: AfterFailure): void {
  const { job } = run;
  // A run that never started is reported only as dead, and a run ended by an aborted signal isn't a failure.
  if (!job || run.revoked) return;
  report.failed(job, error, next);
  events.tally.ended(job.tube, 'failed', tookOf(run));
  if (!events.heard('failed')) return;
  const retry = next instanceof Date ? { retryAt: next } : {};
  events.emit('failed', { job, error, took: tookOf(run), ...retry });
}

/** Time the handler took, in ms. */
function tookOf({ startedAt, endedAt }: Run): number {
  return endedAt - startedAt;
}
