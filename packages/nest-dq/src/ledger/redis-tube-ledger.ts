import type { RevokeResult } from '../job.js';
import type {
  ClaimAnswer,
  ClaimRequest,
  Death,
  ExtendAnswer,
  ExtendRequest,
  FinishAnswer,
  FinishRequest,
  LedgerListener,
  RevokeAnswer,
  RevokeRequest,
  RunRef,
  SettledCopies,
  TubeLedger,
} from './ledger.js';
import type { RedisMaster } from './redis-master.js';

const OUTCOMES = { done: 'd', retry: 'w', back: 'b', dead: 'x' } as const;
const REVOKE_RESULTS: readonly RevokeResult[] = ['unknown', 'revoked', 'running', 'done', 'dead'];
const FINISH_ANSWERS: readonly FinishAnswer[] = ['refused', 'ok', 'revoked'];
const EXTEND_ANSWERS: readonly ExtendAnswer[] = ['refused', 'ok'];
/** A reply begins with whether the script acted, and the time. */
const FIRST = 2;

/** One tube's part of the ledger in Redis: requests to script arguments, replies to answers. No decisions. */
export class RedisTubeLedger implements TubeLedger {
  constructor(
    private readonly master: RedisMaster,
    /** What the tube's keys begin with. */
    private readonly base: string,
  ) {}

  get away(): boolean {
    return this.master.away;
  }

  now(): number {
    return this.master.time.now();
  }

  readTime(): Promise<void> {
    return this.master.readTime();
  }

  listen(listener: LedgerListener): () => void {
    return this.master.listen(listener);
  }

  async claim(
    requests: readonly ClaimRequest[],
    settled: readonly SettledCopies[] = [],
  ): Promise<ClaimAnswer[]> {
    if (requests.length === 0 && settled.length === 0) return [];
    const keys = [this.deadIndex()];
    const args = [String(requests.length)];
    for (const { id, generation, due, token, attempts } of requests) {
      keys.push(this.base + id);
      args.push(String(generation), time(due), token, String(attempts));
    }
    this.pushSettled(keys, args, settled);
    const reply = await this.master.call('dqClaim', keys, args);
    return requests.map((_, index) => claimAnswer(reply, FIRST + 4 * index));
  }

  async finish(requests: readonly FinishRequest[]): Promise<FinishAnswer[]> {
    if (requests.length === 0) return [];
    const keys = [this.deadIndex()];
    const args: string[] = [];
    for (const request of requests) {
      const { owed, outcome } = request;
      this.pushRun(keys, args, request);
      args.push(
        String(owed.mask),
        flag(owed.unknown),
        OUTCOMES[outcome.kind],
        outcome.kind === 'retry' ? time(outcome.due) : '0',
        outcome.kind === 'dead' ? outcome.death.why : '',
        outcome.kind === 'dead' ? errorText(outcome.death.error) : '',
      );
    }
    const reply = await this.master.call('dqFinish', keys, args);
    return requests.map((_, index) => FINISH_ANSWERS[reply[FIRST + index]!]!);
  }

  async extend(requests: readonly ExtendRequest[]): Promise<ExtendAnswer[]> {
    if (requests.length === 0) return [];
    const keys: string[] = [];
    const args: string[] = [];
    for (const request of requests) this.pushRun(keys, args, request);
    const reply = await this.master.call('dqExtend', keys, args);
    return requests.map((_, index) => EXTEND_ANSWERS[reply[FIRST + index]!]!);
  }

  async revoke(requests: readonly RevokeRequest[]): Promise<RevokeAnswer[]> {
    if (requests.length === 0) return [];
    const keys: string[] = [];
    const args: string[] = [];
    for (const { id, born, due, owed } of requests) {
      keys.push(this.base + id);
      args.push(String(born), time(due), String(owed.mask), flag(owed.unknown));
    }
    const reply = await this.master.call('dqRevoke', keys, args);
    return requests.map((_, index) => ({ result: REVOKE_RESULTS[reply[FIRST + index]!]! }));
  }

  async settle(settled: readonly SettledCopies[]): Promise<void> {
    if (settled.length === 0) return;
    const keys: string[] = [];
    const args: string[] = [];
    this.pushSettled(keys, args, settled);
    await this.master.call('dqSettle', keys, args);
  }

  private pushRun(keys: string[], args: string[], run: RunRef): void {
    keys.push(this.base + run.id);
    args.push(String(run.generation), time(run.due), String(run.fence), String(run.attempt));
    args.push(String(Math.floor(run.lastOk)));
  }

  private pushSettled(keys: string[], args: string[], settled: readonly SettledCopies[]): void {
    for (const { id, generation, mask, unknown } of settled) {
      keys.push(this.base + id);
      args.push(String(generation), String(mask), flag(unknown));
    }
  }

  /** No job has this id: see `isJobId`. */
  private deadIndex(): string {
    return `${this.base}:dead`;
  }
}

function claimAnswer(reply: readonly number[], at: number): ClaimAnswer {
  const [first, second, third] = [reply[at + 1]!, reply[at + 2]!, reply[at + 3]!];
  switch (reply[at]) {
    case 0:
      return { kind: 'gone' };
    case 1:
      return { kind: 'run', fence: first, attempt: second, due: third };
    case 2:
      return { kind: 'wait', ms: first };
    case 3:
      return { kind: 'busy', ms: first, ranFor: second };
    case 4:
      return { kind: 'dead', fresh: first === 1 };
    case 5:
      return { kind: 'stale' };
    default:
      throw new TypeError(`the claim script replied ${reply[at]}`);
  }
}

/** Whole milliseconds, rounded up: nothing is due before its time. */
function time(value: number): string {
  return String(Math.ceil(value));
}

function flag(value: boolean): string {
  return value ? '1' : '0';
}

function errorText(error: Death['error']): string {
  return error ? JSON.stringify(error) : '';
}
