import type { CopyHeader } from 'nest-dq/src/copies/header.js';
import { isAborted } from 'nest-dq/src/ledger/schedules/aborted.rule.js';
import type { JobRecord } from 'nest-dq/src/ledger/records/job-record.js';
import type { Verb } from 'nest-dq/src/ledger/ledger.js';
import type {
  ClaimAnswer,
  ClaimRequest,
  CompleteAnswer,
  CompleteRequest,
} from 'nest-dq/src/ledger/requests.js';
import type { History } from './history.js';
import type { LedgerWitness } from './simulated-ledger.js';

/** Notes what the ledger answers, and which copies nodes delete. */
export class Witness implements LedgerWitness {
  /**
   * All records that each job has had. If one of them was over, that holds even when all is forgotten: a process that was
   * frozen meanwhile may only then delete the copies, while a claim has found one of them stale.
   */
  private readonly records = new Map<string, JobRecord[]>();

  constructor(
    private readonly history: History,
    private readonly recordOf: (id: string) => JobRecord | undefined,
  ) {}

  acted(process: string, verb: Verb, request: unknown, answer: unknown): void {
    if (verb === 'claim') this.claimed(process, request as ClaimRequest, answer as ClaimAnswer);
    if (verb === 'complete') this.completed(process, request as CompleteRequest, answer as CompleteAnswer);
    const { id = '' } = request as { readonly id?: string };
    const record = this.recordOf(id);
    if (!record) return;
    const records = this.records.get(id);
    const copy = structuredClone(record);
    if (records) records.push(copy);
    else this.records.set(id, [copy]);
  }

  private claimed(process: string, request: ClaimRequest, answer: ClaimAnswer): void {
    const { id, generation } = request;
    const { history } = this;
    const at = history.now;
    const { grants } = history;
    if (
      answer.kind === 'run' &&
      !grants.some((grant) => grant.request.id === id && grant.fence === answer.fence)
    ) {
      const { fence, attempt, due } = answer;
      const { startBy = request.expiry?.startBy } = answer;
      grants.push({ at, process, request, fence, attempt, due, startBy });
      if (at < Math.floor(history.pausedUntil))
        history.faults.push(`paused: ${process} was granted ${history.name(id)} at ${history.when(at)}`);
    }
    if (answer.kind === 'dead' || answer.kind === 'stale') history.died.set(id, at);
    if (answer.kind === 'expired') (answer.letter ? history.died : history.expired).set(id, at);
    const outcome =
      answer.kind === 'wait' || answer.kind === 'busy' ? `${answer.kind} ${answer.ms}` : answer.kind;
    history.log(`${process} claims ${history.name(id)} ${history.generation(generation)}: ${outcome}`);
  }

  private completed(process: string, request: CompleteRequest, answer: CompleteAnswer): void {
    const { id, generation, outcome } = request;
    const { history } = this;
    history.finishes.push({ at: history.now, process, request, answer });
    if (outcome.kind === 'dead' && answer === 'ok') history.died.set(id, history.now);
    history.log(
      `${process} completes ${history.name(id)} ${history.generation(generation)} ${outcome.kind}: ${answer}`,
    );
  }

  /** No copy is deleted before the ledger has stored that its job is over, except when an add takes its copies back. */
  deleted({ id, generation, index }: CopyHeader): void {
    const { history } = this;
    const { calls, losses, faults, now } = history;
    const wasOver = this.records.get(id)?.some((record) => isVoid(record, generation));
    // Until an add fails, or forever, nobody knows which job it was.
    const isTakenBack =
      !calls.some(({ id: of }) => of === id) &&
      calls.some(
        ({ operation, id: of, receipt }) => operation.kind === 'add' && of === undefined && !receipt,
      );
    if (wasOver || isTakenBack || losses.length > 0) return;
    const copy = `copy ${index} of ${history.name(id)} ${history.generation(generation)}`;
    faults.push(`deleted: ${copy} at ${history.when(now)}, although its job is not over`);
  }
}

function isVoid(record: JobRecord, generation: number): boolean {
  const { state, committed, floor } = record;
  const ended = state === 'done' || state === 'revoked';
  return (
    generation < committed ||
    (ended && generation === committed) ||
    generation <= floor ||
    isAborted(record, generation)
  );
}
