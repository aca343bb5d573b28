import type { LimitOptions, OnDuplicate } from 'nest-dq/src/api/job.js';
import { Random } from './random.js';

/** The handler's behaviour in one run of a job. The last step of a script is for all later runs. */
export interface Step {
  /** How long it takes, ms. */
  readonly ms: number;
  /** Whether the run ends when its signal aborts. */
  readonly heeds: boolean;
  readonly end: 'done' | 'throw' | 'retry' | 'discard' | 'again';
  /** The delay of `retry` and `again`, in ms. */
  readonly delay: number;
}

export type Script = readonly Step[];

/** `ms` counts from the call. `at` asks for the same time as an instant. */
export type PlannedDue = { readonly kind: 'now' } | { readonly kind: 'delay' | 'at'; readonly ms: number };

/** A job by the number of its add: by the receipt, or by its key. */
export interface Target {
  readonly add: number;
  readonly by: 'receipt' | 'key';
}

export type Operation =
  | {
      readonly kind: 'add';
      readonly number: number;
      readonly due: PlannedDue;
      readonly script: Script;
      readonly attempts: number;
      readonly key?: string;
      readonly onDuplicate?: OnDuplicate;
      readonly group?: string;
      /** In ms. */
      readonly expireAfter?: number;
    }
  | { readonly kind: 'revoke'; readonly target: Target; readonly abort: boolean }
  | {
      readonly kind: 'reschedule';
      readonly target: Target;
      readonly due: PlannedDue;
      /** A new payload, with a number and a script of its own. */
      readonly payload?: { readonly number: number; readonly script: Script };
    }
  | { readonly kind: 'find'; readonly target: Target }
  /** `letter`: the index in the list of dead letters. */
  | { readonly kind: 'revive' | 'discard'; readonly letter: number; readonly delay: number };

/** Durations in ms; `at` counts from the start of the simulation. */
export type Fault =
  | { readonly kind: 'crash'; readonly process: number; readonly ms: number }
  /** The process drains first. */
  | { readonly kind: 'restart'; readonly process: number; readonly ms: number }
  /** Once the process has stored the copies of its next keyed add or move: it crashes, or is cut off from the ledger. */
  | { readonly kind: 'crash midway' | 'cut midway'; readonly process: number; readonly ms: number }
  | { readonly kind: 'freeze'; readonly process: number; readonly ms: number }
  | { readonly kind: 'stop node'; readonly node: number; readonly ms: number; readonly forget: number }
  | { readonly kind: 'wipe node'; readonly node: number; readonly ms: number }
  | { readonly kind: 'freeze node'; readonly node: number; readonly ms: number }
  /** Freezes all nodes. */
  | { readonly kind: 'freeze nodes'; readonly ms: number }
  | { readonly kind: 'cut node'; readonly node: number; readonly process: number }
  | { readonly kind: 'lose node replies'; readonly node: number; readonly process: number }
  | { readonly kind: 'shift node clock'; readonly node: number; readonly by: number }
  /** Without `process`, all processes are cut off. */
  | { readonly kind: 'cut ledger'; readonly process?: number; readonly ms: number }
  | { readonly kind: 'lose ledger replies'; readonly process?: number; readonly ms: number }
  | { readonly kind: 'flush ledger' }
  | { readonly kind: 'roll ledger back'; readonly by: number }
  /** Somebody pauses the tube for so long. */
  | { readonly kind: 'pause'; readonly ms: number }
  /** All processes are frozen meanwhile; nodes and ledger go on. */
  | { readonly kind: 'jump'; readonly ms: number };

export type Action = { readonly at: number } & (
  | { readonly operation: Operation; readonly process: number }
  | { readonly fault: Fault }
);

export interface Plan {
  readonly seed: number;
  readonly processes: number;
  readonly concurrency: number;
  /** Limit of the handler, in all processes. */
  readonly limit?: LimitOptions;
  /** Option of the handler. */
  readonly onExpired: 'end' | 'letter';
  /** Largest delay of a message, ms; one in twenty takes up to ten times as long. */
  readonly latency: number;
  /** In the order of their times. */
  readonly actions: readonly Action[];
}

export const NODES = 3;
export const TUBE = 't';
/** The options of the cluster, in ms. */
export const SETTINGS = {
  lease: 6_000,
  backupDelay: 1_000,
  patience: 5_000,
  doneTtl: 60_000,
  staleAfter: 3_600_000,
  /** More than there are jobs. */
  mostIndexed: 1_000,
} as const;

/** Milliseconds from the start. All operations begin in this time. */
const BUSY = 30_000;
/** Milliseconds. All other operations on a job that is due after this happen long before. */
const LATEST = BUSY + 40_000;
const KEYS = ['a', 'b', 'c'];

