import { toError } from '../errors.js';
import type {
  CommitAnswer,
  CommitRequest,
  Ledger,
  OpenAnswer,
  OpenRequest,
  RevokeAnswer,
  RevokeRequest,
  Schedule,
  TubeLedger,
} from '../ledger/ledger.js';
import type { Clock } from '../time.js';

/** A script blocks Redis while it runs. */
const LARGEST_BATCH = 256;

/** What many calls ask the ledger about one job each, as one script call a tube for all that is asked in a tick. */
export class BatchedLedger {
  private readonly tubes = new Map<string, BatchedTube>();

  constructor(
    private readonly ledger: Ledger,
    private readonly clock: Clock,
  ) {}

  tube(name: string): BatchedTube {
    const known = this.tubes.get(name);
    if (known) return known;
    const made = new BatchedTube(this.ledger.tube(name), this.clock);
    this.tubes.set(name, made);
    return made;
  }
}

/** The methods of TubeLedger for one job. */
export class BatchedTube {
  readonly open: (request: OpenRequest) => Promise<OpenAnswer>;
  readonly commit: (request: CommitRequest) => Promise<CommitAnswer>;
  readonly revoke: (request: RevokeRequest) => Promise<RevokeAnswer>;
  readonly find: (id: string) => Promise<Schedule | undefined>;

  constructor(ledger: TubeLedger, clock: Clock) {
    const batched = <Request, Answer>(send: (requests: Request[]) => Promise<Answer[]>) => {
      const batch = new Batch(send, ledger, clock);
      return (request: Request) => batch.add(request);
    };
    this.open = batched((requests) => ledger.open(requests));
    this.commit = batched((requests) => ledger.commit(requests));
    this.revoke = batched((requests) => ledger.revoke(requests));
    this.find = batched((ids) => ledger.find(ids));
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

  add(request: Request): Promise<Answer> {
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
