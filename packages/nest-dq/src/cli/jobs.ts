import { type Answer, type Arguments, facts, instant, span } from 'nest-handlers/cli';
import type { JobRef, JobView } from '../api/job.js';
import { progressText } from '../operate/progress-text.js';
import type { DqRuntime } from '../nest/runtime.js';
import { checkFuture } from './future.js';
import { clusterCommand } from './cluster.js';
import { showFinished } from './finished.js';
import { operator } from './operator.js';
import {
  foundReference,
  REFERENCE_FLAGS,
  referenceOf,
  showJobOf,
  showReference,
  unfound,
} from './references.js';
import { warnedOfUnknown } from './unknown-tube.js';

const DONE_OR_NOT = "0 done; 1 not done (prints the job's state, or what is unreachable); 2 Redis unusable";
const operands = ['[REF]'];

/**
 * Performs an action on the job named by the arguments. It succeeded if the result is `expected`; otherwise the result is the
 * job's state, which prevented it.
 */
export async function actOnOne<Result extends string>(
  args: Arguments,
  runtime: DqRuntime,
  name: string,
  expected: Result,
  work: (ref: JobRef) => Promise<Result>,
  more?: Partial<Record<string, string>>,
): Promise<Answer> {
  const ref = referenceOf(args);
  const result = await runtime.actOnJob(name, ref, operator(), expected, () => work(ref));
  return resultOf(args, runtime, result, expected, more);
}

/** `more`: what a person should know besides the result. */
async function resultOf(
  args: Arguments,
  { inspector, options }: DqRuntime,
  result: string,
  expected: string,
  more: Partial<Record<string, string>> = {},
): Promise<Answer> {
  const tube = args.text('tube', 'the name of a tube');
  if (result === 'unknown' && tube !== undefined) await warnedOfUnknown(inspector, tube);
  const text = `${showJobOf(args, options.prefix)}: ${result}${more[result] ?? ''}`;
  return { json: { result }, text, status: result === expected ? 0 : 1 };
}

export const find = clusterCommand({
  name: 'find',
  operands,
  summary: 'Show the state of a job and when it runs. Changes nothing.',
  about: 'Instead of a reference, REF may be the key or id of a job, which is looked for in all tubes.',
  flags: REFERENCE_FLAGS,
  status: '0 found; 1 job unknown, or a node is unreachable; 2 Redis unusable',
  examples: ['nest-dq find --tube order.cancel --key order-42'],
  async run(args, { runtime }) {
    const { inspector, producer } = runtime;
    const ref = await foundReference(args, inspector);
    if (!ref) return unfound(args);
    const job = await producer.find(ref);
    if (job) {
      // The ledger has no keys, so that of a job named otherwise is read from one of its copies.
      const key = job.key ?? (await inspector.explain(ref)).key;
      const found = key === undefined ? job : { ...job, key };
      return { json: found, text: showJob(found, runtime.now()) };
    }
    const { finished } = await inspector.explain(ref);
    if (finished)
      return { json: { ...finished, state: 'done' }, text: showFinished(finished, runtime.now()) };
    const tube = args.text('tube', 'the name of a tube');
    if (tube !== undefined) await warnedOfUnknown(inspector, tube);
    return { json: null, text: `unknown job: ${showReference(args)}`, status: 1 };
  },
});

export const revoke = clusterCommand({
  name: 'revoke',
  writes: true,
  operands,
  summary: 'Revoke a job, so that it never starts.',
  flags: {
    ...REFERENCE_FLAGS,
    abort: { help: "if the job is running, also abort its handler's signal" },
  },
  status: DONE_OR_NOT,
  examples: ['nest-dq revoke --tube order.cancel --key order-42'],
  run(args, { runtime }) {
    const options = { abort: args.has('abort'), confirmed: true };
    const more = { running: args.has('abort') ? '; its signal aborts' : '; --abort aborts its signal' };
    return actOnOne(args, runtime, 'revoke', 'revoked', (ref) => runtime.producer.revoke(ref, options), more);
  },
});

export const move = clusterCommand({
  name: 'move',
  writes: true,
  operands,
  summary: 'Move a job to another time, unless it is running. Resets its attempts.',
  flags: {
    ...REFERENCE_FLAGS,
    to: {
      value: 'TIME',
      help: 'time with a zone, such as 2026-12-24T18:00:00Z,\nor relative to now, such as 15m',
    },
  },
  status: DONE_OR_NOT,
  examples: ['nest-dq move --tube order.cancel --key order-42 --to 2h'],
  async run(args, { runtime }) {
    const when = args.instant('to', runtime.now());
    if (!when) throw args.wrong('missing --to: expected a time, such as --to 15m.');
    checkFuture(args, 'to', when, runtime.now(), '`nest-dq run` runs the job now');
    const more = { rescheduled: ` to ${instant(when, runtime.now())}` };
    return actOnOne(
      args,
      runtime,
      'reschedule',
      'rescheduled',
      (ref) => runtime.producer.reschedule(ref, when),
      more,
    );
  },
});

export const run = clusterCommand({
  name: 'run',
  writes: true,
  operands,
  summary: 'Run a waiting job now, including one waiting for a retry. Resets its attempts.',
  flags: REFERENCE_FLAGS,
  status: DONE_OR_NOT,
  examples: ['nest-dq run --tube order.cancel --key order-42'],
  async run(args, { runtime }) {
    const result = await runtime.control.runNow(referenceOf(args), { by: operator() });
    return resultOf(args, runtime, result, 'rescheduled', { rescheduled: ' to now' });
  },
});

function showJob({ state, id, ref, tube, key, dueAt, attempt, progress }: JobView, now: number): string[] {
  return facts({
    tube,
    key,
    id,
    state,
    due: instant(dueAt, now),
    runs: String(attempt),
    progress: progress && reportedText(progress, now),
    ref,
  });
}

/** The progress of a run, and how old the report is. */
export function reportedText(progress: NonNullable<JobView['progress']>, now: number): string {
  return `${progressText(progress)} (${span(Math.max(0, now - progress.at.getTime()))} ago)`;
}
