// Requests that follow from what was answered before.
import type { RequestOf, Verb } from 'nest-dq/src/ledger/ledger.js';
import { permitOf, type Limits } from 'nest-dq/src/ledger/limits/limits.js';
import type {
  AnnouncedGeneration,
  ClaimContext,
  CompleteRequest,
  FailedRun,
  KeptDone,
  Opening,
  RunRef,
} from 'nest-dq/src/ledger/requests.js';
import type { Place } from 'nest-dq/src/copies/location.js';
import { letterName } from 'nest-dq/src/ledger/records/records.js';
import { HOUR, type Step } from './steps.js';
import { SETTINGS, type TwinLedgers } from './twin-ledgers.js';

/** By what a step says: with them claims of two jobs meet. */
const LIMITS: readonly (Limits | undefined)[] = [
  undefined,
  { interval: 1_333_333 },
  { interval: 7, burst: 3 },
  { concurrency: 1, perGroup: 1 },
  { perGroup: 1, interval: 30_000_000, burst: 2 },
];
/** Milliseconds from now to the end of a pause. */
const PAUSES = [60_000, -1_000, 30.5, SETTINGS.staleAfter + HOUR];
const NONE_OPENED = { generation: -1, announced: 0, owed: { mask: 0, unknown: false }, places: [] };

interface Opened {
  readonly id: string;
  readonly opening: Opening;
  readonly generation: number;
  readonly born: number;
  readonly due: number;
}

/** Makes requests of steps, from what was answered until now. */
export class Asking {
  private readonly opened: Opened[] = [];
  private readonly runs: RunRef[] = [];

  constructor(private readonly twins: TwinLedgers) {}

  /** The call that a step stands for. A step of several calls is reported as such by its caller. */
  request(verb: Verb, s: Step): { request: RequestOf<Verb>; context?: ClaimContext } {
    const { id } = s;
    const { now } = this.twins;
    const due = now + s.due;
    const owed = { mask: s.mask, unknown: s.unknown };
    switch (verb) {
      case 'claim': {
        const { committed, born, due: presentDue } = this.present(s);
        const present = { generation: committed, born, due: presentDue };
        const { generation, ...last } = (s.plain ? undefined : s.flag ? present : this.last(s)) ?? {
          generation: 0,
          born: 0,
          due,
        };
        const permit = LIMITS[s.limits] && permitOf(LIMITS[s.limits]!, s.group);
        const request = {
          id,
          generation,
          born: last.born,
          due: last.due,
          token: `${s.token}${permit ?? '-'}`, // a delivery that claims again has the same permit
          attempts: s.attempts,
          permit,
          ...(s.expires !== undefined && {
            expiry: { startBy: last.due + s.expires, letter: s.keepsExpired, owed },
          }),
        };
        const settled = s.odd ? [this.settled(s)] : [];
        const sparedFrom = s.odd ? now - 1_000 : undefined;
        return { request, context: { settled, sparedFrom, limits: LIMITS[s.limits] } };
      }
      case 'extend':
        return { request: this.runOf(s) };
      case 'progress': {
        const { fence } = this.runOf(s);
        return { request: { id, fence, progress: { fraction: s.odd ? 0.5 : 1 / 3, at: now } } };
      }
      case 'complete':
        return {
          request: {
            ...this.runOf(s),
            owed,
            ...(s.flag && { places: placesOf(s) }),
            outcome: this.outcome(s),
          },
        };
      case 'open':
        return {
          request: {
            id,
            opening: this.opening(s),
            due,
            announced: s.announced,
            ...(s.flag && this.known(s)),
          },
        };
      case 'commit': {
        const last = this.last(s, ({ opening }) => opening.by !== 'again');
        const by = { by: 'add', onDuplicate: s.onDuplicate } as const;
        const stored = { ...this.announced(s), ...(last && { generation: last.generation, due: last.due }) };
        const opening = last && last.opening.by !== 'again' ? last.opening : by;
        const undecidedUntil = now + (s.flag ? 1 : 0);
        return {
          request: { ...stored, id, opening, born: last?.born ?? stored.generation, undecidedUntil },
        };
      }
      case 'abort': {
        const { places: _none, ...rest } = this.announced(s);
        return { request: { id, ...rest } };
      }
      case 'revoke': {
        const born = s.flag ? this.present(s).born : undefined;
        return { request: { id, born: s.odd ? 0 : born, due, owed, abort: s.flag !== s.odd } };
      }
      case 'find':
      case 'trace':
        return { request: id };
      case 'index':
        return { request: { id, due: s.odd ? now - SETTINGS.doneTtl : due, places: placesOf(s) } };
      case 'waiting': {
        const after = s.plain ? { due, id } : undefined;
        const bounds = { ...(s.flag && { from: due }), ...(s.odd && { to: due }) };
        return { request: { limit: 1 + s.run, ...bounds, ...(after && { after }) } };
      }
      case 'locate':
        return { request: id };
      case 'tally':
        return { request: { times: [due, now] } };
      case 'usage':
        return { request: { group: s.group } };
      case 'settle':
        return { request: this.settled(s) };
      case 'letters':
        return { request: { limit: 1 + s.run, after: s.flag ? { died: now, id, born: 0 } : undefined } };
      case 'surplus':
        return { request: { maxAge: s.odd ? 0 : HOUR, maxCount: s.run, limit: 1 + s.generation } };
      case 'deaths':
        return { request: { since: s.odd ? now : now - HOUR } };
      case 'letter':
        return { request: this.letterOf(s) };
      case 'discard':
        return { request: { ...this.letterOf(s), ...(s.odd && { died: this.deathOf(s) }) } };
      case 'buried': {
        const { born, committed } = this.present(s);
        const generation = s.plain ? 0 : s.odd ? (this.last(s)?.generation ?? 0) : committed;
        return { request: { id, born, generation, places: placesOf(s) } };
      }
      case 'finished': {
        const bounds = { ...(s.flag && { from: now - 1_000 }), ...(s.odd && { to: now }) };
        return { request: { limit: 1 + s.run, ...bounds, ...(s.plain && { after: { ended: now, id } }) } };
      }
      case 'ended':
        return { request: id };
      case 'pause':
        return { request: { until: s.flag ? now + PAUSES[s.run % PAUSES.length]! : undefined } };
      case 'resume':
      case 'paused':
        return { request: {} };
    }
  }

