import type { TubeLedger } from '../../ledger/ledger.js';
import type { CompleteAnswer, CompleteRequest, AnnouncedGeneration } from '../../ledger/requests.js';
import type { Clock } from '../../time/clock.js';
import { InsistentCalls, type InsistentEvents } from './insistent-calls.js';
import type { Verdict } from '../run/outcome.js';
import type { Run } from '../run/run.js';

/** A verdict as the ledger takes it: what goes on is stored by then, or too little of it is. */
export type Ending =
  | Exclude<Verdict, { kind: 'again' }>
  | { readonly kind: 'again'; readonly next: AnnouncedGeneration }
  | { readonly kind: 'later'; readonly next: AnnouncedGeneration };

export interface Finish {
  readonly run: Run;
  readonly ending: Ending;
  /** Ledger time in ms, where the job goes on as the generation that it is. */
  readonly due: number;
}

/** Tells the ledger what became of runs; it knows a repeat by its fence. What it never takes, the leases' end decides. */
export class Finishes extends InsistentCalls<Finish, CompleteAnswer> {
  constructor(ledger: TubeLedger, clock: Clock, events: InsistentEvents<Finish, CompleteAnswer>) {
    super(ledger, clock, (finishes) => ledger.complete(finishes.map(requestOf)), events);
  }

  tell(run: Run, ending: Ending): void {
    this.add({ run, ending, due: this.dueOf(ending) });
  }

  private dueOf(ending: Ending): number {
    if (ending.kind === 'later') return ending.next.due;
    return ending.kind === 'retry' ? Math.ceil(this.ledger.now() + ending.delay) : 0;
  }
}

function requestOf({ run, ending, due: nextDue }: Finish): CompleteRequest {
  const { delivery, grant, lastOk } = run;
  const { id, generation, born } = delivery.header;
  const { fence, attempt, due } = grant;
  const outcome = outcomeOf(run, ending, nextDue);
  // Field by field: a spread of `run.ref` costs ten times as much.
  return { id, generation, born, due, fence, attempt, lastOk, owed: delivery.owed, outcome };
}

function outcomeOf(run: Run, ending: Ending, nextDue: number): CompleteRequest['outcome'] {
  switch (ending.kind) {
    case 'retry':
      return { kind: 'retry', due: nextDue };
    case 'dead':
      return { kind: 'dead', death: ending.death, places: run.delivery.places };
    case 'again':
    case 'later': {
      const { generation, due, announced, owed, places } = ending.next;
      return { kind: ending.kind, generation, due, announced, owed, places };
    }
    default:
      return ending;
  }
}
