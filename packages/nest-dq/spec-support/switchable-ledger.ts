import { DqError } from '../src/errors.js';
import type { Ledger, LedgerListener, TubeLedger } from '../src/ledger/ledger.js';

/** One process's way to a ledger, which a spec can cut and restore; it writes down what was asked. */
export class SwitchableLedger implements Ledger {
  /** What reached the ledger: `claim job-1`, `complete job-1 done`, `extend job-1`. */
  readonly asked: string[] = [];
  away = false;
  /** How often a tube's runs were abandoned. */
  abandoned = 0;
  private readonly tubes = new Map<string, SwitchableTube>();

  constructor(private readonly ledger: Ledger) {}

  tube(name: string): TubeLedger {
    let tube = this.tubes.get(name);
    if (!tube) this.tubes.set(name, (tube = new SwitchableTube(this, this.ledger.tube(name))));
    return tube;
  }

  start(): void {
    this.ledger.start();
  }

  listen(listener: LedgerListener): () => void {
    return this.ledger.listen(listener);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  cut(): void {
    this.away = true;
    for (const tube of this.tubes.values())
      tube.tell((listener) => listener.away(new Error('cut off'), tube.now()));
  }

  /** `sameServer`: as a LedgerListener is told. */
  restore(sameServer = true): void {
    this.away = false;
    for (const tube of this.tubes.values()) tube.tell((listener) => listener.back(sameServer));
  }
}

class SwitchableTube implements TubeLedger {
  private readonly listeners = new Set<LedgerListener>();

  constructor(
    private readonly owner: SwitchableLedger,
    private readonly tube: TubeLedger,
  ) {}

  get away(): boolean {
    return this.owner.away;
  }

  get ahead(): number {
    return this.tube.ahead;
  }

  now = (): number => this.tube.now();
  nowAtLeast = (): number => this.tube.nowAtLeast();
  readTime: TubeLedger['readTime'] = () => this.reach(() => this.tube.readTime());
  claim: TubeLedger['claim'] = (requests, settled, sparedFrom) =>
    this.reach(
      () => this.tube.claim(requests, settled, sparedFrom),
      requests.map(({ id }) => `claim ${id}`),
    );
  complete: TubeLedger['complete'] = (requests) =>
    this.reach(
      () => this.tube.complete(requests),
      requests.map(({ id, outcome }) => `complete ${id} ${outcome.kind}`),
    );
  extend: TubeLedger['extend'] = (requests) =>
    this.reach(
      () => this.tube.extend(requests),
      requests.map(({ id }) => `extend ${id}`),
    );
  abandonRuns = (): void => void this.owner.abandoned++;
  open: TubeLedger['open'] = (requests) =>
    this.reach(
      () => this.tube.open(requests),
      requests.map(({ id, opening }) => `open ${id} ${opening.by}`),
    );
  commit: TubeLedger['commit'] = (requests) => this.reach(() => this.tube.commit(requests));
  abort: TubeLedger['abort'] = (requests) =>
    this.reach(
      () => this.tube.abort(requests),
      requests.map(({ id }) => `abort ${id}`),
    );
  revoke: TubeLedger['revoke'] = (requests) => this.reach(() => this.tube.revoke(requests));
  find: TubeLedger['find'] = (ids) => this.reach(() => this.tube.find(ids));
  settle: TubeLedger['settle'] = (settled) => this.reach(() => this.tube.settle(settled));
  letters: TubeLedger['letters'] = (page) => this.reach(() => this.tube.letters(page));
  letter: TubeLedger['letter'] = (refs) => this.reach(() => this.tube.letter(refs));
  buried: TubeLedger['buried'] = (requests) => this.reach(() => this.tube.buried(requests));
  discard: TubeLedger['discard'] = (refs) => this.reach(() => this.tube.discard(refs));

  listen(listener: LedgerListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  tell(what: (listener: LedgerListener) => void): void {
    for (const listener of this.listeners) what(listener);
  }

  private reach<T>(call: () => Promise<T>, asked: readonly string[] = []): Promise<T> {
    if (this.away) return Promise.reject(new DqError('DQ_LEDGER_DOWN', 'cut off', { indeterminate: true }));
    this.owner.asked.push(...asked);
    return call();
  }
}
