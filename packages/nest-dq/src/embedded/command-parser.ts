import { isTubeName } from '../beanstalk/codec/commands.js';

/**
 * A parsed command line, as beanstalkd 1.12 reads it. Times are whole seconds; names and bytes are latin1. Two bad formats are
 * commands here, since beanstalkd counts them before it refuses them: a put that `hasMore` after its size, which is refused
 * unless its body is too big, and a pause-tube with a wrong tube name.
 */
export type Command =
  | { verb: 'put'; pri: number; delay: number; ttr: number; size: number; hasMore: boolean }
  | { verb: TubeVerb; tube: string }
  | { verb: 'pause-tube'; tube: string; delay: number }
  | { verb: 'reserve-with-timeout'; seconds: number }
  | { verb: 'release'; id: number; pri: number; delay: number }
  | { verb: 'bury'; id: number; pri: number }
  | { verb: IdVerb; id: number }
  | { verb: 'kick'; count: number }
  | { verb: BareVerb };

export type Verb = Command['verb'];

type TubeVerb = 'use' | 'watch' | 'ignore' | 'stats-tube';
type IdVerb = 'reserve-job' | 'delete' | 'touch' | 'kick-job' | 'peek' | 'stats-job';
type BareVerb =
  | 'reserve'
  | 'peek-ready'
  | 'peek-delayed'
  | 'peek-buried'
  | 'stats'
  | 'list-tubes'
  | 'list-tube-used'
  | 'list-tubes-watched'
  | 'quit';

const MAX_U32 = 2 ** 32 - 1;
const MAX_U64 = 2n ** 64n - 1n;

/** Several spaces may precede a number, nothing else. */
const ONE_NUMBER = /^ *(\d+)$/;
const TWO_NUMBERS = /^ *(\d+) +(\d+)$/;
const THREE_NUMBERS = /^ *(\d+) +(\d+) +(\d+)$/;
const PUT_NUMBERS = /^ *(\d+) +(\d+) +(\d+) +(\d+)([^]*)$/;
const TUBE_AND_NUMBER = /^ *([A-Za-z0-9\-+/;.$_()]+) +(\d+)$/;
/** These two commands read their number with C's strtol, which accepts a sign and ignores what follows. */
const C_NUMBER = /^[ \t\n\v\f\r]*([+-]?\d+)/;

type Parse = (args: string) => Command | undefined;

/** beanstalkd compares prefixes, in this order: "quitter" quits, and "statsx" is a `stats` in a bad format. */
const GRAMMAR: readonly (readonly [start: string, parse: Parse])[] = [
  ['put ', parsePut],
  ['peek ', withId('peek')],
  ['peek-ready', bare('peek-ready')],
  ['peek-delayed', bare('peek-delayed')],
  ['peek-buried', bare('peek-buried')],
  ['reserve-with-timeout ', parseReserveWithTimeout],
  ['reserve-job ', withId('reserve-job')],
  ['reserve', bare('reserve')],
  ['delete ', withId('delete')],
  ['release ', parseRelease],
  ['bury ', parseBury],
  ['kick ', parseKick],
  ['kick-job ', withId('kick-job')],
  ['touch ', withId('touch')],
  ['stats-job ', withId('stats-job')],
  ['stats-tube ', withTube('stats-tube')],
  ['stats', bare('stats')],
  ['use ', withTube('use')],
  ['watch ', withTube('watch')],
  ['ignore ', withTube('ignore')],
  ['list-tubes-watched', bare('list-tubes-watched')],
  ['list-tube-used', bare('list-tube-used')],
  ['list-tubes', bare('list-tubes')],
  ['quit', () => ({ verb: 'quit' })],
  ['pause-tube', parsePauseTube],
];

/** All commands. */
export const VERBS = GRAMMAR.map(([start]) => start.trimEnd() as Verb);

/** Parses a command line without its CRLF. A put's body follows it. */
export function parseCommand(line: string): Command | 'BAD_FORMAT' | 'UNKNOWN_COMMAND' {
  if (line.includes('\0')) return 'BAD_FORMAT';
  for (const [start, parse] of GRAMMAR) {
    if (line.startsWith(start)) return parse(line.slice(start.length)) ?? 'BAD_FORMAT';
  }
  return 'UNKNOWN_COMMAND';
}

function parsePut(args: string): Command | undefined {
  const match = PUT_NUMBERS.exec(args);
  if (!match) return undefined;
  const [pri, delay, ttr, size] = [u32(match[1]), u32(match[2]), u32(match[3]), u32(match[4])];
  if (pri === undefined || delay === undefined || ttr === undefined || size === undefined) return undefined;
  return { verb: 'put', pri, delay, ttr, size, hasMore: match[5] !== '' };
}

function parseReserveWithTimeout(args: string): Command | undefined {
  const number = BigInt(C_NUMBER.exec(args)?.[1] ?? 0);
  if (BigInt.asIntN(64, number) !== number) return undefined;
  return { verb: 'reserve-with-timeout', seconds: Number(BigInt.asIntN(32, number)) };
}

function parseRelease(args: string): Command | undefined {
  const match = THREE_NUMBERS.exec(args);
  const [id, pri, delay] = [u64(match?.[1]), u32(match?.[2]), u32(match?.[3])];
  if (id === undefined || pri === undefined || delay === undefined) return undefined;
  return { verb: 'release', id, pri, delay };
}

function parseBury(args: string): Command | undefined {
  const match = TWO_NUMBERS.exec(args);
  const [id, pri] = [u64(match?.[1]), u32(match?.[2])];
  return id === undefined || pri === undefined ? undefined : { verb: 'bury', id, pri };
}

function parseKick(args: string): Command | undefined {
  const text = C_NUMBER.exec(args)?.[1];
  if (text === undefined) return undefined;
  const number = BigInt(text);
  if (number > MAX_U64 || -number > MAX_U64) return undefined;
  return { verb: 'kick', count: Number(BigInt.asUintN(32, number)) };
}

function parsePauseTube(args: string): Command | undefined {
  const match = TUBE_AND_NUMBER.exec(args);
  const [tube, delay] = [match?.[1], u32(match?.[2])];
  if (tube === undefined || delay === undefined) return undefined;
  return { verb: 'pause-tube', tube, delay };
}

function bare(verb: BareVerb): Parse {
  return (args) => (args === '' ? { verb } : undefined);
}

function withTube(verb: TubeVerb): Parse {
  return (tube) => (isTubeName(tube) ? { verb, tube } : undefined);
}

function withId(verb: IdVerb): Parse {
  return (args) => {
    const id = u64(ONE_NUMBER.exec(args)?.[1]);
    return id === undefined ? undefined : { verb, id };
  };
}

function u32(digits: string | undefined): number | undefined {
  const value = Number(digits);
  return value <= MAX_U32 ? value : undefined;
}

/** Ids assigned here are far below 2^53, so a larger one, when rounded, matches no job. */
function u64(digits: string | undefined): number | undefined {
  if (digits === undefined || (digits.length > 19 && BigInt(digits) > MAX_U64)) return undefined;
  return Number(digits);
}
