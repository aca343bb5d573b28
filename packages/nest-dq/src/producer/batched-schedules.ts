import { toError } from '../errors.js';
import type { CommitAnswer, CommitRequest, OpenAnswer, OpenRequest, TubeLedger } from '../ledger/ledger.js';
import type { Clock } from '../time.js';

/** A script blocks Redis while it runs. */
const LARGEST_BATCH = 256;

/** The openings and commits of many adds as one script call for all that are asked for in a tick. */
export class BatchedSchedules implements Pick<TubeLedger, 'open' | 'commit'> {
  private readonly openings: Batch<OpenRequest, OpenAnswer>;
  private readonly commits: Batch<CommitRequest, CommitAnswer>;

  constructor(ledger: TubeLedger, clock: Clock) {
    this.openings = new Batch((requests) => ledger.open(requests), ledger, clock);
    this.commits = new Batch((requests) => ledger.commit(requests), ledger, clock);
  }

  open(requests: readonly OpenRequest[]): Promise<OpenAnswer[]> {
    return this.openings.add(requests);
  }

  commit(requests: readonly CommitRequest[]): Promise<CommitAnswer[]> {
    return this.commits.add(requests);
  }
}

interface Call<Request, Answer> {
  readonly request: Request;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

class Batch<Request, Answer> {
  private waiting: Call<Request, Answer>[] = [];

  constructor(
    private readonly send: (requests: Request[]) => Promise<Answer[]>,
    private readonly ledger: { readonly away: boolean },
    private readonly clock: Clock,
  ) {}

  add(requests: readonly Request[]): Promise<Answer[]> {
    return Promise.all(requests.map((request) => this.addOne(request)));
  }

  private addOne(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.waiting.push({ request, resolve, reject }) === 1) this.clock.next(this.flush);
    });
  }

  private readonly flush = (): void => {
    const all = this.waiting;
    this.waiting = [];
    for (let i = 0; i < all.length; i += LARGEST_BATCH) this.call(all.slice(i, i + LARGEST_BATCH));
  };

  private call(batch: readonly Call<Request, Answer>[]): void {
    this.send(batch.map(({ request }) => request)).then(
      (answers) => batch.forEach(({ resolve }, i) => resolve(answers[i]!)),
      (error: unknown) => {
        // The ledger answers, but fails at one of them: that one holds up no other.
        if (batch.length > 1 && !this.ledger.away) for (const each of batch) this.call([each]);
        else for (const { reject } of batch) reject(toError(error));
      },
    );
  }
}
