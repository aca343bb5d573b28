import { span } from 'nest-handlers/time';
import type { DeadLetter } from '../api/dead-letter.js';
import { show } from '../errors.js';
import type {
  DueSince,
  ExplanationCase,
  ExplanationDetails,
  ExplanationReason,
  UsedLimit,
} from './explanation.js';

const DEATHS: Readonly<Record<DeadLetter['why'], (attempt: number) => string>> = {
  attempts: (attempt) => `attempts exhausted (${attempt})`,
  discarded: () => 'discarded by its handler',
  invalid: () => 'unreadable payload',
  expired: () => 'expired before it started',
  stale: () => 'a copy came back too late to tell whether it ran',
};

/** The sentence of each case in English. The dashboard has the same in Chinese. */
const SENTENCES: { readonly [Case in ExplanationCase]: (details: ExplanationDetails[Case]) => string } = {
  'ledger-away': ({ error }) => `The ledger does not respond, so no job runs: ${error}.`,
  dead({ death }) {
    if (!death) return 'Dead; its dead letter is gone.';
    const told = death.error === undefined ? '' : `: ${death.error}`;
    return `Dead since ${at(death.at)}: ${DEATHS[death.why](death.attempt)}${told}.`;
  },
  replaced: () => 'Replaced by a newer job with the same key.',
  done({ startedAt, finished }) {
    if (!finished) return startedAt ? `Done; its last run started at ${at(startedAt)}.` : 'The job is done.';
    const { endedAt, took, process, attempt } = finished;
    return `Completed at ${at(endedAt)} in process ${process}, attempt ${attempt}, took ${span(took)}.`;
  },
  revoked: () => 'Revoked, so it no longer starts.',
  expired: () => 'Expired: it had not started in time, so it never starts.',
  running({ attempt, startedAt, runningFor = 0, process }) {
    const since = startedAt ? ` since ${at(startedAt)} (${span(runningFor)})` : '';
    const where = process ? `, in process ${process.pid} on ${process.host}` : '';
    return `Running${since}: attempt ${attempt}${where}.`;
  },
  unknown: (details) =>
    details.dueAt
      ? `${dueSince(details)}; the state of its copies is unknown.`
      : 'Unknown: there is no such job, or it ended long ago.',
  'nodes-away': ({ nodes }) => `Cannot run until a node that may have a copy is back: ${nodes.join(', ')}.`,
  'no-copy': ({ awaited }) =>
    awaited
      ? 'Lost: no node has a copy any more, but the ledger still expects it to run.'
      : 'No node has a copy any more, and the ledger has no record of it: it ended long ago, or is lost.',
  'not-due': ({ dueAt, dueIn }) => `Not due until ${at(dueAt)} (in ${span(dueIn)}).`,
  retrying: ({ dueAt, dueIn, attempt }) =>
    `Waiting for a retry after attempt ${attempt}, due at ${at(dueAt)} (in ${span(dueIn)}).`,
  paused: ({ tube, since, until, ...due }) =>
    `${dueSince(due)}, but tube ${tube} is paused (since ${at(since)}, until ${until ? at(until) : 'it is resumed'}).`,
  left: ({ leaseEndedAt }) =>
    `The process that ran it has not been heard from since its lease expired at ${at(leaseEndedAt)}; it runs again when a copy comes back.`,
  held: () => 'Waiting for a run of the job it replaced to end.',
  limited: ({ tube, limit, ...due }) =>
    `${dueSince(due)}, but tube ${tube} is limited to ${limitText(limit)}.`,
  'not-consumed': ({ tube, ...due }) => `${dueSince(due)}, but no process consumes tube ${tube}.`,
  'not-reserving': ({ tube, consumers, ...due }) =>
    `${dueSince(due)}, but ${consumers === 1 ? 'the process that consumes' : `the ${consumers} processes that consume`} tube ${tube} ${consumers === 1 ? 'takes' : 'take'} no jobs; the log says why.`,
  'slots-full'({ tube, slots, oldestRun, ...due }) {
    const busy = slots === 1 ? `the only slot of tube ${tube} is` : `all ${slots} slots of tube ${tube} are`;
    const run = slots === 1 ? 'its run' : 'the oldest run';
    const since = oldestRun
      ? `, ${run} since ${at(oldestRun.startedAt)} (${span(oldestRun.runningFor)})`
      : '';
    return `${dueSince(due)}, but ${busy} busy${since}.`;
  },
  taken: (due) => `${dueSince(due)}; a process holds it until it has a free slot.`,
  queued({ others, ...due }) {
    const told = others ? `; about ${others.due} due and ${others.running} running in its tube` : '';
    return `${dueSince(due)}, waiting for a process to take it${told}.`;
  },
  coming: ({ readyIn, ...due }) => `${dueSince(due)}; its next copy comes back in ${span(readyIn)}.`,
  buried: (due) => `${dueSince(due)}, but its copies are buried, and stay so until kicked.`,
};

/** Returns a reason as one English sentence, with times in UTC. */
export function sentenceOf<Case extends ExplanationCase>({
  because,
  details,
}: ExplanationReason<Case>): string {
  return SENTENCES[because](details);
}

function limitText(limit: UsedLimit): string {
  const most = limit.most === 1 ? '1 run' : `${limit.most} runs`;
  switch (limit.kind) {
    case 'concurrency':
      return `${most} at a time (running: ${limit.running})`;
    case 'perGroup':
      return `${most} per group at a time (running in group ${show(limit.group)}: ${limit.running})`;
    case 'rate':
      return `${most} in ${span(limit.per)}; the next may start at ${at(limit.nextAt)} (in ${span(limit.nextIn)})`;
  }
}

function dueSince({ dueAt, overdueFor = 0 }: DueSince): string {
  return dueAt ? `Overdue since ${at(dueAt)} (${span(overdueFor)})` : 'Due now';
}

function at(time: Date): string {
  return time.toISOString();
}
