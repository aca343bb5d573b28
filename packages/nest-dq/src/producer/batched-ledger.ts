import type { StoredTube } from '../api/tube.js';
import { Batcher } from '../ledger/batcher.js';
import type { Ledger, TubeLedger } from '../ledger/ledger.js';
import type {
  AbortAnswer,
  AbortRequest,
  CommitAnswer,
  CommitRequest,
  Letter,
  LetterRef,
  OpenAnswer,
  OpenRequest,
  RevokeAnswer,
  RevokeRequest,
  Schedule,
} from '../ledger/requests.js';
import type { Clock } from '../time/clock.js';

/** A script blocks Redis while it runs. */
const LARGEST_BATCH = 256;
/** Script calls under way. Later requests wait here, where no deadline runs, and go together with the next call. */
const MOST_UNDER_WAY = 2;

/**
 * Sends the requests of many calls, of one job each, with few script calls: one for all requests of a tube in a tick, and for
 * all that come while other calls are under way.
 */
export class BatchedLedger {
  private readonly tubes = new Map<StoredTube, BatchedTube>();

  constructor(
    private readonly ledger: Ledger,
    private readonly clock: Clock,
  ) {}

  tube(name: StoredTube): BatchedTube {
    const known = this.tubes.get(name);
    if (known) return known;
    const made = new BatchedTube(this.ledger.tube(name), this.clock, () => {
      if (this.tubes.get(name) === made) this.tubes.delete(name);
    });
    this.tubes.set(name, made);
    return made;
  }
}

/** The methods of TubeLedger for one job. */
export class BatchedTube {
  readonly open: (request: OpenRequest) => Promise<OpenAnswer>;
  readonly commit: (request: CommitRequest) => Promise<CommitAnswer>;
  readonly abort: (request: AbortRequest) => Promise<AbortAnswer>;
  readonly revoke: (request: RevokeRequest) => Promise<RevokeAnswer>;
  readonly find: (id: string) => Promise<Schedule | undefined>;
  readonly letter: (ref: LetterRef) => Promise<Letter | undefined>;
  readonly discard: (ref: LetterRef) => Promise<Letter | undefined>;

  /** `idle`: all requests are answered. */
  constructor(ledger: TubeLedger, clock: Clock, idle: () => void) {
    const batchers: { readonly size: number }[] = [];
    const ended = () => {
      if (batchers.every(({ size }) => size === 0)) idle();
    };
    const batched = <Request, Answer>(send: (requests: Request[]) => Promise<Answer[]>) => {
      const batcher = new Batcher<Call<Request, Answer>, Answer>(ledger, clock, {
        largest: LARGEST_BATCH,
        mostCalls: MOST_UNDER_WAY,
        tick: 'next',
        alone: true,
        call: (calls) => send(calls.map(({ request }) => request)),
        answered: (calls, answers) => {
          calls.forEach(({ resolve }, i) => resolve(answers[i]!));
          ended();
        },
        unanswered: (calls, error) => {
          for (const { reject } of calls) reject(error);
          ended();
        },
        failed: ({ reject }, error) => {
          reject(error);
          ended();
        },
      });
      batchers.push(batcher);
      return (request: Request) =>
        new Promise<Answer>((resolve, reject) => batcher.add({ request, resolve, reject }));
    };
    this.open = batched((requests) => ledger.open(requests));
    this.commit = batched((requests) => ledger.commit(requests));
    this.abort = batched((requests) => ledger.abort(requests));
    this.revoke = batched((requests) => ledger.revoke(requests));
    this.find = batched((ids) => ledger.find(ids));
    this.letter = batched((refs) => ledger.letter(refs));
    this.discard = batched((refs) => ledger.discard(refs));
  }
}

interface Call<Request, Answer> {
  readonly request: Request;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}
