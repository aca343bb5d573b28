import fc from 'fast-check';

/** Commands of one client, sent at once. Each command has exactly one reply; only the last may be one that waits. */
export type Act =
  | { readonly who: number; readonly commands: readonly Command[] }
  | { readonly who: number; readonly ends: 'leaves' | 'half-closes' };

export interface Command {
  readonly bytes: string;
  readonly watches?: string;
  readonly ignores?: string;
  readonly waits?: true;
}

/** Largest job of the nodes under test, in bytes. */
export const MAX_JOB_SIZE = 40;

const { constantFrom, integer, nat } = fc;
const tube = constantFrom('default', 'a', 'b', 'c');
/** Around what counts as urgent, and both ends. */
const priority = constantFrom(0, 1, 1023, 1024, 4_294_967_295);
/** Seconds: nothing ends by itself while a test runs. */
const delay = constantFrom(0, 0, 0, 500, 2_000);
const ttr = constantFrom(1_000, 5_000);
/** How many puts ago the job was put: mostly few, so that the job is often the client's own. `withIds` puts its id here. */
const id = fc
  .oneof({ weight: 4, arbitrary: nat({ max: 8 }) }, { weight: 1, arbitrary: nat({ max: 60 }) })
  .map((ago) => `<${ago}>`);

function line(words: TemplateStringsArray, ...values: fc.Arbitrary<unknown>[]): fc.Arbitrary<Command> {
  return fc.tuple(...values).map((drawn) => ({ bytes: `${String.raw({ raw: words }, ...drawn)}\r\n` }));
}

function put(end: fc.Arbitrary<string>, size: { min?: number; max: number }): fc.Arbitrary<Command> {
  const { min: minLength = 0, max: maxLength } = size;
  const body = fc.string({
    unit: constantFrom('\r', '\n', '\0', 'a', '\xff'),
    minLength,
    maxLength,
    size: 'max',
  });
  return fc.tuple(priority, delay, ttr, body, end).map(([pri, after, time, text, last]) => ({
    bytes: `put ${pri} ${after} ${time} ${text.length}\r\n${text}${last}`,
  }));
}

/** Lines that are no proper commands, or only just; never a put that is stored, nor one that waits or ends. */
const number = fc.oneof(
  ...['', '0', ' ', '+', '-'].map((before) => id.map((text) => before + text)),
  ...[' ', 'x'].map((behind) => id.map((text) => text + behind)),
  constantFrom('', '4294967295', '4294967296', '18446744073709551615', '18446744073709551616', '1e1', '0x1'),
);
const name = constantFrom('', '-a', ' z', 'a b', '\xe9', 'a\0', 'n'.repeat(200), 'n'.repeat(201), '$', '()');
const noCommand = constantFrom(
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
);
const mistakenLine = fc.oneof(
  line`${noCommand}`,
  line`${constantFrom('delete', 'peek', 'touch', 'kick-job', 'stats-job', 'reserve-job')} ${number}`,
  line`kick ${number}`,
  line`release ${number} 5 500`,
  line`release ${id} ${number} 500`,
  line`release ${id} 5 ${constantFrom('', 'x', '-1', '4294967296')}`,
  line`bury ${number} 5`,
  line`bury ${id} ${number}`,
  line`stats-tube ${name}`,
  line`ignore ${name}`,
  line`pause-tube ${name} ${number}`,
  line`pause-tube none ${number}`,
  line`put ${number} -1 1000 1`,
  line`put 0 0 1000 1 ${number}x`,
  line`${constantFrom(222, 224, 300, 446, 448, 900).map((length) => 'x'.repeat(length))}`,
  line`use a\r${number}${fc.constant('x'.repeat(224))}`,
);

/** The frequent ones weigh more. */
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: put(fc.constant('\r\n'), { max: MAX_JOB_SIZE }) },
  { weight: 3, arbitrary: line`reserve-with-timeout 0` },
  { weight: 2, arbitrary: line`delete ${id}` },
  { weight: 2, arbitrary: line`release ${id} ${priority} ${delay}` },
  { weight: 2, arbitrary: line`bury ${id} ${priority}` },
  { weight: 2, arbitrary: line`use ${tube}` },
  { weight: 2, arbitrary: mistakenLine },
  put(constantFrom('xx', '\r\r', '\n\r', 'x\n'), { max: MAX_JOB_SIZE }),
  put(fc.constant('xx'), { min: MAX_JOB_SIZE + 1, max: MAX_JOB_SIZE + 300 }),
  line`reserve-job ${id}`,
  line`touch ${id}`,
  line`kick ${integer({ min: 0, max: 4 })}`,
  line`kick-job ${id}`,
  line`peek ${id}`,
  line`${constantFrom('peek-ready', 'peek-delayed', 'peek-buried')}`,
  tube.map((watches) => ({ bytes: `watch ${watches}\r\n`, watches })),
  tube.map((ignores) => ({ bytes: `ignore ${ignores}\r\n`, ignores })),
  line`pause-tube ${tube} ${constantFrom(0, 3_000)}`,
  line`stats-job ${id}`,
  line`stats-tube ${tube}`,
  line`${constantFrom('list-tubes', 'list-tubes-watched', 'list-tube-used')}`,
);
const reserve = fc.constant<Command>({ bytes: 'reserve\r\n', waits: true });
const last = fc.oneof({ weight: 9, arbitrary: command }, { weight: 1, arbitrary: reserve });

const who = nat({ max: 3 });
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 49,
    arbitrary: fc.record({
      who,
      commands: fc.tuple(fc.array(command, { maxLength: 3 }), last).map(([first, end]) => [...first, end]),
    }),
  },
  { weight: 1, arbitrary: fc.record({ who, ends: constantFrom('leaves' as const, 'half-closes' as const) }) },
);

/** Acts of clients, in turns. */
export const acts: fc.Arbitrary<readonly Act[]> = fc
  .array(act, { maxLength: 300, size: 'max' })
  .map((drawn) => {
    const replace = withIds();
    return drawn.map((each) => ('ends' in each ? each : { ...each, commands: each.commands.map(replace) }));
  });

/** Commands of one client. */
export const commands: fc.Arbitrary<readonly Command[]> = fc
  .array(command, { maxLength: 160, size: 'max' })
  .map((drawn) => drawn.map(withIds()));

/** Gives commands the ids of the jobs that were put before. */
function withIds(): (command: Command) => Command {
  let puts = 0;
  return (given) => {
    if (/^put \d+ \d+ \d+ \d+\r\n/.test(given.bytes)) puts++;
    return {
      ...given,
      bytes: given.bytes.replaceAll(/<(\d+)>/g, (_, ago) => `${Math.max(1, puts - Number(ago))}`),
    };
  };
}
