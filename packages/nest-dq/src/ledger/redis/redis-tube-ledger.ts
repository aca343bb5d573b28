import {
  AHEAD,
  TubeLedger,
  type AnswerOf,
  type LedgerListener,
  type RequestOf,
  type Verb,
} from '../ledger.js';
import type {
  ClaimAnswer,
  ClaimContext,
  ClaimRequest,
  CompleteAnswer,
  CompleteRequest,
  ExtendAnswer,
  RunRef,
  SettledCopies,
} from '../requests.js';
import { DqError, toError } from '../../errors.js';
import { isAboutMoving } from './connection.js';
import type { KeptRun } from '../lease-thread/kept-run.js';
import type { TubeKeeper } from '../lease-thread/lease-keeper.js';
import type { RedisMaster } from './master.js';
import { ScriptReply, type Fields } from './script.js';
import { REDIS_VERBS } from './verbs.js';
import { SETTLED } from './verbs/settle.js';

/** One tube's part of the ledger in Redis: requests to script arguments, replies to answers. No decisions. */
export class RedisTubeLedger extends TubeLedger {
  readonly ahead = AHEAD;
  /** Somebody asked for it since the ledger last looked. */
  used = true;
  /** Grows as runs are abandoned, those of claims that are still under way among them. */
  private abandonments = 0;

  constructor(
    private readonly master: RedisMaster,
    /** What the tube's keys begin with. */
    private readonly base: string,
    private readonly keeper?: TubeKeeper,
  ) {
    super();
  }

  get away(): boolean {
    return this.master.away;
  }

  now(): number {
    return this.master.time.now();
  }

  nowAtLeast(): number {
    return this.master.time.nowAtLeast();
  }

  readTime(): Promise<void> {
    return this.master.readTime();
  }

  listen(listener: LedgerListener): () => void {
    return this.master.listen(listener);
  }

  override async claim(
    requests: readonly ClaimRequest[],
    settled?: readonly SettledCopies[],
    sparedFrom?: number,
  ): Promise<ClaimAnswer[]> {
    const lastOk = this.now();
    const { abandonments } = this;
    const answers = await super.claim(requests, settled, sparedFrom);
    if (this.keeper && abandonments === this.abandonments)
      this.keeper.granted(grantedRuns(requests, answers, lastOk));
    return answers;
  }

  override async complete(requests: readonly CompleteRequest[]): Promise<CompleteAnswer[]> {
    const answers = await super.complete(requests);
    this.keeper?.over(requests);
    return answers;
  }

  override async extend(runs: readonly RunRef[]): Promise<ExtendAnswer[]> {
    if (runs.length > 0) this.keeper?.beat();
    const answers = await super.extend(runs);
    this.keeper?.over(runs.filter((_, i) => answers[i] === 'refused'));
    return answers;
  }

  override abandonRuns(): void {
    this.abandonments++;
    this.keeper?.abandoned();
  }

  async ask<V extends Verb>(
    verb: V,
    requests: readonly RequestOf<V>[],
    context?: ClaimContext,
  ): Promise<AnswerOf<V>[]> {
    if (requests.length === 0 && !context?.settled.length) return [];
    try {
      return await this.call(verb, requests, context);
    } catch (error) {
      if (REDIS_VERBS[verb].ofLetters || !isMoving(error)) throw error;
      // Job by job while the tube's slot moves. Unanswered is as good as never sent: the record stays longer.
      if (context) this.settle(context.settled).catch(() => undefined);
      const alone = context && { ...context, settled: [] };
      const answers = await Promise.all(requests.map((request) => this.call(verb, [request], alone, true)));
      return answers.flat(1) as AnswerOf<V>[];
    }
  }

  /** `alone`: about one job, with no key but that of its record, which stands in the place of the others. */
  private async call<V extends Verb>(
    verb: V,
    requests: readonly RequestOf<V>[],
    { settled, sparedFrom = false }: { settled?: readonly SettledCopies[]; sparedFrom?: number | false } = {},
    alone = false,
  ): Promise<AnswerOf<V>[]> {
    const { fields, id, read, usual } = REDIS_VERBS[verb];
    const { base } = this;
    const keys = [`${base}:dead`, `${base}:letters`];
    const values: unknown[] = [requests.length, sparedFrom];
    const add = adderOf(fields);
    for (const request of requests) {
      keys.push(base + id(request));
      add(values, request);
    }
    for (const each of settled ?? []) {
      keys.push(base + each.id);
      addSettled(values, each);
    }
    if (alone) keys.fill(keys[2]!, 0, 2);
    const reply = new ScriptReply(await this.master.call(`dq:${verb}`, keys, JSON.stringify(values)));
    if (usual !== undefined && reply.ended) return requests.map(() => usual);
    return requests.map((request) => read(reply, request));
  }
}

/** Adds what a script is told of a request. */
function adderOf<Request>(fields: Fields<Request>): (to: unknown[], request: Request) => void {
  const valueOf = Object.values(fields);
  return (to, request) => {
    for (const value of valueOf) to.push(value(request));
  };
}

const addSettled = adderOf(SETTLED);

function isMoving(error: unknown): boolean {
  return error instanceof DqError && isAboutMoving(toError(error.cause));
}

function grantedRuns(
  requests: readonly ClaimRequest[],
  answers: readonly ClaimAnswer[],
  lastOk: number,
): KeptRun[] {
  const runs: KeptRun[] = [];
  answers.forEach((answer, i) => {
    if (answer.kind !== 'run') return;
    const { id, generation, born, timeout = Infinity } = requests[i]!;
    const { due, fence, attempt } = answer;
    runs.push({ id, generation, born, due, fence, attempt, lastOk, timeout });
  });
  return runs;
}
