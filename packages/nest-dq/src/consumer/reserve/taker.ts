import type { ClusterNode } from '../../cluster/cluster-node.js';
import type { Delivery } from './delivery.js';

/** What one tube's consumer offers to its nodes. */
export interface Taker {
  /** How many more copies may be reserved now. */
  room(): number;
  /** True when it is so early that those behind it are in no hurry. */
  arrived(delivery: Delivery): boolean;
  /** All that was asked of a node is answered: what it did not use of the room is there for the others. */
  roomLeft(): void;
  lost(deliveries: Delivery[]): void;
  poison(node: ClusterNode, copyId: string, reason: string): void;
  nodeTrouble(node: ClusterNode, message: string): void;
}
