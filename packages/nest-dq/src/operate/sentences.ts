import { spelled } from 'nest-handlers/time';
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
  attempts: (attempt) => `its attempts are used up (${attempt})`,
  discarded: () => 'its handler discarded it',
  invalid: () => 'its payload cannot be read',
  stale: () => 'a copy came back so late that nobody knows any more whether it ran',
};

/** The sentence of each case in English. The dashboard has the same in Chinese. */
const SENTENCES: { readonly [Case in ExplanationCase]: (details: ExplanationDetails[Case]) => string } = {
  'ledger-away': ({ error }) => `The ledger does not answer, so no job runs: ${error}.`,
  dead({ death }) {
    if (!death) return 'It is dead, and its letter is gone.';
    const told = death.error === undefined ? '' : `: ${death.error}`;
    return `It is dead since ${at(death.at)}, as ${DEATHS[death.why](death.attempt)}${told}.`;
  },
  replaced: () => 'A newer job of its key has replaced it.',
  done: ({ startedAt }) =>
    startedAt ? `It is done: its last run began at ${at(startedAt)}.` : 'It is done.',
  revoked: () => 'It was revoked, so it does not start any more.',
  running({ attempt, startedAt, runningFor = 0, process }) {
    const since = startedAt ? `, since ${at(startedAt)} (${spelled(runningFor)})` : '';
    const where = process ? `, in the process ${process.pid} on ${process.host}` : '';
    return `It runs${since}: attempt ${attempt}${where}.`;
  },
  unknown: (details) =>
    details.dueAt
      ? `${dueSince(details)}, and nothing is known of its copies.`
      : 'Nothing is known of it: there is no such job, or it ended long ago.',
  'nodes-away': ({ nodes }) =>
    `It can run once a node is back that may have a copy of it: ${nodes.join(', ')}.`,
  'no-copy': ({ awaited }) =>
    awaited
      ? 'No node has a copy of it any more, and the ledger waits for it: it is lost.'
      : 'No node has a copy of it any more, and the ledger does not know it: it ended long ago, or it is lost.',
  'not-due': ({ dueAt, dueIn }) => `It is due at ${at(dueAt)}, in ${spelled(dueIn)}.`,
  retrying: ({ dueAt, dueIn, attempt }) =>
    `It waits for its next attempt, after ${attempt}, which is due at ${at(dueAt)}, in ${spelled(dueIn)}.`,
  paused: ({ tube, since, until, ...due }) =>
    `${dueSince(due)}, but the tube ${tube} is paused since ${at(since)} until ${until ? at(until) : 'somebody resumes it'}.`,
  left: ({ leaseEndedAt }) =>
    `The process that ran it was not heard of since its lease ended at ${at(leaseEndedAt)}: it runs again when a copy comes back.`,
  held: () => 'It waits for the end of a run of the job that it replaced.',
  limited: ({ tube, limit, ...due }) =>
    `${dueSince(due)}, but the tube ${tube} is limited to ${limitText(limit)}.`,
  'not-consumed': ({ tube, ...due }) => `${dueSince(due)}, but no process consumes the tube ${tube}.`,
  taken: (due) => `${dueSince(due)}, and a process holds it until it has a free slot.`,
  queued({ others, ...due }) {
    const told = others ? `: of its tube about ${others.due} are due, and ${others.running} run` : '';
    return `${dueSince(due)}, and waits for a process to take it${told}.`;
  },
  coming: ({ readyIn, ...due }) => `${dueSince(due)}, and its next copy comes back in ${spelled(readyIn)}.`,
  buried: (due) => `${dueSince(due)}, but its copies are buried, and stay so until they are kicked.`,
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
      return `${most} at the same time, and has ${limit.running}`;
    case 'perGroup':
      return `${most} of a group at the same time, and its group ${show(limit.group)} has ${limit.running}`;
    case 'rate':
      return `${most} in ${spelled(limit.per)}: the next may begin at ${at(limit.nextAt)}, in ${spelled(limit.nextIn)}`;
  }
}

function dueSince({ dueAt, overdueFor = 0 }: DueSince): string {
  return dueAt ? `It is due since ${at(dueAt)} (${spelled(overdueFor)})` : 'It is due';
}

function at(time: Date): string {
  return time.toISOString();
}
