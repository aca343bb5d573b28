import type { ClusterNode } from './cluster-node.js';

export interface Placement {
  /** How many copies to store. The first node takes the primary. */
  readonly copies: number;
  /** The nodes in the order in which they are tried. Nodes after the first `copies` replace one that fails. */
  readonly nodes: readonly ClusterNode[];
  /** How many of them, from the front, are healthy. */
  readonly healthy: number;
}

/**
 * Chooses the nodes of one job: healthy ones, and each takes the primary in turn. The others are tried only if the healthy ones
 * cannot make `minWritten`: first as many drained nodes as it needs, and as a last resort those that are down. If two nodes are
 * one server, only the first is tried.
 */
export function place(
  nodes: readonly ClusterNode[],
  turn: number,
  replicas: number,
  minWritten: number,
): Placement {
  // Nearly always.
  if (nodes.every((node) => node.writable && !node.drained)) {
    return { copies: Math.min(replicas, nodes.length), nodes: rotated(nodes, turn), healthy: nodes.length };
  }
  const healthy: ClusterNode[] = [];
  const drained: ClusterNode[] = [];
  const down: ClusterNode[] = [];
  for (const node of nodes) {
    if (!node.twin) (!node.writable ? down : node.drained ? drained : healthy).push(node);
  }
  return {
    copies: Math.min(replicas, usable(healthy.length, drained.length, down.length, minWritten)),
    nodes: [...rotated(healthy, turn), ...rotated(drained, turn), ...rotated(down, turn)],
    healthy: healthy.length,
  };
}

function usable(healthy: number, drained: number, down: number, minWritten: number): number {
  if (healthy >= minWritten) return healthy;
  return healthy + drained >= minWritten ? minWritten : healthy + drained + down;
}

function rotated<T>(items: readonly T[], turn: number): T[] {
  const all: T[] = [];
  for (let i = 0; i < items.length; i++) all.push(items[(turn + i) % items.length]!);
  return all;
}