type FreeFault = Exclude<Fault['kind'], 'crash midway' | 'cut midway'>;

const FAULTS: Readonly<Record<FreeFault, (random: Random, processes: number) => Fault>> = {
  crash: (r, n) => ({ kind: 'crash', process: r.between(0, n - 1), ms: r.between(0, 9_000) }),
  restart: (r, n) => ({ kind: 'restart', process: r.between(0, n - 1), ms: r.between(0, 3_000) }),
  freeze: (r, n) => ({ kind: 'freeze', process: r.between(0, n - 1), ms: r.between(500, 15_000) }),
  'stop node': (r) => {
    const forget = r.chance(0.5) ? 0 : r.between(1, 59_000);
    return { kind: 'stop node', node: r.between(0, NODES - 1), ms: r.between(0, 20_000), forget };
  },
  'wipe node': (r) => ({ kind: 'wipe node', node: r.between(0, NODES - 1), ms: r.between(0, 5_000) }),
  'freeze node': (r) => ({ kind: 'freeze node', node: r.between(0, NODES - 1), ms: r.between(100, 8_000) }),
  'freeze nodes': (r) => ({ kind: 'freeze nodes', ms: r.between(100, 8_000) }),
  'cut node': (r, n) => ({ kind: 'cut node', node: r.between(0, NODES - 1), process: r.between(0, n - 1) }),
  'lose node replies': (r, n) => {
    return { kind: 'lose node replies', node: r.between(0, NODES - 1), process: r.between(0, n - 1) };
  },
  'shift node clock': (r) => {
    return { kind: 'shift node clock', node: r.between(0, NODES - 1), by: r.between(-5_000, 5_000) };
  },
  'cut ledger': (r, n) => ({
    kind: 'cut ledger',
    ms: r.between(100, 12_000),
    ...(r.chance(0.6) ? { process: r.between(0, n - 1) } : {}),
  }),
  'lose ledger replies': (r, n) => ({
    kind: 'lose ledger replies',
    ms: r.between(100, 3_000),
    ...(r.chance(0.6) ? { process: r.between(0, n - 1) } : {}),
  }),
  'flush ledger': () => ({ kind: 'flush ledger' }),
  pause: (r) => ({ kind: 'pause', ms: r.between(500, 20_000) }),
  'roll ledger back': (r) => ({ kind: 'roll ledger back', by: r.between(100, 5_000) }),
  jump: (r) => ({
    kind: 'jump',
    ms: r.chance(0.5) ? r.between(60_000, 600_000) : r.between(3_600_000, 172_800_000),
  }),
};
const FAULT_KINDS = Object.keys(FAULTS) as FreeFault[];

/** Draws the plan of a simulation from its seed. */
export function drawPlan(seed: number): Plan {
  const random = new Random(seed);
  const ofLimits = new Random(seed ^ 0x11a1);
  const limit = ofLimits.chance(0.4) ? drawLimit(ofLimits) : undefined;
  const ofExpiries = new Random(seed ^ 0x0e21);
  const expiring = ofExpiries.chance(0.4) ? 0.5 : 0;
  const onExpired = ofExpiries.pick(['end', 'end', 'letter'] as const);
  const processes = random.between(2, 3);
  const adds = random.between(3, 10);
  const actions: Action[] = [];
  const process = () => random.between(0, processes - 1);
  let payloads = adds;
  for (let number = 0; number < adds; number++) {
    const at = random.between(0, BUSY);
    const group = limit?.perGroup && ofLimits.chance(0.8) ? { group: ofLimits.pick(['u', 'v']) } : {};
    const expiry = ofExpiries.chance(expiring) ? { expireAfter: ofExpiries.between(1, 5_000) } : {};
    const add = { ...drawAdd(random, number), ...group, ...expiry };
    actions.push({ at, process: process(), operation: add });
    const due = at + (add.due.kind === 'now' ? 0 : add.due.ms);
    const follow = random.pick([0, 0, 1, 1, 2, 3]);
    for (let i = 0; i < follow; i++) {
      const operation = drawFollowing(random, add, () => payloads++);
      const near =
        random.chance(0.6) && due < LATEST
          ? due + random.between(-2_000, 2_000)
          : at + random.between(0, 20_000);
      actions.push({ at: Math.max(at, near), process: process(), operation });
    }
  }
  const letters = random.chance(0.5) ? random.between(1, 3) : 0;
  for (let i = 0; i < letters; i++) {
    const kind = random.pick(['revive', 'discard'] as const);
    const operation = { kind, letter: random.between(0, 3), delay: random.between(0, 3_000) };
    actions.push({ at: random.between(10_000, BUSY + 15_000), process: process(), operation });
  }
  const ofMidway = new Random(seed ^ 0x3d1e);
  for (let times = ofMidway.pick([0, 0, 1, 2]); times > 0; times--) {
    actions.push(...drawMidway(ofMidway, processes, () => payloads++));
  }
  const kinds = random.chance(0.1) ? [] : FAULT_KINDS.filter(() => random.chance(0.25));
  for (const kind of kinds) {
    for (let times = random.between(1, 3); times > 0; times--) {
      actions.push({ at: random.between(0, BUSY + 10_000), fault: FAULTS[kind](random, processes) });
    }
  }
  return {
    seed,
    processes,
    concurrency: random.between(1, 4),
    ...(limit && { limit }),
    onExpired,
    latency: random.pick([0, 0, 2, 10, 60]),
    actions: actions.sort((a, b) => a.at - b.at),
  };
}

