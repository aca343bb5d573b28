import { toError } from '../errors.js';
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
/** Script calls under way. What comes meanwhile waits here, where no deadline runs, and goes as one when the next may. */
const MOST_UNDER_WAY = 2;

/**
 * What many calls ask the ledger about one job each, as few script calls: one for all that is asked of a tube in a tick,
 * and for all that comes while others are under way.
 */
export class BatchedLedger {
  private readonly tubes = new Map<string, BatchedTube>();

  constructor(
    private readonly ledger: Ledger,
    private readonly clock: Clock,
  ) {}

  tube(name: string): BatchedTube {
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

  /** `idle`: nothing is asked any more. */
  constructor(ledger: TubeLedger, clock: Clock, idle: () => void) {
    const batches: { readonly isIdle: boolean }[] = [];
    const ended = () => {
      if (batches.every(({ isIdle }) => isIdle)) idle();
    };
    const batched = <Request, Answer>(send: (requests: Request[]) => Promise<Answer[]>) => {
      const batch = new Batch(send, ledger, clock, ended);
      batches.push(batch);
      return (request: Request) => batch.add(request);
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

class Batch<Request, Answer> {
  private readonly waiting: Call<Request, Answer>[] = [];
  /** Were in a call that failed: each goes by itself. */
  private readonly alone: Call<Request, Answer>[] = [];
  private underWay = 0;
  private flushing = false;

  constructor(
    private readonly send: (requests: Request[]) => Promise<Answer[]>,
    private readonly ledger: { readonly away: boolean },
    private readonly clock: Clock,
    private readonly ended: () => void,
  ) {}

  get isIdle(): boolean {
    return this.underWay + this.waiting.length + this.alone.length === 0;
  }

  add(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ request, resolve, reject });
      this.flushSoon();
    });
  }

  private flushSoon(): void {
    if (this.flushing || this.underWay === MOST_UNDER_WAY) return;
    this.flushing = true;
    this.clock.next(this.flush);
  }

  private readonly flush = (): void => {
    this.flushing = false;
    while (this.underWay < MOST_UNDER_WAY) {
      const batch = this.alone.length > 0 ? this.alone.splice(0, 1) : this.waiting.splice(0, LARGEST_BATCH);
      if (batch.length === 0) return;
      this.call(batch);
    }
  };

  private call(batch: readonly Call<Request, Answer>[]): void {
    this.underWay++;
    this.send(batch.map(({ request }) => request))
      .then(
        (answers) => batch.forEach(({ resolve }, i) => resolve(answers[i]!)),
        (error: unknown) => {
          // The ledger answers, but fails at one of them: that one holds up no other.
          if (batch.length > 1 && !this.ledger.away) this.alone.push(...batch);
          else for (const { reject } of batch) reject(toError(error));
        },
      )
      .finally(() => {
        this.underWay--;
        if (this.isIdle) this.ended();
        else this.flushSoon();
      });
  }
}
