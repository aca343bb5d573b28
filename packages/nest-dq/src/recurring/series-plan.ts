import { hash } from 'node:crypto';
import { writeJson } from 'nest-handlers/schema';
import type { Duration, When } from 'nest-handlers/time';
import { checkCount, refuseUnknown } from '../api/job-options.js';
import type { PayloadCodec } from '../api/payload-codec.js';
import { codecsOf, tubeName, type Tube } from '../api/tube.js';
import { readEncoded } from '../copies/encoded.js';
import { asText, encodePayload } from '../copies/payload.js';
import { DqError, show, wrongValue } from '../errors.js';
import { REMOVED, type PlanTexts } from '../fleet/series-plans.js';
import { readShaped, type Shape } from '../ledger/foreign-json.js';
import { checkBoolean } from '../producer/call-options.js';
import { parseDuration } from '../time/duration.js';
import { parseWhen } from '../time/instant.js';
import { occurrencesOf, type Occurrences } from './occurrences.js';

/** The plan of a series made at run time: `cron` or `every`, and where it begins and ends. */
export interface SeriesPlan<In = unknown> {
  /** Tube of its jobs, whose handler runs them. Several series may have the same one. */
  tube: string | Tube<In, any>;
  /** A cron expression of 5 fields, or 6 with seconds first. Needs the package `croner`. */
  cron?: string;
  /** Interval instead of a cron expression: at least a second. Counted from `startAt`, or else from the upsert. */
  every?: Duration;
  /** Time zone of the cron expression, such as 'Europe/Berlin'. @default 'UTC' */
  timeZone?: string;
  /**
   * Spreads series with equal plans: this series is late by a fixed time from 0 to here, which its name determines. At most
   * `every`. @default 0
   */
  jitter?: Duration;
  /** No occurrence is earlier. @default the time of the upsert */
  startAt?: When;
  /** No occurrence is later. @default none */
  endAt?: When;
  /** Number of occurrences from its start on, missed and skipped ones included: 1 to 1,000. @default any number */
  times?: number;
  /** Whether it also runs right at its start. @default false */
  runAtStart?: boolean;
  /** Payload of each of its jobs: what JSON can represent, or the tube's codec, in at most 16,384 characters. @default undefined */
  payload?: NoInfer<In>;
}

/** A plan as stored, in canonical form. Times are epoch ms, durations ms. */
export interface SeriesSpec {
  /** Without the prefix. */
  readonly tube: string;
  readonly cron?: string;
  readonly tz?: string;
  readonly every?: number;
  readonly jitter?: number;
  readonly startAt?: number;
  readonly endAt?: number;
  readonly times?: number;
  readonly runAtStart?: boolean;
  /** Digest of the payload: another payload is another plan. */
  readonly payload?: string;
}

/** An entry of `SeriesPlans`, parsed. */
export interface SeriesEntry {
  /** Undefined if the series was removed. */
  readonly begunAt: number | undefined;
  readonly spec: SeriesSpec;
  /** An `EncodedPayload` if a codec wrote it. */
  readonly payload: unknown;
  /** Header of its jobs, by which a process knows the plan they were scheduled by. */
  readonly mark: string;
}

const LONGEST_NAME = 200;
const LONGEST_PAYLOAD = 16_384;
const MIN_EVERY_MS = 1_000;
const MAX_TIMES = 1_000;
const OPTIONS = [
  'tube',
  'cron',
  'every',
  'timeZone',
  'jitter',
  'startAt',
  'endAt',
  'times',
  'runAtStart',
  'payload',
] as const satisfies (keyof SeriesPlan)[];
const KNOWN: ReadonlySet<string> = new Set(OPTIONS);

/** `DQ_BAD_OPTION`. */
export function checkSeriesName(name: unknown): string {
  if (typeof name === 'string' && name.length > 0 && name.length <= LONGEST_NAME && isWellFormed(name))
    return name;
  const expected = `a string of 1 to ${LONGEST_NAME} characters`;
  throw wrongValue('DQ_BAD_OPTION', 'the name of the series', name, expected);
}

function isWellFormed(name: string): boolean {
  return !/\p{Surrogate}/u.test(name);
}

/**
 * Validates a plan, and returns it as it's stored. `DQ_BAD_OPTION`, `DQ_BAD_TUBE`, `DQ_BAD_DURATION`, `DQ_BAD_TIME`,
 * `DQ_BAD_PAYLOAD`; `DQ_CONFIG` if croner is missing.
 */
