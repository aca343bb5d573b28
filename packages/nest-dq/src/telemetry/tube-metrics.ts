import type { Attributes, BatchObservableCallback, Meter } from '@opentelemetry/api';
import type { DqClusterView, DqTubeCounts } from '../events/hooks.js';

/** A reader of metrics remembers each tube for ever, so no more than these are told. */
const MOST_TUBES = 300;
const STATES = ['waiting', 'due', 'running', 'dead'] as const;
const NOTHING = { waiting: 0, due: 0, running: 0, dead: 0, watching: 0 };

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
  const told = new Set<string>();
  const observe: BatchObservableCallback = (result) => {
    const all = new Map<string, Partial<DqTubeCounts>>(allTubes()?.map((each) => [each.tube, each]));
    for (const tube of all.keys()) if (told.size < MOST_TUBES) told.add(tube);
    for (const tube of told) {
      // A reader repeats what it is not told anew. So a tube that is gone, or that another process tells of now, has 0.
      const counts = all.get(tube) ?? NOTHING;
      const attributes = { ...ofCluster, 'messaging.destination.name': tube };
      for (const state of STATES) {
        const count = counts[state];
        if (count !== undefined) result.observe(jobs, count, { ...attributes, 'dq.job.state': state });
      }
      if (counts.watching !== undefined) result.observe(watching, counts.watching, attributes);
    }
  };
  meter.addBatchObservableCallback(observe, [jobs, watching]);
  return () => meter.removeBatchObservableCallback(observe, [jobs, watching]);
}
