// What is asked at random: mostly what follows from what was answered before, now and then anything else.
import fc from 'fast-check';
import { YOUNG, type RequestOf, type Verb } from 'nest-dq/src/ledger/ledger.js';
import type {
  AnnouncedGeneration,
  ClaimContext,
  CompleteRequest,
  Opening,
  RunRef,
} from 'nest-dq/src/ledger/requests.js';
import type { Place } from 'nest-dq/src/copies/location.js';
import { SETTINGS, type TwinLedgers } from './twin-ledgers.js';

const IDS = ['a', 'b'];
const HOUR = 3_600_000;
const { constantFrom, nat, boolean, oneof, constant } = fc;

/** How many before the last one: the last one mostly. */
const back = oneof({ weight: 5, arbitrary: constant(0) }, { weight: 1, arbitrary: nat({ max: 3 }) });
const rarely = oneof({ weight: 6, arbitrary: constant(false) }, { weight: 1, arbitrary: constant(true) });
const mask = constantFrom(0b111, 0b111, 0b011, 0b001, 0b100, 0);

/** What is asked one after the other of the same job, and often enough of all that it leads to. */
const CALLS: readonly (readonly Verb[])[] = [
  'claim',
  'complete',
  'open',
  'commit',
  'extend',
  'abort',
  'revoke',
  'settle',
  'find',
  'letters',
  'letter',
  'buried',
  'discard',
  'claim complete',
  'claim complete find',
  'claim find',
  'revoke find letter',
  'claim revoke extend',
  'claim revoke complete',
  'claim extend',
  'open commit',
  'open commit claim',
  'open commit claim complete',
  'open revoke commit',
  'open abort commit',
  'open claim commit',
  'open claim complete commit',
  'open open commit commit',
  'open claim complete commit',
  'open claim complete commit',
  'claim open complete',
  'claim open revoke complete',
  'claim open commit',
  'open commit commit',
].map((verbs) => verbs.split(' ') as Verb[]);
/** A record remembers 16 adds that failed. */
const FAILED_ADDS = Array.from({ length: 18 }, () => ['open', 'abort'] as const).flat();

/** Milliseconds that pass before a call. */
const passed = oneof(
  { weight: 8, arbitrary: constantFrom(0, 0, 1, 5, 30) },
  { weight: 3, arbitrary: constantFrom(1_000, SETTINGS.lease - 1, SETTINGS.lease, YOUNG, 60_000) },
  {
    weight: 1,
    arbitrary: constantFrom(SETTINGS.doneTtl, HOUR, SETTINGS.staleAfter, SETTINGS.staleAfter + HOUR),
  },
);

