// Random requests: mostly ones that follow from earlier answers, now and then anything else.
import fc from 'fast-check';
import { YOUNG_MS, type Verb } from 'nest-dq/src/ledger/ledger.js';
import { SETTINGS } from './twin-ledgers.js';

const IDS = ['a', 'b'];
export const HOUR = 3_600_000;
const { constantFrom, nat, boolean, oneof, constant } = fc;

/** How many before the last one: the last one mostly. */
const back = oneof({ weight: 5, arbitrary: constant(0) }, { weight: 1, arbitrary: nat({ max: 3 }) });
const rarely = oneof({ weight: 6, arbitrary: constant(false) }, { weight: 1, arbitrary: constant(true) });
const mask = constantFrom(0b111, 0b111, 0b011, 0b001, 0b100, 0);

/** Sequences of calls for the same job, each often enough for all that it leads to. */
const CALLS: readonly (readonly Verb[])[] = [
  'claim | complete | open | commit | extend | abort | revoke | settle | progress find trace',
  'letters | letter | buried | discard | surplus deaths',
  'index | waiting | locate | tally | index claim waiting | index revoke locate | index claim complete locate',
  'index open commit locate | open commit waiting | open commit locate | index tally',
  'claim complete | claim progress complete find | claim progress find trace | claim usage | claim claim usage',
  'revoke find letter | claim revoke extend | claim revoke complete | claim progress extend',
  'open commit | open commit claim | open commit claim complete',
  'open revoke commit | open abort commit | open claim commit | open claim complete commit',
  'open open commit commit | open claim complete commit | open claim complete commit',
  'claim complete finished | claim complete ended | finished',
  'claim open complete | claim open revoke complete | claim open commit | open commit commit',
]
  .flatMap((line) => line.split(' | '))
  .map((verbs) => verbs.split(' ') as Verb[]);
/** Few leave the tube paused, or hardly anything else would run. */
const PAUSES: readonly (readonly Verb[])[] = [
  'pause claim resume | pause paused claim resume claim | pause claim resume paused | pause resume claim',
  'resume claim | resume paused | resume | pause paused',
]
  .flatMap((line) => line.split(' | '))
  .map((verbs) => verbs.split(' ') as Verb[]);
/** A record remembers 16 adds that failed. */
const FAILED_ADDS = Array.from({ length: 18 }, () => ['open', 'abort'] as const).flat();

/** Milliseconds that pass before a call. */
const passed = oneof(
  { weight: 8, arbitrary: constantFrom(0, 0, 1, 5, 30) },
  { weight: 3, arbitrary: constantFrom(1_000, SETTINGS.lease - 1, SETTINGS.lease, YOUNG_MS, 60_000) },
  {
    weight: 1,
    arbitrary: constantFrom(SETTINGS.doneTtl, HOUR, SETTINGS.staleAfter, SETTINGS.staleAfter + HOUR),
  },
);

export const step = fc.record({
  verbs: oneof(
    { weight: 60, arbitrary: constantFrom(...CALLS) },
    { weight: 4, arbitrary: constantFrom(...PAUSES) },
    { weight: 1, arbitrary: constant(FAILED_ADDS) },
  ),
  passed,
  /** Milliseconds that pass between the calls. */
  between: constantFrom(0, 1, 2, 2, 1_000, YOUNG_MS),
  id: constantFrom(...IDS, 'a'),
  /** Index among the opened generations, from the last. */
  generation: back,
  /** Index among the granted runs, from the last. */
  run: back,
  /** Milliseconds from now. */
  due: oneof(
    { weight: 6, arbitrary: constantFrom(-1_000, 0, 20, 21) },
    { weight: 1, arbitrary: constantFrom(60_000, -SETTINGS.staleAfter - HOUR) },
  ),
  token: constantFrom('x', 'y'),
  limits: constantFrom(0, 0, 0, 0, 0, 0, 1, 2, 3, 4),
  group: constantFrom('x', 'x', ':y', undefined),
  attempts: constantFrom(1, 2, 5, 5),
  /** Milliseconds from the due time. */
  expires: constantFrom(undefined, undefined, undefined, undefined, undefined, undefined, 1, 1_000, 60_000),
  keepsExpired: rarely,
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
  limits: 0,
  group: undefined,
  attempts: 5,
  expires: undefined,
  keepsExpired: false,
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
/**
 * Sequences that are drawn too rarely: limits that two jobs reach; a move whose job begins to run; one of a job whose runner had
 * lost its lease, and comes back; one that comes late and after another, or of a job that is done; a revival that is revoked, or
 * committed twice; a retry that is counted; a job that expires while it is moved, or becomes a dead letter.
 */
export const RARE: readonly Step[][] = [
  [
    PLAIN,
    {
      ...PLAIN,
      verbs: ['open', 'claim', 'commit', 'find', 'revoke', 'open'],
      by: 'move',
      flag: true,
      expires: 1,
    },
  ],
  [PLAIN, { ...PLAIN, verbs: ['claim', 'letters'], flag: true, expires: 1, keepsExpired: true }],
  ...([3, 4] as const).map((limits): Step[] => {
    const claim: Step = { ...PLAIN, verbs: ['claim'], limits, group: 'x', plain: true };
    return [
      claim,
      { ...claim, id: 'b', passed: 1_000 },
      { ...claim, id: 'b', group: ':y' },
      { ...claim, verbs: ['usage', 'complete'], group: ':y' },
      { ...claim, verbs: ['usage', 'complete'] },
    ];
  }),
  [PLAIN, { ...PLAIN, verbs: ['open', 'claim', 'commit'], by: 'move', flag: true }],
  ...(
    [
      ['extend', 'done'],
      ['complete', 'done'],
      ['complete', 'dead'],
    ] as const
  ).map(([verb, outcome]): Step[] => [
    PLAIN,
    { ...PLAIN, verbs: ['claim'], flag: true },
    { ...PLAIN, verbs: ['open', verb, 'commit'], passed: SETTINGS.lease, by: 'move', outcome },
  ]),
  [
    PLAIN,
    { ...PLAIN, verbs: ['open', 'open', 'commit'], by: 'move' },
    { ...PLAIN, verbs: ['commit'], passed: YOUNG_MS, generation: 1 },
  ],
  [
    { ...PLAIN, verbs: ['open', 'commit', 'claim', 'complete'], outcome: 'dead' },
    { ...PLAIN, verbs: ['open', 'commit', 'claim', 'complete'], outcome: 'dead', id: 'b' },
    { ...PLAIN, verbs: ['letters', 'surplus', 'open'], by: 'revive' },
    { ...PLAIN, verbs: ['open', 'commit'] },
    { ...PLAIN, verbs: ['commit'], generation: 1 },
  ],
  [
    PLAIN,
    { ...PLAIN, verbs: ['claim', 'complete'], outcome: 'dead' },
    { ...PLAIN, verbs: ['open', 'revoke', 'commit'], by: 'revive' },
  ],
  [{ ...PLAIN, verbs: ['claim', 'complete', 'tally'], outcome: 'retry' }],
  [PLAIN, { ...PLAIN, verbs: ['claim', 'complete', 'open'], by: 'move' }],
  [
    PLAIN,
    { ...PLAIN, verbs: ['claim', 'complete', 'deaths'], outcome: 'dead' },
    { ...PLAIN, verbs: ['open', 'commit', 'commit'], by: 'revive' },
  ],
];
