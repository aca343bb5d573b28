import { makeDeadLetter } from '../../copies/make-dead-letter.js';
import type { Letter } from '../../ledger/letter-requests.js';
import type { CompleteAnswer } from '../../ledger/requests.js';
import type { AfterFailure } from '../report.js';
import type { Delivery } from '../reserve/delivery.js';
import type { Run } from '../run/run.js';
import type { TubeContext } from '../tube-context.js';

/** Tells the log and the events what a run came to, once the ledger has taken its completion. */
export function reportRun(context: TubeContext, run: Run, answer: Exclude<CompleteAnswer, 'refused'>): void {
  const completion = run.completion!;
  if (completion.kind === 'back') return;
  if (completion.kind === 'retry' || completion.kind === 'dead') {
    const next = completion.kind === 'retry' ? new Date(run.nextDue) : 'dead';
    reportFailure(context, run, completion.error, answer === 'over' ? 'over' : next);
  } else if (run.job) {
    const { events, tube } = context;
    events.tally.count(tube, 'completed');
    if (events.heard('completed'))
      events.tell('completed', { job: run.job, took: tookOf(run), result: run.result });
  }
  if (completion.kind !== 'dead' || answer === 'over') return;
  const { due, attempt } = run.grant;
  reportDeath(context, run.delivery, { ...completion.death, due, attempt });
}

/** Tells the log and the events of a dead job. Its letter is made of the copy in hand: nobody is asked. */
export function reportDeath(
  { cluster, tube, storedAs, report, events, ledger }: TubeContext,
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
  events.tell('dead', { letter: makeDeadLetter({ tube, storedAs, letter, copy, seal }) });
}

function reportFailure({ report, events }: TubeContext, run: Run, error: Error, next: AfterFailure): void {
  const { job } = run;
  // A run that never began is told as dead; and a run that its raised signal ended is no failure.
  if (!job || run.revoked) return;
  report.failed(job, error, next);
  events.tally.count(job.tube, 'failed');
  if (!events.heard('failed')) return;
  const retry = next instanceof Date ? { retryAt: next } : {};
  events.tell('failed', { job, error, took: tookOf(run), ...retry });
}

/** Milliseconds. */
function tookOf({ startedAt, endedAt }: Run): number {
  return endedAt - startedAt;
}