/** A job is replaced or moved, and the process that does it does not come to the commit. */
function drawMidway(random: Random, processes: number, nextPayload: () => number): Action[] {
  const process = () => random.between(0, processes - 1);
  const [at, by] = [random.between(0, BUSY - 10_000), process()];
  const keyed = { key: random.pick(KEYS), onDuplicate: 'replace' } as const;
  const first = { ...drawAdd(random, nextPayload()), ...keyed };
  const second: Operation = random.chance(0.7)
    ? { ...drawAdd(random, nextPayload()), ...keyed }
    : {
        kind: 'reschedule',
        target: { add: first.number, by: random.pick(['key', 'receipt'] as const) },
        due: drawDue(random),
      };
  const fault = {
    kind: random.pick(['crash midway', 'cut midway'] as const),
    process: by,
    ms: random.between(0, 9_000),
  };
  const later = at + random.between(500, 10_000);
  return [
    { at, process: process(), operation: first },
    { at: later, fault },
    { at: later, process: by, operation: second },
  ];
}

function drawLimit(random: Random): LimitOptions {
  const rate = { rate: random.between(1, 20), burst: random.between(1, 3) };
  const concurrency = { concurrency: random.between(1, 3) };
  const perGroup = { perGroup: random.between(1, 2) };
  const some = [rate, concurrency, perGroup].filter(() => random.chance(0.4));
  return Object.assign({}, ...(some.length > 0 ? some : [concurrency])) as LimitOptions;
}

function drawAdd(random: Random, number: number): Extract<Operation, { kind: 'add' }> {
  const keyed = random.chance(0.45)
    ? { key: random.pick(KEYS), onDuplicate: random.pick(['replace', 'replace', 'keep', 'reject'] as const) }
    : {};
  const due = drawDue(random);
  return { kind: 'add', number, due, script: drawScript(random), attempts: random.between(1, 5), ...keyed };
}

function drawDue(random: Random): PlannedDue {
  if (random.chance(0.2)) return { kind: 'now' };
  const kind = random.pick(['delay', 'at'] as const);
  if (random.chance(0.04)) return { kind, ms: random.between(3_600_000, 90_000_000) };
  return { kind, ms: random.chance(0.7) ? random.between(1, 8_000) : random.between(8_000, 40_000) };
}

function drawScript(random: Random): Script {
  const steps: Step[] = [];
  while (random.chance(0.35) && steps.length < 4) {
    steps.push(
      drawStep(random, random.pick(['throw', 'throw', 'retry', 'again', 'again', 'discard'] as const)),
    );
  }
  steps.push(drawStep(random, 'done'));
  return steps;
}

function drawStep(random: Random, end: Step['end']): Step {
  const long = random.chance(0.15);
  const ms = random.chance(0.3) ? 0 : long ? random.between(3_000, 20_000) : random.between(1, 1_500);
  return { ms, heeds: random.chance(0.6), end, delay: random.between(0, 5_000) };
}

function drawFollowing(
  random: Random,
  { number, key }: Extract<Operation, { kind: 'add' }>,
  nextPayload: () => number,
): Operation {
  const target: Target = { add: number, by: key !== undefined && random.chance(0.5) ? 'key' : 'receipt' };
  const kind = random.pick(['revoke', 'revoke', 'reschedule', 'reschedule', 'find'] as const);
  switch (kind) {
    case 'revoke':
      return { kind, target, abort: random.chance(0.3) };
    case 'find':
      return { kind, target };
    case 'reschedule': {
      const payload = random.chance(0.5) ? { number: nextPayload(), script: drawScript(random) } : undefined;
      return { kind, target, due: drawDue(random), ...(payload ? { payload } : {}) };
    }
  }
}
