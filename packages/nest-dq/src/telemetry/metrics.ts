import { type Attributes, type BatchObservableCallback, type Meter, metrics } from '@opentelemetry/api';
import type { DqEventMap, DqEventName } from '../events/events.js';
import { LATENESS_CLASSES } from '../events/lateness-classes.js';
import type { DqClusterView, DqTubeCounts } from '../events/hooks.js';
import { SCOPE, tubeAttributes } from './names.js';

/** In seconds. */
const DURATIONS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** In seconds. */
const LATENESSES = LATENESS_CLASSES.map((ms) => ms / 1_000);

/** Counts the events of this process, and reports its load when a reader collects. Returns a function that stops it. */
export function recordMetrics(view: DqClusterView): () => void {
  const { name, events, load } = view;
  const meter = metrics.getMeter(SCOPE);
  const ofCluster: Attributes = name === undefined ? {} : { 'dq.cluster': name };
  const of = (tube: string, operation: 'schedule' | 'process', more?: Attributes): Attributes => ({
    ...tubeAttributes(tube, operation),
    ...ofCluster,
    ...more,
  });
  const counter = (metric: string, unit: string, description: string) =>
    meter.createCounter(metric, { unit, description });
  const seconds = (metric: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(metric, { unit: 's', description, advice: { explicitBucketBoundaries } });

  const sent = counter('messaging.client.sent.messages', '{message}', 'Jobs scheduled by this process');
  const consumed = counter('messaging.client.consumed.messages', '{message}', 'Handler runs started');
  const duration = seconds('messaging.process.duration', 'Duration of handler runs', DURATIONS);
  const lateness = seconds('dq.job.lateness', 'Time from when a run was due to its start', LATENESSES);
  const completed = counter('dq.job.completed', '{job}', 'Successful runs');
  const failed = counter('dq.job.failed', '{job}', 'Failed runs');
  const dead = counter('dq.job.dead', '{job}', 'Jobs that became dead letters');
  const expired = counter('dq.job.expired', '{job}', 'Jobs that expired before they started, and ended');
  const removed = counter(
    'dq.letter.removed',
    '{letter}',
    'Dead letters removed after their retention expired',
  );
  const lost = counter('dq.job.lost', '{job}', 'Jobs lost because no node has a copy any more');
  const refused = counter(
    'dq.seal.refused',
    '{copy}',
    'Copies that did not run because of a missing or wrong seal',
  );
  refused.add(0, ofCluster);
  lost.add(0, ofCluster); // so that a reader knows the metric before the first one is lost
  const subscriptions = [
    on('scheduled', ({ receipt }) => sent.add(1, of(receipt.tube, 'schedule'))),
    on('started', ({ job }) => {
      const attributes = of(job.tube, 'process');
      consumed.add(1, attributes);
      lateness.record(Math.max(0, job.lateness) / 1_000, attributes);
    }),
    on('completed', ({ job, took }) => {
      const attributes = of(job.tube, 'process');
      completed.add(1, attributes);
      duration.record(took / 1_000, attributes);
    }),
    on('failed', ({ job, took, error }) => {
      const attributes = of(job.tube, 'process', { 'error.type': error.name });
      failed.add(1, attributes);
      duration.record(took / 1_000, attributes);
    }),
    on('dead', ({ letter }) => dead.add(1, of(letter.tube, 'process', { 'dq.job.why': letter.why }))),
    on('expired', ({ tube }) => expired.add(1, of(tube, 'process'))),
    on('lost', ({ tube }) => lost.add(1, { ...ofCluster, 'messaging.destination.name': tube })),
    on('badSeal', ({ tube, buried }) =>
      refused.add(1, { ...ofCluster, 'messaging.destination.name': tube, 'dq.seal.buried': buried }),
    ),
    on('lettersRemoved', ({ tube, tooOld, tooMany }) => {
      const attributes = { ...ofCluster, 'messaging.destination.name': tube };
      if (tooOld > 0) removed.add(tooOld, { ...attributes, 'dq.letter.why': 'too_old' });
      if (tooMany > 0) removed.add(tooMany, { ...attributes, 'dq.letter.why': 'too_many' });
    }),
  ];

  const sum = (metric: string, unit: string, description: string) =>
    meter.createObservableUpDownCounter(metric, { unit, description });
  const running = sum('dq.job.running', '{job}', 'Handlers running in this process');
  const held = sum('dq.job.held', '{job}', 'Copies held by this process: early, or due without a free slot');
  const owed = sum(
    'dq.job.owed',
    '{job}',
    'Jobs whose copies were deleted too recently for the ledger to forget them',
  );
  const gauge = (metric: string, unit: string, description: string) =>
    meter.createObservableGauge(metric, { unit, description });
  const up = gauge('dq.node.up', '1', 'Whether a node answers: 1 or 0');
  const well = gauge('dq.node.well', '1', 'Whether a node stores jobs and lets them be reserved: 1 or 0');
  const needed = gauge('dq.node.needed', '{node}', 'Nodes that an add needs');
  const ledger = gauge('dq.ledger.up', '1', 'Whether the ledger answers: 1 or 0');
  const elected = gauge('dq.process.elected', '1', 'Whether this process reports for all tubes: 1 or 0');
  const left = gauge(
    'dq.repair.left',
    '{job}',
    'Approximate number of jobs the running repair has yet to check',
  );
  const dropped = meter.createObservableCounter('dq.cluster_events.dropped', {
    unit: '{event}',
    description: 'Events of other processes that were missed, and events that could not be passed on',
  });
  const observed = [running, held, owed, up, well, needed, ledger, elected, left, dropped];
  const observe: BatchObservableCallback = (result) => {
    const {
      nodes,
      nodesNeeded,
      ledgerUp,
      tubes,
      owed: jobs,
      elected: isElected,
      toRepair,
      eventsDropped,
    } = load();
    for (const each of tubes) {
      const attributes = { ...ofCluster, 'messaging.destination.name': each.tube };
      result.observe(running, each.running, attributes);
      result.observe(held, each.held, attributes);
    }
    result.observe(owed, jobs, ofCluster);
    for (const [node, is] of Object.entries(nodes)) {
      const attributes = { ...ofCluster, 'dq.node': node };
      result.observe(up, is.up ? 1 : 0, attributes);
      result.observe(well, is.well ? 1 : 0, attributes);
    }
    result.observe(needed, nodesNeeded, ofCluster);
    result.observe(ledger, ledgerUp ? 1 : 0, ofCluster);
    result.observe(elected, isElected ? 1 : 0, ofCluster);
    result.observe(left, toRepair, ofCluster);
    result.observe(dropped, eventsDropped, ofCluster);
  };
  meter.addBatchObservableCallback(observe, observed);
  const stopTubes = recordTubes(meter, ofCluster, view);
  const stopSeries = recordSeries(meter, ofCluster, view);
  const stopRedis = recordRedis(meter, ofCluster, view);

  return () => {
    for (const subscription of subscriptions) subscription.unsubscribe();
    meter.removeBatchObservableCallback(observe, observed);
    stopTubes();
    stopSeries();
    stopRedis();
  };

  function on<N extends DqEventName>(event: N, listener: (event: DqEventMap[N]) => void) {
    return events.on(event).subscribe(listener);
  }
}

/** A metrics reader remembers each tube forever, so at most this many are reported. */
const MAX_TUBES = 300;
const STATES = ['waiting', 'due', 'running', 'dead'] as const;
const NOTHING = {
  waiting: 0,
  due: 0,
  running: 0,
  dead: 0,
  listed: 0,
  retrying: 0,
  overdueFor: 0,
  watching: 0,
};

/** Reports all tubes from the elected process. A reader gets the last known values. Returns a function that stops it. */
export function recordTubes(meter: Meter, ofCluster: Attributes, { allTubes }: DqClusterView): () => void {
  const jobs = meter.createObservableGauge('dq.tube.jobs', {
    unit: '{job}',
    description: 'Approximate number of jobs in the cluster',
  });
  const watching = meter.createObservableGauge('dq.tube.watching', {
    unit: '{connection}',
    description: 'Connections of all processes that reserve jobs',
  });
  const paused = meter.createObservableGauge('dq.tube.paused', {
    unit: '1',
    description: 'Whether the tube is paused: 1 or 0',
  });
  const overdue = meter.createObservableGauge('dq.tube.overdue', {
    unit: 's',
    description: 'Due time of the longest overdue listed job; 0 if none is due',
  });
  const listed = meter.createObservableGauge('dq.tube.listed', {
    unit: '{job}',
    description: 'Waiting jobs in the index',
  });
  const retrying = meter.createObservableGauge('dq.tube.retrying', {
    unit: '{job}',
    description: 'Listed jobs waiting for a retry',
  });
  const observed = [jobs, watching, paused, overdue, listed, retrying];
  const told = new Set<string>();
  const observe: BatchObservableCallback = (result) => {
    const all = new Map<string, Partial<DqTubeCounts>>(allTubes()?.map((each) => [each.tube, each]));
    for (const tube of all.keys()) if (told.size < MAX_TUBES) told.add(tube);
    for (const tube of told) {
      // A reader repeats the last value it got. So a tube that is gone, or is now reported by another process, is set to 0.
      const counts: Partial<DqTubeCounts> = all.get(tube) ?? NOTHING;
      const attributes = { ...ofCluster, 'messaging.destination.name': tube };
      for (const state of STATES) {
        const count = counts[state];
        if (count !== undefined) result.observe(jobs, count, { ...attributes, 'dq.job.state': state });
      }
      if (counts.watching !== undefined) result.observe(watching, counts.watching, attributes);
      // If the number of dead letters is known, so is the pause.
      if (counts.dead !== undefined) result.observe(paused, counts.paused ? 1 : 0, attributes);
      if (counts.overdueFor !== undefined) result.observe(overdue, counts.overdueFor / 1_000, attributes);
      if (counts.listed !== undefined) result.observe(listed, counts.listed, attributes);
      if (counts.retrying !== undefined) result.observe(retrying, counts.retrying, attributes);
    }
  };
  meter.addBatchObservableCallback(observe, observed);
  return () => meter.removeBatchObservableCallback(observe, observed);
}

/** Reports all series from the elected process, as `recordTubes` does. Returns a function that stops it. */
export function recordSeries(meter: Meter, ofCluster: Attributes, { allSeries }: DqClusterView): () => void {
  const overdue = meter.createObservableGauge('dq.series.overdue', {
    unit: 's',
    description: 'Time since the series should have run; 0 if that is at most a minute',
  });
  const told = new Set<string>();
  const observe: BatchObservableCallback = (result) => {
    const all = new Map<string, number>();
    for (const { tube, overdueFor } of allSeries() ?? []) {
      all.set(tube, Math.max(overdueFor, all.get(tube) ?? 0));
    }
    for (const tube of all.keys()) if (told.size < MAX_TUBES) told.add(tube);
    for (const tube of told) {
      const attributes = { ...ofCluster, 'messaging.destination.name': tube };
      result.observe(overdue, (all.get(tube) ?? 0) / 1_000, attributes);
    }
  };
  meter.addBatchObservableCallback(observe, [overdue]);
  return () => meter.removeBatchObservableCallback(observe, [overdue]);
}

/** Reports the memory of Redis from the elected process. Returns a function that stops it. */
function recordRedis(meter: Meter, ofCluster: Attributes, { redisMemory }: DqClusterView): () => void {
  const memory = meter.createObservableGauge('dq.redis.memory', {
    unit: 'By',
    description: 'Memory that Redis uses',
  });
  const limit = meter.createObservableGauge('dq.redis.memory.limit', {
    unit: 'By',
    description: 'maxmemory of Redis, or the memory of its machine',
  });
  const told = new Set<string>();
  const observe: BatchObservableCallback = (result) => {
    const all = new Map(redisMemory()?.map((each) => [each.redis, each]));
    for (const server of all.keys()) told.add(server);
    for (const server of told) {
      // As for tubes: what another process reports now is 0 here.
      const { used, limit: most } = all.get(server) ?? { used: 0, limit: 0 };
      const attributes = { ...ofCluster, 'dq.redis': server };
      result.observe(memory, used, attributes);
      result.observe(limit, most, attributes);
    }
  };
  meter.addBatchObservableCallback(observe, [memory, limit]);
  return () => meter.removeBatchObservableCallback(observe, [memory, limit]);
}
