import type { Cluster } from '../src/cluster/cluster.js';
import { beatsOf } from '../src/consumer/heartbeat.js';
import { LedgerGate } from '../src/consumer/ledger-gate.js';
import type { ConsumerReport } from '../src/consumer/report.js';
import { ReserveBudget } from '../src/consumer/reserve/reserve-budget.js';
import type { Delivery } from '../src/consumer/reserve/delivery.js';
import { DEFAULT_HANDLER_SETTINGS } from '../src/consumer/run/handler-settings.js';
import { ProgressWriter } from '../src/consumer/run/progress.js';
import { Run, type Grant } from '../src/consumer/run/run.js';
import { NOT_SHARED, type TubeContext } from '../src/consumer/tube-context.js';
import type { SettleQueue } from '../src/ledger/settle-queue.js';
import type { VirtualClock } from 'nest-handlers/testing';
import { CollectingHub } from './collecting-hub.js';
import { stored } from './stored.js';
import { ScriptedLedger } from './scripted-ledger.js';

/** Notes each report as a text. */
export function textReport(texts: string[]): ConsumerReport {
  return {
    failed: ({ attempt }, { message }, next) =>
      texts.push(`failed ${attempt} ${message} ${next instanceof Date ? 'retry' : next}`),
    dead: (_tube, _job, { why }) => texts.push(`dead ${why}`),
    badSeal: ({ node, reason }) => texts.push(`bad seal ${node} ${reason}`),
    poison: (_tube, node) => texts.push(`poison ${node}`),
    leaseLost: (_tube, _id, attempt) => texts.push(`lease lost ${attempt}`),
    revoked: (_tube, _id, attempt) => texts.push(`revoked ${attempt}`),
    overran: (_tube, _id, attempt) => texts.push(`overran ${attempt}`),
    instantOver: () => texts.push('instant over'),
    notStored: (_tube, _id, _until, why) => texts.push(`not stored ${why}`),
    notAdopted: (_tube, id, error) => texts.push(`not adopted ${id} ${error.message}`),
    ledgerTrouble: (_tube, id, error) => texts.push(`ledger trouble ${id} ${error.message}`),
    stoodStill: (_tube, ms) => texts.push(`stood still ${ms}`),
    cutOff: (_tube, handlers) => texts.push(`cut off ${handlers}`),
    lettersRemoved: (_tube, { tooOld, tooMany }) => texts.push(`removed ${tooOld} old ${tooMany} beyond`),
    notSwept: (_tube, { message }) => texts.push(`not swept ${message}`),
    lost: ({ tube, id }) => texts.push(`lost ${tube} ${id}`),
    nodeTrouble: (node) => texts.push(`trouble ${node}`),
  };
}

/** The context of a tube called `tube`, stored as `app.tube`. The spec answers the calls of its ledger. */
export function tubeContext(
  clock: VirtualClock,
  given: Partial<TubeContext> = {},
): TubeContext & { readonly ledger: ScriptedLedger; readonly reports: string[] } {
  const ledger = new ScriptedLedger(clock);
  const reports: string[] = [];
  const { handling = DEFAULT_HANDLER_SETTINGS } = given;
  const { cluster = { settings: { replicas: 3, minWritten: 2 } } as Cluster } = given;
  return {
    tube: 'tube',
    storedAs: stored('app.tube'),
    cluster,
    settleQueue: { take: () => [] } as unknown as SettleQueue,
    sharedLanes: new Map(),
    clock,
    report: textReport(reports),
    events: new CollectingHub(),
    sharing: NOT_SHARED,
    handling,
    backupDelay: 2_000,
    lease: 15_000,
    keepErrors: true,
    beats: beatsOf(clock, given.lease ?? 15_000),
    gate: new LedgerGate(ledger, clock),
    budget: new ReserveBudget(clock, handling.concurrency),
    life: { arrived: () => false, changed: () => undefined, copyGone: () => undefined },
    progress: new ProgressWriter({ tube: 'tube', ledger, clock, cluster }),
    runs: new Map(),
    ...given,
    ledger,
    reports,
  };
}

/** A run of a copy in hand: granted at ledger time 950, and due at 900. */
export function runOf(delivery: Delivery, grant: Partial<Grant> = {}): Run {
  const granted: Grant = { kind: 'run', fence: 11, attempt: 2, due: 900, ...grant };
  const claimed = { at: Infinity, ledgerTime: 950 };
  return new Run(delivery, granted, claimed, { lease: 15_000, handling: DEFAULT_HANDLER_SETTINGS });
}