export async function checkSeriesPlan(
  plan: SeriesPlan,
  prefix: string,
): Promise<
  PlanTexts & { readonly spec: string; readonly startAt: number | undefined; readonly tube: string }
> {
  if (typeof plan !== 'object' || plan === null) {
    throw wrongValue('DQ_BAD_OPTION', 'the plan of the series', plan, '{ tube, cron or every, … }');
  }
  refuseUnknown(plan, KNOWN, 'series');
  const { cron, every, timeZone, jitter, startAt, endAt, times, runAtStart = false } = plan;
  const tube = tubeName(plan.tube, prefix);
  if ((cron === undefined) === (every === undefined)) {
    const given = cron === undefined ? 'neither `cron` nor `every`' : 'both `cron` and `every`';
    throw new DqError('DQ_BAD_OPTION', `the plan has ${given}: expected one of them`);
  }
  if (cron !== undefined && typeof cron !== 'string')
    throw wrongValue('DQ_BAD_OPTION', '`cron`', cron, "a cron expression such as '0 3 * * *'");
  if (timeZone !== undefined && cron === undefined)
    throw wrongValue('DQ_BAD_OPTION', '`timeZone`', timeZone, '`cron` as well');
  const interval = every === undefined ? undefined : parseDuration(every, '`every`');
  if (interval !== undefined && interval < MIN_EVERY_MS)
    throw wrongValue('DQ_BAD_OPTION', '`every`', every, "at least '1s'");
  const spread = jitter === undefined ? 0 : parseDuration(jitter, '`jitter`');
  if (interval !== undefined && spread > interval)
    throw wrongValue('DQ_BAD_OPTION', '`jitter`', jitter, `at most \`every\`, which is ${show(every)}`);
  const [from, to] = [startAt, endAt].map((when) => (when === undefined ? undefined : parseWhen(when)));
  if (from !== undefined && to !== undefined && to < from)
    throw wrongValue('DQ_BAD_OPTION', '`endAt`', new Date(to), `no earlier than \`startAt\``);
  if (times !== undefined && checkCount('times', times) > MAX_TIMES)
    throw wrongValue('DQ_BAD_OPTION', '`times`', times, `1 to ${MAX_TIMES}`);
  checkBoolean('runAtStart', runAtStart);
  const payload = payloadText(plan.payload, codecsOf(plan.tube)?.codec);
  const spec: SeriesSpec = {
    tube,
    ...(cron !== undefined && { cron: cron.trim().replace(/\s+/g, ' '), tz: timeZone ?? 'UTC' }),
    ...(interval !== undefined && { every: interval }),
    ...(spread > 0 && { jitter: spread }),
    ...(from !== undefined && { startAt: from }),
    ...(to !== undefined && { endAt: to }),
    ...(times !== undefined && { times }),
    ...(runAtStart && { runAtStart }),
    ...(payload !== '' && { payload: digestOf(payload) }),
  };
  if (spec.cron !== undefined) await asOption(occurrencesOf(spec.cron, spec.tz));
  return { spec: JSON.stringify(spec), payload, startAt: from, tube };
}

/** A wrong expression is a wrong option here: no configuration is wrong. */
async function asOption(checking: Promise<unknown>): Promise<void> {
  try {
    await checking;
  } catch (thrown) {
    if (!(thrown instanceof DqError) || thrown.message.includes('npm install')) throw thrown;
    throw new DqError(
      'DQ_BAD_OPTION',
      thrown.message.replace(/^DQ_CONFIG: /, '').replace('`tz`', '`timeZone`'),
      {
        cause: thrown.cause,
      },
    );
  }
}

/** '' for none. */
function payloadText(payload: unknown, codec: PayloadCodec | undefined): string {
  if (payload === undefined) return '';
  if (codec) return checkedLength(asText(encodePayload(payload, codec)).bytes.toString(), codec.name);
  if (payload instanceof Uint8Array) {
    throw new DqError('DQ_BAD_PAYLOAD', 'the payload of a series is bytes: expected what JSON can represent');
  }
  const json = writeJson(payload);
  if (typeof json !== 'string') throw new DqError('DQ_BAD_PAYLOAD', `the payload${json.at} ${json.fact}`);
  return checkedLength(json, 'JSON');
}

