import { AHEAD, type LedgerListener, type TubeLedger } from '../ledger.js';
import type {
  AbortAnswer,
  AbortRequest,
  BuriedRequest,
  ClaimAnswer,
  ClaimRequest,
  CommitAnswer,
  CommitRequest,
  ExtendAnswer,
  RunRef,
  CompleteAnswer,
  CompleteRequest,
  Letter,
  LetterList,
  LetterPage,
  LetterRef,
  OpenAnswer,
  OpenRequest,
  RevokeAnswer,
  RevokeRequest,
  Schedule,
  SettledCopies,
} from '../requests.js';
import { DqError, toError } from '../../errors.js';
import { isAboutMoving, type ScriptName } from './connection.js';
import { letterWire, readLetter, writeBuried, writePage } from './letters.js';
import type { KeptRun } from '../lease-thread/kept-run.js';
import type { TubeKeeper } from '../lease-thread/lease-keeper.js';
import type { RedisMaster } from './master.js';
import { claimWire, extendWire, finishWire, writeSettled } from './runs.js';
import { abortWire, commitWire, findWire, openWire, revokeWire } from './schedules.js';
import { ScriptArguments, ScriptReply, type ScriptWire } from './script-wire.js';

/** One tube's part of the ledger in Redis: requests to script arguments, replies to answers. No decisions. */
export class RedisTubeLedger implements TubeLedger {
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
  ) {}

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

  async claim(
    requests: readonly ClaimRequest[],
    settled: readonly SettledCopies[] = [],
    sparedFrom?: number,
  ): Promise<ClaimAnswer[]> {
    if (requests.length === 0 && settled.length === 0) return [];
    const lastOk = this.now();
    const { abandonments } = this;
    const answers = await this.claimAll(requests, settled, sparedFrom);
    if (this.keeper && abandonments === this.abandonments)
      this.keeper.granted(grantedRuns(requests, answers, lastOk));
    return answers;
  }

  async complete(requests: readonly CompleteRequest[]): Promise<CompleteAnswer[]> {
    const answers = await this.eachRecord('dqFinish', finishWire, requests);
    this.keeper?.over(requests);
    return answers;
  }

  async extend(requests: readonly RunRef[]): Promise<ExtendAnswer[]> {
    if (requests.length > 0) this.keeper?.beat();
    const answers = await this.eachRecord('dqExtend', extendWire, requests);
    this.keeper?.over(requests.filter((_, i) => answers[i] === 'refused'));
    return answers;
  }

  abandonRuns(): void {
    this.abandonments++;
    this.keeper?.abandoned();
  }

  open(requests: readonly OpenRequest[]): Promise<OpenAnswer[]> {
    return this.eachRecord('dqOpen', openWire, requests);
  }

  commit(requests: readonly CommitRequest[]): Promise<CommitAnswer[]> {
    return this.eachRecord('dqCommit', commitWire, requests);
  }

  abort(requests: readonly AbortRequest[]): Promise<AbortAnswer[]> {
    return this.eachRecord('dqAbort', abortWire, requests);
  }

  revoke(requests: readonly RevokeRequest[]): Promise<RevokeAnswer[]> {
    return this.eachRecord('dqRevoke', revokeWire, requests);
  }

  find(ids: readonly string[]): Promise<(Schedule | undefined)[]> {
    return this.eachRecord('dqFind', findWire, ids);
  }

  async settle(settled: readonly SettledCopies[]): Promise<void> {
    if (settled.length === 0) return;
    try {
      await this.call('dqSettle', (to) => settled.forEach((each) => writeSettled(to, each)));
    } catch (error) {
      if (!isMoving(error)) throw error;
      await Promise.all(settled.map((each) => this.call('dqSettle', (to) => writeSettled(to, each), true)));
    }
  }

  async letters(page: LetterPage): Promise<LetterList> {
    const reply = await this.call('dqLetters', (to) => writePage(to, page));
    const more = reply.number() === 1;
    const letters: Letter[] = [];
    while (!reply.ended) {
      const letter = readLetter(reply);
      if (letter) letters.push(letter);
    }
    return { letters, more };
  }

  letter(refs: readonly LetterRef[]): Promise<(Letter | undefined)[]> {
    return this.each('dqLetter', letterWire, refs);
  }

  async buried(requests: readonly BuriedRequest[]): Promise<void> {
    if (requests.length === 0) return;
    await this.call('dqBuried', (to) => requests.forEach((each) => writeBuried(to, each)));
  }

  discard(refs: readonly LetterRef[]): Promise<(Letter | undefined)[]> {
    return this.each('dqDiscard', letterWire, refs);
  }

  private async claimAll(
    requests: readonly ClaimRequest[],
    settled: readonly SettledCopies[],
    sparedFrom: number | undefined,
  ): Promise<ClaimAnswer[]> {
    const write = (to: ScriptArguments, claims: readonly ClaimRequest[]) => {
      to.number(claims.length);
      to.optional(sparedFrom);
      for (const claim of claims) claimWire.write(to, claim);
    };
    try {
      const reply = await this.call('dqClaim', (to) => {
        write(to, requests);
        for (const each of settled) writeSettled(to, each);
      });
      return requests.map((request) => claimWire.read(reply, request));
    } catch (error) {
      if (!isMoving(error)) throw error;
      // Unanswered is as good as never sent: the record stays longer.
      this.settle(settled).catch(() => undefined);
      return Promise.all(
        requests.map(async (request) =>
          claimWire.read(await this.call('dqClaim', (to) => write(to, [request]), true), request),
        ),
      );
    }
  }

  /** Job by job where the tube's slot moves. */
  private async eachRecord<Request, Answer>(
    script: ScriptName,
    wire: ScriptWire<Request, Answer>,
    requests: readonly Request[],
  ): Promise<Answer[]> {
    try {
      return await this.each(script, wire, requests);
    } catch (error) {
      if (!isMoving(error)) throw error;
      const answers = await Promise.all(requests.map((request) => this.each(script, wire, [request], true)));
      return answers.flat(1) as Answer[];
    }
  }

  private async each<Request, Answer>(
    script: ScriptName,
    wire: ScriptWire<Request, Answer>,
    requests: readonly Request[],
    alone = false,
  ): Promise<Answer[]> {
    if (requests.length === 0) return [];
    const reply = await this.call(
      script,
      (to) => requests.forEach((request) => wire.write(to, request)),
      alone,
    );
    const { usual } = wire;
    if (usual !== undefined && reply.ended) return requests.map(() => usual);
    return requests.map((request) => wire.read(reply, request));
  }

  /** `alone`: about one job, with no key but that of its record. */
  private async call(
    script: ScriptName,
    write: (to: ScriptArguments) => void,
    alone = false,
  ): Promise<ScriptReply> {
    const to = new ScriptArguments(this.base);
    write(to);
    return new ScriptReply(await this.master.call(script, alone ? to.ownKeys : to.keys, to.json));
  }
}

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