export const step = fc.record({
  verbs: oneof(
    { weight: 60, arbitrary: constantFrom(...CALLS) },
    { weight: 1, arbitrary: constant(FAILED_ADDS) },
  ),
  passed,
  /** Milliseconds that pass between the calls. */
  between: constantFrom(0, 1, 2, 2, 1_000, YOUNG),
  id: constantFrom(...IDS, 'a'),
  /** Of the generations that were opened. */
  generation: back,
  /** Of the runs that were granted. */
  run: back,
  /** Milliseconds from now. */
  due: oneof(
    { weight: 6, arbitrary: constantFrom(-1_000, 0, 20, 21) },
    { weight: 1, arbitrary: constantFrom(60_000, -SETTINGS.staleAfter - HOUR) },
  ),
  token: constantFrom('x', 'y'),
  attempts: constantFrom(1, 2, 5, 5),
  mask,
  announced: constantFrom(0b111, 0b111, 0b011),
  unknown: rarely,
  by: constantFrom('add', 'add', 'move', 'move', 'revive', 'revive', 'again', 'again'),
  onDuplicate: constantFrom('replace', 'replace', 'replace', 'keep', 'reject'),
  outcome: constantFrom(
    'done',
    'retry',
    'retry',
    'back',
    'dead',
    'again',
    'again',
    'again',
    'later',
    'later',
  ),
  plain: rarely,
  flag: boolean(),
  odd: rarely,
});
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const PLAIN: Step = {
  verbs: ['open', 'commit'],
  passed: 0,
  between: 2,
  id: 'a',
  generation: 0,
  run: 0,
  due: -1e3,
  token: 'x',
  attempts: 5,
  mask: 7,
  announced: 7,
  unknown: false,
  by: 'add',
  onDuplicate: 'replace',
  outcome: 'done',
  plain: false,
  flag: false,
  odd: false,
};
/** What is drawn too rarely: a move whose job begins to run, and one that comes late and after another. */
export const RARE: readonly Step[][] = [
  [PLAIN, { ...PLAIN, verbs: ['open', 'claim', 'commit'], by: 'move', flag: true }],
  [
    PLAIN,
    { ...PLAIN, verbs: ['open', 'open', 'commit'], by: 'move' },
    { ...PLAIN, verbs: ['commit'], passed: YOUNG, generation: 1 },
  ],
];

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

  /** The call that a step stands for; a step of several calls is told as such by its caller. */
  request(verb: Verb, s: Step): { request: RequestOf<Verb>; context?: ClaimContext } {
    const { id } = s;
    const { now } = this.twins;
    const due = now + s.due;
    const owed = { mask: s.mask, unknown: s.unknown };
    switch (verb) {
      case 'claim': {
        const { committed, born, due: presentDue } = this.present(s);
        const present = { generation: committed, born, due: presentDue };
        const opened = nth(
          this.opened.filter((each) => each.id === id),
          s.generation,
        );
        const { generation, ...last } = (s.plain ? undefined : s.flag ? present : opened) ?? {
          generation: 0,
          born: 0,
          due,
        };
        const request = {
          id,
          generation,
          born: last.born,
          due: last.due,
          token: s.token,
          attempts: s.attempts,
        };
        const settled = s.odd ? [this.settled(s)] : [];
        return { request, context: { settled, sparedFrom: s.odd ? now - 1_000 : undefined } };
      }
      case 'extend':
        return { request: this.runOf(s) };
      case 'complete':
        return { request: { ...this.runOf(s), owed, outcome: this.outcome(s) } };
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
        const last = nth(
          this.opened.filter((each) => each.id === id && each.opening.by !== 'again'),
          s.generation,
        );
        const by = { by: 'add', onDuplicate: s.onDuplicate } as const;
        const stored = { ...this.announced(s), ...(last && { generation: last.generation, due: last.due }) };
        const opening = last && last.opening.by !== 'again' ? last.opening : by;
        return { request: { ...stored, id, opening, born: last?.born ?? stored.generation } };
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
        return { request: id };
      case 'settle':
        return { request: this.settled(s) };
      case 'letters':
        return { request: { limit: 1 + s.run, after: s.flag ? { died: now, id, born: 0 } : undefined } };
      case 'letter':
      case 'discard':
        return { request: { id, born: s.flag ? this.present(s).born : undefined } };
      case 'buried':
        return { request: { id, born: this.present(s).born, places: placesOf(s) } };
    }
  }

  /** What later steps go on from. */
  learn(verb: Verb, request: RequestOf<Verb>, answer: unknown): void {
    if (verb === 'claim') {
      const { id, generation, born } = request as RequestOf<'claim'>;
      const run = answer as { kind: string } & Pick<RunRef, 'fence' | 'attempt' | 'due'>;
      if (run.kind !== 'run') return;
      const { fence, attempt, due } = run;
      this.runs.push({ id, generation, born, due, fence, attempt, lastOk: this.twins.now });
    }
    if (verb === 'open') {
      const { kind, generation } = answer as { kind: string; generation: number };
      if (kind !== 'opened') return;
      const { id, opening, due } = request as RequestOf<'open'>;
      const born = opening.by === 'add' ? generation : (this.twins.records.byId.get(id)?.born ?? 0);
      this.opened.push({ id, opening, generation, born, due });
    }
  }

  private runOf(s: Step): RunRef {
    const run = nth(
      this.runs.filter(({ id }) => id === s.id),
      s.run,
    );
    const { now } = this.twins;
    const none = { id: s.id, generation: 0, born: 0, due: now, fence: now * 1_000, attempt: 1, lastOk: now };
    const known = run ?? none;
    return s.odd ? { ...known, lastOk: now - SETTINGS.doneTtl } : known;
  }

  private outcome(s: Step): CompleteRequest['outcome'] {
    const kind = s.outcome as CompleteRequest['outcome']['kind'];
    switch (kind) {
      case 'done':
      case 'back':
        return { kind };
      case 'retry':
        return { kind, due: this.twins.now + s.due };
      case 'dead': {
        const error = { name: 'Error', message: 'no ☂' };
        return { kind, death: { why: 'discarded', ...(s.flag && { error }) }, places: placesOf(s) };
      }
      case 'again':
      case 'later':
        return { kind, ...this.announced(s), ...(kind === 'later' && s.odd && NONE_OPENED) };
    }
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

  private announced(s: Step): AnnouncedGeneration {
    const last = nth(
      this.opened.filter(({ id }) => id === s.id),
      s.generation,
    );
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
    const last = nth(
      this.opened.filter(({ id }) => id === s.id),
      s.generation,
    );
    const generation = s.plain ? 0 : s.flag ? this.present(s).committed : (last?.generation ?? 0);
    return { id: s.id, generation, mask: s.mask, unknown: s.unknown };
  }

  /** As a reader of the record would know it; nothing is said of a job of which nothing is committed. */
  private present({ id }: Step): { committed: number; born: number; due: number } {
    const record = this.twins.records.byId.get(id);
    return record && record.committed >= 0 ? record : { committed: 0, born: 0, due: this.twins.now };
  }
}

function nth<T>(list: readonly T[], before: number): T | undefined {
  return list.at(-1 - before) ?? list.at(-1);
}

function placesOf({ mask: copies, unknown, token }: Step): Place[] {
  return [0, 1, 2]
    .filter((index) => copies & (1 << index))
    .map((index) => ({ index, location: `${token}:11300#i:${unknown && index === 2 ? '?' : 7 + index}` }));
}
