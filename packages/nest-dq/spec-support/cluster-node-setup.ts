import { expect } from '@jest/globals';
import { ScriptedNode } from './scripted-node.js';
import { VirtualClock } from 'nest-handlers/testing';
import type { Timer } from 'nest-handlers/time';
import { ClusterNode, type PutFailure } from '../src/cluster/cluster-node.js';

/** A clock that counts its timers that are still set. */
class CountingClock extends VirtualClock {
  readonly timers = new Set<object>();

  override after(delay: number, callback: () => void): Timer {
    const mark = {};
    this.timers.add(mark);
    const timer = super.after(delay, () => {
      this.timers.delete(mark);
      callback();
    });
    return {
      cancel: () => {
        this.timers.delete(mark);
        timer.cancel();
      },
    };
  }
}

interface PutResult {
  readonly failure?: PutFailure;
  readonly location: string;
  readonly at: number;
}

export function setup() {
  const clock = new CountingClock();
  const server = new ScriptedNode(clock);
  const node = new ClusterNode('n1:11300', server.dial, clock);
  const told: string[] = [];
  const listener = {
    up: () => told.push('up'),
    down: (_: ClusterNode, error: Error) => told.push(error.message),
    trouble: (_: ClusterNode, message: string) => told.push(message),
  };
  const stop = node.listen(listener);
  const results: PutResult[] = [];
  const put = (text = 'body') =>
    node.put({
      tube: 't',
      body: [text],
      priority: 1,
      delay: () => 0,
      done: (failure, location) => results.push({ failure, location, at: clock.now() }),
    });
  return { clock, server, node, told, stop, put, results };
}

export async function setupUp() {
  const all = setup();
  all.node.start();
  await all.clock.advance(0);
  expect(all.node.up).toBe(true);
  return all;
}
