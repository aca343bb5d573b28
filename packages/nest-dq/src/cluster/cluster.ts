import type { Clock } from '../time/clock.js';
import type { ClusterNode, DeleteResult } from './cluster-node.js';
import { longestLocation, parseLocation } from '../copies/location.js';
import { JobPut, type NewCopies, type StoreResult } from './job-put.js';
import { place } from './placement.js';

export interface ClusterSettings {
  /** Copies of a job. */
  readonly replicas: number;
  /** Copies that must be confirmed. */
  readonly minWritten: number;
}

/** All nodes as one place for copies. Quorum is decided here; what a copy says is not known here. */
export class Cluster {
  /** The longest text that a location on any of the nodes can have, in bytes. */
  readonly longestLocation: number;
  private turn = Math.floor(Math.random() * 1_000);

  constructor(
    readonly nodes: readonly ClusterNode[],
    readonly settings: ClusterSettings,
  ) {
    for (const node of nodes) node.siblings = nodes;
    this.longestLocation = Math.max(...nodes.map((node) => longestLocation(node.endpoint)));
  }

  /** Connects to all nodes in the background. Idempotent. */
  start(): void {
    for (const node of this.nodes) node.start();
  }

  /** Resolves when each node has answered or failed once, or after so many ms. */
  firstAnswers(clock: Clock, limit: number): Promise<void> {
    return new Promise((resolve) => {
      const missing = new Set(this.nodes.filter(({ up }) => !up));
      const heard = (node: ClusterNode) => {
        if (missing.delete(node) && missing.size === 0) end();
      };
      const stops = this.nodes.map((node) => node.listen({ up: heard, down: heard }));
      const end = () => {
        timer.cancel();
        for (const stop of stops) stop();
        resolve();
      };
      const timer = clock.after(limit, end);
      if (missing.size === 0) end();
    });
  }

  /** Idempotent. */
  close(): void {
    for (const node of this.nodes) node.close();
  }

  /** The smallest known limit of a body among the nodes, in bytes; Infinity while none is known. */
  get maxJobSize(): number {
    let smallest = Infinity;
    for (const { maxJobSize } of this.nodes) smallest = Math.min(smallest, maxJobSize);
    return smallest;
  }

  /**
   * Stores the copies of a job on as many nodes as it should have. Never fails itself: the result tells what is stored
   * where, and calls back after this returned.
   */
  put(job: NewCopies, done: (result: StoreResult) => void): void {
    const { replicas, minWritten } = this.settings;
    const placement = place(this.nodes, this.turn++, replicas, minWritten);
    new JobPut(job, placement, minWritten, done).begin();
  }

  /** Deletes the copy at a location, wherever it is now; `isSame` tells it from an innocent job that has its id. */
  delete(
    location: string,
    isSame: (body: Buffer) => boolean,
    done: (result: DeleteResult, node?: ClusterNode) => void,
  ): void {
    const place = parseLocation(location);
    const node = place && this.find(place.endpoint, place.instance);
    if (!place || !node) return done('away');
    node.delete(place, isSame, done);
  }

  /** Reads whatever is at a location now; undefined when nothing is, or its node is away. */
  peek(location: string, done: (body: Buffer | undefined) => void): void {
    const place = parseLocation(location);
    const node = place && this.find(place.endpoint, place.instance);
    if (!place || !node) return done(undefined);
    node.peek(place.copyId, done);
  }

  /** By the instance first: two processes may know one node by two names. */
  private find(endpoint: string, instance: string): ClusterNode | undefined {
    for (const node of this.nodes) if (node.instance === instance) return node;
    return this.nodes.find((node) => node.endpoint === endpoint);
  }
}
