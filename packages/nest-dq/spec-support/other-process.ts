import type { Cluster } from '../src/cluster/cluster.js';
import type { Presence, TubeLoad } from '../src/fleet/presence.js';
import { ThisProcess } from '../src/fleet/this-process.js';
import type { VirtualClock } from 'nest-handlers/testing';

interface World {
  readonly presence: Presence;
  readonly cluster: Cluster;
  readonly clock: VirtualClock;
}

const SETTINGS = {
  prefix: '',
  consume: true,
  replicas: 3,
  minWritten: 2,
  lease: 15_000,
  doneTtl: 60_000,
  staleAfter: 604_800_000,
};

/** One more process, which the others see: it consumes these tubes, given without the prefix. */
export function joined({ presence, cluster, clock }: World, ...tubes: Partial<TubeLoad>[]): ThisProcess {
  const load = tubes.map((tube) => ({ tube: 't', concurrency: 1, running: 0, held: 0, long: [], ...tube }));
  const warn = () => undefined;
  const process = new ThisProcess({
    presence,
    cluster,
    clock,
    settings: SETTINGS,
    load: () => load,
    counts: () => ({ lost: 0, unlisted: 0, toRepair: 0 }),
    warn,
  });
  process.start();
  return process;
}
