import type { StoredTube } from '../api/tube.js';
import type { DeletionGroup, Witness } from './deleted-copies.js';

/** Jobs in one LeftDeletions, and LeftDeletions in one call. */
const LEFT_TOGETHER = 500;
const LEFT_IN_A_CALL = 50;

/** Jobs whose copies were deleted alike, by a process that ended before the deletions were certain. */
export interface LeftDeletions {
  readonly tube: StoredTube;
  readonly ids: readonly string[];
  /** In the order of the ids. */
  readonly generations: readonly number[];
  /** `instance` is the server that answered DELETED. */
  readonly copies: readonly { readonly index: number; readonly instance: string }[];
  /** The headers of the copies tell of a put of unknown outcome. */
  readonly unknown: boolean;
  /** Milliseconds from now until the deletions are certain, if the servers are still the same then. */
  readonly certainIn: number;
}

/** Where a process that ends leaves what it could not tell the ledger yet. Any other process takes it once it is certain. */
export interface Handover {
  leave(left: readonly LeftDeletions[]): Promise<void>;
  /** Takes some deletions whose time has come; nobody else gets them. An empty list means that there are no more. */
  take(): Promise<LeftDeletions[]>;
}

/** Leaves the deletions of this process to later ones, and takes those of earlier ones. */
export class Succession {
  constructor(
    private readonly handover: Handover,
    private readonly nodes: readonly Witness[],
  ) {}

  /** Only a server that answers can be compared with the one of the deletion. So nothing is taken until all answer. */
  get ready(): boolean {
    return this.nodes.every(({ instance }) => instance !== undefined);
  }

  /** `now` is of the same clock as `certainAt`. */
  async leave(groups: readonly DeletionGroup[], now: number): Promise<void> {
    const left = groups.flatMap((group) => partsOf(group, group.certainAt - now));
    while (left.length > 0) await this.handover.leave(left.splice(0, LEFT_IN_A_CALL));
  }

  /** Takes some deletions whose time has come, with the copies whose servers are the same. An empty list means that there are no more. */
  async take(): Promise<Omit<DeletionGroup, 'certainAt'>[]> {
    const left = await this.handover.take();
    return left.map(({ tube, ids, generations, unknown, copies }) => {
      const known = copies.flatMap(({ index, instance }) => {
        const node = this.nodes.find((each) => each.instance === instance);
        return node ? [{ index, node, instance }] : [];
      });
      return { tube, ids, generations, unknown, copies: known };
    });
  }
}

function partsOf(
  { tube, copies, unknown, ids, generations }: DeletionGroup,
  certainIn: number,
): LeftDeletions[] {
  const parts: LeftDeletions[] = [];
  const places = copies.map(({ index, instance }) => ({ index, instance }));
  for (let from = 0; from < ids.length; from += LEFT_TOGETHER) {
    const to = from + LEFT_TOGETHER;
    parts.push({
      tube,
      ids: ids.slice(from, to),
      generations: generations.slice(from, to),
      copies: places,
      unknown,
      certainIn,
    });
  }
  return parts;
}
