import { Random } from '../../model/random.js';

/** What one client does at once. Each command has exactly one reply; only the last may be one that waits. */
export type Act =
  | { readonly who: number; readonly commands: readonly Command[] }
  | { readonly who: number; readonly ends: 'leaves' | 'half-closes' };

export interface Command {
  readonly bytes: string;
  readonly watches?: string;
  readonly ignores?: string;
  readonly waits?: true;
}

const CLIENTS = 4;
const TUBES = ['default', 'a', 'b', 'c'];
/** Around what counts as urgent, and both ends. */
const PRIORITIES = [0, 1, 1023, 1024, 4_294_967_295];
/** Seconds: nothing ends by itself while a test runs. */
const DELAYS = [0, 0, 0, 500, 2_000];
const TIMES_TO_RUN = [1_000, 5_000];
const PAUSES = [0, 3_000];
/** Of the nodes under test. */
export const MAX_JOB_SIZE = 40;

/** The same acts for the same seed. */
export function drawActs(seed: number, count: number): Act[] {
  const random = new Random(seed);
  const drawing = new Drawing(random);
  return Array.from({ length: count }, () => {
    const who = random.between(0, CLIENTS - 1);
    if (random.chance(0.02)) return { who, ends: random.pick(['leaves', 'half-closes'] as const) };
    const commands = Array.from({ length: random.between(0, 3) }, () => drawing.command());
    return { who, commands: [...commands, random.chance(0.1) ? RESERVE : drawing.command()] };
  });
}

const RESERVE: Command = { bytes: 'reserve\r\n', waits: true };

class Drawing {
  /** Ids that were given at most. */
  private ids = 0;
  /** How each kind of command is drawn, the frequent ones several times. */
  private readonly kinds: readonly (() => Command)[];

  constructor(private readonly random: Random) {
    const pri = () => random.pick(PRIORITIES);
    const tube = () => random.pick(TUBES);
    this.kinds = [
      ...often(5, () => this.put()),
      ...often(3, () => line('reserve-with-timeout 0')),
      ...often(2, () => line(`delete ${this.id()}`)),
      ...often(2, () => line(`release ${this.id()} ${pri()} ${random.pick(DELAYS)}`)),
      ...often(2, () => line(`bury ${this.id()} ${pri()}`)),
      ...often(2, () => line(`use ${tube()}`)),
      ...often(2, () => this.mistake()),
      () => line(`reserve-job ${this.id()}`),
      () => line(`touch ${this.id()}`),
      () => line(`kick ${random.between(0, 4)}`),
      () => line(`kick-job ${this.id()}`),
      () => line(`peek ${this.id()}`),
      () => line(random.pick(['peek-ready', 'peek-delayed', 'peek-buried'])),
      () => this.watch(tube()),
      () => this.ignore(tube()),
      () => line(`pause-tube ${tube()} ${random.pick(PAUSES)}`),
      () => line(`stats-job ${this.id()}`),
      () => line(`stats-tube ${tube()}`),
      () => line(random.pick(['list-tubes', 'list-tubes-watched', 'list-tube-used'])),
    ];
  }

  command(): Command {
    return this.random.pick(this.kinds)();
  }

  private watch(tube: string): Command {
    return { ...line(`watch ${tube}`), watches: tube };
  }

  private ignore(tube: string): Command {
    return { ...line(`ignore ${tube}`), ignores: tube };
  }

  private put(end = '\r\n', size = this.random.between(0, MAX_JOB_SIZE)): Command {
    const { random } = this;
    this.ids++;
    const body = Array.from({ length: size }, () => random.pick(['\r', '\n', '\0', 'a', '\xff'])).join('');
    const [pri, delay, ttr] = [random.pick(PRIORITIES), random.pick(DELAYS), random.pick(TIMES_TO_RUN)];
    return { bytes: `put ${pri} ${delay} ${ttr} ${size}\r\n${body}${end}` };
  }

  private mistake(): Command {
    const { random } = this;
    if (random.chance(0.2)) return this.put(random.pick(['xx', '\r\r', '\n\r', 'x\n']));
    if (random.chance(0.1)) return this.put('xx', MAX_JOB_SIZE + random.between(1, 300));
    return line(mistaken(random, this.id()));
  }

  /** Mostly a late one, so that it is often the client's own. */
  private id(): number {
    const { random, ids } = this;
    return random.between(random.chance(0.8) ? Math.max(1, ids - 8) : 1, Math.max(2, ids));
  }
}

/** A line that is no proper command, or only just one; never a put that is stored, nor one that waits or ends. */
function mistaken(random: Random, id: number): string {
  const number = random.pick([
    id,
    `0${id}`,
    ` ${id}`,
    `+${id}`,
    `-${id}`,
    `${id} `,
    `${id}x`,
    '',
    '4294967295',
    '4294967296',
    '18446744073709551615',
    '18446744073709551616',
    '1e1',
    '0x1',
  ]);
  const name = random.pick([
    '',
    '-a',
    ' z',
    'a b',
    '\xe9',
    'a\0',
    'n'.repeat(200),
    'n'.repeat(201),
    '$',
    '()',
  ]);
  return random.pick([
    () =>
      random.pick([
        '',
        ' ',
        'x',
        'STATS',
        'stat',
        'statsx',
        'quix',
        'reservex',
        'peek',
        'kick',
        'use',
        'put',
      ]),
    () => `${random.pick(['delete', 'peek', 'touch', 'kick-job', 'stats-job', 'reserve-job'])} ${number}`,
    () => `kick ${number}`,
    () => `release ${number} 5 500`,
    () => `release ${id} ${number} 500`,
    () => `release ${id} 5 ${random.pick(['', 'x', '-1', '4294967296'])}`,
    () => `bury ${number} 5`,
    () => `bury ${id} ${number}`,
    () => `stats-tube ${name}`,
    () => `ignore ${name}`,
    () => `pause-tube ${name} ${number}`,
    () => `pause-tube none ${number}`,
    () => `put ${number} -1 1000 1`,
    () => `put 0 0 1000 1 ${number}x`,
    () => 'x'.repeat(random.pick([222, 224, 300, 446, 448, 900])),
    () => `use a\r${number}${'x'.repeat(224)}`,
  ])();
}

function often<T>(times: number, kind: T): T[] {
  return Array.from({ length: times }, () => kind);
}

function line(text: string): Command {
  return { bytes: `${text}\r\n` };
}
