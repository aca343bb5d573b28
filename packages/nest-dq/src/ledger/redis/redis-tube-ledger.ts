import {
  AHEAD_MS,
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
} from '../requests.js';
import { DqError, toError } from '../../errors.js';
import { isAboutMoving } from './connection.js';
import type { RunLease } from '../lease-thread/run-lease.js';
import type { TubeLeases } from '../lease-thread/lease-thread.js';
import type { RedisMaster } from './master.js';
import { FINISHED_KEYS, ScriptReply, SharedTexts, TUBE_KEYS, valueOf, type Fields } from '../script.js';
import { REDIS_VERBS } from './scripts.js';
import { SETTLED } from '../records/settle.lua.js';

/** Verbs about something that was started, until its end. They are allowed even where nothing more may start. */
const ENDING: ReadonlySet<Verb> = new Set([
  'extend',
  'progress',
  'complete',
  'commit',
  'abort',
  'settle',
  'buried',
]);

/** One tube in the Redis ledger: turns requests into script arguments, and replies into answers. It decides nothing. */
export class RedisTubeLedger extends TubeLedger {
  readonly ahead = AHEAD_MS;
  /** Whether the tube was used since the ledger last checked. */
  used = true;
  /** How often the runs were abandoned. Runs of claims without an answer yet are abandoned too. */
  private abandonments = 0;

  constructor(
    private readonly master: RedisMaster,
    /** The base of the tube's keys. */
    private readonly base: string,
    private readonly leases?: TubeLeases,
    /** Why nothing may start. */
    private readonly refusal: () => DqError | undefined = () => undefined,
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

  override async claim(requests: readonly ClaimRequest[], context?: ClaimContext): Promise<ClaimAnswer[]> {
    const lastOk = this.now();
    const { abandonments } = this;
    const answers = await this.ask('claim', requests, context);
    if (this.leases && abandonments === this.abandonments)
      this.leases.granted(grantedLeases(requests, answers, lastOk));
    return answers;
  }

  override async complete(requests: readonly CompleteRequest[]): Promise<CompleteAnswer[]> {
    const answers = await this.ask('complete', requests);
    this.leases?.over(requests);
    return answers;
  }

  override async extend(runs: readonly RunRef[]): Promise<ExtendAnswer[]> {
    if (runs.length > 0) this.leases?.beat();
    const answers = await this.ask('extend', runs);
    this.leases?.over(runs.filter((_, i) => answers[i] === 'refused'));
    return answers;
  }

  override abandonRuns(): void {
    this.abandonments++;
    this.leases?.abandoned();
  }

  async ask<V extends Verb>(
    verb: V,
    requests: readonly RequestOf<V>[],
    context?: ClaimContext,
  ): Promise<AnswerOf<V>[]> {
    if (requests.length === 0 && !context?.settled?.length) return [];
    const refusal = ENDING.has(verb) ? undefined : this.refusal();
    if (refusal) throw refusal;
    try {
      return await this.call(verb, requests, context);
    } catch (error) {
      // The producer keeps what it couldn't write, and no job waits for the index.
      if (!isMoving(error) || verb === 'index') throw error;
      // While the tube's slot is moving, each job gets a call of its own. If `settle` fails, records are merely kept longer.
      if (context?.settled) this.settle(context.settled).catch(() => undefined);
      const alone = context && { ...context, settled: [] };
      const answers = await Promise.all(requests.map((request) => this.call(verb, [request], alone, true)));
      return answers.flat(1) as AnswerOf<V>[];
    }
  }

  /** If `alone`, the call is about one job and names only the key of its record, also in place of the other keys. */
  private async call<V extends Verb>(
    verb: V,
    requests: readonly RequestOf<V>[],
    context?: ClaimContext,
    alone = false,
  ): Promise<AnswerOf<V>[]> {
    const { fields, read, usual, about, needsFinished } = REDIS_VERBS[verb];
    const { base } = this;
    const settled = context?.settled ?? [];
    const keys: string[] = TUBE_KEYS.map((name) => `${base}:${name}`);
    for (const request of requests) keys.push(base + (about ? `:${about}` : idOf(request)));
    for (const each of settled) keys.push(base + idOf(each));
    const { sparedFrom, limits } = context ?? {};
    const texts = new SharedTexts();
    const values: unknown[] = [requests.length, { sparedFrom, limits, texts }];
    addFields(values, fields, requests, texts);
    addFields(values, SETTLED, settled, texts);
    if (needsFinished && !alone && requests.some(needsFinished))
      for (const name of FINISHED_KEYS) keys.push(`${base}:${name}`);
    if (alone) keys.fill(keys[TUBE_KEYS.length]!, 0, TUBE_KEYS.length);
    const reply = new ScriptReply(await this.master.call(`dq:${verb}`, keys, JSON.stringify(values)));
    if (usual !== undefined && reply.ended) return requests.map(() => usual);
    return requests.map((request) => read(reply, request));
  }
}

/** The id of the job a request is about. */
function idOf(request: RequestOf<Verb>): string {
  return typeof request === 'string' ? request : (request as { readonly id: string }).id;
}

function addFields<Request>(
  to: unknown[],
  fields: Fields<Request>,
  requests: readonly Request[],
  texts: SharedTexts,
): void {
  const all = Object.values(fields);
  for (const request of requests) for (const field of all) to.push(valueOf(field, request, texts));
}

function isMoving(error: unknown): boolean {
  return error instanceof DqError && isAboutMoving(toError(error.cause));
}

function grantedLeases(
  requests: readonly ClaimRequest[],
  answers: readonly ClaimAnswer[],
  lastOk: number,
): RunLease[] {
  const runs: RunLease[] = [];
  for (let i = 0; i < answers.length; i++) {
    const answer = answers[i]!;
    if (answer.kind !== 'run') continue;
    const { id, generation, born, timeout = Infinity, permit } = requests[i]!;
    const { due, fence, attempt } = answer;
    runs.push({ id, generation, born, due, fence, attempt, lastOk, timeout, permit });
  }
  return runs;
}
