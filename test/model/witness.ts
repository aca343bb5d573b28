import type { CopyHeader } from 'nest-dq/src/copies/header.js';
import { isAborted, type JobRecord } from 'nest-dq/src/ledger/rules/job-record.js';
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
  constructor(private readonly history: History) {}

  claimed(process: string, request: ClaimRequest, answer: ClaimAnswer): void {
    const { id, generation } = request;
    const { history } = this;
    const at = history.now;
    const { grants } = history;
    if (
      answer.kind === 'run' &&
      !grants.some((grant) => grant.request.id === id && grant.fence === answer.fence)
    ) {
      const { fence, attempt, due } = answer;
      grants.push({ at, process, request, fence, attempt, due });
      if (at < Math.floor(history.pausedUntil))
        history.faults.push(`paused: ${process} was granted ${history.name(id)} at ${history.when(at)}`);
    }
    if (answer.kind === 'dead' || answer.kind === 'stale') history.died.set(id, at);
    const told =
      answer.kind === 'wait' || answer.kind === 'busy' ? `${answer.kind} ${answer.ms}` : answer.kind;
    history.log(`${process} claims ${history.name(id)} ${history.generation(generation)}: ${told}`);
  }

  completed(process: string, request: CompleteRequest, answer: CompleteAnswer): void {
    const { id, generation, outcome } = request;
    const { history } = this;
    history.finishes.push({ at: history.now, process, request, answer });
    if (outcome.kind === 'dead' && answer === 'ok') history.died.set(id, history.now);
    history.log(
      `${process} completes ${history.name(id)} ${history.generation(generation)} ${outcome.kind}: ${answer}`,
    );
  }

  /** No copy is deleted before its job is over in the ledger, except when an add takes its copies back. */
  deleted({ id, generation, index }: CopyHeader, record: JobRecord | undefined): void {
    const { history } = this;
    const { calls, finishes, losses, faults, now } = history;
    const isVoid =
      record &&
      (record.state === 'done' ||
        record.state === 'revoked' ||
        generation < record.committed ||
        generation <= record.floor ||
        isAborted(record, generation));
    const isForgotten = record === undefined || record.expiresAt <= now;
    const wasOver = finishes.some(({ request, answer }) => request.id === id && answer !== 'refused');
    // The ledger may have told the process that the job is over. If the process was then frozen until the record expired,
    // another claim finds the job stale.
    const isStale =
      record?.state === 'dead' &&
      finishes.some(
        ({ request, answer }) => request.id === id && request.outcome.kind === 'done' && answer !== 'refused',
      );
    const isCalledFor = calls.some(
      ({ operation, id: of }) => of === id && operation.kind !== 'add' && operation.kind !== 'find',
    );
    // Until an add fails, or forever, nobody knows which job it was.
    const isTakenBack =
      !calls.some(({ id: of }) => of === id) &&
      calls.some(
        ({ operation, id: of, receipt }) => operation.kind === 'add' && of === undefined && !receipt,
      );
    if (isVoid || isStale || isTakenBack || losses.length > 0) return;
    if (isForgotten && (wasOver || isCalledFor)) return;
    const copy = `copy ${index} of ${history.name(id)} ${history.generation(generation)}`;
    faults.push(`deleted: ${copy} at ${history.when(now)}, although its job is not over`);
  }
}
