import type { Attributes, BatchObservableCallback, Meter } from '@opentelemetry/api';
import type { DqClusterView, DqTubeCounts } from '../events/hooks.js';

/** A reader of metrics remembers each tube for ever, so no more than these are told. */
const MOST_TUBES = 300;
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

/** What one process tells of all tubes. When a reader asks, it gets what was learned last. Returns a function that stops it. */
export function recordTubes(meter: Meter, ofCluster: Attributes, { allTubes }: DqClusterView): () => void {
  const jobs = meter.createObservableGauge('dq.tube.jobs', {
    unit: '{job}',
    description: 'About how many jobs the whole cluster has',
  });
  const watching = meter.createObservableGauge('dq.tube.watching', {
    unit: '{connection}',
    description: 'Connections of all processes that take jobs',
  });
  const paused = meter.createObservableGauge('dq.tube.paused', {
    unit: '1',
    description: 'Whether somebody has paused the tube: 1 or 0',
  });
  const overdue = meter.createObservableGauge('dq.tube.overdue', {
    unit: 's',
    description: 'Since when the oldest listed job is due; 0 if none is',
  });
  const listed = meter.createObservableGauge('dq.tube.listed', {
    unit: '{job}',
    description: 'Jobs that wait and are in the index',
  });
  const retrying = meter.createObservableGauge('dq.tube.retrying', {
    unit: '{job}',
    description: 'Listed jobs that have failed and wait for a retry',
  });
  const observed = [jobs, watching, paused, overdue, listed, retrying];
  const told = new Set<string>();
  const observe: BatchObservableCallback = (result) => {
    const all = new Map<string, Partial<DqTubeCounts>>(allTubes()?.map((each) => [each.tube, each]));
    for (const tube of all.keys()) if (told.size < MOST_TUBES) told.add(tube);
    for (const tube of told) {
      // A reader repeats what it is not told anew. So a tube that is gone, or that another process tells of now, has 0.
      const counts: Partial<DqTubeCounts> = all.get(tube) ?? NOTHING;
      const attributes = { ...ofCluster, 'messaging.destination.name': tube };
      for (const state of STATES) {
        const count = counts[state];
        if (count !== undefined) result.observe(jobs, count, { ...attributes, 'dq.job.state': state });
      }
      if (counts.watching !== undefined) result.observe(watching, counts.watching, attributes);
      // Whoever told the dead letters knew of a pause, too.
      if (counts.dead !== undefined) result.observe(paused, counts.paused ? 1 : 0, attributes);
      if (counts.overdueFor !== undefined) result.observe(overdue, counts.overdueFor / 1_000, attributes);
      if (counts.listed !== undefined) result.observe(listed, counts.listed, attributes);
      if (counts.retrying !== undefined) result.observe(retrying, counts.retrying, attributes);
    }
  };
  meter.addBatchObservableCallback(observe, observed);
  return () => meter.removeBatchObservableCallback(observe, observed);
}
