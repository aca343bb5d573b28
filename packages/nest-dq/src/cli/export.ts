import { once } from 'node:events';
import { counted, grouped, print } from 'nest-handlers/cli';
import type { DeadLetter } from '../api/dead-letter.js';
import { storedTube } from '../api/tube.js';
import type { CopyHeader, Envelope } from '../copies/header.js';
import { decodePayload, encodedIn, type Content } from '../copies/payload.js';
import { isUnreadable, lookForCopy, type UnreadableCopy } from '../copies/reading.js';
import { DqError } from '../errors.js';
import type { WaitingPosition } from '../ledger/waiting/waiting-jobs.js';
import { summaryOf } from '../operate/waiting-view.js';
import { Retries } from '../producer/retries.js';
import { clusterCommand, type Connected } from './cluster.js';
import { whyNoPayload } from './dead.js';
import { note } from './process.js';
import { warnedOfUnknown } from './unknown-tube.js';

/** Max number of jobs in memory. */
const PAGE = 100;
const PRIORITIES = ['high', 'normal', 'low'] as const;

export const exportTube = clusterCommand({
  name: 'export',
  operands: ['TUBE'],
  summary: 'Print the waiting jobs of a tube, one JSON document per line, in order of due time.',
  about:
    'Fields: tube, id, key, state, dueAt, attempt, payload, headers, priority and ref, and attempts and backoff if the job\n' +
    'has its own. Bytes are printed as {"base64": …}, and what a codec wrote as {"codec": …, "text" or "base64": …}. Fields such as key and payload are read from a copy; if none can be\n' +
    'read, the line has `"copy": false`. Omits running jobs and jobs missing from the index. Prints the counts to standard\n' +
    'error.',
  flags: {
    dead: { help: 'after the jobs, also print the dead letters: state dead, with diedAt, why and error' },
  },
  json: false,
  status:
    '0 all jobs in the index printed, with payloads; 1 something missing, unknown tube, or a node is unreachable; 2 Redis unusable',
  examples: ['nest-dq export order.cancel --dead > jobs.jsonl 2> export.log'],
  async run(args, connected) {
    const tube = args.required('TUBE');
    const { inspector } = connected.runtime;
    const { listed, about } = await inspector.jobs(tube, { limit: 1 });
    if (listed === 0 && (await warnedOfUnknown(inspector, tube))) return { json: null, text: '', status: 1 };
    const jobs = await printAll(waitingJobs(tube, connected));
    note(`${counted(jobs.printed, 'job')}; the tube had ${grouped(listed)} listed of ${aboutText(about)}`);
    const letters = args.has('dead') ? await printAll(deadLetters(tube, connected)) : undefined;
    if (letters) note(counted(letters.printed, 'dead letter'));
    const gaps = jobs.gaps.concat(letters?.gaps ?? []);
    for (const [why, count] of countBy(gaps)) note(`${grouped(count)} without a payload: ${why}`);
    const isWhole = gaps.length === 0 && jobs.isWhole && letters?.isWhole !== false;
    return { json: null, text: '', status: isWhole ? 0 : 1 };
  },
});

function aboutText(about: number | undefined): string {
  return about === undefined ? 'an unknown number' : `about ${grouped(about)} waiting`;
}

/** A line of the export. */
interface Exported {
  /** State of the job: waiting, due, retrying, dead. */
  readonly state: string;
  readonly payload?: unknown;
  /** False if no copy can be read. */
  readonly copy?: false;
  /** Name of the key that its copies are sealed with, if this command lacks it. */
  readonly missingKey?: string;
}

/** Reads page by page. A job moved in the meantime may be printed twice or not at all. */
async function* waitingJobs(
  name: string,
  { runtime, cluster, waiting, settings }: Connected,
): AsyncGenerator<Exported> {
  const { prefix, patience } = settings;
  const tube = storedTube(name, prefix);
  const retries = new Retries(runtime.clock);
  let after: WaitingPosition | undefined;
  do {
    const page = { limit: PAGE, after };
    const read = () => waiting.page(tube, page);
    const { jobs, next } = await retries.run({ patience, repeatable: true }, read);
    const source = { tube, prefix, seal: settings.seal, now: runtime.now() };
    yield* await Promise.all(
      jobs.map(async (job) => {
        const copy = await lookForCopy(cluster, tube, job, job.places);
        const known = !copy || isUnreadable(copy) ? withoutCopy(copy) : withCopy(copy);
        return { ...summaryOf(job, source), ...known };
      }),
    );
    after = next;
  } while (after);
}

async function* deadLetters(name: string, { runtime }: Connected): AsyncGenerator<Exported> {
  let cursor: string | undefined;
  do {
    const page = await runtime.deadLetters.list(name, { limit: PAGE, cursor });
    for (const letter of page.letters) yield letterOf(letter);
    ({ cursor } = page);
  } while (cursor !== undefined);
}

function withCopy({ header, content }: Envelope) {
  return { ...headerOf(header), payload: shown(content) };
}

function withoutCopy(copy: UnreadableCopy | undefined) {
  return { copy: false as const, missingKey: copy?.missingKey };
}

/** A letter whose payload is `undefined` still has the field; without a readable copy, there is none. */
function letterOf(letter: DeadLetter): Exported {
  const { encoded, ...rest } = letter;
  if (encoded) return { state: 'dead', ...rest, payload: encoded };
  if (!('payload' in letter)) return { state: 'dead', ...letter, copy: false };
  const { payload } = letter;
  return { state: 'dead', ...letter, payload: payload instanceof Uint8Array ? base64(payload) : payload };
}

function headerOf({ key, priority, attempts, backoff, headers }: CopyHeader) {
  return { key, priority: PRIORITIES[priority], attempts, backoff, headers };
}

/** Anything but JSON is shown as bytes. */
function shown(content: Content): unknown {
  const encoded = encodedIn(content);
  if (encoded) return encoded;
  try {
    const payload = decodePayload(content);
    return payload instanceof Uint8Array ? base64(payload) : payload;
  } catch (error) {
    if (error instanceof DqError) return base64(content.bytes);
    throw error;
  }
}

function base64(bytes: Uint8Array | string) {
  return { base64: Buffer.from(bytes as string).toString('base64') };
}

async function printAll(lines: AsyncGenerator<Exported>) {
  let printed = 0;
  /** The reason for each line without a payload. */
  const gaps: string[] = [];
  for await (const line of lines) {
    if (!(await printLine(line))) return { printed, gaps, isWhole: false };
    printed++;
    if (line.copy === false) gaps.push(whyNoPayload(line));
  }
  return { printed, gaps, isWhole: true };
}

function countBy(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

/** Waits while the reader is slow. Resolves with false if nobody reads. */
async function printLine(line: Exported): Promise<boolean> {
  const { stdout } = process;
  if (stdout.destroyed) return false;
  if (print(`${JSON.stringify(line)}\n`)) return true;
  return once(stdout, 'drain').then(
    () => true,
    () => false, // the program reports why
  );
}
