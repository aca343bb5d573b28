import { describe, expect, it } from '@jest/globals';
import type { DelayedJob } from '../api/job.js';
import { CollectingHub } from '../../spec-support/collecting-hub.js';
import type { DqEventName } from './events.js';

const job = (lateness: number) => ({ lateness }) as DelayedJob;

describe('EventHub', () => {
  it('reports a start as late only above the limit, and after the start', () => {
    const hub = new CollectingHub(100);
    const seen: string[] = [];
    for (const name of ['late', 'started'] as const) {
      hub.on(name).subscribe(({ job: { lateness } }) => seen.push(`${name} ${lateness}`));
    }
    for (const lateness of [100, 101]) hub.started(job(lateness));
    expect(seen).toEqual(['started 100', 'started 101', 'late 101']);
  });

  it('reports what a listener threw as an Error, even if it is none', () => {
    const hub = new CollectingHub();
    hub.listen(
      'nodeUp',
      () => {
        throw 'oh' as unknown as Error;
      },
      'Pager.up',
    );
    hub.emit('nodeUp', { node: 'n1' });
    expect(hub.failures).toEqual(['Pager.up at `nodeUp`: a non-Error value was thrown: "oh"']);
  });

  it('refuses an unknown event', () => {
    const hub = new CollectingHub();
    expect(() => hub.on('finished' as DqEventName)).toThrow(
      /DQ_BAD_OPTION: unknown event "finished": expected one of scheduled, started, completed, failed, dead, expired, revoked, late, nodeDown, nodeUp, nodeTrouble/,
    );
    expect(() => hub.on('constructor' as DqEventName)).toThrow(/DQ_BAD_OPTION/);
  });
});
