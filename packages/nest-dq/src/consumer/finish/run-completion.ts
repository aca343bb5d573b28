import { InsistentBatcher } from '../../ledger/insistent-batcher.js';
import type { CompleteAnswer, CompleteRequest } from '../../ledger/requests.js';
import type { Completion } from '../run/outcome.js';
import type { Run } from '../run/run.js';
import type { TubeContext } from '../tube-context.js';

/**
 * Tells the ledger the completions of runs, until it has taken them; it knows a repeat by its fence. If it never takes one,
 * the end of the lease decides.
 */
export class RunCompletion extends InsistentBatcher<Run, CompleteAnswer> {
  constructor(private readonly context: TubeContext) {
    const { tube, ledger, clock, report } = context;
    super(ledger, clock, {
      call: (runs) => ledger.complete(runs.map(requestOf)),
      answered: (run, answer) => run.taken(answer),
      trouble: (run, error) => report.ledgerTrouble(tube, run.id, error),
    });
  }

  /** Resolves with the answer of the ledger; never after `close`. */
  tell(run: Run, completion: Completion): Promise<CompleteAnswer> {
    run.completion = completion;
    if (completion.kind === 'later') run.nextDue = completion.next.due;
    else if (completion.kind === 'retry')
      run.nextDue = Math.ceil(this.context.ledger.now() + completion.delay);
    return new Promise((resolve) => {
      run.taken = resolve;
      this.add(run);
    });
  }
}

function requestOf(run: Run): CompleteRequest {
  const { delivery, grant, lastOk, permit } = run;
  const { id, generation, born } = delivery.header;
  const { fence, attempt, due } = grant;
  const { owed } = delivery;
  const outcome = outcomeIn(run);
  // Field by field: a spread of `run.ref` costs ten times as much.
  const request = { id, generation, born, due, fence, attempt, lastOk, permit, owed, outcome };
  return mayWaitAgain(run) ? { ...request, places: delivery.allPlaces } : request;
}

/** A plain job that goes on to wait gets a record that says where its copies are. Only a primary knows all of them. */
function mayWaitAgain({ completion, delivery }: Run): boolean {
  const { kind } = completion!;
  const goesOn = kind === 'retry' || kind === 'back' || kind === 'later';
  return goesOn && delivery.primary && delivery.header.generation === 0;
}

function outcomeIn({ completion, delivery, nextDue }: Run): CompleteRequest['outcome'] {
  switch (completion!.kind) {
    case 'retry':
      return { kind: 'retry', due: nextDue };
    case 'dead':
      return { kind: 'dead', death: completion!.death, places: delivery.places };
    case 'again':
    case 'later': {
      const { generation, due, announced, owed, places } = completion!.next;
      return { kind: completion!.kind, generation, due, announced, owed, places };
    }
    default:
      return completion!;
  }
}