  /** Keeps the parts of an answer that later steps build on. */
  learn(verb: Verb, request: RequestOf<Verb>, answer: unknown): void {
    if (verb === 'claim') {
      const { id, generation, born, permit } = request as RequestOf<'claim'>;
      const run = answer as { kind: string } & Pick<RunRef, 'fence' | 'attempt' | 'due'>;
      if (run.kind !== 'run') return;
      const { fence, attempt, due } = run;
      this.runs.push({ id, generation, born, due, fence, attempt, lastOk: this.twins.now, permit });
    }
    if (verb === 'open') {
      const { kind, generation } = answer as { kind: string; generation: number };
      if (kind !== 'opened') return;
      const { id, opening, due } = request as RequestOf<'open'>;
      const born = opening.by === 'add' ? generation : (this.twins.records.byId.get(id)?.born ?? 0);
      this.opened.push({ id, opening, generation, born, due });
    }
  }

  /** The job's last generation that was opened. */
  private last(s: Step, isMeant: (opened: Opened) => boolean = () => true): Opened | undefined {
    return nth(this.opened.filter(isMeant), s.id, s.generation);
  }

  private runOf(s: Step): RunRef {
    const run = nth(this.runs, s.id, s.run);
    const { now } = this.twins;
    const none = { id: s.id, generation: 0, born: 0, due: now, fence: now * 1_000, attempt: 1, lastOk: now };
    const known = run ?? none;
    return s.odd ? { ...known, lastOk: now - SETTINGS.doneTtl } : known;
  }

