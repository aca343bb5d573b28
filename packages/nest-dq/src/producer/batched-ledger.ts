import type { StoredTube } from '../api/tube.js';
import { Batcher } from '../ledger/batcher.js';
import type { AnswerOf, Ledger, RequestOf, Verb } from '../ledger/ledger.js';
import type { Clock } from 'nest-handlers/time';

/** Max requests per call, because a script blocks Redis while it runs. */
const LARGEST_BATCH = 128;
/** Max script calls in flight. Later requests wait here, not subject to any deadline, and are batched into the next call. */
const MAX_UNDER_WAY = 2;

interface Call<V extends Verb> {
  readonly request: RequestOf<V>;
  readonly resolve: (answer: AnswerOf<V>) => void;
  readonly reject: (error: Error) => void;
}

type VerbBatcher<V extends Verb> = Batcher<Call<V>, AnswerOf<V>>;

/**
 * Batches requests about single jobs into few script calls: one for all requests of a tube and verb in a tick, and one for all
 * that arrive while other calls are in flight.
 */
export class BatchedLedger {
  /** Batchers with unanswered requests, by tube and verb. */
  private readonly batchers = new Map<string, { readonly size: number }>();

  constructor(
    private readonly ledger: Ledger,
    private readonly clock: Clock,
  ) {}

  ask<V extends Verb>(tube: StoredTube, verb: V, request: RequestOf<V>): Promise<AnswerOf<V>> {
    const name = `${verb} ${tube}`;
    let batcher = this.batchers.get(name) as VerbBatcher<V> | undefined;
    if (!batcher) this.batchers.set(name, (batcher = this.batcherOf(name, tube, verb)));
    return new Promise<AnswerOf<V>>((resolve, reject) => batcher.add({ request, resolve, reject }));
  }

  private batcherOf<V extends Verb>(name: string, tube: StoredTube, verb: V): VerbBatcher<V> {
    const ledger = this.ledger.tube(tube);
    const settled = () => {
      if (batcher.size === 0) this.batchers.delete(name);
    };
    const batcher: VerbBatcher<V> = new Batcher(ledger, this.clock, {
      largest: LARGEST_BATCH,
      mostCalls: MAX_UNDER_WAY,
      tick: 'next',
      alone: true,
      call: (calls) =>
        ledger.ask(
          verb,
          calls.map(({ request }) => request),
        ),
      answered: (calls, answers) => {
        calls.forEach(({ resolve }, i) => resolve(answers[i]!));
        settled();
      },
      unanswered: (calls, error) => {
        calls.forEach(({ reject }) => reject(error));
        settled();
      },
      failed: ({ reject }, error) => {
        reject(error);
        settled();
      },
    });
    return batcher;
  }
}