function checkedLength(text: string, format: string): string {
  if (text.length <= LONGEST_PAYLOAD) return text;
  const fact = `the payload of the series has ${text.length} characters in ${format}: expected at most ${LONGEST_PAYLOAD}`;
  throw new DqError('DQ_BAD_PAYLOAD', fact);
}

const SPEC: Shape = {
  fields: {
    tube: 'text',
    cron: 'text?',
    tz: 'text?',
    every: 'number?',
    jitter: 'number?',
    startAt: 'number?',
    endAt: 'number?',
    times: 'number?',
    runAtStart: { optional: 'boolean' },
    payload: 'text?',
  },
};

/** Undefined if nest-dq didn't write it. */
export function readEntry(entry: string): SeriesEntry | undefined {
  const end = entry.indexOf('\n');
  const [mark, payload] = end < 0 ? [entry, ''] : [entry.slice(0, end), entry.slice(end + 1)];
  const gap = mark.indexOf(' ');
  const begun = mark.slice(0, gap);
  const spec = readShaped<SeriesSpec>(mark.slice(gap + 1), SPEC);
  if (!spec || (spec.cron === undefined) === (spec.every === undefined)) return undefined;
  if (begun !== REMOVED && !/^\d{1,16}$/.test(begun)) return undefined;
  const begunAt = begun === REMOVED ? undefined : Number(begun);
  return { begunAt, spec, payload: parsed(payload), mark };
}

/**
 * The entry of a job's mark, for a ledger that has lost it. Without the payload if that isn't the stored one, as after a schema
 * that changes it: then the next upsert completes it.
 */
export function entryOf(mark: string, payload: unknown): string {
  const json = payload instanceof Uint8Array ? undefined : writeJson(payload);
  const isStored = typeof json === 'string' && mark.includes(`"payload":"${digestOf(json)}"`);
  return `${mark}\n${isStored ? json : ''}`;
}

function digestOf(json: string): string {
  return hash('sha256', json).slice(0, 16);
}

function parsed(json: string): unknown {
  try {
    return json === '' ? undefined : (readEncoded(json) ?? JSON.parse(json));
  } catch {
    return undefined; // another program wrote it
  }
}

/** Parsed plans by name and mark; cleared when full. */
const known = new Map<string, Promise<Occurrences>>();
const MAX_KNOWN = 1_000;

/** Rejects with `DQ_CONFIG` if croner is missing, or another program wrote the entry. */
export function occurrencesOfEntry(name: string, entry: SeriesEntry): Promise<Occurrences> {
  const id = `${entry.mark}\n${name}`;
  let found = known.get(id);
  if (!found) {
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(id, (found = computed(name, entry)));
    found.catch(() => known.delete(id));
  }
  return found;
}

async function computed(name: string, { spec, begunAt = 0 }: SeriesEntry): Promise<Occurrences> {
  const { cron, tz, every = MIN_EVERY_MS, startAt, endAt = Infinity, times, runAtStart } = spec;
  const base = cron === undefined ? undefined : await occurrencesOf(cron, tz);
  const origin = startAt ?? begunAt;
  const ofGrid = (instant: number) => {
    const passed = Math.floor((instant - origin) / every) + 1;
    return origin + Math.max(passed, startAt === undefined ? 1 : 0) * every;
  };
  const ofPlan = base?.after ?? ofGrid;
  const late = spec.jitter === undefined ? 0 : lateBy(name, spec.jitter);
  const upTo = (end: number) => (instant: number) => {
    if (runAtStart && instant < begunAt) return begunAt;
    const next = ofPlan(Math.max(instant - late, begunAt - 1));
    return next === undefined || next + late > end ? undefined : next + late;
  };
  let last = endAt;
  if (times !== undefined) {
    const next = upTo(endAt);
    let at = begunAt - 1;
    for (let i = 0; i < times; i++) at = next(at) ?? at;
    last = at;
  }
  return { plan: base?.plan ?? `every ${inUnits(every)}`, after: upTo(last) };
}

/** The same in all processes, and evenly spread over all names. */
function lateBy(name: string, jitter: number): number {
  return Number.parseInt(hash('sha256', name).slice(0, 12), 16) % (jitter + 1);
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

function inUnits(ms: number): string {
  const [unit, size] = UNITS.find(([, each]) => ms % each === 0) ?? ['ms', 1];
  return `${ms / size}${unit}`;
}
