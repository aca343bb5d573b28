import { detached } from 'nest-handlers/context';
import type { Clock, Timer } from 'nest-handlers/time';
import { DqError, factOf, toError } from '../errors.js';
import { NoAnswer, withinLimit } from '../time/call-limit.js';
import type { KeySource, Seal } from './seal.js';

/** Time limit of a function that returns keys. */
const LIMIT_MS = 30_000;
/** Min interval between fetches caused by unknown keys of copies. */
const MIN_INTERVAL_MS = 10_000;

/**
 * Fetches a seal's keys at startup, periodically, and when a copy names an unknown key, so that a process learns of new keys
 * without a restart. If a fetch fails, the previous keys stay in use.
 */
export class KeyFetcher {
  private loading: Promise<void> | undefined;
  private isFetching = false;
  private fetchedAt = -Infinity;
  private next: Timer | undefined;
  private isClosed = false;

  constructor(
    private readonly seal: Seal,
    private readonly source: KeySource,
    private readonly clock: Clock,
    private readonly warn: (message: string) => void,
    /** Called after each fetch except the first: there may be other keys. */
    private readonly renewed: () => void = () => undefined,
  ) {}

  /** Fetches the first keys. Idempotent. `DQ_CONFIG` if there are none. */
  load(): Promise<void> {
    return (this.loading ??= this.fetch());
  }

  /** Starts refreshing; call after `load`. Idempotent. */
  start(): void {
    this.seal.askForKeys = () => this.ask();
    this.schedule();
  }

  /** Idempotent. */
  close(): void {
    this.isClosed = true;
    this.next?.cancel();
  }

  private ask(): boolean {
    if (this.isFetching) return true;
    if (this.isClosed || this.clock.now() - this.fetchedAt < MIN_INTERVAL_MS) return false;
    void this.renew();
    return true;
  }

  /** Never rejects. */
  private async renew(): Promise<void> {
    try {
      await this.fetch();
      this.renewed();
    } catch (error) {
      this.warn(`the previous keys stay in use: ${factOf(error as DqError)}`);
    }
    this.schedule();
  }

  private async fetch(): Promise<void> {
    this.isFetching = true;
    try {
      const keys = detached(() => this.source.fetch());
      this.seal.use(await withinLimit(this.clock, LIMIT_MS, keys));
    } catch (error) {
      throw new DqError('DQ_CONFIG', whyNoKeys(error), { cause: error });
    } finally {
      this.isFetching = false;
      this.fetchedAt = this.clock.now();
    }
  }

  private schedule(): void {
    this.next?.cancel();
    if (!this.isClosed) this.next = this.clock.after(this.source.refresh, () => void this.renew());
  }
}

function whyNoKeys(error: unknown): string {
  if (error instanceof DqError) return factOf(error);
  if (error instanceof NoAnswer) return `\`seal.keys\` returned no keys within ${LIMIT_MS / 1_000} s`;
  return `\`seal.keys\` failed: ${toError(error).message}`;
}