  private outcome(s: Step): CompleteRequest['outcome'] {
    const kind = s.outcome as CompleteRequest['outcome']['kind'];
    switch (kind) {
      case 'done':
        return { kind, ...(s.flag && { kept: this.kept(s) }) };
      case 'back':
        return { kind };
      case 'retry':
        return { kind, due: this.twins.now + s.due, ...(s.flag && { failure: this.failure(s) }) };
      case 'dead': {
        const error = { name: 'Error', message: 'no ☂' };
        const failure = s.plain ? undefined : this.failure(s);
        return { kind, death: { why: 'discarded', ...(s.flag && { error }) }, places: placesOf(s), failure };
      }
      case 'again':
      case 'later':
        if (kind === 'again') return { kind, ...this.announced(s) };
        return {
          kind,
          ...this.announced(s),
          ...(s.odd && NONE_OPENED),
          ...(s.expires !== undefined && { startBy: this.twins.now + s.expires }),
        };
    }
  }

  private kept(s: Step): KeptDone {
    const { attempt } = this.runOf(s);
    const result = s.unknown ? { leftOut: 'too long' as const } : { result: '{"no":"☂"}' };
    const run = { took: 30, attempt, process: 'host:7', ...(s.odd ? {} : { key: 'a “key”' }), ...result };
    return { run, period: s.plain ? 1_000 : HOUR, max: 1 + s.run };
  }

  private failure(s: Step): FailedRun {
    const { now } = this.twins;
    const { attempt } = this.runOf(s);
    return { attempt, startedAt: now - 30, took: 30, process: 'host:7', name: 'Error', message: 'no ☂' };
  }

  private opening(s: Step): Opening {
    const { committed } = this.present(s);
    switch (s.by as Opening['by']) {
      case 'add':
        return { by: 'add', onDuplicate: s.onDuplicate as 'replace' };
      case 'move':
        return { by: 'move', expected: s.odd ? 7 : committed };
      case 'revive':
        return { by: 'revive', expected: s.odd ? 7 : committed };
      case 'again':
        return { by: 'again', run: this.runOf(s) };
    }
  }

  private letterOf(s: Step): RequestOf<'letter'> {
    return { id: s.id, born: s.flag ? this.present(s).born : undefined };
  }

  /** When the present dead letter of the job died, or the time at which it could have died now. */
  private deathOf(s: Step): number {
    const { records, now } = this.twins;
    return records.letters.get(letterName(s.id, this.present(s).born))?.died ?? now;
  }

  private announced(s: Step): AnnouncedGeneration {
    const last = this.last(s);
    const { now } = this.twins;
    return {
      generation: last?.generation ?? now,
      due: last?.due ?? now + s.due,
      announced: s.announced,
      owed: { mask: s.mask & s.announced, unknown: s.unknown },
      places: placesOf(s),
    };
  }

  private known(s: Step): Pick<RequestOf<'open'>, 'known'> {
    const { committed: generation, born, due } = this.present(s);
    return {
      known: { generation, born, due, owed: { mask: s.mask, unknown: s.unknown }, places: placesOf(s) },
    };
  }

  private settled(s: Step): RequestOf<'settle'> {
    const last = this.last(s);
    const generation = s.plain ? 0 : s.flag ? this.present(s).committed : (last?.generation ?? 0);
    return { id: s.id, generation, mask: s.mask, unknown: s.unknown };
  }

  /** As a reader of the record would know it; nothing is said of a job of which nothing is committed. */
  private present({ id }: Step): { committed: number; born: number; due: number } {
    const record = this.twins.records.byId.get(id);
    return record && record.committed >= 0 ? record : { committed: 0, born: 0, due: this.twins.now };
  }
}

function nth<T extends { readonly id: string }>(
  all: readonly T[],
  id: string,
  before: number,
): T | undefined {
  const list = all.filter((each) => each.id === id);
  return list.at(-1 - before) ?? list.at(-1);
}

function placesOf({ mask: copies, unknown, token }: Step): Place[] {
  return [0, 1, 2]
    .filter((index) => copies & (1 << index))
    .map((index) => ({ index, location: `${token}:11300#i:${unknown && index === 2 ? '?' : 7 + index}` }));
}
